// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp for a row of H, with a running softmax: the slices of the warp compute the scores of a batch of nonzeros each
// (dots.cuh), every lane turns the score it got into a weight relative to the largest so far, and the warp adds rows of
// V. For the rows of V the warp is divided into teams that take nonzeros by turns; a lane has four columns of every
// `Team` runs. All warps of a block share the long rows among its rows: each has batches of its own with its own
// largest score, and the parts are added up in the order of the warps. Sums are added up in a fixed order.
#include <cmath>

#include "base/constant.hpp"
#include "base/math.hpp"
#include "sddmm/cuda/dots.cuh"
#include "sddmm/cuda/running.cuh"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr int threads_per_block = 256, warps_per_block = threads_per_block / 32;
constexpr int batches_of_warp = 4;         // rows of more are shared by the block
constexpr offset_t many_nonzeros = 32768;  // from which on four lanes compute a score, as in SDDMM (measured there)

// Nonzeros of a row that a warp has at once.
template <int Lanes>
inline constexpr int scores_at_once = 32 / Lanes* batch<Lanes>;

// The lane that has the score of nonzero i of those.
template <int Lanes>
__device__ inline int lane_of_score(int i)
{
    return i / batch<Lanes> * Lanes + i % batch<Lanes> * (Lanes / batch<Lanes>);
}

// Adds `count` rows of V with the weights that lanes have. Some rows are asked for before the first is used.
template <int Lanes, int Team, int Runs, class V, class C>
__device__ inline void add_rows(const Attention<V, C>& o, int count, Sum<V> weight, index_t col,
                                Running<Runs, Sum<V>>& r)
{
    constexpr int at_once = 4 / Runs;
    const int lane = static_cast<int>(threadIdx.x) % 32, team = lane / Team;
    const bool whole = o.v.col == 1 && can_load_runs(o.v.data, o.v.row);
    for (int i = team; i - team < count; i += at_once * (32 / Team)) {
        Run<V> run[at_once][Runs];
        Sum<V> w[at_once];
#pragma unroll
        for (int n = 0; n < at_once; ++n) {
            const int mine = i + n * (32 / Team), from = lane_of_score<Lanes>(mine < count ? mine : count - 1);
            w[n] = __shfl_sync(whole_warp, weight, from);
            const index_t row = __shfl_sync(whole_warp, col, from);
#pragma unroll
            for (int t = 0; t < Runs; ++t)
                run[n][t] = load_columns(o.v, row, (t * Team + lane % Team) * run_length, o.width, whole);
        }
#pragma unroll
        for (int n = 0; n < at_once; ++n) {
            if (i + n * (32 / Team) >= count) continue;
#pragma unroll
            for (int t = 0; t < Runs; ++t)
#pragma unroll
                for (int c = 0; c < run_length; ++c) r.sum[t * run_length + c] += w[n] * widen(run[n][t].value[c]);
        }
    }
}

// Adds the teams up and writes the row of H.
template <int Team, int Runs, class V, class C>
__device__ inline void put_row(const Attention<V, C>& o, index_t row, bool empty, Running<Runs, Sum<V>>& r)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int distance = Team; distance < 32; distance *= 2)
#pragma unroll
        for (int c = 0; c < Runs * run_length; ++c) r.sum[c] += __shfl_xor_sync(whole_warp, r.sum[c], distance);
    if (lane >= Team) return;
#pragma unroll
    for (int t = 0; t < Runs; ++t)
#pragma unroll
        for (int c = 0; c < run_length; ++c)
            if (const index_t j = (t * Team + lane) * run_length + c; j < o.width)
                o.h.data[row * o.h.row + j * o.h.col] =
                    Narrow<C>::from(empty ? Sum<V>(0) : r.sum[t * run_length + c] / r.total);
}

// The nonzeros of a row from p on, a batch in every `step`, with the largest score and the sums before.
template <int Lanes, int Team, int Runs, class V, class C>
__device__ inline void add_batches(const CsrView<V>& a, const Attention<V, C>& o, index_t row, offset_t p, offset_t end,
                                   offset_t step, Running<Runs, Sum<V>>& r)
{
    using S = Sum<V>;
    constexpr int at_once = scores_at_once<Lanes>;
    const int lane = static_cast<int>(threadIdx.x) % 32, slice = lane / Lanes, in_slice = lane % Lanes;
    for (; p < end; p += step) {
        const int count = end - p < at_once ? static_cast<int>(end - p) : at_once;
        const auto within = [&](int i) { return p + (i < count ? i : count - 1); };
        const offset_t asked = within(slice * batch<Lanes> + (in_slice < batch<Lanes> ? in_slice : 0));
        const S dot = slice_dots<Lanes>(o.q, o.k, o.depth, row, a.col[asked]);
        const int mine = slice * batch<Lanes> + nonzero_of_lane<Lanes>();
        const offset_t at = within(mine);
        const S product = o.value ? o.alpha * (dot * widen(o.value[at])) : o.alpha * dot;
        const S score = mine < count ? product : minus_infinity<S>();
        const S base = move_base(largest_of<32>(score, r.largest), r);
        const S weight = mine < count ? std::exp(score - base) : S(0);
        const bool counts = in_slice % (Lanes / batch<Lanes>) == 0;  // one of the lanes that have the same
        r.total += slice_sum<32>(counts ? weight : S(0));
        add_rows<Lanes, Team, Runs>(o, count, weight, a.col[at], r);
    }
}

