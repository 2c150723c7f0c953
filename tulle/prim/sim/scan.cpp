// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/prim/scan.hpp"

#include "tulle/prim/cuda/scan_few.hpp"
#include "tulle/prim/sim/host.hpp"

namespace tulle::prim {

void exclusive_scan(const CudaQueue& q, const offset_t* count, offset_t* begin, offset_t n)
{
    if (n <= few_to_scan) return scan_few(q, count, begin, n);
    exclusive_scan(host_after(q), count, begin, n);
}

}  // namespace tulle::prim
