// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tiles of X Y^T on tensor cores, in full precision. A number is the sum of bf16 numbers: of three for float, whose 24
// bits they hold exactly, of two for f16, of one for bf16. They are made once, on the way to shared memory; tensor
// cores multiply them exactly. Of the products of floats those of parts below 2^-24 of the whole are left out.
//
//   sums         of 16 columns at a time by tensor cores, small parts first, and of those sums by additions in float:
//                tensor cores truncate where they add, here one in 16 times only (docs/design/sddmm.md)
//   tiny numbers below 2^-110 have no three parts: they count as NaN
//   NaN, inf     where a sum is not finite, also because parts of a number are not, it is added up again in float,
//                column by column. So a result depends on its rows of X and Y alone.
#include <algorithm>

#include "base/math.hpp"
#include "device/cuda/copies.cuh"
#include "sddmm/cuda/tiles.cuh"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

// A block has four warps, each 32 x 32 of the tile's positions: 2 x 4 products of 16 x 8.
constexpr int threads_per_block = 128, warp_side = 32, slabs = warp_side / 16, eights = warp_side / 8;
using WarpSums = float[slabs][eights][4];

template <class V>
constexpr int parts = std::is_same_v<V, float>     ? 3
                      : std::is_same_v<V, Float16> ? 2
                                                   : 1;
constexpr int most_order = 2;  // products of the i-th and j-th part for i + j up to this

// The bits of the least number that has exact parts.
template <class V>
constexpr std::uint32_t least_split = std::is_same_v<V, float> ? (127u - 110u) << 23 : 1u << 23;

// Columns of X and Y that are in shared memory at a time, in units of eight bf16 numbers: lines of X, then of Y, for
// each part. Units of a line are shuffled, so that eight lines of a matrix for ldmatrix are in different banks.
struct alignas(16) Unit {
    std::uint32_t word[4];
};
struct alignas(8) HalfUnit {
    std::uint32_t word[2];
};
constexpr int columns_at_once = 32, line_units = columns_at_once / 8, lines = 2 * tile_side;
constexpr int part_units = lines * line_units;
template <class V>
constexpr int stage_units = parts<V>* part_units;
__device__ inline int unit_at(int line, int unit)
{
    return line * line_units + (unit ^ line * line_units / 8 % line_units);
}

// Each thread brings a run of four columns to some lines, `lines_apart` from each other, whose units are shuffled
// alike.
constexpr int line_runs = columns_at_once / run_length, lines_apart = threads_per_block / line_runs,
              turns = tile_side / lines_apart;
static_assert(lines_apart % 8 == 0);
__device__ inline int my_run() { return static_cast<int>(threadIdx.x) % line_runs; }
__device__ inline int my_line() { return static_cast<int>(threadIdx.x) / line_runs; }

// What a thread reads of a factor.
template <class V>
struct Source {
    const V* next;    // its first line, from the next of its columns on
    offset_t apart;   // from line to line
    offset_t column;  // from column to column
    unsigned has;     // which of its lines have a nonzero, by bits

    __device__ Source(const Strided<const V>& m, index_t first_row, const std::uint32_t (&of_tile)[2])
        : next(m.data + (first_row + my_line()) * m.row + my_run() * run_length * m.col),
          apart(lines_apart * m.row),
          column(m.col),
          has(0)
    {
#pragma unroll
        for (int i = 0; i < turns; ++i)
            has |= (of_tile[i * lines_apart / 32] >> (i * lines_apart % 32 + my_line()) & 1u) << i;
    }

    // Four columns of each, of which there are so many left.
    __device__ void load(bool packed, index_t left, Run<V> (&to)[turns])
    {
        const unsigned mine = left > 0 ? has : 0;
        if (packed) {
            const V* from = next;
#pragma unroll
            for (int i = 0; i < turns; ++i, from += apart)
                if (mine >> i & 1) to[i] = *reinterpret_cast<const Run<V>*>(from);
                else to[i] = {};
        } else collect(mine, left, to);
        next += columns_at_once * column;
    }
    // The same number by number.
    __device__ void collect(unsigned mine, index_t left, Run<V> (&to)[turns]) const
    {
#pragma unroll
        for (int i = 0; i < turns; ++i)
#pragma unroll
            for (int c = 0; c < run_length; ++c)
                to[i].value[c] = c < left && (mine >> i & 1) ? next[i * apart + c * column] : V{};
    }
};

