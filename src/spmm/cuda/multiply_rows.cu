// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row, without tensor cores: a slice of lanes walks nonzeros of op(A), and each lane holds four columns of C.
// Rows of B are read so many numbers a lane, so that a slice reads whole lines. Three ways to share the work:
//
//   rows     a row for a slice: nothing to look up, and neighbours share rows of B in the L1; for rows of even length
//   shared   a row for several slices of a warp or a block, which take its nonzeros in turn and add up their sums in a
//            fixed order; for rows that are too few to fill the GPU
//   lines    about so many nonzeros for a slice (cut_rows.cu): some short rows, whose loads do not wait for each
//            other's ends, or a piece of a long row. Pieces
//            leave their sums, and the last of a row to come adds them up in their order. No atomic additions: the same
//            bits every time
#include "spmm/cuda/operands.cuh"

#include "base/constant.hpp"
#include "base/math.hpp"
#include "device/cuda/comes_last.cuh"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int threads_per_block = 128;

// Rows of B that a lane of a line asks for before it uses the first.
template <class V>
constexpr int batch = sizeof(V) == 8 ? 4 : 8;

// Which line of work and which columns a thread has: blocks with the same columns come together, because they share
// rows of B.
struct Share {
    offset_t line, j;
    int tile;
};
template <int Lanes>
__device__ inline Share share_of(int blocks_per_tile)
{
    const int tile = static_cast<int>(blockIdx.x) / blocks_per_tile,
              block = static_cast<int>(blockIdx.x) % blocks_per_tile;
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    return {(static_cast<offset_t>(block) * threads_per_block + threadIdx.x) / Lanes,
            (static_cast<offset_t>(tile) * Lanes + lane) * run_length, tile};
}

// Sum k of a lane += a nonzero's value times number k of its run of B.
template <class V>
__device__ inline void add_product(Sum<V> value, const Run<V>& b, Sum<V> (&sum)[run_length])
{
#pragma unroll
    for (int c = 0; c < run_length; ++c) sum[c] += value * widen(b.value[c]);
}

// ---- rows ----

template <bool Whole, class V, class C>
__device__ inline void add_row(const CsrView<V>& a, offset_t begin, offset_t end, const Operands<V, C>& o, offset_t j,
                               Sum<V> (&sum)[run_length])
{
#pragma unroll 4
    for (offset_t k = begin; k < end; ++k) add_product(widen(a.value[k]), load_run<Whole>(o, a.col[k], j), sum);
}

// One slice of lanes per row.
//   grid: ceil(rows * Lanes / threads) for every Lanes runs of columns      shared memory: none      C: every row once
template <int Lanes, class V, class C>
__global__ void __launch_bounds__(threads_per_block)
    multiply_rows_kernel(CsrView<V> a, int blocks_per_tile, Operands<V, C> o)
{
    const auto [number, j, tile] = share_of<Lanes>(blocks_per_tile);
    if (number >= a.rows || j >= o.n) return;
    const auto row = static_cast<index_t>(number);
    const offset_t begin = a.row_begin[row], end = a.row_begin[row + 1];
    wait_for_earlier_kernels();
    Sum<V> sum[run_length] = {};
    if (reads_runs(o, j)) add_row<true>(a, begin, end, o, j, sum);
    else add_row<false>(a, begin, end, o, j, sum);
    if (writes_runs(o, j)) put_run<true>(o, row, j, sum);
    else put_run<false>(o, row, j, sum);
}

// ---- shared rows ----

// Adds a slice's nonzeros of a row, from the first on and so many apart: as many are asked for at once as there are.
template <bool Whole, class V, class C>
__device__ inline void add_share(const CsrView<V>& a, offset_t first, offset_t end, int apart, const Operands<V, C>& o,
                                 offset_t j, Sum<V> (&sum)[run_length])
{
    constexpr int at_once = Whole ? batch<V> : 1;
    for (offset_t k = first; k < end; k += offset_t{at_once} * apart) {
        const offset_t left = end - k;
        index_t at[at_once] = {};
        V value[at_once] = {};
        Run<V> b[at_once] = {};
#pragma unroll
        for (int i = 0; i < at_once; ++i)
            if (i * apart < left) {
                at[i] = a.col[k + i * apart];
                value[i] = a.value[k + i * apart];
            }
#pragma unroll
        for (int i = 0; i < at_once; ++i)
            if (i * apart < left) b[i] = load_run<Whole>(o, at[i], j);
#pragma unroll
        for (int i = 0; i < at_once; ++i) add_product(widen(value[i]), b[i], sum);
    }
}

