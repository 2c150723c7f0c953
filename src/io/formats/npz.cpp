// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats/npz.hpp"

#include <utility>
#include <vector>

#include "io/assemble.hpp"
#include "io/compression/zip.hpp"
#include "io/formats/npy.hpp"
#include "io/limits.hpp"
#include "matrix/entries.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

// One array of the archive, opened.
struct Member {
    Source source;
    NpyArray array;
};

class Archive {
public:
    Archive(const CpuQueue& q, const Source& source) : q_(q), source_(source), zip_(source) {}

    Member open(const std::string& name) const
    {
        const ZipMember* member = zip_.find(name + ".npy");
        if (!member)
            source_.fail(source_.bytes().data(), concat("the archive has no ", name, ".npy"),
                         "write it with scipy.sparse.save_npz");
        Source contents = zip_.open(q_, *member);
        NpyArray array = read_npy(contents);
        return {std::move(contents), std::move(array)};
    }
    [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const
    {
        source_.fail(source_.bytes().data(), what, hint);
    }

private:
    const CpuQueue& q_;
    const Source& source_;
    ZipReader zip_;
};

struct Shape {
    index_t rows, cols;
};

Shape read_shape(const CpuQueue& q, const Archive& archive)
{
    const Member member = archive.open("shape");
    const RawArray numbers = as_numbers(member.source, member.array, "shape");
    if (numbers.size != 2) archive.fail(concat("the matrix has ", numbers.size, " dimensions, not two"));
    const Buffer<index_t> shape = take_integers<index_t>(q, numbers, 0, max_index);
    return {shape.data()[0], shape.data()[1]};
}

std::string read_format(const Archive& archive)
{
    const Member member = archive.open("format");
    return as_text(member.source, member.array);
}

template <class V>
Buffer<V> read_values(const CpuQueue& q, const Archive& archive, FileInfo& info, ArrayLosses& lost)
{
    const Member member = archive.open("data");
    info.format += concat(" ", member.array.type.substr(1));
    const RawArray numbers = as_numbers(member.source, member.array, "data");
    info.field = is_integer(numbers.type) ? "integer" : "real";
    info.stored = numbers.size;
    return take_values<V>(q, numbers, lost);
}

Buffer<index_t> read_indices(const CpuQueue& q, const Archive& archive, const std::string& name, index_t below,
                             offset_t wanted)
{
    const Member member = archive.open(name);
    const RawArray numbers = as_numbers(member.source, member.array, name);
    if (numbers.size != wanted) archive.fail(concat(name, " has ", numbers.size, " entries, data has ", wanted));
    return take_integers<index_t>(q, numbers, 0, below - 1);
}

Buffer<offset_t> read_pointers(const CpuQueue& q, const Archive& archive, index_t lines, offset_t nonzeros)
{
    const Member member = archive.open("indptr");
    const RawArray numbers = as_numbers(member.source, member.array, "indptr");
    if (numbers.size != offset_t{lines} + 1)
        archive.fail(concat("indptr has ", numbers.size, " entries, the shape asks for ", offset_t{lines} + 1));
    return take_offsets(q, numbers, nonzeros);
}

// CSR, or the CSR form of the transposed matrix where the archive holds CSC.
template <class V>
Csr<V> read_compressed(const CpuQueue& q, const Archive& archive, Shape shape, FileInfo& info)
{
    ArrayLosses lost;
    Buffer<V> value = read_values<V>(q, archive, info, lost);
    Buffer<offset_t> begin = read_pointers(q, archive, shape.rows, value.size());
    Buffer<index_t> col = read_indices(q, archive, "indices", shape.cols, value.size());
    Csr<V> a{.rows = shape.rows,
             .cols = shape.cols,
             .row_begin = std::move(begin),
             .col = std::move(col),
             .value = std::move(value)};
    report_losses(a, lost, info);
    return a;
}

template <class V>
Csr<V> read_csc(const CpuQueue& q, const Archive& archive, Shape shape, FileInfo& info)
{
    const Csr<V> columns = read_compressed<V>(q, archive, {shape.cols, shape.rows}, info);
    for (Occurrences* found : {&info.underflowed, &info.rounded}) std::swap(found->row, found->col);
    const Buffer<index_t> col = matrix::rows_of(q, columns.view());
    return assemble(q,
                    CooView<V>{shape.rows, shape.cols, columns.nonzeros(), columns.col.data(), col.data(),
                               columns.value.data()},
                    Mirror::none, info.duplicates);
}

template <class V>
Csr<V> read_coo(const CpuQueue& q, const Archive& archive, Shape shape, FileInfo& info)
{
    ArrayLosses lost;
    const Buffer<V> value = read_values<V>(q, archive, info, lost);
    const Buffer<index_t> row = read_indices(q, archive, "row", shape.rows, value.size());
    const Buffer<index_t> col = read_indices(q, archive, "col", shape.cols, value.size());
    const CooView<V> entries{shape.rows, shape.cols, value.size(), row.data(), col.data(), value.data()};
    report_losses(entries, lost, info);
    return assemble(q, entries, Mirror::none, info.duplicates);
}

template <class T>
std::string_view bytes_of(const T* data, offset_t n)
{
    return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(n) * sizeof(T)};
}