template <class V>
__device__ inline bool has_runs(const Strided<const V>& m, index_t k)
{
    return m.col == 1 && k % run_length == 0 && can_load_runs(m.data, m.row);
}

// Brings the parts of four numbers to their places.
template <class V>
__device__ inline void put_parts(const Run<V>& run, HalfUnit* to)
{
    float left[run_length];
    std::uint32_t least = ~0u;  // zeros are far above all others
#pragma unroll
    for (int c = 0; c < run_length; ++c) {
        left[c] = widen(run.value[c]);
        least = min(least, 2 * __builtin_bit_cast(std::uint32_t, left[c]) - 1);
    }
#pragma unroll
    for (int p = 0; p < parts<V>; ++p) {
        HalfUnit part{{pack<Half::bf16>(left[0], left[1]), pack<Half::bf16>(left[2], left[3])}};
#pragma unroll
        for (int c = 0; c < run_length && p + 1 < parts<V>; ++c) {
            const std::uint32_t word = part.word[c / 2];
            left[c] -= __builtin_bit_cast(float, c % 2 == 0 ? word << 16 : word & 0xffff0000u);
        }
        if (p == 0 && least < 2 * least_split<V> - 1) part.word[0] = 0x7fff7fffu;
        to[p * part_units * 2] = part;
    }
}

// The products of a stage: a matrix of 16 columns after the other.
template <class V>
__device__ inline void multiply_stage(const Unit* stage, WarpSums& sum)
{
    constexpr int bytes_of_part = part_units * sizeof(Unit), bytes_of_line = line_units * sizeof(Unit);
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32,
              left_line = warp / 2 * warp_side + lane % 16,
              right_line = tile_side + warp % 2 * warp_side + lane % 8 + lane / 16 * 8;
#pragma unroll 1  // registers
    for (int half = 0; half < columns_at_once / 16; ++half) {
        const SharedAddress left(stage + unit_at(left_line, half * 2 + lane / 16)),
            right(stage + unit_at(right_line, half * 2 + lane / 8 % 2));
        std::uint32_t b[parts<V>][eights][2];
#pragma unroll
        for (int p = 0; p < parts<V>; ++p)
#pragma unroll
            for (int t = 0; t < eights; t += 2) {
                std::uint32_t both[4];
                load_matrices(both, right + (p * bytes_of_part + t * 8 * bytes_of_line));
                b[p][t][0] = both[0], b[p][t][1] = both[1], b[p][t + 1][0] = both[2], b[p][t + 1][1] = both[3];
            }
#pragma unroll
        for (int m = 0; m < slabs; ++m) {
            std::uint32_t a[parts<V>][4];
#pragma unroll
            for (int p = 0; p < parts<V>; ++p) load_matrices(a[p], left + (p * bytes_of_part + m * 16 * bytes_of_line));
            float some[eights][4] = {};
#pragma unroll
            for (int order = most_order; order >= 0; --order)
#pragma unroll
                for (int p = 0; p < parts<V>; ++p)
#pragma unroll
                    for (int t = 0; t < eights; ++t)
                        if (order >= p && order - p < parts<V>)
                            mma_m16n8k16<Half::bf16>(some[t], a[p], b[order - p][t]);
#pragma unroll
            for (int t = 0; t < eights; ++t)
#pragma unroll
                for (int c = 0; c < 4; ++c) sum[m][t][c] += some[t][c];
        }
    }
}

// All columns: while some are multiplied, the next are on their way.
template <class V, class C>
__device__ inline void multiply_tile(const Sampled<V, C>& o, const Tile& tile, Unit* stages, WarpSums& sum)
{
    const bool packed = has_runs(o.x, o.k) && has_runs(o.y, o.k);
    Source<V> x(o.x, tile.row, tile.rows), y(o.y, tile.col, tile.cols);
    Run<V> of_x[turns], of_y[turns];
    const auto load = [&](index_t left) {
        x.load(packed, left - my_run() * run_length, of_x);
        y.load(packed, left - my_run() * run_length, of_y);
    };
    HalfUnit* const mine = reinterpret_cast<HalfUnit*>(stages + unit_at(my_line(), my_run() / 2)) + my_run() % 2;
    const auto put = [&](int turn) {
        HalfUnit* const to = mine + turn * stage_units<V> * 2;
#pragma unroll
        for (int i = 0; i < turns; ++i) {
            put_parts(of_x[i], to + i * lines_apart * line_units * 2);
            put_parts(of_y[i], to + (tile_side + i * lines_apart) * line_units * 2);
        }
    };
    load(o.k);
    put(0);
    int turn = 0;
    for (index_t left = o.k; left > 0; left -= columns_at_once, turn ^= 1) {
        __syncthreads();  // this stage is there, and nobody reads the other one
        if (left > columns_at_once) load(left - columns_at_once);
        multiply_stage<V>(stages + turn * stage_units<V>, sum);
        if (left > columns_at_once) put(turn ^ 1);
    }
}

