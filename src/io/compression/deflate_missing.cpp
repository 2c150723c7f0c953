// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What deflate.cpp does, in a build without zlib.
#include "io/compression/unpack.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

[[noreturn]] void missing(const std::string& name)
{
    throw NotBuilt(name + ": gzip and deflate need zlib, which this build of tulle does not have",
                   "install zlib1g-dev (Debian, Ubuntu) or zlib-devel and build again, or unpack the file first");
}

}  // namespace

Source unpack_gz(const CpuQueue&, const Source& packed, std::size_t, const Progress&) { missing(packed.name()); }
void inflate(const Source& source, std::string_view, char*, std::size_t) { missing(source.name()); }
std::unique_ptr<FilterSink> make_gz_sink(Sink&) { missing("writing .gz"); }

}  // namespace tulle::inline TULLE_ABI::io
