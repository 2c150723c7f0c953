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
// Threads that may begin early; more take 1.1 to 1.4 times as long then (docs/experiments/sddmm.md).
constexpr offset_t most_early = 1 << 16;

// Blocks of a multiprocessor for which the compiler makes room: it keeps loads before uses only where it is told so, and
// 8 lanes need 96 registers for theirs.
template <int Lanes>
constexpr int blocks_at_once = Lanes == 8 ? 5 : 0;

//   grid: ceil(nonzeros / batch * Lanes / threads)      shared memory: none      c: every entry once
template <int Lanes, class V, class C>
__global__ void __launch_bounds__(threads_per_block, blocks_at_once<Lanes>)
    sample_kernel(offset_t nonzeros, const index_t* __restrict__ row, const index_t* __restrict__ col, Sampled<V, C> o)
{
    const offset_t first = global_thread() / Lanes * batch<Lanes>;
    const auto within = [&](offset_t p) { return p < nonzeros ? p : nonzeros - 1; };
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const offset_t asked = within(first + (lane < batch<Lanes> ? lane : 0));
    const index_t asked_row = row[asked], asked_col = col[asked];
    wait_for_earlier_kernels();
    const Sum<V> dot = slice_dots<Lanes>(o.x, o.y, o.k, asked_row, asked_col);
    const offset_t p = first + nonzero_of_lane<Lanes>();
    if (p >= nonzeros || lane % (Lanes / batch<Lanes>) != 0) return;
    put_sampled(o, p, dot);
}

}  // namespace

template <class V, class C>
void sample(const CudaQueue& q, const CsrView<V>& a, const Walk& walk, const Sampled<V, C>& o)
{
    if constexpr (!std::is_same_v<V, double>)
        if (walk.tensor) return sample_tensor_tiles(q, walk, o);
    if (walk.lanes == 0) return sample_tiles(q, walk, o);
    with_constant<4, 8, 16, 32>(walk.lanes, [&](auto n) {
        const offset_t slices = ceil_div(a.nonzeros, offset_t{batch<n()>});
        const bool early = walk.early && slices * n() <= most_early;
        launch(q, one_thread_each(slices * n(), threads_per_block, early), sample_kernel<n(), V, C>, a.nonzeros,
               walk.row, a.col, o);
    });
}

template void sample(const CudaQueue&, const CsrView<double>&, const Walk&, const Sampled<double, double>&);
template void sample(const CudaQueue&, const CsrView<float>&, const Walk&, const Sampled<float, float>&);
template void sample(const CudaQueue&, const CsrView<Float16>&, const Walk&, const Sampled<Float16, Float16>&);
template void sample(const CudaQueue&, const CsrView<Float16>&, const Walk&, const Sampled<Float16, float>&);
template void sample(const CudaQueue&, const CsrView<Bfloat16>&, const Walk&, const Sampled<Bfloat16, Bfloat16>&);
template void sample(const CudaQueue&, const CsrView<Bfloat16>&, const Walk&, const Sampled<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
