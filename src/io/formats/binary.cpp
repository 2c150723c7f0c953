// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats/binary.hpp"

#include <array>
#include <cstring>
#include <string>

#include "base/hash.hpp"
#include "base/math.hpp"
#include "io/assemble.hpp"
#include "io/formats/raw_array.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::array<char, 8> magic{'\x89', 'T', 'U',  'L',
                                    'L',    'E', '\r', '\n'};  // damaged by whoever takes the file for text
constexpr std::uint32_t version = 1, byte_order = 0x01020304, sorted_flag = 1, unique_flag = 2;
constexpr std::uint64_t alignment = 64;

struct Header {
    std::array<char, 8> magic;
    std::uint32_t version, byte_order, value_bytes, flags;
    std::int64_t rows, cols, nonzeros;
    std::uint64_t row_begin_at, col_at, value_at, file_bytes, data_checksum, header_checksum;
};
static_assert(sizeof(Header) == 96 && std::is_trivially_copyable_v<Header>);

std::uint64_t padded(std::uint64_t bytes) { return round_up(bytes, alignment); }

// Everything that follows from the sizes; they are below 2^31, 2^31 and 2^56, so nothing overflows.
Header lay_out(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros, std::uint32_t value_bytes,
               std::uint32_t flags)
{
    Header h{magic, version, byte_order, value_bytes, flags, rows, cols, nonzeros, 0, 0, 0, 0, 0, 0};
    const auto n = static_cast<std::uint64_t>(nonzeros);
    h.row_begin_at = padded(sizeof(Header));
    h.col_at = padded(h.row_begin_at + (static_cast<std::uint64_t>(rows) + 1) * sizeof(offset_t));
    h.value_at = padded(h.col_at + n * sizeof(index_t));
    h.file_bytes = h.value_at + n * value_bytes;
    return h;
}

std::uint64_t header_checksum(const CpuQueue& q, const Header& h)
{
    return checksum(q, &h, offsetof(Header, header_checksum));
}

std::uint64_t data_checksum(const CpuQueue& q, const Header& h, const void* row_begin, const void* col,
                            const void* value)
{
    const auto n = static_cast<std::uint64_t>(h.nonzeros);
    return hash_of(checksum(q, row_begin, (static_cast<std::uint64_t>(h.rows) + 1) * sizeof(offset_t)),
                   checksum(q, col, n * sizeof(index_t)), checksum(q, value, n * h.value_bytes));
}

// The header, once it agrees with itself and with the size of the file.
Header read_header(const CpuQueue& q, const Source& source)
{
    const std::string_view bytes = source.bytes();
    const auto fail = [&](std::size_t at, const std::string& what, const std::string& hint = {}) {
        source.fail(bytes.data() + at, what, hint);
    };
    Header h{};
    if (bytes.size() < sizeof(Header))
        fail(bytes.size(), concat("the file ends inside of its header of ", sizeof(Header), " bytes"));
    std::memcpy(&h, bytes.data(), sizeof(Header));
    if (h.magic != magic) fail(0, "this is not a file of tulle's own format");
    if (h.byte_order != byte_order)
        fail(offsetof(Header, byte_order), "the file was written on a machine with another byte order");
    if (h.version != version)
        fail(offsetof(Header, version),
             concat("the file has version ", h.version, ", this tulle reads version ", version), "use a newer tulle");
    if (h.header_checksum != header_checksum(q, h))
        fail(offsetof(Header, header_checksum), "the header is damaged: its checksum is wrong");
    if (h.value_bytes != sizeof(float) && h.value_bytes != sizeof(double))
        fail(offsetof(Header, value_bytes), concat("unknown value type ", h.value_bytes));
    if (h.flags > (sorted_flag | unique_flag)) fail(offsetof(Header, flags), concat("unknown flags ", h.flags));
    if (h.rows < 0 || h.rows > max_index)
        fail(offsetof(Header, rows), concat("the number of rows ", h.rows, " is outside 0 … ", max_index));
    if (h.cols < 0 || h.cols > max_index)
        fail(offsetof(Header, cols), concat("the number of columns ", h.cols, " is outside 0 … ", max_index));
    if (h.nonzeros < 0 || static_cast<std::uint64_t>(h.nonzeros) > bytes.size())
        fail(offsetof(Header, nonzeros), concat(h.nonzeros, " entries are not in a file of ", bytes.size(), " bytes"));
    const Header right = lay_out(h.rows, h.cols, h.nonzeros, h.value_bytes, h.flags);
    if (h.row_begin_at != right.row_begin_at || h.col_at != right.col_at || h.value_at != right.value_at ||
        h.file_bytes != right.file_bytes)
        fail(offsetof(Header, row_begin_at), "the arrays do not stand where their sizes put them");
    if (bytes.size() != h.file_bytes)
        fail(bytes.size(), concat("the file has ", bytes.size(), " bytes, its header says ", h.file_bytes));
    return h;
}

