// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Panels on tensor cores. A block has a unit of a panel (64 rows, some chunks of its columns) and up to 128 columns of C. It fetches the rows of B
// that a few chunks name into registers while it multiplies the chunks before, and lays them into shared memory as mma wants them: two numbers
// of 16 bits from neighbouring rows, or one of tf32, in a word; the words of both halves of a fragment side by side. Each warp has a slab of 16
// rows and 32 or 64 columns, unpacks the slab's tile of every chunk, if there is one, and multiplies it with all its columns; sums stay in
// registers. Rows of C are written once, to their original places.
//
//   padding      columns beyond a panel's last bring in rows of zeros, not rows of B
//   NaN, inf     a tile multiplies zeros that no nonzero stands for, which must not turn infinities of B into NaN: where a stage has numbers
//                that are not finite, its tiles are multiplied entry by entry
//   long panels  units leave their sums; the last of them to come adds all up in their order, so that results do not depend on who that is
#include "tulle/spmm/cuda/operands.cuh"

#include <type_traits>

#include "tulle/base/constant.hpp"
#include "tulle/base/math.hpp"

namespace tulle::spmm {
namespace {

constexpr unsigned all_lanes = 0xffffffffu;

// The shape of a block that computes `Columns` columns of C.
template <int Columns>
struct Shape {
    static constexpr int columns_per_warp = Columns < 64 ? Columns : 64;
    static constexpr int tiles_per_warp = columns_per_warp / 8;                // of 16 x 8 sums
    static constexpr int threads = 32 * slabs * (Columns / columns_per_warp);
    static constexpr int chunks = threads / Columns;                           // of a stage: each thread fetches four columns of a quarter of a chunk
    static constexpr int line = Columns + 4;                                   // pairs; the 4 keep lanes of a half warp on different banks
    static constexpr int stage = chunks * 4 * line;                            // pairs
};

// What a lane reads of one column of B for one product.
struct alignas(8) Pair {
    std::uint32_t word[2];
};

// How numbers lie in words, and the product, for each type.
template <class V>
struct Tile {                                                                  // 16 bits
    static constexpr Half half = std::is_same_v<V, Float16> ? Half::f16 : Half::bf16;
    static constexpr int rows = 4;                                             // of B that a thread fetches
    // The i-th of them: quarter m of a fragment has rows 2m, 2m+1 in one word and those 8 further on in the other.
    __device__ static int row(int m, int i) { return 2 * m + i % 2 + i / 2 * 8; }
    __device__ static std::uint32_t word(const Four<V> (&four)[rows], int column, int which)
    {
        return four[2 * which].value[column].bits | static_cast<std::uint32_t>(four[2 * which + 1].value[column].bits) << 16;
    }
    __device__ static void set(std::uint32_t (&a)[4], int i, V value) { a[i / 2] |= static_cast<std::uint32_t>(value.bits) << (i % 2 * 16); }
    __device__ static void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) { mma_m16n8k16<half>(d, a, b); }
    // Entry k (of 16) of a column of B from the words of its quarter, and of a row of A from those of its lane.
    __device__ static float from_word(std::uint32_t word, int upper)
    {
        V value;
        value.bits = static_cast<std::uint16_t>(word >> (upper * 16));
        return widen(value);
    }
};

template <>
struct Tile<float> {                                                           // tf32
    static constexpr int rows = 2;
    __device__ static int row(int m, int i) { return m + i * 4; }
    __device__ static std::uint32_t word(const Four<float> (&four)[rows], int column, int which) { return to_tf32(four[which].value[column]); }
    __device__ static void set(std::uint32_t (&a)[4], int i, float value) { a[i] = to_tf32(value); }
    __device__ static void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) { mma_m16n8k8_tf32(d, a, b); }
    __device__ static float from_word(std::uint32_t word, int) { return __builtin_bit_cast(float, word); }
};

// make_panels() and mma agree on which lane has what.
template <class V>
constexpr bool places_agree()
{
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < values_per_lane<V>; ++i) {
            const fragment::Entry at = sizeof(V) == 2 ? fragment::a16(lane, i) : fragment::a32(lane, i);
            const LanePlace place = lane_place<V>(at.row, at.col);
            if (place.lane != lane || place.value != i) return false;
        }
    return true;
}
static_assert(places_agree<Float16>() && places_agree<Bfloat16>() && places_agree<float>());

// Rows of B on their way to a stage: four columns of the rows of one quarter of a chunk.
template <class V>
struct Fetched {
    Four<V> four[Tile<V>::rows];
};

// This thread's part of a stage.
struct Part {
    int chunk, quarter, column;            // the first of four
};
template <int Columns>
__device__ inline Part part_of()
{
    const int t = static_cast<int>(threadIdx.x);
    return {t / Columns, t / (Columns / 4) % 4, t % (Columns / 4) * 4};
}