// Adds up the sums of all slices of a row into those of the first, always in the same order.
template <int Width, class T>
__device__ inline void join_slices(int lanes, T (&sum)[run_length])
{
    constexpr int warps = threads_per_block / 32;
    TULLE_SHARED(Run<T>, of_warp, warps * Width);
    for (int distance = min(lanes, 32) / 2; distance >= Width; distance /= 2)
#pragma unroll
        for (int c = 0; c < run_length; ++c) sum[c] += __shfl_down_sync(0xffffffffu, sum[c], distance);
    if (lanes <= 32) return;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    if (lane < Width) of_warp[warp * Width + lane] = {{sum[0], sum[1], sum[2], sum[3]}};
    __syncthreads();
    if (warp > 0 || lane >= Width) return;
#pragma unroll
    for (int w = 1; w < warps; ++w)
        for (int c = 0; c < run_length; ++c) sum[c] += of_warp[w * Width + lane].value[c];
}

// So many lanes per row, more than its columns fill: slices of `Width` lanes share its nonzeros. All lanes stay for the
// others' sake.
//   grid: ceil(rows * lanes / threads) for every Width runs of columns      shared memory: sums of warps
//   C: every row once
template <int Width, class V, class C>
__global__ void __launch_bounds__(threads_per_block)
    multiply_shared_rows_kernel(CsrView<V> a, int lanes, int blocks_per_tile, Operands<V, C> o)
{
    const auto [slice, j, tile] = share_of<Width>(blocks_per_tile);
    const int slices = lanes / Width;
    const offset_t number = slice / slices;
    const bool works = number < a.rows && j < o.n;
    const auto row = static_cast<index_t>(number);
    const offset_t begin = works ? a.row_begin[row] : 0, end = works ? a.row_begin[row + 1] : 0;
    wait_for_earlier_kernels();
    Sum<V> sum[run_length] = {};
    if (reads_runs(o, j)) add_share<true>(a, begin + slice % slices, end, slices, o, j, sum);
    else add_share<false>(a, begin + slice % slices, end, slices, o, j, sum);
    join_slices<Width>(lanes, sum);
    if (!works || slice % slices > 0) return;
    if (writes_runs(o, j)) put_run<true>(o, row, j, sum);
    else put_run<false>(o, row, j, sum);
}

// ---- lines ----

// Where pieces leave their sums, and how many pieces of a row have.
template <class V>
struct Pieces {
    Run<Sum<V>>* partial;  // of each slot, `runs` of them
    int* arrived;          // of each slot and each tile of columns
    offset_t runs;
    int tiles;
};

