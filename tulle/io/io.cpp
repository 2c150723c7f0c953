// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a file name to a matrix: open, unpack, parse.
#include "tulle/io/io.hpp"

#include "tulle/base/trace.hpp"
#include "tulle/io/chunks.hpp"
#include "tulle/io/formats.hpp"
#include "tulle/io/limits.hpp"
#include "tulle/io/matrix_market.hpp"
#include "tulle/io/tar.hpp"
#include "tulle/io/unpack.hpp"

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
        default: break;
    }
    throw NotBuilt(source.name() + ": not yet");
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

template Csr<float> read_source(const CpuQueue&, Source, const Format&, const ReadOptions&, FileInfo&);
template Csr<double> read_source(const CpuQueue&, Source, const Format&, const ReadOptions&, FileInfo&);
template TULLE_API Csr<float> read(const Context&, const std::filesystem::path&, const ReadOptions&, FileInfo*);
template TULLE_API Csr<double> read(const Context&, const std::filesystem::path&, const ReadOptions&, FileInfo*);

}  // namespace tulle::io
