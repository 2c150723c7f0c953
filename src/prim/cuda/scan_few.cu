// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/cuda/scan_few.hpp"

#include <algorithm>

#include "base/math.hpp"
#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::prim {
namespace {

constexpr int most_threads = 1024, most_warps = most_threads / 32;
constexpr int at_once = 4;  // numbers of a lane on their way; nobody knows that begin is not count
constexpr unsigned all_lanes = 0xffffffffu;

// A stretch of neighbouring numbers for every warp, which adds them up, learns what stands before them, and goes over
// them again.
//   grid: one block
//   shared memory: a sum for every warp
//   begin: n + 1 entries, once each; each count is read before its place is written
__global__ void __launch_bounds__(most_threads) scan_few_kernel(const offset_t* count, offset_t* begin, offset_t n)
{
    TULLE_SHARED(offset_t, sums, most_warps);
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32,
              warps = static_cast<int>(blockDim.x) / 32;
    const offset_t stretch = (n + warps * 32 - 1) / (warps * 32) * 32, first = min(n, warp * stretch),
                   last = min(n, first + stretch);
    offset_t mine = 0;
#pragma unroll 8
    for (offset_t k = first + lane; k < last; k += 32) mine += count[k];
    mine = slice_sum<32>(mine);
    if (lane == 0) sums[warp] = mine;
    __syncthreads();
    const offset_t up_to = warp_running_sum(lane < warps ? sums[lane] : 0);
    offset_t before = __shfl_sync(all_lanes, up_to, warp) - mine;
    if (warp == 0 && lane == warps - 1) begin[n] = up_to;
    for (offset_t k = first + lane; k - lane < last; k += 32 * at_once) {
        offset_t number[at_once];
#pragma unroll
        for (int e = 0; e < at_once; ++e) number[e] = k + 32 * e < last ? count[k + 32 * e] : 0;
#pragma unroll
        for (int e = 0; e < at_once; ++e) {
            const offset_t sum = warp_running_sum(number[e]);
            if (k + 32 * e < last) begin[k + 32 * e] = before + sum - number[e];
            before += __shfl_sync(all_lanes, sum, 31);
        }
    }
}

}  // namespace

void scan_few(const CudaQueue& q, const offset_t* count, offset_t* begin, offset_t n)
{
    const auto threads = static_cast<int>(std::clamp(round_up(n, offset_t{32}), offset_t{32}, offset_t{most_threads}));
    launch(q, {1, threads}, scan_few_kernel, count, begin, n);
}

}  // namespace tulle::inline TULLE_ABI::prim
