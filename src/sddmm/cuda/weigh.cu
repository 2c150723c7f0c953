// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row softmax and product with V where the scores are stored (sample.cu has computed them): a team of lanes for a row
// of H, or for a piece of a long row (cut_long_rows.cu). The lanes of a team read a score and a column each, turn the
// scores into weights relative to the largest so far, and add up rows of V together, some of them on their way at once;
// a lane has four columns of every `Team` runs. Pieces leave what they have added up, and the last of a row to come
// adds the parts up in their order: the same bits every time.
#include "base/constant.hpp"
#include "base/math.hpp"
#include "device/cuda/comes_last.cuh"
#include "sddmm/cuda/running.cuh"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr int threads_per_block = 128;

// Rows of V that a lane asks for before it uses the first: registers for 32 floats.
template <bool Whole, int Runs, class V>
constexpr int rows_at_once = (Whole && sizeof(V) < 8 ? 8 : 4) / Runs;

// Blocks of a multiprocessor, which bounds the registers of a thread: more warps at work hide more waiting.
template <int Runs, class V>
[[maybe_unused]] constexpr int blocks_at_once = sizeof(V) == 8 ? (Runs == 4 ? 3 : 5) : (Runs == 4 ? 5 : 8);

// Nonzeros begin .. end - 1 of a row, for one team; a piece knows its number among so many of its row, and the place of
// the first in the list of pieces.
struct Share {
    index_t row = -1;  // none: nothing to write
    offset_t begin = 0, end = 0;
    int first = 0, number = 0, pieces = 0;
};

template <class S>
__device__ inline Share piece_of(const offset_t* row_begin, const ScoresView<S>& stored, offset_t unit)
{
    const Piece piece = stored.piece[unit];
    const offset_t begin = row_begin[piece.row], end = row_begin[piece.row + 1];
    const int number = static_cast<int>(unit) - piece.first;
    const offset_t from = begin + offset_t{number} * stored.longest;
    return {piece.row,   from,   end - from < stored.longest ? end : from + stored.longest,
            piece.first, number, static_cast<int>((end - begin + stored.longest - 1) / stored.longest)};
}

// Pieces come first, then whole rows.
template <class S>
__device__ inline Share share_of(const offset_t* row_begin, index_t rows, const ScoresView<S>& stored, offset_t unit)
{
    if (unit < stored.pieces) return piece_of(row_begin, stored, unit);
    if (unit - stored.pieces >= rows) return {};
    const auto row = static_cast<index_t>(unit - stored.pieces);
    const offset_t begin = row_begin[row], end = row_begin[row + 1];
    if (end - begin > stored.longest) return {};
    return {row, begin, end};
}

// Whether every run of every row is loaded and stored at once.
template <class V>
__device__ inline bool has_runs(const Strided<V>& m, index_t width)
{
    return m.col == 1 && width % run_length == 0 && can_load_runs(m.data, m.row);
}

// Adds `count` rows of V with the weights that the lanes of the team have; `most`: the largest count of the warp.
template <bool Whole, int Team, int Runs, class V, class C>
__device__ inline void add_weighted(const Attention<V, C>& o, int count, int most, Sum<V> weight, index_t col,
                                    Running<Runs, Sum<V>>& r)
{
    constexpr int at_once = rows_at_once<Whole, Runs, V>;
    static_assert(Team % at_once == 0);
    const index_t j = static_cast<int>(threadIdx.x) % Team * run_length;
    for (int i = 0; i < most; i += at_once) {
        Run<V> run[at_once][Runs] = {};
#pragma unroll
        for (int n = 0; n < at_once; ++n) {
            const index_t row = __shfl_sync(whole_warp, col, i + n, Team);
            if (i + n < count)
#pragma unroll
                for (int t = 0; t < Runs; ++t)
                    if (const index_t at = j + t * Team * run_length; at < o.width)
                        run[n][t] = load_columns<Whole>(o.v, row, at, o.width);
        }
#pragma unroll
        for (int n = 0; n < at_once; ++n) {
            const Sum<V> w = __shfl_sync(whole_warp, weight, i + n, Team);
#pragma unroll
            for (int t = 0; t < Runs; ++t)
#pragma unroll
                for (int c = 0; c < run_length; ++c) r.sum[t * run_length + c] += w * widen(run[n][t].value[c]);
        }
    }
}

