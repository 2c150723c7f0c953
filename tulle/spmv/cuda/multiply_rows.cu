// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A slice of lanes per row: short rows share a warp, long ones have it to themselves.
#include "tulle/device/cuda/kernel.cuh"

#include "tulle/base/constant.hpp"
#include "tulle/spmv/steps.hpp"

namespace tulle::spmv {
namespace {

constexpr int threads_per_block = 256;

// This lane's share of row i.
template <int Lanes, class V>
__device__ V dot_strided(const CsrView<V>& a, offset_t row, int lane, const V* __restrict__ x)
{
    V sum = 0;
    const offset_t end = a.row_begin[row + 1];
    for (offset_t k = a.row_begin[row] + lane; k < end; k += Lanes) sum += a.value[k] * x[a.col[k]];
    return sum;
}

// One slice of lanes per row; each lane strides the row, then the slice adds up.
//   grid: ceil(rows * Lanes / threads)      shared memory: none      y: every row written once
template <int Lanes, class V>
__global__ void __launch_bounds__(threads_per_block) multiply_rows_kernel(CsrView<V> a, Vectors<V> v)
{
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const offset_t row = global_thread() / Lanes;
    const V sum = slice_sum<Lanes>(row < a.rows ? dot_strided<Lanes>(a, row, lane, v.x) : V(0));
    if (row < a.rows && lane == 0) v.y[row] = scaled(v.alpha, sum, v.beta, v.y + row);
}

}  // namespace

template <class V>
void multiply_rows(const CudaQueue& q, const CsrView<V>& a, int lanes, const Vectors<V>& v)
{
    with_constant<1, 2, 4, 8, 16, 32>(
        lanes, [&](auto n) { launch(q, one_thread_each(offset_t{a.rows} * n(), threads_per_block), multiply_rows_kernel<n(), V>, a, v); });
}

template void multiply_rows(const CudaQueue&, const CsrView<float>&, int, const Vectors<float>&);
template void multiply_rows(const CudaQueue&, const CsrView<double>&, int, const Vectors<double>&);

}  // namespace tulle::spmv
