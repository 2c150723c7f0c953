// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a file name to a matrix: open, unpack, parse; and back: format, pack, write.
#include "tulle/io/io.hpp"

#include "tulle/base/trace.hpp"
#include "tulle/io/binary.hpp"
#include "tulle/io/chunks.hpp"
#include "tulle/io/formats.hpp"
#include "tulle/io/limits.hpp"
#include "tulle/io/matrix_market.hpp"
#include "tulle/io/npz.hpp"
#include "tulle/io/smtx.hpp"
#include "tulle/io/tar.hpp"
#include "tulle/io/unpack.hpp"
#include "tulle/matrix/validate.hpp"

namespace tulle::io {
namespace {

constexpr double unpacking_share = 0.6;                          // of the time that a compressed file takes, for progress

Source unpack(const CpuQueue& q, Source source, Packing packing, const ReadOptions& options)
{
    if (packing == Packing::none) return source;
    const trace::Phase phase{"unpack"};
    const Progress progress = stretch(options.progress, 0.0, unpacking_share);
    const std::size_t limit = unpacked_limit(source.bytes().size(), options);
    if (packing == Packing::xz) return unpack_xz(q, source, limit, progress);
    Source unpacked = unpack_gz(q, source, limit, progress);
    return packing == Packing::tar_gz ? find_matrix(std::move(unpacked)) : std::move(unpacked);
}

template <class V>
Csr<V> parse(const CpuQueue& q, const Source& source, Contents contents, const ReadOptions& options, FileInfo& info)
{
    const trace::Phase phase{"parse"};
    switch (contents) {
        case Contents::matrix_market: return read_matrix_market<V>(q, source, options, info);
        case Contents::npz: return read_npz<V>(q, source, options, info);
        case Contents::smtx: return read_smtx<V>(q, source, options, info);
        case Contents::binary: break;
    }
    return read_binary<V>(q, source, options, info);
}

// Wishes that the format cannot fulfil are refused, not ignored; only a comment may get lost.
void check_wishes(const std::filesystem::path& file, const Format& format, const WriteOptions& options)
{
    const bool market = format.contents == Contents::matrix_market;
    require<FileError>(format.writable, [&] { return concat(file.string(), ": ", format.ending, " is read, but not written"); }, "write .mtx.gz instead");
    require<ValueError>(market || !options.symmetric, [&] { return concat(file.string(), ": only Matrix Market files can hold one triangle of a symmetric matrix"); });
    require<ValueError>(market || format.contents == Contents::smtx || !options.pattern,
                        [&] { return concat(file.string(), ": ", format.ending, " files hold values, a pattern alone cannot be written"); });
    require<ValueError>(format.contents != Contents::smtx || options.pattern, [&] { return concat(file.string(), ": .smtx files hold no values"); },
                        "ask for the pattern alone (WriteOptions::pattern), or use another format");
}

template <class V>
void write_contents(const CpuQueue& q, Sink& sink, Contents contents, const CsrView<V>& a, const WriteOptions& options)
{
    switch (contents) {
        case Contents::matrix_market: return write_matrix_market(q, sink, a, options);
        case Contents::npz: return write_npz(q, sink, a, options);
        case Contents::smtx: return write_smtx(q, sink, a, options);
        case Contents::binary: break;
    }
    write_binary(q, sink, a, options);
}

}  // namespace

template <class V>
Csr<V> read_source(const CpuQueue& q, Source source, const Format& format, const ReadOptions& options, FileInfo& info)
{
    const Source unpacked = unpack(q, std::move(source), format.packing, options);
    ReadOptions rest = options;
    if (format.packing != Packing::none) rest.progress = stretch(options.progress, unpacking_share, 1.0);
    return parse<V>(q, unpacked, format.contents, rest, info);
}

template <class V>
Csr<V> read(const Context& ctx, const std::filesystem::path& file, const ReadOptions& options, FileInfo* info)
{
    const Format& format = format_of(file);
    const CpuQueue q = ctx.host();
    FileInfo found;
    Csr<V> a = read_source<V>(q, Source::open(q, file), format, options, found);
    if (info) *info = std::move(found);
    return a;
}

void check_write(const std::filesystem::path& file, const WriteOptions& options)
{
    check_wishes(file, format_of(file), options);
    const AtomicFile probe(file);                                // gone with its temporary file, as nothing is committed
}

template <class V>
void write(const Context& ctx, const std::filesystem::path& file, const CsrView<V>& a, const WriteOptions& options)
{
    const Format& format = format_of(file);
    check_wishes(file, format, options);
    const CpuQueue q = ctx.host();
    check(Context::cpu(q.threads), a);                           // the arrays are on the host, wherever ctx works
    AtomicFile target(file);
    if (format.packing == Packing::gz) {
        const std::unique_ptr<FilterSink> gz = make_gz_sink(target);
        write_contents(q, *gz, format.contents, a, options);
        gz->finish();
    } else {
        write_contents(q, target, format.contents, a, options);
    }
    target.commit();
}

template Csr<float> read_source(const CpuQueue&, Source, const Format&, const ReadOptions&, FileInfo&);
template Csr<double> read_source(const CpuQueue&, Source, const Format&, const ReadOptions&, FileInfo&);
template TULLE_API Csr<float> read(const Context&, const std::filesystem::path&, const ReadOptions&, FileInfo*);
template TULLE_API Csr<double> read(const Context&, const std::filesystem::path&, const ReadOptions&, FileInfo*);
template TULLE_API void write(const Context&, const std::filesystem::path&, const CsrView<float>&, const WriteOptions&);
template TULLE_API void write(const Context&, const std::filesystem::path&, const CsrView<double>&, const WriteOptions&);

}  // namespace tulle::io