// All nonzeros of a share. Teams of a warp stay together: as many steps as its longest share has. Scores and columns
// are asked for a step ahead.
template <bool Whole, int Team, int Runs, class V, class C>
__device__ inline void add_share(const index_t* col, const Sum<V>* score, const Attention<V, C>& o, const Share& share,
                                 Running<Runs, Sum<V>>& r)
{
    using S = Sum<V>;
    const int lane = static_cast<int>(threadIdx.x) % Team, length = static_cast<int>(share.end - share.begin);
    const int longest = slice_max<32>(length);
    index_t next_col = lane < length ? col[share.begin + lane] : 0;
    S next_score = lane < length ? score[share.begin + lane] : minus_infinity<S>();
    for (int i = 0; i < longest; i += Team) {
        const index_t my_col = next_col;
        const S my_score = next_score;
        const bool has = i + lane < length, has_next = i + Team + lane < length;
        next_col = has_next ? col[share.begin + i + Team + lane] : 0;
        next_score = has_next ? score[share.begin + i + Team + lane] : minus_infinity<S>();
        const S base = move_base(largest_of<Team>(my_score, r.largest), r);
        const S weight = has ? std::exp(my_score - base) : S(0);
        r.total += slice_sum<Team>(weight);
        add_weighted<Whole, Team, Runs>(o, length - i, min(Team, longest - i), weight, my_col, r);
    }
}

// The four columns from j on of a row of H.
template <class C, class S>
__device__ inline void put_columns(const Strided<C>& h, bool whole, index_t row, index_t j, index_t width,
                                   const S* from)
{
    C* to = h.data + row * h.row + j * h.col;
    if (whole && j < width) {
        Run<C> run;
        for (int c = 0; c < run_length; ++c) run.value[c] = Narrow<C>::from(from[c]);
        *reinterpret_cast<Run<C>*>(to) = run;
        return;
    }
    for (int c = 0; c < run_length; ++c)
        if (j + c < width) to[c * h.col] = Narrow<C>::from(from[c]);
}

template <int Team, int Runs, class V, class C>
__device__ inline void put_row(const Attention<V, C>& o, index_t row, bool empty, Running<Runs, Sum<V>>& r)
{
    const int lane = static_cast<int>(threadIdx.x) % Team;
    const bool whole = has_runs(o.h, o.width);
#pragma unroll
    for (int t = 0; t < Runs; ++t) {
        for (int c = 0; c < run_length; ++c)
            r.sum[t * run_length + c] = empty ? Sum<V>(0) : r.sum[t * run_length + c] / r.total;
        put_columns(o.h, whole, row, (t * Team + lane) * run_length, o.width, r.sum + t * run_length);
    }
}

// ---- long rows ----

// Where a lane leaves a run of its sums, of piece 0; null beyond the last column.
template <int Team, class S>
__device__ inline Run<S>* place_of_run(const ScoresView<S>& stored, index_t width, int t)
{
    const index_t run = t * Team + static_cast<int>(threadIdx.x) % Team;
    return run * run_length < width ? reinterpret_cast<Run<S>*>(stored.partial) + run : nullptr;
}

template <int Team, int Runs, class S>
__device__ inline void leave_part(const ScoresView<S>& stored, index_t width, offset_t piece, const Running<Runs, S>& r)
{
    const offset_t runs = (width + run_length - 1) / run_length;
#pragma unroll
    for (int t = 0; t < Runs; ++t)
        if (Run<S>* to = place_of_run<Team>(stored, width, t))
            to[piece * runs] = {{r.sum[t * run_length], r.sum[t * run_length + 1], r.sum[t * run_length + 2],
                                 r.sum[t * run_length + 3]}};
    if (threadIdx.x % Team == 0) stored.end[piece] = {r.largest, r.total};
}

