// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "base/constant.hpp"
#include "device/cuda/kernel.cuh"
#include "spmv/team/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads = 256;

template <int Lanes, class V>
__device__ V dot_strided(const CsrView<V>& a, offset_t line, int lane, const V* x)
{
    V sum = 0;
    for (offset_t k = a.row_begin[line] + lane; k < a.row_begin[line + 1]; k += Lanes) sum += a.value[k] * x[a.col[k]];
    return sum;
}

// A slice of lanes per line; each lane strides it, then the slice adds up.
//   grid: ceil(lines * Lanes / threads)      y: every line written once
template <int Lanes, class V>
__global__ void __launch_bounds__(threads) multiply_lines_kernel(CsrView<V> a, Vectors<V> v)
{
    const int lane = threadIdx.x % Lanes;
    const offset_t line = global_thread() / Lanes;
    const V sum = slice_sum<Lanes>(line < a.rows ? dot_strided<Lanes>(a, line, lane, v.x) : V(0));
    if (line < a.rows && lane == 0) v.y[line] = scaled(v.alpha, sum, v.beta, v.y + line);
}

}  // namespace

template <class V>
void multiply_lines(const CudaQueue& q, const CsrView<V>& a, int lanes, const Vectors<V>& v)
{
    with_constant<2, 8, 32>(lanes, [&](auto n) {
        launch(q, one_thread_each(offset_t{a.rows} * n(), threads), multiply_lines_kernel<n(), V>, a, v);
    });
}

template void multiply_lines(const CudaQueue&, const CsrView<float>&, int, const Vectors<float>&);
template void multiply_lines(const CudaQueue&, const CsrView<double>&, int, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