template <int Columns, class V, class C>
__device__ inline Fetched<V> fetch(const PanelsView<V>& p, const PanelUnit& unit, offset_t first, const Operands<V, C>& o, bool fours, offset_t j)
{
    const Part part = part_of<Columns>();
    const offset_t chunk = first + part.chunk;
    Fetched<V> held = {};
    if (chunk >= unit.end || j + part.column >= o.n) return held;
    for (int i = 0; i < Tile<V>::rows; ++i) {
        const index_t col = p.col[chunk * chunk_columns<V> + Tile<V>::row(part.quarter, i)];
        if (col >= 0) held.four[i] = load_four(o, fours, col, j + part.column);
    }
    return held;
}

// Lays what was fetched into the stage; says whether some of it is not finite.
template <int Columns, class V>
__device__ inline bool lay_down(const Fetched<V>& held, Pair* stage)
{
    const Part part = part_of<Columns>();
    Pair* to = stage + (part.chunk * 4 + part.quarter) * Shape<Columns>::line + part.column;
    bool wild = false;
    for (int c = 0; c < 4; ++c) {
        to[c] = {{Tile<V>::word(held.four, c, 0), Tile<V>::word(held.four, c, 1)}};
        for (int i = 0; i < Tile<V>::rows; ++i) {
            const float value = widen(held.four[i].value[c]);
            wild = wild || value - value != 0.0f;
        }
    }
    return wild;
}

// A lane's values of a tile.
struct Unpacked {
    std::uint32_t a[4] = {};               // as mma wants them
    unsigned present = 0;                  // bit i: the i-th is a nonzero of the matrix
};

template <class V>
__device__ inline Unpacked unpack(const PanelsView<V>& p, offset_t tile, int lane)
{
    Unpacked u;
    const V* value = p.value + p.value_begin[tile];
    const unsigned below = (1u << lane) - 1;
#pragma unroll
    for (int i = 0; i < values_per_lane<V>; ++i) {
        const std::uint32_t word = p.bits[tile * values_per_lane<V> + i];
        if (word >> lane & 1u) {
            Tile<V>::set(u.a, i, value[__popc(word & below)]);
            u.present |= 1u << i;
        }
        value += __popc(word);
    }
    return u;
}

// The tile of a warp's slab times the warp's columns.
template <int Columns, class V>
__device__ inline void multiply_tile(const Unpacked& u, const Pair* lines, int lane, float (&sum)[Shape<Columns>::tiles_per_warp][4])
{
    const Pair* from = lines + lane % 4 * Shape<Columns>::line + lane / 4;
#pragma unroll
    for (int t = 0; t < Shape<Columns>::tiles_per_warp; ++t) {
        const Pair b = from[t * 8];
        Tile<V>::multiply(sum[t], u.a, b.word);
    }
}

// The same entry by entry, only where nonzeros are. The four lanes of a group hold all values of rows `group` and `group + 8` of the tile, and the
// sums of those rows. Which sums and registers are meant is known when compiling: they stay registers.
template <int Columns, class V>
__device__ inline void multiply_entries(const Unpacked& u, const Pair* lines, int lane, float (&sum)[Shape<Columns>::tiles_per_warp][4])
{
#pragma unroll
    for (int i = 0; i < values_per_lane<V>; ++i) {
        const int word = sizeof(V) == 2 ? i / 2 : i, lower_row = sizeof(V) == 2 ? i / 2 % 2 : i % 2;
#pragma unroll 1
        for (int member = 0; member < 4; ++member) {
            const std::uint32_t bits = __shfl_sync(all_lanes, u.a[word], lane / 4 * 4 + member);
            const unsigned present = __shfl_sync(all_lanes, u.present, lane / 4 * 4 + member);
            if (!(present >> i & 1u)) continue;
            const int k = (sizeof(V) == 2 ? fragment::a16(member, i) : fragment::a32(member, i)).col;
            const int quarter = sizeof(V) == 2 ? k % 8 / 2 : k % 4, which = sizeof(V) == 2 ? k / 8 : k / 4;
            const float value = Tile<V>::from_word(bits, i % 2);
            const Pair* from = lines + quarter * Shape<Columns>::line + lane % 4 * 2;
#pragma unroll
            for (int t = 0; t < Shape<Columns>::tiles_per_warp; ++t)
#pragma unroll
                for (int c = 0; c < 2; ++c) sum[t][lower_row * 2 + c] += value * Tile<V>::from_word(from[t * 8 + c].word[which], k % 2);
        }
    }
}

// go(row in the panel, column of the block, sum) for every sum of this lane.
template <int Columns, class Sums, class Go>
__device__ inline void for_each_sum(int warp, int lane, Sums& sum, Go&& go)
{
#pragma unroll
    for (int t = 0; t < Shape<Columns>::tiles_per_warp; ++t)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const fragment::Entry at = fragment::d16x8(lane, i);
            go(warp % slabs * slab_rows + at.row, warp / slabs * Shape<Columns>::columns_per_warp + t * 8 + at.col, sum[t][i]);
        }
}

// Where units leave their sums, and how many units of a panel have.
struct Pieces {
    float* partial;                        // n of each row of each slot
    int* arrived;                          // of each slot (the first of a panel counts) and each tile of columns
};