// Walks a line: a row of C is written where its nonzeros end. What is left in `sum` is a piece's. So many nonzeros are
// asked for at once, then added up as far as their row goes, as often as there are rows among them: each step stands
// here once, because a loop with the end of a row after every nonzero does not fit the cache for instructions.
template <bool Whole, class V, class C>
__device__ inline void walk_line(const CsrView<V>& a, const RowLine line, const Operands<V, C>& o, offset_t j,
                                 Sum<V> (&sum)[run_length])
{
    constexpr int at_once = Whole ? batch<V> : 1;
    const int count = static_cast<int>(line.end - line.begin),
              first = line.begin < at_once ? -static_cast<int>(line.begin) : -at_once;
    const bool cut = line.first_slot >= 0;
    const index_t* col = a.col + line.begin;
    const V* factor = a.value + line.begin;
    const index_t last = line.row + line.count - 1;
    const auto end_of = [&](index_t row) { return a.row_begin[(row < last ? row : last) + 1]; };
    index_t row = line.row;
    for (; count == 0 && row <= last; ++row) put_run<Whole>(o, row, j, sum);
    if (count == 0) return;
    int end = cut ? count : static_cast<int>(end_of(row) - line.begin), k = 0;
    offset_t next_end = cut ? 0 : end_of(row + 1);  // asked for a row ahead: nobody waits for it
    do {
        const int from = max(first, min(k, count - at_once)),
                  stop = min(from + at_once, count);  // never beyond the line's last, unless there are none before
        index_t at[at_once];
        V value[at_once];
        Run<V> b[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            at[i] = col[from + i];
            value[i] = factor[from + i];
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) b[i] = load_run<Whole>(o, at[i], j);
        do {
            const int to = min(stop, end);
            if (k == from && to == from + at_once) {
#pragma unroll
                for (int i = 0; i < at_once; ++i) add_product(widen(value[i]), b[i], sum);
            } else {
#pragma unroll
                for (int i = 0; i < at_once; ++i)
                    if (from + i >= k && from + i < to) add_product(widen(value[i]), b[i], sum);
            }
            k = to;
            for (; k >= end && !cut && row <= last; ++row) {
                put_run<Whole>(o, row, j, sum);
#pragma unroll
                for (int c = 0; c < run_length; ++c) sum[c] = 0;
                end = static_cast<int>(next_end - line.begin);
                next_end = end_of(row + 2);
            }
        } while (k < stop);
    } while (k < count);
}

// Adds up the sums that the pieces of a row have left: as many are asked for at once as there are, and registers.
template <class V, class T>
__device__ inline void add_pieces(const Run<T>* left, offset_t apart, int count, T (&whole)[run_length])
{
    constexpr int at_once = sizeof(V) == 4 ? 6 : 4;
    for (int p = 0; p < count; p += at_once) {
        Run<T> some[at_once] = {};
#pragma unroll
        for (int i = 0; i < at_once; ++i)
            if (p + i < count) some[i] = left[(p + i) * apart];
#pragma unroll
        for (int i = 0; i < at_once; ++i)
            for (int c = 0; c < run_length; ++c) whole[c] += some[i].value[c];
    }
}

// Leaves the sums of a piece; the last of its row to come adds them all up and writes them. Of many pieces, the last of
// each group adds up its own first and leaves them in the place of their first: nobody adds up all of a long row one
// after the other. Counters of groups are those of their first pieces; that of the row is its second piece's then,
// which begins no group. A loop, although it turns twice at most: what stands here once needs fewer registers.
template <int Lanes, class V, class C>
__device__ inline void join_pieces(const RowLine& line, const Operands<V, C>& o, const Pieces<V>& pieces, offset_t j,
                                   int tile, const Sum<V> (&sum)[run_length])
{
    bool grouped = line.count > most_in_turn(sizeof(V));
    const int together = grouped ? pieces_together(line.count) : line.count;
    int first = line.piece / together * together, counter = first, apart = 1, count = min(together, line.count - first);
    const auto left = [&](int piece) {
        return pieces.partial + (offset_t{line.first_slot} + piece) * pieces.runs + j / run_length;
    };
    if (j < o.n) *left(line.piece) = {{sum[0], sum[1], sum[2], sum[3]}};
#pragma unroll 1
    for (;;) {
        if (!comes_last<Lanes>(pieces.arrived + (offset_t{line.first_slot} + counter) * pieces.tiles + tile, count))
            return;
        Sum<V> whole[run_length] = {};
        if (j < o.n) add_pieces<V>(left(first), pieces.runs * apart, count, whole);
        if (!grouped) {
            if (writes_runs(o, j)) put_run<true>(o, line.row, j, whole);
            else put_run<false>(o, line.row, j, whole);
            return;
        }
        if (j < o.n) *left(first) = {{whole[0], whole[1], whole[2], whole[3]}};
        grouped = false;
        first = 0, counter = 1, apart = together;
        count = (line.count + together - 1) / together;
    }
}