// What the lanes of the other warps have added up for the same row, added to the first warp's in the order of warps.
// `parts`: of every thread. All threads of the block must call.
template <int Runs, class S>
__device__ inline void join_parts(Running<Runs, S>* parts, Running<Runs, S>& r)
{
    parts[threadIdx.x] = r;
    __syncthreads();
    if (threadIdx.x < 32)
        for (int w = 1; w < warps_per_block; ++w) {
            Running<Runs, S> part = parts[w * 32 + static_cast<int>(threadIdx.x)];
            const S largest = part.largest > r.largest ? part.largest : r.largest;
            move_base(largest, r);
            move_base(largest, part);
            r.total += part.total;
#pragma unroll
            for (int c = 0; c < Runs * run_length; ++c) r.sum[c] += part.sum[c];
        }
    __syncthreads();
}

//   grid: ceil(rows * 32 / threads)      shared memory: a part for each thread      H: every row once
template <int Lanes, int Team, int Runs, class V, class C>
__global__ void __launch_bounds__(threads_per_block) attend_kernel(CsrView<V> a, Attention<V, C> o)
{
    using Part = Running<Runs, Sum<V>>;
    constexpr int at_once = scores_at_once<Lanes>, longest = batches_of_warp * at_once;
    TULLE_SHARED(Part, parts, threads_per_block);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const offset_t first = offset_t{blockIdx.x} * warps_per_block;
    wait_for_earlier_kernels();
    for (int w = 0; w < warps_per_block && first + w < a.rows; ++w) {
        const auto row = static_cast<index_t>(first + w);
        const offset_t begin = a.row_begin[row], end = a.row_begin[row + 1];
        const bool is_shared = end - begin > longest;
        if (!is_shared && w != warp) continue;
        Part r{.largest = minus_infinity<Sum<V>>(), .total = 0, .sum = {}};
        add_batches<Lanes, Team, Runs>(a, o, row, is_shared ? begin + warp * at_once : begin, end,
                                       is_shared ? warps_per_block * at_once : at_once, r);
        if (is_shared) join_parts(parts, r);
        if (!is_shared || warp == 0) put_row<Team, Runs>(o, row, begin == end, r);
    }
}

template <int Team, int Runs, class V, class C>
void attend_with(const CudaQueue& q, const CsrView<V>& a, bool early, const Attention<V, C>& o)
{
    const bool is_short = static_cast<offset_t>(sizeof(V)) * o.depth <= 256;
    with_constant<4, 32>(is_short || a.nonzeros >= many_nonzeros ? 4 : 32, [&](auto lanes) {
        launch(q, one_thread_each(offset_t{a.rows} * 32, threads_per_block, early),
               attend_kernel<lanes(), Team, Runs, V, C>, a, o);
    });
}

}  // namespace

template <class V, class C>
void attend(const CudaQueue& q, const CsrView<V>& a, bool early, const Attention<V, C>& o)
{
    if (o.width <= 8 * run_length) return attend_with<8, 1>(q, a, early, o);
    if (o.width <= 32 * run_length) return attend_with<32, 1>(q, a, early, o);
    static_assert(most_attended <= 32 * 4 * run_length);
    attend_with<32, 4>(q, a, early, o);
}

template void attend(const CudaQueue&, const CsrView<double>&, bool, const Attention<double, double>&);
template void attend(const CudaQueue&, const CsrView<float>&, bool, const Attention<float, float>&);
template void attend(const CudaQueue&, const CsrView<Float16>&, bool, const Attention<Float16, Float16>&);
template void attend(const CudaQueue&, const CsrView<Float16>&, bool, const Attention<Float16, float>&);
template void attend(const CudaQueue&, const CsrView<Bfloat16>&, bool, const Attention<Bfloat16, Bfloat16>&);
template void attend(const CudaQueue&, const CsrView<Bfloat16>&, bool, const Attention<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
