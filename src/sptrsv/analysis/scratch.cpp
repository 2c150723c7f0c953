// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "sptrsv/analysis/scratch.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

void touch(const CpuQueue& host, void* data, std::size_t bytes)
{
    constexpr std::size_t page = 4096,
                          worth_sharing =
                              4096 *
                              page;  // a page takes some 0.2 µs; threads that are woken stop now and then for 2 to 9 ms
    if (bytes <= worth_sharing) return;
    volatile char* at = static_cast<char*>(data);
#pragma omp parallel for num_threads(host.threads) schedule(static)
    for (std::size_t k = 0; k < bytes; k += page) at[k] = 0;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
