// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A batch of nonzeros for a slice of lanes (dots.cuh), whatever rows they are in: all slices have equal work, and
// neighbours find a row of X in the L1.
#include "base/constant.hpp"
#include "base/math.hpp"
#include "sddmm/cuda/dots.cuh"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr int threads_per_block = 128;

//   grid: ceil(nonzeros / batch * Lanes / threads)      shared memory: none      c: every entry once
template <int Lanes, class V, class C>
__global__ void __launch_bounds__(threads_per_block)
    sample_kernel(offset_t nonzeros, const index_t* __restrict__ row, const index_t* __restrict__ col, Sampled<V, C> o)
{
    const offset_t first = global_thread() / Lanes * batch<Lanes>;
    const auto within = [&](offset_t p) { return p < nonzeros ? p : nonzeros - 1; };
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const offset_t asked = within(first + (lane < batch<Lanes> ? lane : 0));
    const Sum<V> dot = slice_dots<Lanes>(o.x, o.y, o.k, row[asked], col[asked]);
    const offset_t p = first + nonzero_of_lane<Lanes>();
    if (p >= nonzeros || lane % (Lanes / batch<Lanes>) != 0) return;
    const Sum<V> product = o.value ? o.alpha * (dot * widen(o.value[p])) : o.alpha * dot;
    o.c[p] = Narrow<C>::from(o.beta == 0 ? product : product + o.beta * widen(o.c[p]));
}

}  // namespace

template <class V, class C>
void sample(const CudaQueue& q, const CsrView<V>& a, const index_t* row, int lanes, const Sampled<V, C>& o)
{
    with_constant<4, 8, 16, 32>(lanes, [&](auto n) {
        const offset_t slices = ceil_div(a.nonzeros, offset_t{batch<n()>});
        launch(q, one_thread_each(slices * n(), threads_per_block), sample_kernel<n(), V, C>, a.nonzeros, row, a.col,
               o);
    });
}

template void sample(const CudaQueue&, const CsrView<double>&, const index_t*, int, const Sampled<double, double>&);
template void sample(const CudaQueue&, const CsrView<float>&, const index_t*, int, const Sampled<float, float>&);
template void sample(const CudaQueue&, const CsrView<Float16>&, const index_t*, int, const Sampled<Float16, Float16>&);
template void sample(const CudaQueue&, const CsrView<Float16>&, const index_t*, int, const Sampled<Float16, float>&);
template void sample(const CudaQueue&, const CsrView<Bfloat16>&, const index_t*, int,
                     const Sampled<Bfloat16, Bfloat16>&);
template void sample(const CudaQueue&, const CsrView<Bfloat16>&, const index_t*, int, const Sampled<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
