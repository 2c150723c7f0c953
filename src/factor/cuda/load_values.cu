// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/kernel.cuh"
#include "factor/shifted.hpp"
#include "factor/steps.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

constexpr int threads = 256;

// A warp for each row.      grid: ceil(rows * 32 / threads)
template <class V>
__global__ void __launch_bounds__(threads)
    load_values_kernel(PatternView p, const V* __restrict__ a, double shift, bool positive, V* __restrict__ value)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const offset_t i = global_thread() / 32;
    const bool there = i < p.rows;
    const offset_t begin = there ? p.row_begin[i] : 0, end = there ? p.row_begin[i + 1] : 0;
    const offset_t diagonal = there ? p.diagonal[i] : -1;
    V largest = 0, own = 0;
    for (offset_t k = begin + lane; k < end; k += 32) {
        const V v = value_at(p, a, k);
        largest = larger_magnitude(largest, v);
        if (k == diagonal) own = v;
        else value[k] = v;
    }
    largest = slice_max<32>(largest);
    own = slice_sum<32>(own);
    if (there && lane == 0) value[diagonal] = shift != 0 ? shifted(own, largest, shift, positive) : own;
}

}  // namespace

template <class V>
void load_values(const CudaQueue& q, const PatternView& p, const V* a, double shift, bool positive, V* value)
{
    launch(q, one_thread_each(offset_t{p.rows} * 32, threads), load_values_kernel<V>, p, a, shift, positive, value);
}

template void load_values(const CudaQueue&, const PatternView&, const float*, double, bool, float*);
template void load_values(const CudaQueue&, const PatternView&, const double*, double, bool, double*);

}  // namespace tulle::inline TULLE_ABI::factor
