// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a file name to a matrix: open, unpack, parse; and back: format, pack, write.
#include "tulle/io.hpp"

#include "io/chunks.hpp"
#include "io/compression/tar.hpp"
#include "io/compression/unpack.hpp"
#include "io/formats.hpp"
#include "io/formats/binary.hpp"
#include "io/formats/matrix_market.hpp"
#include "io/formats/npz.hpp"
#include "io/formats/petsc.hpp"
#include "io/formats/smtx.hpp"
#include "io/limits.hpp"
#include "io/narrowing.hpp"
#include "tulle/trace.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr double unpacking_share = 0.6;  // of the time that a compressed file takes, for progress

Source unpack(const CpuQueue& q, Source source, Packing packing, const ReadOptions& options)
{
    if (packing == Packing::none) return source;
    const trace::Phase phase{"unpack"};
    const Progress progress = part_of(options.progress, 0.0, unpacking_share);
    const std::size_t limit = unpacked_limit(source.bytes().size(), options);
    if (packing == Packing::xz) return unpack_xz(q, source, limit, progress);
    Source unpacked = unpack_gz(q, source, limit, progress);
    return packing == Packing::tar_gz ? find_matrix(std::move(unpacked)) : std::move(unpacked);
}

template <class V>
Csr<V> parse(const CpuQueue& q, const Source& source, Contents contents, const ReadOptions& options, FileInfo& info)
{
    const trace::Phase phase{"parse"};
    if (contents == Contents::matrix_market) return read_matrix_market<V>(q, source, options, info);
    if (contents == Contents::smtx) return read_smtx<V>(q, source, options, info);
    Csr<V> a = contents == Contents::npz     ? read_npz<V>(q, source, options, info)
               : contents == Contents::petsc ? read_petsc<V>(q, source, options, info)
                                             : read_binary<V>(q, source, options, info);
    report_narrowing(q, a, options, info);
    return a;
}

// A file whose name says no format: what its bytes say.
Format detect(const std::string& name, std::string_view bytes, Packing packing)
{
    const std::optional<Contents> contents = contents_of(bytes);
    if (!contents && bytes.find_first_not_of(" \t\r\n") == bytes.npos)
        throw FormatError(concat(name, ": the file is empty"));
    require<FormatError>(
        contents.has_value(),
        [&] { return concat(name, ": neither its name nor its first bytes say which format it has"); },
        concat("name the format; ", known_endings()));
    return {"", *contents, packing, false};
}

// The same with what it takes to see the bytes: unpacked, and taken from its archive.
std::pair<Source, Format> unpack_unnamed(const CpuQueue& q, Source source, const ReadOptions& options)
{
    const Packing packing = packing_of(source.bytes());
    source = unpack(q, std::move(source), packing, options);
    if (is_tar(source.bytes())) source = find_matrix(std::move(source));
    const Format format = detect(source.name(), source.bytes(), packing);
    return {std::move(source), format};
}

// Wishes that the format cannot fulfil are refused, not ignored; only a comment may get lost.
void check_write_options(const std::filesystem::path& file, const Format& format, const WriteOptions& options)
{
    const bool market = format.contents == Contents::matrix_market;
    require<FileError>(
        format.writable, [&] { return concat(file.string(), ": ", format.ending, " is read, but not written"); },
        "write .mtx.gz instead");
    require<ValueError>(market || !options.symmetric, [&] {
        return concat(file.string(), ": only Matrix Market files can hold one triangle of a symmetric matrix");
    });
    require<ValueError>(market || format.contents == Contents::smtx || !options.pattern, [&] {
        return concat(file.string(), ": ", format.ending, " files hold values, a pattern alone cannot be written");
    });
    require<ValueError>(
        format.contents != Contents::smtx || options.pattern,
        [&] { return concat(file.string(), ": .smtx files hold no values"); },
        "ask for the pattern alone (WriteOptions::pattern), or use another format");
}

