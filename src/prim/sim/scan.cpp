// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/scan.hpp"

#include <utility>

#include "prim/cuda/scan_few.hpp"
#include "prim/sim/twin.hpp"

namespace tulle::inline TULLE_ABI::prim {

void exclusive_scan(const CudaQueue& q, const offset_t* count, offset_t* begin, offset_t n)
{
    if (n <= few_to_scan) return scan_few(q, count, begin, n);
    run_twin(q, "scan", {count, begin}, [=] {
        offset_t sum = 0;
        for (offset_t i = 0; i < n; ++i) {  // a count is read before its place is written: in place is allowed
            const offset_t number = count[i];
            begin[i] = std::exchange(sum, sum + number);
        }
        begin[n] = sum;
    });
}

}  // namespace tulle::inline TULLE_ABI::prim