template <class T>
void add_array(ZipWriter& zip, const std::string& name, const std::string& type, const T* data, offset_t n)
{
    zip.add(name + ".npy", {npy_header(type, concat("(", n, ",)")), bytes_of(data, n)});
}

template <class To, class From>
Buffer<To> converted(const CpuQueue& q, const From* from, offset_t n)
{
    Buffer<To> to(q, n);
#pragma omp parallel for num_threads(q.threads) if (n > 1 << 13)
    for (offset_t k = 0; k < n; ++k) to.data()[k] = static_cast<To>(from[k]);
    return to;
}

// SciPy wants both index arrays of one type: 32 bits where all offsets fit.
template <class V>
void add_indices(const CpuQueue& q, ZipWriter& zip, const CsrView<V>& a)
{
    const offset_t rows = offset_t{a.rows} + 1;
    if (a.nonzeros <= max_index) {
        add_array(zip, "indices", "<i4", a.col, a.nonzeros);
        add_array(zip, "indptr", "<i4", converted<std::int32_t>(q, a.row_begin, rows).data(), rows);
    } else {
        add_array(zip, "indices", "<i8", converted<std::int64_t>(q, a.col, a.nonzeros).data(), a.nonzeros);
        add_array(zip, "indptr", "<i8", a.row_begin, rows);
    }
}

}  // namespace

template <class V>
Csr<V> read_npz(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info)
{
    const Archive archive(q, source);
    const std::string format = read_format(archive);
    const Shape shape = read_shape(q, archive);
    const bool has_rows = format == "csr";  // with an offset for each; the others only claim them
    if (!has_rows && !rows_are_justified(shape.rows, source.bytes().size(), options))
        archive.fail(too_many_rows(shape.rows, source.bytes().size()), too_many_rows_hint);
    const auto read_as = [&]() -> Csr<V> {
        if (format == "csr") {
            info.format = "SciPy CSR";
            return assemble(q, read_compressed<V>(q, archive, shape, info), info.duplicates);
        }
        if (format == "csc") {
            info.format = "SciPy CSC";
            return read_csc<V>(q, archive, shape, info);
        }
        if (format != "coo")
            archive.fail(concat("the sparse format '", format, "' is not read"),
                         "convert it with .tocsr() before saving");
        info.format = "SciPy COO";
        return read_coo<V>(q, archive, shape, info);
    };
    Csr<V> a = read_as();
    if (options.progress) options.progress(1.0);
    return a;
}

template <class V>
void write_npz(const CpuQueue& q, Sink& sink, const CsrView<V>& a, const WriteOptions& options)
{
    ZipWriter zip(sink);
    const std::vector<std::int64_t> shape{a.rows, a.cols};
    add_indices(q, zip, a);
    zip.add("format.npy", {npy_header("|S3", "()"), "csr"});
    add_array(zip, "shape", "<i8", shape.data(), 2);
    add_array(zip, "data", sizeof(V) == sizeof(float) ? "<f4" : "<f8", a.value, a.nonzeros);
    zip.finish();
    if (options.progress) options.progress(1.0);
}

template Csr<float> read_npz(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);
template Csr<double> read_npz(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);
template void write_npz(const CpuQueue&, Sink&, const CsrView<float>&, const WriteOptions&);
template void write_npz(const CpuQueue&, Sink&, const CsrView<double>&, const WriteOptions&);

}  // namespace tulle::inline TULLE_ABI::io
