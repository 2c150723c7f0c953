// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Few bins: every block counts its items in shared memory and adds its table to the result. Many bins: the items are
// counted in the result at once, where atomic additions then seldom meet. Integer counts, so the order does not show.
#include "prim/histogram.hpp"

#include "base/math.hpp"
#include "device/cuda/kernel.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::prim {
namespace {

using Counter = unsigned long long;  // what atomicAdd takes; same size as offset_t
static_assert(sizeof(Counter) == sizeof(offset_t));

constexpr int threads = 256;
constexpr int most_shared_bins = 2048;  // 8 KiB of shared memory: eight blocks still fit an SM
constexpr offset_t items_per_block =
    64 * threads;  // far above the bins that a block must clear and add, far below 2^32

// A block counts items_per_block items in a table of its own.
//   grid: ceil(n / items_per_block)      shared memory: most_shared_bins counters      count: cleared before
__global__ void __launch_bounds__(threads)
    count_shared_kernel(const index_t* bin, offset_t n, Counter* count, index_t bins)
{
    TULLE_SHARED(unsigned, table, most_shared_bins);
    for (auto b = static_cast<index_t>(threadIdx.x); b < bins; b += threads) table[b] = 0;
    __syncthreads();

    const offset_t begin = blockIdx.x * items_per_block;
    const offset_t end = begin + items_per_block < n ? begin + items_per_block : n;
    for (offset_t i = begin + threadIdx.x; i < end; i += threads) atomicAdd(&table[bin[i]], 1u);
    __syncthreads();

    for (auto b = static_cast<index_t>(threadIdx.x); b < bins; b += threads)
        if (table[b] > 0) atomicAdd(&count[b], Counter{table[b]});
}

// One thread per item.      grid: ceil(n / threads)      count: cleared before
__global__ void __launch_bounds__(threads) count_global_kernel(const index_t* bin, offset_t n, Counter* count)
{
    const offset_t i = global_thread();
    if (i < n) atomicAdd(&count[bin[i]], Counter{1});
}

}  // namespace

void histogram(const CudaQueue& q, const index_t* bin, offset_t n, offset_t* count, index_t bins)
{
    fill_zero(q, count, bins);
    auto* counter = reinterpret_cast<Counter*>(count);  // signed and unsigned of the same size may stand for each other
    if (bins <= most_shared_bins)
        launch(q, {ceil_div(n, items_per_block), threads}, count_shared_kernel, bin, n, counter, bins);
    else launch(q, one_thread_each(n, threads), count_global_kernel, bin, n, counter);
}

}  // namespace tulle::inline TULLE_ABI::prim