// Adds up what the pieces of a row have left, in their order.
template <int Team, int Runs, class S>
__device__ inline void join_parts(const ScoresView<S>& stored, index_t width, const Share& share, Running<Runs, S>& r)
{
    const offset_t runs = (width + run_length - 1) / run_length;
    S largest = minus_infinity<S>();
#pragma unroll 4
    for (int p = 0; p < share.pieces; ++p) {
        const S other = stored.end[share.first + p].largest;
        largest = other > largest ? other : largest;
    }
    r = {.largest = minus_infinity<S>(), .total = 0, .sum = {}};
    const S base = move_base(largest, r);
#pragma unroll 4 / Runs
    for (int p = 0; p < share.pieces; ++p) {
        const PartEnd<S> end = stored.end[share.first + p];
        const S scale = std::exp(end.largest - base);
        r.total += scale * end.total;
#pragma unroll
        for (int t = 0; t < Runs; ++t)
            if (const Run<S>* from = place_of_run<Team>(stored, width, t)) {
                const Run<S> part = from[(share.first + p) * runs];
#pragma unroll
                for (int c = 0; c < run_length; ++c) r.sum[t * run_length + c] += scale * part.value[c];
            }
    }
}

//   grid: ceil((pieces + rows) * Team / threads)      shared memory: none      H: every row once
template <int Team, int Runs, class V, class C>
__global__ void __launch_bounds__(threads_per_block, blocks_at_once<Runs, V>)
    weigh_kernel(CsrView<V> a, ScoresView<Sum<V>> stored, Attention<V, C> o)
{
    const Share share = share_of(a.row_begin, a.rows, stored, global_thread() / Team);
    wait_for_earlier_kernels();
    Running<Runs, Sum<V>> r{.largest = minus_infinity<Sum<V>>(), .total = 0, .sum = {}};
    if (has_runs(o.v, o.width)) add_share<true, Team, Runs>(a.col, stored.score, o, share, r);
    else add_share<false, Team, Runs>(a.col, stored.score, o, share, r);
    if (share.row < 0) return;
    if (share.pieces > 0) {
        leave_part<Team>(stored, o.width, share.first + share.number, r);
        if (!comes_last<Team>(stored.arrived + share.first, share.pieces)) return;
        join_parts<Team>(stored, o.width, share, r);
    }
    put_row<Team, Runs>(o, share.row, share.begin == share.end, r);
}

template <int Team, int Runs, class V, class C>
void weigh_with(const CudaQueue& q, const CsrView<V>& a, bool early, const ScoresView<Sum<V>>& stored,
                const Attention<V, C>& o)
{
    launch(q, one_thread_each((stored.pieces + a.rows) * Team, threads_per_block, early),
           weigh_kernel<Team, Runs, V, C>, a, stored, o);
}

}  // namespace

template <class V, class C>
void weigh(const CudaQueue& q, const CsrView<V>& a, bool early, const ScoresView<Sum<V>>& stored,
           const Attention<V, C>& o)
{
    if (o.width <= 8 * run_length) return weigh_with<8, 1>(q, a, early, stored, o);
    if (o.width <= 16 * 2 * run_length) return weigh_with<16, 2>(q, a, early, stored, o);
    static_assert(most_attended <= 32 * 4 * run_length);
    weigh_with<32, 4>(q, a, early, stored, o);
}

template void weigh(const CudaQueue&, const CsrView<double>&, bool, const ScoresView<double>&,
                    const Attention<double, double>&);
template void weigh(const CudaQueue&, const CsrView<float>&, bool, const ScoresView<float>&,
                    const Attention<float, float>&);
template void weigh(const CudaQueue&, const CsrView<Float16>&, bool, const ScoresView<float>&,
                    const Attention<Float16, Float16>&);
template void weigh(const CudaQueue&, const CsrView<Float16>&, bool, const ScoresView<float>&,
                    const Attention<Float16, float>&);
template void weigh(const CudaQueue&, const CsrView<Bfloat16>&, bool, const ScoresView<float>&,
                    const Attention<Bfloat16, Bfloat16>&);
template void weigh(const CudaQueue&, const CsrView<Bfloat16>&, bool, const ScoresView<float>&,
                    const Attention<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
