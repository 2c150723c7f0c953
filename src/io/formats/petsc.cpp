// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats/petsc.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "io/assemble.hpp"
#include "io/formats/raw_array.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::int32_t matrix_class = 1211216;
// PETSc numbers its classes of objects from 1211211 on; those that are written to files stand below this.
constexpr std::int64_t first_class = 1211211, last_class = 1211310;
constexpr offset_t entries_at_once = offset_t{1} << 16;

template <class T>
std::array<char, sizeof(T)> big_endian(T number)
{
    auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(number);
    if constexpr (std::endian::native == std::endian::little) std::reverse(bytes.begin(), bytes.end());
    return bytes;
}

template <class T>
T load(std::string_view bytes, std::size_t at)
{
    std::array<char, sizeof(T)> number{};
    std::memcpy(number.data(), bytes.data() + at, sizeof(T));
    if constexpr (std::endian::native == std::endian::little) std::reverse(number.begin(), number.end());
    return std::bit_cast<T>(number);
}

// 4 or 8; 0 where the bytes do not begin with the number of the class.
std::size_t index_bytes_of(std::string_view bytes)
{
    if (bytes.size() >= 4 && load<std::int32_t>(bytes, 0) == matrix_class) return 4;
    return bytes.size() >= 8 && load<std::int64_t>(bytes, 0) == matrix_class ? 8 : 0;
}

struct Header {
    std::size_t index_bytes;
    std::int64_t rows, cols, nonzeros;
    Number index_type() const { return index_bytes == 4 ? Number::i4 : Number::i8; }
    std::size_t lengths_at() const { return 4 * index_bytes; }
    std::size_t columns_at() const { return lengths_at() + static_cast<std::size_t>(rows) * index_bytes; }
    std::size_t values_at() const { return columns_at() + static_cast<std::size_t>(nonzeros) * index_bytes; }
};

// The header, once its arrays of indices are in the file.
Header read_header(const Source& source)
{
    const std::string_view bytes = source.bytes();
    const auto fail = [&](std::size_t at, const std::string& what, const std::string& hint = {}) {
        source.fail(bytes.data() + at, what, hint);
    };
    const std::size_t width = index_bytes_of(bytes);
    if (width == 0)
        fail(0, concat("this is not a matrix in PETSc's binary format: it does not begin with ", matrix_class));
    if (bytes.size() < 4 * width)
        fail(bytes.size(), concat("the file ends inside of its header of ", 4 * width, " bytes"));
    const auto number = [&](std::size_t k) {
        return width == 4 ? std::int64_t{load<std::int32_t>(bytes, k * 4)} : load<std::int64_t>(bytes, k * 8);
    };
    const Header h{width, number(1), number(2), number(3)};
    if (h.rows < 0 || h.rows > max_index)
        fail(width, concat("the number of rows ", h.rows, " is outside 0 … ", max_index));
    if (h.cols < 0 || h.cols > max_index)
        fail(2 * width, concat("the number of columns ", h.cols, " is outside 0 … ", max_index));
    if (h.nonzeros == -1)
        fail(3 * width, "the matrix is stored dense, only AIJ is read", "convert it with MatConvert to MATAIJ");
    const auto present = static_cast<std::int64_t>(bytes.size() / width);
    if (h.nonzeros < 0 || h.nonzeros > present)
        fail(3 * width, concat(h.nonzeros, " entries are not in a file of ", bytes.size(), " bytes"));
    if (h.rows > present) fail(width, concat(h.rows, " rows are not in a file of ", bytes.size(), " bytes"));
    if (h.values_at() > bytes.size())
        fail(bytes.size(), concat("the file ends before its values, which stand at byte ", h.values_at()));
    return h;
}

// Does the file end here, or does another object of PETSc begin?
bool ends_at(std::string_view rest, std::size_t at, std::size_t index_bytes)
{
    if (rest.size() <= at) return rest.size() == at;
    if (rest.size() - at < index_bytes) return false;
    const std::int64_t next = index_bytes == 4 ? load<std::int32_t>(rest, at) : load<std::int64_t>(rest, at);
    return next >= first_class && next <= last_class;
}

// The type of the values follows from where they end.
Number value_type(const Source& source, const Header& h)
{
    const std::string_view rest = source.bytes().substr(h.values_at());
    const auto n = static_cast<std::size_t>(h.nonzeros);
    for (const auto& [type, bytes] : {std::pair{Number::f8, 8 * n}, std::pair{Number::f4, 4 * n}})
        if (ends_at(rest, bytes, h.index_bytes)) return type;
    if (ends_at(rest, 16 * n, h.index_bytes)) source.fail(rest.data(), "the matrix is complex, tulle's are real");
    if (rest.size() < 8 * n)
        source.fail(rest.data() + rest.size(), concat("the file ends after ", rest.size() / 8, " of ", n, " values"));
    source.fail(rest.data() + 8 * n, "unexpected data behind the matrix");
}