// One slice of lanes per line; lanes beyond the last column stay for the others' sake.
//   grid: ceil(lines * Lanes / threads) for every Lanes runs of columns      shared memory: none      C: every row once
template <int Lanes, class V, class C>
__global__ void __launch_bounds__(threads_per_block)
    multiply_lines_kernel(CsrView<V> a, const RowLine* list, offset_t lines, int blocks_per_tile, Operands<V, C> o,
                          Pieces<V> pieces)
{
    const auto [number, j, tile] = share_of<Lanes>(blocks_per_tile);
    if (number >= lines) return;
    const RowLine line = list[number];
    wait_for_earlier_kernels();
    Sum<V> sum[run_length] = {};
    if (reads_runs(o, j) && writes_runs(o, j) && a.nonzeros >= batch<V>) walk_line<true>(a, line, o, j, sum);
    else if (j < o.n) walk_line<false>(a, line, o, j, sum);
    if (line.first_slot >= 0) join_pieces<Lanes>(line, o, pieces, j, tile, sum);
}

// The grid for so many lines of work.
template <int Lanes>
LaunchShape shape_for(offset_t lines, index_t n, bool early, int& blocks_per_tile)
{
    const offset_t blocks = ceil_div(lines * Lanes, offset_t{threads_per_block});
    blocks_per_tile = static_cast<int>(blocks);
    const offset_t all = blocks * ceil_div(n, index_t{run_length * Lanes});
    return one_thread_each(all * threads_per_block, threads_per_block, early);
}

template <class V, class C>
void multiply_shared_rows(const CudaQueue& q, const CsrView<V>& a, int lanes, bool early, const Operands<V, C>& o)
{
    with_constant<2, 8, 32>(lanes_of_columns(o.n), [&](auto width) {
        int blocks = 0;
        const LaunchShape shape = shape_for<width()>(offset_t{a.rows} * (lanes / width()), o.n, early, blocks);
        launch(q, shape, multiply_shared_rows_kernel<width(), V, C>, a, lanes, blocks, o);
    });
}

}  // namespace

template <class V, class C>
void multiply_rows(const CudaQueue& q, const CsrView<V>& a, int lanes, const Workspace<V>& work,
                   const Operands<V, C>& o)
{
    const Buffer<RowLine>& line = work.lines.line;
    if (line.empty() && lanes > lanes_of_columns(o.n)) return multiply_shared_rows(q, a, lanes, work.early, o);
    with_constant<2, 8, 32>(lanes, [&](auto n) {
        int blocks = 0;
        if (line.empty()) {
            const LaunchShape shape = shape_for<n()>(a.rows, o.n, work.early, blocks);
            return launch(q, shape, multiply_rows_kernel<n(), V, C>, a, blocks, o);
        }
        const LaunchShape shape = shape_for<n()>(line.size(), o.n, work.early, blocks);
        const Pieces<V> pieces{reinterpret_cast<Run<Sum<V>>*>(const_cast<Sum<V>*>(work.partial.data())),
                               const_cast<int*>(work.arrived.data()), ceil_div(o.n, index_t{run_length}),
                               ceil_div(o.n, index_t{run_length * n()})};
        launch(q, shape, multiply_lines_kernel<n(), V, C>, a, line.data(), line.size(), blocks, o, pieces);
    });
}

template void multiply_rows(const CudaQueue&, const CsrView<double>&, int, const Workspace<double>&,
                            const Operands<double, double>&);
template void multiply_rows(const CudaQueue&, const CsrView<float>&, int, const Workspace<float>&,
                            const Operands<float, float>&);
template void multiply_rows(const CudaQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, Float16>&);
template void multiply_rows(const CudaQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, float>&);
template void multiply_rows(const CudaQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, Bfloat16>&);
template void multiply_rows(const CudaQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, float>&);
template void multiply_rows(const CudaQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, Scaled<Float16>>&);
template void multiply_rows(const CudaQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, Scaled<float>>&);
template void multiply_rows(const CudaQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, Scaled<Bfloat16>>&);
template void multiply_rows(const CudaQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, Scaled<float>>&);

}  // namespace tulle::inline TULLE_ABI::spmm
