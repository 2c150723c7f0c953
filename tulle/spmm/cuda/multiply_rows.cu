// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row, without tensor cores: a slice of lanes walks a row of op(A), and each lane holds four columns of its row of C. Rows of B are read so many
// numbers a lane, so that a slice reads whole lines. Long rows are cut into pieces, which come first: each leaves its sums, and a short second kernel adds
// them up in their order. No atomics: the same bits every time.
#include "tulle/spmm/cuda/operands.cuh"

#include "tulle/base/constant.hpp"
#include "tulle/base/math.hpp"

namespace tulle::spmm {
namespace {

constexpr int threads_per_block = 256;

// Which line of work and which columns a thread has: blocks with the same columns come together, because they share rows of B.
struct Share {
    offset_t line, j;
};
template <int Lanes>
__device__ inline Share share_of(int blocks_per_tile)
{
    const int tile = static_cast<int>(blockIdx.x) / blocks_per_tile, block = static_cast<int>(blockIdx.x) % blocks_per_tile;
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    return {(static_cast<offset_t>(block) * threads_per_block + threadIdx.x) / Lanes, (static_cast<offset_t>(tile) * Lanes + lane) * run_length};
}

// The products of nonzeros [begin, end) with the run of B's columns from j on.
template <bool Whole, class V, class C>
__device__ inline void add_products(const CsrView<V>& a, offset_t begin, offset_t end, const Operands<V, C>& o, offset_t j, Sum<V> (&sum)[run_length])
{
#pragma unroll 4
    for (offset_t k = begin; k < end; ++k) {
        const Run<V> b = load_run(o, Whole, a.col[k], j);
        const Sum<V> value = widen(a.value[k]);
        for (int c = 0; c < run_length; ++c) sum[c] += value * widen(b.value[c]);
    }
}

// One slice of lanes per line of work: a piece of a long row, or a row that is not long.
//   grid: ceil(lines * Lanes / threads) for every Lanes runs of columns      shared memory: none      C: rows that are not cut, once; partial: n sums of every piece
template <int Lanes, class V, class C>
__global__ void __launch_bounds__(threads_per_block)
    multiply_rows_kernel(CsrView<V> a, offset_t longest, const RowPiece* piece, offset_t pieces, int blocks_per_tile, Operands<V, C> o, Sum<V>* partial)
{
    const auto [line, j] = share_of<Lanes>(blocks_per_tile);
    const offset_t row = line - pieces;
    if (row >= a.rows || j >= o.n) return;
    const offset_t begin = row < 0 ? piece[line].begin : a.row_begin[row], end = row < 0 ? piece[line].end : a.row_begin[row + 1];
    if (row >= 0 && end - begin > longest) return;
    Sum<V> sum[run_length] = {};
    if (reads_runs(o) && j + run_length <= o.n) add_products<true>(a, begin, end, o, j, sum);
    else add_products<false>(a, begin, end, o, j, sum);
    const bool pairs = writes_pairs(o);
    for (int c = 0; c < run_length; c += 2) {
        if (row >= 0) put_pair(o, pairs, row, j + c, sum[c], sum[c + 1]);
        for (int d = c; row < 0 && d < c + 2; ++d)
            if (j + d < o.n) partial[line * o.n + j + d] = sum[d];
    }
}

// Adds up the pieces of a long row in their order; one thread per entry of C.
//   grid: ceil(rows * n / threads)      shared memory: none      C: the long rows, once
template <class V, class C>
__global__ void __launch_bounds__(threads_per_block) add_pieces_kernel(const LongRow* row, offset_t rows, const Sum<V>* partial, Operands<V, C> o)
{
    const offset_t i = global_thread() / o.n, j = global_thread() % o.n;
    if (i >= rows) return;
    const LongRow cut = row[i];
    Sum<V> sum = 0;
    for (int p = 0; p < cut.pieces; ++p) sum += partial[offset_t{cut.first + p} * o.n + j];
    put(o, cut.row, j, sum);
}

// The grid for so many lines of work.
template <int Lanes>
LaunchShape shape_for(offset_t lines, index_t n, int& blocks_per_tile)
{
    const offset_t blocks = ceil_div(lines * Lanes, offset_t{threads_per_block});
    blocks_per_tile = static_cast<int>(blocks);
    return {blocks * ceil_div(n, index_t{run_length * Lanes}), threads_per_block};
}

}  // namespace

template <class V, class C>
void multiply_rows(const CudaQueue& q, const CsrView<V>& a, int lanes, const Workspace<V>& work, const Operands<V, C>& o)
{
    const LongRows& cut = work.long_rows;
    Sum<V>* partial = const_cast<Sum<V>*>(work.partial.data());
    const auto multiply = [&](auto n) {
        int blocks = 0;
        const LaunchShape shape = shape_for<n()>(cut.piece.size() + a.rows, o.n, blocks);
        launch(q, shape, multiply_rows_kernel<n(), V, C>, a, cut.longest, cut.piece.data(), cut.piece.size(), blocks, o, partial);
    };
    with_constant<2, 8, 32>(lanes, multiply);
    launch(q, one_thread_each(cut.row.size() * o.n, threads_per_block), add_pieces_kernel<V, C>, cut.row.data(), cut.row.size(), partial, o);
}

template void multiply_rows(const CudaQueue&, const CsrView<double>&, int, const Workspace<double>&, const Operands<double, double>&);
template void multiply_rows(const CudaQueue&, const CsrView<float>&, int, const Workspace<float>&, const Operands<float, float>&);
template void multiply_rows(const CudaQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&, const Operands<Float16, Float16>&);
template void multiply_rows(const CudaQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&, const Operands<Float16, float>&);
template void multiply_rows(const CudaQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&, const Operands<Bfloat16, Bfloat16>&);
template void multiply_rows(const CudaQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&, const Operands<Bfloat16, float>&);

}  // namespace tulle::spmm
