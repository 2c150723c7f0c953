// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The same batches as sample.cu, but a block walks through a range of nonzeros, all its slices side by side: rows of Y
// that neighbouring rows of A share stay in the L1 of a multiprocessor.
#include "base/constant.hpp"
#include "base/math.hpp"
#include "sddmm/cuda/dots.cuh"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr int threads_per_block = 256;

//   grid: ceil(nonzeros / nonzeros of a block)      shared memory: none      c: every entry once
template <int Lanes, class V, class C>
__global__ void __launch_bounds__(threads_per_block)
    sample_ranges_kernel(offset_t nonzeros, const index_t* __restrict__ row, const index_t* __restrict__ col,
                         int batches, Sampled<V, C> o)
{
    constexpr offset_t per_step = threads_per_block / Lanes * batch<Lanes>;
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    offset_t first = blockIdx.x * per_step * batches + static_cast<offset_t>(threadIdx.x) / Lanes * batch<Lanes>;
    for (int step = 0; step < batches; ++step, first += per_step) {
        const offset_t wanted = first + (lane < batch<Lanes> ? lane : 0);
        const offset_t asked = wanted < nonzeros ? wanted : nonzeros - 1;
        const Sum<V> dot = slice_dots<Lanes>(o.x, o.y, o.k, row[asked], col[asked]);
        const offset_t p = first + nonzero_of_lane<Lanes>();
        if (p >= nonzeros || lane % (Lanes / batch<Lanes>) != 0) continue;
        const Sum<V> product = o.value ? o.alpha * (dot * widen(o.value[p])) : o.alpha * dot;
        o.c[p] = Narrow<C>::from(o.beta == 0 ? product : product + o.beta * widen(o.c[p]));
    }
}

}  // namespace

template <class V, class C>
void sample_ranges(const CudaQueue& q, const CsrView<V>& a, const index_t* row, const Policy& policy,
                   const Sampled<V, C>& o)
{
    with_constant<4, 8, 16, 32>(policy.lanes, [&](auto n) {
        constexpr offset_t per_step = threads_per_block / n() * batch<n()>;
        const offset_t blocks = ceil_div(a.nonzeros, per_step * policy.batches);
        launch(q, {blocks, threads_per_block}, sample_ranges_kernel<n(), V, C>, a.nonzeros, row, a.col, policy.batches,
               o);
    });
}

template void sample_ranges(const CudaQueue&, const CsrView<double>&, const index_t*, const Policy&,
                            const Sampled<double, double>&);
template void sample_ranges(const CudaQueue&, const CsrView<float>&, const index_t*, const Policy&,
                            const Sampled<float, float>&);
template void sample_ranges(const CudaQueue&, const CsrView<Float16>&, const index_t*, const Policy&,
                            const Sampled<Float16, Float16>&);
template void sample_ranges(const CudaQueue&, const CsrView<Float16>&, const index_t*, const Policy&,
                            const Sampled<Float16, float>&);
template void sample_ranges(const CudaQueue&, const CsrView<Bfloat16>&, const index_t*, const Policy&,
                            const Sampled<Bfloat16, Bfloat16>&);
template void sample_ranges(const CudaQueue&, const CsrView<Bfloat16>&, const index_t*, const Policy&,
                            const Sampled<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
