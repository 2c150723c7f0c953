// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What xz.cpp does, in a build without liblzma.
#include "io/compression/unpack.hpp"

namespace tulle::inline TULLE_ABI::io {

Source unpack_xz(const CpuQueue&, const Source& packed, std::size_t, const Progress&)
{
    throw NotBuilt(
        packed.name() + ": xz needs liblzma, which this build of tulle does not have",
        "install liblzma-dev (Debian, Ubuntu) or xz-devel and build again, or unpack the file first (xz -dk)");
}

}  // namespace tulle::inline TULLE_ABI::io