Buffer<offset_t> offsets_of_lengths(const CpuQueue& q, const RawArray& lengths, offset_t nonzeros)
{
    const Buffer<offset_t> length = take_integers<offset_t>(q, lengths, 0, nonzeros);
    Buffer<offset_t> row_begin(q, lengths.size + 1);
    offset_t sum = 0;
    for (offset_t i = 0; i < lengths.size; ++i) {
        row_begin.data()[i] = sum;
        sum += length.data()[i];
    }
    row_begin.data()[lengths.size] = sum;
    if (sum != nonzeros)
        lengths.source->fail(lengths.data, concat("the rows have ", sum, " entries, the header says ", nonzeros));
    return row_begin;
}

// n numbers, produced by number(k), as T in PETSc's byte order.
template <class T, class F>
void write_array(Sink& sink, offset_t n, F&& number)
{
    std::string bytes;
    for (offset_t begin = 0; begin < n; begin += entries_at_once) {
        const offset_t end = std::min(n, begin + entries_at_once);
        bytes.resize(static_cast<std::size_t>(end - begin) * sizeof(T));
        for (offset_t k = begin; k < end; ++k) {
            const auto one = big_endian(static_cast<T>(number(k)));
            std::memcpy(bytes.data() + (k - begin) * static_cast<offset_t>(sizeof(T)), one.data(), sizeof(T));
        }
        sink.write(bytes);
    }
}

template <class I, class V>
void write_pattern(Sink& sink, const CsrView<V>& a)
{
    const std::array<std::int64_t, 4> header{matrix_class, a.rows, a.cols, a.nonzeros};
    write_array<I>(sink, 4, [&](offset_t k) { return header[static_cast<std::size_t>(k)]; });
    write_array<I>(sink, a.rows, [&](offset_t i) { return a.row_begin[i + 1] - a.row_begin[i]; });
    write_array<I>(sink, a.nonzeros, [&](offset_t k) { return a.col[k]; });
}

}  // namespace

bool is_petsc(std::string_view bytes) { return index_bytes_of(bytes) != 0; }

template <class V>
Csr<V> read_petsc(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info)
{
    const Header h = read_header(source);
    const Number type = value_type(source, h);
    info.format =
        concat("PETSc AIJ ", type == Number::f4 ? "float" : "double", h.index_bytes == 8 ? ", 64-bit indices" : "");
    info.stored = h.nonzeros;
    const char* bytes = source.bytes().data();
    const RawArray lengths{&source, "row length", h.index_type(), bytes + h.lengths_at(), h.rows, std::endian::big};
    const RawArray col{&source, "column", h.index_type(), bytes + h.columns_at(), h.nonzeros, std::endian::big};
    const RawArray value{&source, "value", type, bytes + h.values_at(), h.nonzeros, std::endian::big};
    ArrayLosses lost;
    Csr<V> a{.rows = static_cast<index_t>(h.rows),
             .cols = static_cast<index_t>(h.cols),
             .row_begin = offsets_of_lengths(q, lengths, h.nonzeros),
             .col = take_integers<index_t>(q, col, 0, h.cols - 1),
             .value = take_values<V>(q, value, lost)};
    report_losses(a, lost, info);
    a = assemble(q, std::move(a), info.duplicates);
    if (options.progress) options.progress(1.0);
    return a;
}

FileRows petsc_rows(const CpuQueue& q, const Source& source, int part, int parts)
{
    const Header h = read_header(source);
    const offset_t first = share_of(h.rows, part, parts), last = share_of(h.rows, part + 1, parts);
    const char* const at = source.bytes().data() + h.lengths_at() + static_cast<std::size_t>(first) * h.index_bytes;
    return {static_cast<index_t>(h.rows), static_cast<index_t>(h.cols), h.nonzeros, first,
            take_integers<offset_t>(q, {&source, "row length", h.index_type(), at, last - first, std::endian::big}, 0,
                                    h.nonzeros)};
}

template <class V>
void petsc_entries(const CpuQueue& q, const Source& source, offset_t first, offset_t count, Coo<V>& to)
{
    const Header h = read_header(source);
    const Number type = value_type(source, h);
    const char* const col = source.bytes().data() + h.columns_at() + static_cast<std::size_t>(first) * h.index_bytes;
    const char* const value = source.bytes().data() + h.values_at() + static_cast<std::size_t>(first) * size_of(type);
    ArrayLosses lost;
    to.col =
        take_integers<index_t>(q, {&source, "column", h.index_type(), col, count, std::endian::big}, 0, h.cols - 1);
    to.value = take_values<V>(q, {&source, "value", type, value, count, std::endian::big}, lost);
}

template <class V>
void write_petsc(const CpuQueue&, Sink& sink, const CsrView<V>& a, const WriteOptions& options)
{
    if (a.nonzeros <= max_index) write_pattern<std::int32_t>(sink, a);
    else write_pattern<std::int64_t>(sink, a);
    write_array<double>(sink, a.nonzeros, [&](offset_t k) { return a.value[k]; });
    if (options.progress) options.progress(1.0);
}

template Csr<float> read_petsc(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);
template Csr<double> read_petsc(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);
template void petsc_entries(const CpuQueue&, const Source&, offset_t, offset_t, Coo<float>&);
template void petsc_entries(const CpuQueue&, const Source&, offset_t, offset_t, Coo<double>&);
template void write_petsc(const CpuQueue&, Sink&, const CsrView<float>&, const WriteOptions&);
template void write_petsc(const CpuQueue&, Sink&, const CsrView<double>&, const WriteOptions&);

}  // namespace tulle::inline TULLE_ABI::io