// Leaves this unit's sums. True for the last unit of the panel to come, whose sums are then those of all.
template <int Columns, class V, class C>
__device__ inline bool join_units(const PanelUnit& unit, const Pieces& pieces, const Operands<V, C>& o, offset_t j, int warp, int lane, int* is_last, float (&sum)[Shape<Columns>::tiles_per_warp][4])
{
    const auto at = [&](int piece, int row, int column) { return (offset_t{unit.first_slot + piece} * panel_rows + row) * o.n + j + column; };
    for_each_sum<Columns>(warp, lane, sum, [&](int row, int column, float value) {
        if (j + column < o.n) pieces.partial[at(unit.piece, row, column)] = value;
    });
    int* arrived = pieces.arrived + unit.first_slot * ceil_div<offset_t>(o.n, Columns) + j / Columns;
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last[0] = arrive(arrived) == unit.pieces - 1;
        if (is_last[0]) *arrived = 0;                                          // for the next run
    }
    __syncthreads();
    if (!is_last[0]) return false;
    for_each_sum<Columns>(warp, lane, sum, [&](int row, int column, float& value) {
        if (j + column >= o.n) return;
        value = 0;
        for (int piece = 0; piece < unit.pieces; ++piece) value += pieces.partial[at(piece, row, column)];
    });
    return true;
}

// One block per unit and `Columns` columns of C; blocks with the same columns come together, because they share rows of B.
//   grid: units for every `Columns` columns      shared memory: two stages, 5 to 17 KB      C: every row once
template <int Columns, class V, class C>
__global__ void __launch_bounds__(Shape<Columns>::threads) multiply_panels_kernel(PanelsView<V> p, Operands<V, C> o, Pieces pieces)
{
    using S = Shape<Columns>;
    TULLE_SHARED(Pair, stages, 2 * S::stage);
    TULLE_SHARED(int, is_last, 1);
    const offset_t j = blockIdx.x / p.units * Columns;
    const PanelUnit unit = p.unit[blockIdx.x % p.units];
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, slab = warp % slabs;
    const bool fours = reads_fours(o);
    float sum[S::tiles_per_warp][4] = {};

    Fetched<V> held = fetch<Columns>(p, unit, unit.begin, o, fours, j);
    int turn = 0;
    for (offset_t first = unit.begin; first < unit.end; first += S::chunks, turn ^= 1) {
        Pair* stage = stages + turn * S::stage;
        const bool wild = __syncthreads_or(lay_down<Columns>(held, stage)) != 0;      // the other stage was read before the barrier before this one
        held = fetch<Columns>(p, unit, first + S::chunks, o, fours, j);
        for (int c = 0; c < S::chunks && first + c < unit.end; ++c) {
            const ChunkTiles tiles = p.tiles[first + c];
            if (!(tiles.slabs >> slab & 1u)) continue;
            const Unpacked u = unpack(p, offset_t{tiles.first} + __popc(tiles.slabs & ((1u << slab) - 1)), lane);
            const Pair* lines = stage + c * 4 * S::line + warp / slabs * S::columns_per_warp;
            if (wild) multiply_entries<Columns, V>(u, lines, lane, sum);
            else multiply_tile<Columns, V>(u, lines, lane, sum);
        }
    }

    if (unit.first_slot >= 0 && !join_units<Columns>(unit, pieces, o, j, warp, lane, is_last, sum)) return;
    const offset_t first_row = offset_t{unit.panel} * panel_rows;
    for_each_sum<Columns>(warp, lane, sum, [&](int row, int column, float value) {
        if (first_row + row < p.rows && j + column < o.n) put(o, p.row != nullptr ? p.row[first_row + row] : first_row + row, j + column, value);
    });
}

template <int Columns, class V, class C>
void launch_panels(const CudaQueue& q, const Workspace<V>& work, const Operands<V, C>& o)
{
    const Pieces pieces{const_cast<float*>(work.partial.data()), const_cast<int*>(work.arrived.data())};
    const offset_t tiles = ceil_div(o.n, index_t{Columns});
    launch(q, {work.panels.unit.size() * tiles, Shape<Columns>::threads}, multiply_panels_kernel<Columns, V, C>, work.panels.view(), o, pieces);
}

}  // namespace

template <class V, class C>
void multiply_panels(const CudaQueue& q, const Workspace<V>& work, const Operands<V, C>& o)
{
    if (o.n > 64) launch_panels<panel_columns>(q, work, o);
    else if (o.n > 32) launch_panels<64>(q, work, o);
    else launch_panels<32>(q, work, o);
}

template void multiply_panels(const CudaQueue&, const Workspace<float>&, const Operands<float, float>&);
template void multiply_panels(const CudaQueue&, const Workspace<Float16>&, const Operands<Float16, Float16>&);
template void multiply_panels(const CudaQueue&, const Workspace<Float16>&, const Operands<Float16, float>&);
template void multiply_panels(const CudaQueue&, const Workspace<Bfloat16>&, const Operands<Bfloat16, Bfloat16>&);
template void multiply_panels(const CudaQueue&, const Workspace<Bfloat16>&, const Operands<Bfloat16, float>&);

}  // namespace tulle::spmm