// An array and the zeros behind it.
void write_padded(Sink& sink, const void* data, std::uint64_t bytes, std::uint64_t up_to)
{
    constexpr std::array<char, alignment> zeros{};
    sink.write({static_cast<const char*>(data), bytes});
    sink.write({zeros.data(), up_to - bytes});
}

}  // namespace

template <class V>
Csr<V> read_binary(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info)
{
    const Header h = read_header(q, source);
    info.format = concat("tulle binary ", h.value_bytes == sizeof(float) ? "float" : "double");
    info.stored = h.nonzeros;
    const char* bytes = source.bytes().data();
    const RawArray row_begin{&source, "row_begin", Number::i8, bytes + h.row_begin_at, h.rows + 1};
    const RawArray col{&source, "col", Number::i4, bytes + h.col_at, h.nonzeros};
    const RawArray value{&source, "value", h.value_bytes == sizeof(float) ? Number::f4 : Number::f8, bytes + h.value_at,
                         h.nonzeros};
    if (h.data_checksum != data_checksum(q, h, row_begin.data, col.data, value.data))
        source.fail(bytes + offsetof(Header, data_checksum), "the data is damaged: its checksum is wrong");
    if (options.progress) options.progress(0.5);

    ArrayLosses lost;
    Csr<V> a{.rows = static_cast<index_t>(h.rows),
             .cols = static_cast<index_t>(h.cols),
             .row_begin = take_offsets(q, row_begin, h.nonzeros),
             .col = take_integers<index_t>(q, col, 0, h.cols - 1),
             .value = take_values<V>(q, value, lost)};
    report_losses(a, lost, info);
    a = assemble(q, std::move(a), info.duplicates);
    if (options.progress) options.progress(1.0);
    return a;
}

FileRows binary_rows(const CpuQueue& q, const Source& source, int part, int parts)
{
    const Header h = read_header(q, source);
    const offset_t first = share_of(h.rows, part, parts), last = share_of(h.rows, part + 1, parts);
    const char* const at = source.bytes().data() + h.row_begin_at + static_cast<std::size_t>(first) * sizeof(offset_t);
    const Buffer<offset_t> begin =
        take_integers<offset_t>(q, {&source, "row_begin", Number::i8, at, last - first + 1}, 0, h.nonzeros);
    Buffer<offset_t> length(q, last - first);
    for (offset_t i = 0; i < length.size(); ++i) {
        length.data()[i] = begin.data()[i + 1] - begin.data()[i];
        if (length.data()[i] < 0)
            source.fail(at + static_cast<std::size_t>(i + 1) * sizeof(offset_t),
                        concat("row_begin falls in row ", first + i));
    }
    return {static_cast<index_t>(h.rows), static_cast<index_t>(h.cols), h.nonzeros, first, std::move(length)};
}

template <class V>
void binary_entries(const CpuQueue& q, const Source& source, offset_t first, offset_t count, Coo<V>& to)
{
    const Header h = read_header(q, source);
    const char* const bytes = source.bytes().data();
    const char* const col = bytes + h.col_at + static_cast<std::size_t>(first) * sizeof(index_t);
    const char* const value = bytes + h.value_at + static_cast<std::size_t>(first) * h.value_bytes;
    ArrayLosses lost;
    to.col = take_integers<index_t>(q, {&source, "col", Number::i4, col, count}, 0, h.cols - 1);
    to.value =
        take_values<V>(q, {&source, "value", h.value_bytes == sizeof(float) ? Number::f4 : Number::f8, value, count},
                       lost);
}

template void binary_entries(const CpuQueue&, const Source&, offset_t, offset_t, Coo<float>&);
template void binary_entries(const CpuQueue&, const Source&, offset_t, offset_t, Coo<double>&);

template <class V>
void write_binary(const CpuQueue& q, Sink& sink, const CsrView<V>& a, const WriteOptions& options)
{
    Header h =
        lay_out(a.rows, a.cols, a.nonzeros, sizeof(V), (a.sorted ? sorted_flag : 0) | (a.unique ? unique_flag : 0));
    h.data_checksum = data_checksum(q, h, a.row_begin, a.col, a.value);
    h.header_checksum = header_checksum(q, h);
    if (options.progress) options.progress(0.3);
    write_padded(sink, &h, sizeof(Header), h.row_begin_at);
    write_padded(sink, a.row_begin, (static_cast<std::uint64_t>(a.rows) + 1) * sizeof(offset_t),
                 h.col_at - h.row_begin_at);
    write_padded(sink, a.col, static_cast<std::uint64_t>(a.nonzeros) * sizeof(index_t), h.value_at - h.col_at);
    write_padded(sink, a.value, static_cast<std::uint64_t>(a.nonzeros) * sizeof(V), h.file_bytes - h.value_at);
    if (options.progress) options.progress(1.0);
}

template Csr<float> read_binary(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);
template Csr<double> read_binary(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);
template void write_binary(const CpuQueue&, Sink&, const CsrView<float>&, const WriteOptions&);
template void write_binary(const CpuQueue&, Sink&, const CsrView<double>&, const WriteOptions&);

}  // namespace tulle::inline TULLE_ABI::io