template <class V>
void write_contents(const CpuQueue& q, Sink& sink, Contents contents, const CsrView<V>& a, const WriteOptions& options)
{
    switch (contents) {
    case Contents::matrix_market: return write_matrix_market(q, sink, a, options);
    case Contents::npz: return write_npz(q, sink, a, options);
    case Contents::smtx: return write_smtx(q, sink, a, options);
    case Contents::petsc: return write_petsc(q, sink, a, options);
    case Contents::binary: break;
    }
    write_binary(q, sink, a, options);
}

template <class V>
Csr<V> parse_unpacked(const CpuQueue& q, const Source& unpacked, const Format& format, const ReadOptions& options,
                      FileInfo& info)
{
    ReadOptions rest = options;
    if (format.packing != Packing::none) rest.progress = part_of(options.progress, unpacking_share, 1.0);
    Csr<V> a = parse<V>(q, unpacked, format.contents, rest, info);
    refuse_losses(unpacked.name(), options, info);
    return a;
}

template <class V>
Csr<V> read_unnamed(const CpuQueue& q, Source source, const ReadOptions& options, FileInfo& info)
{
    const auto [unpacked, format] = unpack_unnamed(q, std::move(source), options);
    return parse_unpacked<V>(q, unpacked, format, options, info);
}

}  // namespace

template <class V>
Csr<V> read_source(const CpuQueue& q, Source source, const Format& format, const ReadOptions& options, FileInfo& info)
{
    return parse_unpacked<V>(q, unpack(q, std::move(source), format.packing, options), format, options, info);
}

template <class V>
Csr<V> read(const Context& ctx, const std::filesystem::path& file, const ReadOptions& options, FileInfo* info)
{
    const Format* format = options.format.empty() ? find_format(file) : &format_named(options.format);
    const CpuQueue q = ctx.host();
    FileInfo found;
    Source source = Source::open(q, file);
    const std::size_t bytes = source.bytes().size();
    Csr<V> a = format ? read_source<V>(q, std::move(source), *format, options, found)
                      : read_unnamed<V>(q, std::move(source), options, found);
    found.bytes = bytes;
    if (info) *info = std::move(found);
    return a;
}

void check_write(const std::filesystem::path& file, const WriteOptions& options)
{
    check_write_options(file, format_to_write(file, options.format), options);
    if (!is_stream(file))
        create_output(file);  // gone again, as nothing is committed; to open a pipe would disturb its reader
}

template <class V>
void write(const Context& ctx, const std::filesystem::path& file, const CsrView<V>& a, const WriteOptions& options)
{
    const Format& format = format_to_write(file, options.format);
    check_write_options(file, format, options);
    const CpuQueue q = ctx.host();
    check(Context::cpu(q.threads), a);  // the arrays are on the host, wherever ctx works
    const std::unique_ptr<OutputFile> target = create_output(file);
    if (format.packing == Packing::gz) {
        const std::unique_ptr<FilterSink> gz = make_gz_sink(*target);
        write_contents(q, *gz, format.contents, a, options);
        gz->finish();
    } else {
        write_contents(q, *target, format.contents, a, options);
    }
    target->commit();
}

template Csr<float> read_source(const CpuQueue&, Source, const Format&, const ReadOptions&, FileInfo&);
template Csr<double> read_source(const CpuQueue&, Source, const Format&, const ReadOptions&, FileInfo&);
template TULLE_API Csr<float> read(const Context&, const std::filesystem::path&, const ReadOptions&, FileInfo*);
template TULLE_API Csr<double> read(const Context&, const std::filesystem::path&, const ReadOptions&, FileInfo*);
template TULLE_API void write(const Context&, const std::filesystem::path&, const CsrView<float>&, const WriteOptions&);
template TULLE_API void write(const Context&, const std::filesystem::path&, const CsrView<double>&,
                              const WriteOptions&);

}  // namespace tulle::inline TULLE_ABI::io