__device__ inline void put_sums(const WarpSums& sum, float* sums)
{
    struct alignas(8) Two {
        float value[2];
    };
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int m = 0; m < slabs; ++m)
#pragma unroll
        for (int t = 0; t < eights; ++t)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const fragment::Entry at = fragment::d16x8(lane, half * 2);
                const int row = warp / 2 * warp_side + m * 16 + at.row, col = warp % 2 * warp_side + t * 8 + at.col;
                *reinterpret_cast<Two*>(sums + row * sums_line +
                                        col) = {{sum[m][t][half * 2], sum[m][t][half * 2 + 1]}};
            }
}

// The product of two rows, column by column.
template <class V>
__attribute__((noinline)) __device__ float dot_again(Strided<const V> x, Strided<const V> y, index_t k, index_t row,
                                                     index_t col)
{
    float sum = 0;
    for (index_t j = 0; j < k; ++j)
        sum += widen(x.data[row * x.row + j * x.col]) * widen(y.data[col * y.row + j * y.col]);
    return sum;
}

// Nonzeros of a tile that a thread asks for at once.
constexpr int nonzeros_at_once = 8;

//   grid: tiles      shared memory: one or two stages, then the sums of a tile in their place      c: every entry once
template <class V, class C>
__global__ void __launch_bounds__(threads_per_block, 4) sample_tensor_tiles_kernel(TilesView tiles, Sampled<V, C> o)
{
    TULLE_DYNAMIC_SHARED(Unit, memory);
    float* const sums = reinterpret_cast<float*>(memory);
    const Tile tile = tiles.tile[blockIdx.x];
    wait_for_earlier_kernels();
    WarpSums sum = {};
    multiply_tile(o, tile, memory, sum);
    SomeNonzeros<threads_per_block, nonzeros_at_once> some;
    some.ask(tiles, tile, threadIdx.x);
    __syncthreads();  // nobody reads a stage any more
    put_sums(sum, sums);
    __syncthreads();
    bool again = false;
    take_sums(tiles, tile, some, sums, [&](std::uint32_t place, float dot) {
        if (dot - dot == 0) put_sampled(o, place, dot);
        else again = true;
    });
    if (!again) return;
    for (std::uint32_t i = threadIdx.x; i < tile.count; i += threads_per_block) {
        const int spot = tiles.spot[tile.begin + i];
        const float dot = sums[place_of_sum(spot)];
        if (dot - dot == 0) continue;
        put_sampled(o, tiles.place[tile.begin + i],
                    dot_again(o.x, o.y, o.k, tile.row + spot / tile_side, tile.col + spot % tile_side));
    }
}

}  // namespace

template <class V, class C>
void sample_tensor_tiles(const CudaQueue& q, const Walk& walk, const Sampled<V, C>& o)
{
    if (o.k < least_tensor_columns) return sample_tiles(q, walk, o);
    const std::size_t stages = (o.k > columns_at_once ? 2 : 1) * stage_units<V> * sizeof(Unit);
    const bool early = walk.early && walk.tiles.tiles * threads_per_block <= most_early_of_tiles;
    launch(q, {walk.tiles.tiles, threads_per_block, std::max(stages, tile_side * sums_line * sizeof(float)), 1, early},
           sample_tensor_tiles_kernel<V, C>, walk.tiles, o);
}

template void sample_tensor_tiles(const CudaQueue&, const Walk&, const Sampled<float, float>&);
template void sample_tensor_tiles(const CudaQueue&, const Walk&, const Sampled<Float16, Float16>&);
template void sample_tensor_tiles(const CudaQueue&, const Walk&, const Sampled<Float16, float>&);
template void sample_tensor_tiles(const CudaQueue&, const Walk&, const Sampled<Bfloat16, Bfloat16>&);
template void sample_tensor_tiles(const CudaQueue&, const Walk&, const Sampled<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
