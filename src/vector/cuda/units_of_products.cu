// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products in the bins of a reproducible sum (bins.hpp), in two passes: the largest product gives the bins, then
// every product is split into units of the three bins, and units are added as integers, whose order does not matter.
//
// Adding 1.5 2^52 units to a number leaves its units in the low bits of the sum: the difference of two bit patterns
// counts them, without a conversion.
#include "device/cuda/kernel.cuh"

#include <algorithm>
#include <cmath>

#include "base/math.hpp"
#include "vector/bins.hpp"

namespace tulle::inline TULLE_ABI::vector {
namespace {

constexpr int threads_per_block = 256, warps_per_block = threads_per_block / 32, bins = kept_bins;
constexpr offset_t entries_per_thread = 4, most_blocks = 1024;
// Units of a block: so many products of 2^39 units each stay below 2^63.
static_assert(offset_t{max_index} / most_blocks < offset_t{1} << 23);

using Word = unsigned long long;  // what atomics take

struct DotState {
    Word largest;  // bits of the largest absolute product
    Word high[bins], low[bins];
};

// Rounded before anything is added to it: no compiler may take the product into a later sum, as it is one already.
template <class V>
__device__ double product_at(const V* x, const V* y, offset_t i)
{
    return fma(static_cast<double>(x[i]), static_cast<double>(y[i]), 0.0);
}

__device__ long long bits_of(double v) { return __builtin_bit_cast(long long, v); }

//   grid: up to most_blocks      shared memory: none      largest: the maximum of all
template <class V>
__global__ void __launch_bounds__(threads_per_block)
    largest_product_kernel(offset_t n, const V* x, const V* y, DotState* state)
{
    const offset_t step = static_cast<offset_t>(gridDim.x) * threads_per_block;
    Word largest = 0;
    for (offset_t i = global_thread(); i < n; i += step)
        largest = max(largest, static_cast<Word>(bits_of(product_at(x, y, i))) << 1 >> 1);
    largest = slice_max<32>(largest);
    if (threadIdx.x % 32 == 0) atomicMax(&state->largest, largest);
}

// Adds the units of a number in each bin.
__device__ void split(double v, const double* round, long long* units)
{
#pragma unroll
    for (int k = 0; k < bins; ++k) {
        const double sum = v + round[k];
        units[k] += bits_of(sum) - bits_of(round[k]);
        v -= sum - round[k];
    }
}

//   grid: up to most_blocks      shared memory: units of every warp      high, low: added by every block
template <class V>
__global__ void __launch_bounds__(threads_per_block)
    split_products_kernel(offset_t n, const V* x, const V* y, DotState* state)
{
    TULLE_SHARED(long long, room, bins* warps_per_block);
    const double largest = __builtin_bit_cast(double, state->largest);
    if (largest == 0 || !is_quick(largest)) return;  // all threads of all blocks alike
    double round[bins];
    for (int k = 0; k < bins; ++k) round[k] = rounder(bin_of(largest) + k);
    const offset_t step = static_cast<offset_t>(gridDim.x) * threads_per_block;
    long long units[bins] = {};
    for (offset_t i = global_thread(); i < n; i += step) split(product_at(x, y, i), round, units);
    for (int k = 0; k < bins; ++k) {
        const long long of_warp = slice_sum<32>(units[k]);
        if (threadIdx.x % 32 == 0) room[k * warps_per_block + threadIdx.x / 32] = of_warp;
    }
    __syncthreads();
    if (threadIdx.x >= bins) return;
    long long total = 0;
    for (int w = 0; w < warps_per_block; ++w) total += room[threadIdx.x * warps_per_block + w];
    atomicAdd(&state->high[threadIdx.x], static_cast<Word>(total >> 32));
    atomicAdd(&state->low[threadIdx.x], static_cast<Word>(total & 0xffffffff));
}

}  // namespace

template <class V>
BinUnits units_of_products(const CudaQueue& q, const V* x, const V* y, offset_t n)
{
    if (n == 0) return {};
    Buffer<DotState> state(q, 1);
    fill_zero(q, state.data(), 1);
    const LaunchShape shape{std::min(ceil_div(n, threads_per_block * entries_per_thread), most_blocks),
                            threads_per_block};
    launch(q, shape, largest_product_kernel<V>, n, x, y, state.data());
    launch(q, shape, split_products_kernel<V>, n, x, y, state.data());
    const DotState found = read_value(q, state.data());
    BinUnits units{__builtin_bit_cast(double, found.largest), {}, {}};
    for (std::size_t k = 0; k < bins; ++k) {
        units.high[k] = static_cast<std::int64_t>(found.high[k]);
        units.low[k] = static_cast<std::int64_t>(found.low[k]);
    }
    return units;
}

template BinUnits units_of_products(const CudaQueue&, const float*, const float*, offset_t);
template BinUnits units_of_products(const CudaQueue&, const double*, const double*, offset_t);

}  // namespace tulle::inline TULLE_ABI::vector
