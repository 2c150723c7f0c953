// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where a matrix has many of all positions, whole tiles of X Y^T: a block copies the rows of X and Y that its tile
// names to shared memory, some columns at a time, and each thread multiplies some rows of X with some of Y. The sums
// of the tile are left in shared memory, from where those at nonzeros are taken. No tensor cores: products are exact
// and added up in the order of the columns.
#include <algorithm>

#include "base/math.hpp"
#include "device/cuda/copies.cuh"
#include "sddmm/cuda/tiles.cuh"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

// Rows of X and of Y that a thread has: so far apart that neighbouring threads read neighbouring lines. Measured on an
// H200: with eight of one or of both, which would save loads from shared memory, fewer warps take longer.
constexpr int left_rows = 4, right_rows = 4;
constexpr int down = tile_side / left_rows, across = tile_side / right_rows, threads_per_block = down * across;
template <class S>
using ThreadSums = S[left_rows][right_rows];
__device__ inline int left_row(int i) { return static_cast<int>(threadIdx.x) / across + down * i; }
__device__ inline int right_row(int j) { return static_cast<int>(threadIdx.x) % across + across * j; }

// Columns of X and Y that are in shared memory at a time, in packs, as numbers of the type of the sums; a line has one
// more, so that neighbouring lines begin in different banks.
constexpr int packs_at_once = 16, line_packs = packs_at_once + 1, factor_packs = tile_side * line_packs;
template <class S>
constexpr index_t columns_at_once = packs_at_once* Pack<S>::size;
template <class S>
constexpr std::size_t stage_bytes = 2 * factor_packs * sizeof(Pack<S>);

// A pack of row `i` of a factor from column j on; what is beyond column k is zero.
template <class V>
__device__ inline Pack<Sum<V>> collect(const Strided<const V>& m, index_t i, index_t j, index_t k)
{
    Pack<Sum<V>> some = {};
#pragma unroll
    for (int c = 0; c < Pack<Sum<V>>::size; ++c)
        if (j + c < k) some.value[c] = widen(m.data[i * m.row + (j + c) * m.col]);
    return some;
}

// Asks for this block's rows of a factor, from column `first` on, of those that have a nonzero; the others are zero.
template <class V>
__device__ inline void ask_for_rows(const Strided<const V>& m, bool packed, index_t first_row,
                                    const std::uint32_t (&has)[2], index_t first, index_t k, Pack<Sum<V>>* to)
{
    constexpr int at_once = threads_per_block / packs_at_once;
    const std::uint64_t lines = std::uint64_t{has[1]} << 32 | has[0];
    const int pack = static_cast<int>(threadIdx.x) % packs_at_once;
    const index_t j = first + pack * Pack<Sum<V>>::size;
#pragma unroll
    for (int begin = 0; begin < tile_side; begin += at_once) {
        const int line = begin + static_cast<int>(threadIdx.x) / packs_at_once;
        Pack<Sum<V>>* const mine = to + line * line_packs + pack;
        if (j >= k || !(lines >> line & 1)) *mine = {};
        else if (packed) copy_async(SharedAddress(mine), m.data + (first_row + line) * m.row + j);
        else *mine = collect(m, first_row + line, j, k);
    }
}

// The products of so many packs of this thread's rows.
template <class S>
__device__ inline void add_products(const Pack<S>* x, const Pack<S>* y, int packs, ThreadSums<S>& sum)
{
#pragma unroll 4
    for (int at = 0; at < packs; ++at) {
        Pack<S> left[left_rows], right[right_rows];
#pragma unroll
        for (int i = 0; i < left_rows; ++i) left[i] = x[left_row(i) * line_packs + at];
#pragma unroll
        for (int j = 0; j < right_rows; ++j) right[j] = y[right_row(j) * line_packs + at];
#pragma unroll
        for (int c = 0; c < Pack<S>::size; ++c)
#pragma unroll
            for (int i = 0; i < left_rows; ++i)
#pragma unroll
                for (int j = 0; j < right_rows; ++j) sum[i][j] += left[i].value[c] * right[j].value[c];
    }
}

