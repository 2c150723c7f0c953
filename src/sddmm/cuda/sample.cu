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

// Loads ahead of all products shorten the time of a block, but need registers: eight lanes have 96, five blocks a
// multiprocessor, and not eight. The compiler keeps loads ahead only where it is told how many registers there are. So
// without them where these blocks would need a second round, and eight a multiprocessor would not. Four lanes have many
// nonzeros, for which more warps are faster.
template <int Lanes, bool Ahead>
[[maybe_unused]] constexpr int blocks_of_multiprocessor = Lanes == 8 && Ahead ? 5 : 0;
constexpr offset_t at_once_ahead = 5 * measured_multiprocessors, at_once = 8 * measured_multiprocessors;

// Threads that may begin early: so many that they find room beside the kernel ahead, if that is such a one; more take
// 1.1 to 1.4 times as long (docs/experiments/sddmm.md).
template <int Lanes, bool Ahead>
constexpr offset_t most_early = Lanes == 8 && Ahead ? at_once_ahead / 2 * threads_per_block : 1 << 16;

//   grid: ceil(nonzeros / batch * Lanes / threads)      shared memory: none      c: every entry once
template <int Lanes, bool Ahead, class V, class C>
__global__ void __launch_bounds__(threads_per_block, blocks_of_multiprocessor<Lanes, Ahead>)
    sample_kernel(offset_t nonzeros, const index_t* __restrict__ row, const index_t* __restrict__ col, Sampled<V, C> o)
{
    const offset_t first = global_thread() / Lanes * batch<Lanes>;
    const auto within = [&](offset_t p) { return p < nonzeros ? p : nonzeros - 1; };
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const offset_t asked = within(first + (lane < batch<Lanes> ? lane : 0));
    const index_t asked_row = row[asked], asked_col = col[asked];
    wait_for_earlier_kernels();
    const Sum<V> dot = slice_dots<Lanes, Ahead>(o.x, o.y, o.k, asked_row, asked_col);
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
        const offset_t threads = ceil_div(a.nonzeros, offset_t{batch<n()>}) * n();
        const auto go = [&](auto ahead) {
            const bool early = walk.early && threads <= most_early<n(), ahead()>;
            launch(q, one_thread_each(threads, threads_per_block, early), sample_kernel<n(), ahead(), V, C>, a.nonzeros,
                   walk.row, a.col, o);
        };
        const offset_t blocks = ceil_div(threads, offset_t{threads_per_block});
        if constexpr (n() != 8) go(std::bool_constant<(n() > 8)>());
        else if (blocks <= at_once_ahead || blocks > at_once) go(std::true_type());
        else go(std::false_type());
    });
}

template void sample(const CudaQueue&, const CsrView<double>&, const Walk&, const Sampled<double, double>&);
template void sample(const CudaQueue&, const CsrView<float>&, const Walk&, const Sampled<float, float>&);
template void sample(const CudaQueue&, const CsrView<Float16>&, const Walk&, const Sampled<Float16, Float16>&);
template void sample(const CudaQueue&, const CsrView<Float16>&, const Walk&, const Sampled<Float16, float>&);
template void sample(const CudaQueue&, const CsrView<Bfloat16>&, const Walk&, const Sampled<Bfloat16, Bfloat16>&);
template void sample(const CudaQueue&, const CsrView<Bfloat16>&, const Walk&, const Sampled<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
