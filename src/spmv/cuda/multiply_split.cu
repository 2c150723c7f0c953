// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Pieces of equal work along the merge path, one block each. A block multiplies its nonzeros into shared memory, every
// thread walks its share of the path, and sums of rows that several threads touched are put together in a fixed order:
// no atomics, the same bits every time. What a block has of a row it could not finish is carried to a second, short
// kernel.
#include "device/cuda/kernel.cuh"

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256;
constexpr int steps_per_thread = 8;
constexpr int piece_steps = threads_per_block * steps_per_thread;
constexpr int warps_per_block = threads_per_block / 32;
constexpr unsigned all_lanes = 0xffffffffu;

// A block's piece. `row_end` are ends of its rows, `product` its products, both counted from the piece's beginning.
template <class V>
struct Piece {
    prim::MergePoint from, to;
    int rows, nonzeros;  // rows that end inside, nonzeros inside
    int* row_end;        // (rows)
    V* product;          // (nonzeros)
    V* sum;              // (rows)
};

template <class V, class M>
__device__ void load(const CsrView<M>& a, const V* __restrict__ x, const Piece<V>& piece)
{
    for (int i = static_cast<int>(threadIdx.x); i < piece.rows; i += threads_per_block)
        piece.row_end[i] = static_cast<int>(a.row_begin[piece.from.row + i + 1] - piece.from.nonzero);
    for (int k = static_cast<int>(threadIdx.x); k < piece.nonzeros; k += threads_per_block) {
        const offset_t at = piece.from.nonzero + k;
        piece.product[k] = static_cast<V>(a.value[at]) * x[a.col[at]];
    }
}

struct LocalPoint {
    int row, nonzero;
};

// Where the walk inside the piece stands after `steps` steps.
template <class V>
__device__ LocalPoint local_point(const Piece<V>& piece, int steps)
{
    int low = steps > piece.nonzeros ? steps - piece.nonzeros : 0;
    int high = steps < piece.rows ? steps : piece.rows;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (piece.row_end[middle] + middle + 1 <= steps) low = middle + 1;
        else high = middle;
    }
    return {low, steps - low};
}

template <class V>
struct Open {
    int row;  // the row a thread stopped in
    V sum;    // what it has of it
};

// Walks this thread's steps; rows it finishes go to piece.sum, without what earlier threads have of the first of them.
template <class V>
__device__ Open<V> walk(const Piece<V>& piece)
{
    const int steps = piece.rows + piece.nonzeros;
    const int first = min(steps, static_cast<int>(threadIdx.x) * steps_per_thread);
    const int last = min(steps, first + steps_per_thread);
    LocalPoint at = local_point(piece, first);
    V sum = 0;
    for (int step = first; step < last; ++step) {
        if (at.row < piece.rows && at.nonzero >= piece.row_end[at.row]) {
            piece.sum[at.row++] = sum;
            sum = 0;
        } else {
            sum += piece.product[at.nonzero++];
        }
    }
    return {at.row, sum};
}

// Adds up the open sums of neighbouring lanes that stopped in the same row; the last lane of each run has the total.
template <class V>
__device__ V add_runs(Open<V> open, int lane)
{
    for (int distance = 1; distance < 32; distance *= 2) {
        const V sum = __shfl_up_sync(all_lanes, open.sum, distance);
        const int row = __shfl_up_sync(all_lanes, open.row, distance);
        if (lane >= distance && row == open.row) open.sum += sum;
    }
    return open.sum;
}

// Puts together what several threads have of a row. A run that ends inside its warp belongs to a row finished in that
// warp, so one lane adds it; the runs at the ends of the warps may belong to one long row and are added by one thread,
// in order. Returns, to thread 0, what the piece has of the row it could not finish.
template <class V>
__device__ V put_together(const Piece<V>& piece, Open<V> open, V* warp_sum, int* warp_row)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const V total = add_runs(open, lane);
    const int next_row = __shfl_down_sync(all_lanes, open.row, 1);
    if (lane == 31) {
        warp_sum[warp] = total;
        warp_row[warp] = open.row;
    }
    __syncthreads();  // piece.sum of all finished rows is there
    if (lane < 31 && next_row != open.row) piece.sum[open.row] += total;
    __syncthreads();
    V rest = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < warps_per_block; ++w) {
            if (warp_row[w] < piece.rows) piece.sum[warp_row[w]] += warp_sum[w];
            else rest += warp_sum[w];
        }
    __syncthreads();
    return rest;
}

// One block per piece.
//   grid: pieces
//   shared memory: 2048 values, 2048 row ends
//   y: rows that end in the piece, once
//   carry: one per piece
template <class V, class M>
__global__ void __launch_bounds__(threads_per_block)
    multiply_split_kernel(CsrView<M> a, const prim::MergePoint* point, Vectors<V> v, V* carry)
{
    TULLE_SHARED(int, row_end, piece_steps);
    TULLE_SHARED(V, values, piece_steps);
    TULLE_SHARED(V, warp_sum, warps_per_block);
    TULLE_SHARED(int, warp_row, warps_per_block);
    const prim::MergePoint from = point[blockIdx.x], to = point[blockIdx.x + 1];
    const int rows = static_cast<int>(to.row - from.row), nonzeros = static_cast<int>(to.nonzero - from.nonzero);
    const Piece<V> piece{from, to, rows, nonzeros, row_end, values, values + nonzeros};

    load(a, v.x, piece);
    __syncthreads();
    const Open<V> open = walk(piece);
    const V rest = put_together(piece, open, warp_sum, warp_row);
    for (int i = static_cast<int>(threadIdx.x); i < rows; i += threads_per_block) {
        V* y = v.y + from.row + i;
        *y = scaled(v.alpha, piece.sum[i], v.beta, y);
    }
    if (threadIdx.x == 0) carry[blockIdx.x] = rest;
}

// Adds the carries of pieces that stopped in the same row, in order, to that row. One thread per run of such pieces.
template <class V>
__global__ void __launch_bounds__(threads_per_block)
    add_carries_kernel(const prim::MergePoint* point, offset_t pieces, offset_t rows, V alpha, const V* carry, V* y)
{
    const offset_t first = global_thread();
    if (first >= pieces) return;
    const offset_t row = point[first + 1].row;
    if (row >= rows || (first > 0 && point[first].row == row)) return;
    V sum = 0;
    for (offset_t p = first; p < pieces && point[p + 1].row == row; ++p) sum += carry[p];
    y[row] += alpha * sum;
}

}  // namespace

offset_t steps_per_piece(const CudaQueue&) { return piece_steps; }

template <class V, class M>
void multiply_split(const CudaQueue& q, const CsrView<M>& a, const Workspace<V, M>& work, const Vectors<V>& v)
{
    const offset_t pieces = work.carry.size();
    V* carry = const_cast<V*>(work.carry.data());
    launch(q, {pieces, threads_per_block}, multiply_split_kernel<V, M>, a, work.point.data(), v, carry);
    launch(q, one_thread_each(pieces, threads_per_block), add_carries_kernel<V>, work.point.data(), pieces,
           offset_t{a.rows}, v.alpha, carry, v.y);
}

template void multiply_split(const CudaQueue&, const CsrView<float>&, const Workspace<float, float>&,
                             const Vectors<float>&);
template void multiply_split(const CudaQueue&, const CsrView<double>&, const Workspace<double, double>&,
                             const Vectors<double>&);
template void multiply_split(const CudaQueue&, const CsrView<float>&, const Workspace<double, float>&,
                             const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