// All columns: while some are multiplied, the next are on their way.
template <class V, class C>
__device__ inline void multiply_tile(const Sampled<V, C>& o, const Tile& tile, Pack<Sum<V>>* stages,
                                     ThreadSums<Sum<V>>& sum)
{
    using S = Sum<V>;
    const bool packed = std::is_same_v<V, S> && has_packs(o.x, o.k) && has_packs(o.y, o.k);
    const auto ask = [&](index_t first, Pack<S>* stage) {
        ask_for_rows(o.x, packed, tile.row, tile.rows, first, o.k, stage);
        ask_for_rows(o.y, packed, tile.col, tile.cols, first, o.k, stage + factor_packs);
    };
    if (o.k > 0) ask(0, stages);
    end_copy_group();
    int turn = 0;
    for (index_t left = o.k; left > 0; left -= columns_at_once<S>, turn ^= 1) {
        const Pack<S>* const stage = stages + turn * 2 * factor_packs;
        if (left > columns_at_once<S>) ask(o.k - left + columns_at_once<S>, stages + (turn ^ 1) * 2 * factor_packs);
        end_copy_group();
        wait_for_copies<1>();
        __syncthreads();
        add_products(stage, stage + factor_packs, ceil_div(min(left, columns_at_once<S>), index_t{Pack<S>::size}), sum);
        __syncthreads();  // this stage is asked for again, or holds sums
    }
}

//   grid: tiles      shared memory: one or two stages, then the sums of a tile in their place      c: every entry once
template <class V, class C>
__global__ void __launch_bounds__(threads_per_block) sample_tiles_kernel(TilesView tiles, Sampled<V, C> o)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    Sum<V>* const sums = reinterpret_cast<Sum<V>*>(memory);
    const Tile tile = tiles.tile[blockIdx.x];
    wait_for_earlier_kernels();
    ThreadSums<Sum<V>> sum = {};
    multiply_tile(o, tile, reinterpret_cast<Pack<Sum<V>>*>(memory), sum);
    SomeNonzeros<threads_per_block, 4> some;
    some.ask(tiles, tile, threadIdx.x);
#pragma unroll
    for (int i = 0; i < left_rows; ++i)
#pragma unroll
        for (int j = 0; j < right_rows; ++j) sums[left_row(i) * sums_line + right_row(j)] = sum[i][j];
    __syncthreads();
    take_sums(tiles, tile, some, sums, [&](std::uint32_t place, Sum<V> dot) { put_sampled(o, place, dot); });
}

}  // namespace

template <class V, class C>
void sample_tiles(const CudaQueue& q, const Walk& walk, const Sampled<V, C>& o)
{
    using S = Sum<V>;
    const std::size_t stages = (o.k > columns_at_once<S> ? 2 : 1) * stage_bytes<S>;
    const bool early = walk.early && walk.tiles.tiles * threads_per_block <= most_early_of_tiles;
    launch(q, {walk.tiles.tiles, threads_per_block, std::max(stages, tile_side * sums_line * sizeof(S)), 1, early},
           sample_tiles_kernel<V, C>, walk.tiles, o);
}

template void sample_tiles(const CudaQueue&, const Walk&, const Sampled<double, double>&);
template void sample_tiles(const CudaQueue&, const Walk&, const Sampled<float, float>&);
template void sample_tiles(const CudaQueue&, const Walk&, const Sampled<Float16, Float16>&);
template void sample_tiles(const CudaQueue&, const Walk&, const Sampled<Float16, float>&);
template void sample_tiles(const CudaQueue&, const Walk&, const Sampled<Bfloat16, Bfloat16>&);
template void sample_tiles(const CudaQueue&, const Walk&, const Sampled<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
