// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Dense tiles of 32 x 32 on tensor cores, the paper's first product. A block has a panel of 32 rows and 64 columns of
// C, and goes through the panel's tiles: a tile and the 32 rows of B below it are copied to shared memory two tiles
// ahead. A warp has 16 rows and 32 columns; its sums stay in registers and are added to rows of C once, at their
// original places.
//
//   padding      of Blocked-ELL ends the panel; rows of B beyond the last are zeros
//   NaN, inf     a tile multiplies zeros that stand for nothing: where a sum is not finite, the warp adds up again,
//                entry by entry, only what is stored
#include "spmm/cuda/panels.cuh"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int block_columns = 64, strip = 32, eights = strip / 8, tile_slabs = tile_side / slab_rows;
constexpr int threads_per_block = 32 * tile_slabs * (block_columns / strip);
constexpr int depth = 3;  // tiles on their way or in use

// A stage of shared memory: rows of B, then a tile.
template <class V>
struct TileStage {
    static constexpr int row_pieces = block_columns / per_piece<V>;
    static constexpr int chunks = tile_side / chunk_columns<V>;  // of a tile's columns: what mma.sync takes at once
    static constexpr int tile_at = tile_side * row_pieces, tile_pieces = tile_slabs * chunks * 32;
    static constexpr int pieces = tile_at + tile_pieces;
    static_assert(tile_at % threads_per_block == 0 && tile_pieces % threads_per_block == 0 &&
                  tile_pieces * per_piece<V> == tile_places);

    __device__ static int piece(int row, int piece) { return Tile<V>::template piece<row_pieces>(row, piece); }
};

// What a block knows from the beginning.
template <class V, class C>
struct TileJob {
    const TilesView<V>& t;
    const Operands<V, C>& o;
    offset_t first;  // tile of the panel
    offset_t j;      // its first column
    bool pieces;     // rows of B are whole pieces

    __device__ index_t block_at(int slot) const { return slot < t.width ? t.block_col[first + slot] : -1; }

    // A piece of a row of B, number by number.
    __device__ Piece collect(index_t row, offset_t column) const
    {
        struct alignas(16) Numbers {
            V value[per_piece<V>];
        } all;
        for (int c = 0; c < per_piece<V>; ++c)
            all.value[c] = row < t.cols && column + c < o.n ? o.b[row * o.b_row + (column + c) * o.b_col] : V{};
        return __builtin_bit_cast(Piece, all);
    }

    // Asks for a tile and its rows of B.
    __device__ void ask(int slot, index_t block, Piece* stage) const
    {
        using S = TileStage<V>;
        if (block < 0) return;
        const int thread = static_cast<int>(threadIdx.x), piece = thread % S::row_pieces;
        const offset_t column = j + piece * per_piece<V>;
#pragma unroll
        for (int i = 0; i < S::tile_at; i += threads_per_block) {
            const int line = (i + thread) / S::row_pieces;
            const index_t row = block * tile_side + line;
            Piece* to = stage + line * S::row_pieces + S::piece(line, piece);
            if (!pieces) *to = collect(row, column);
            else if (row < t.cols && column < o.n) copy_async(SharedAddress(to), o.b + row * o.b_row + column);
            else *to = {};
        }
        const Piece* tile = reinterpret_cast<const Piece*>(t.value) + (first + slot) * S::tile_pieces;
#pragma unroll
        for (int i = thread; i < S::tile_pieces; i += threads_per_block)
            copy_async(SharedAddress(stage + S::tile_at + i), tile + i);
    }
};

// A warp's 16 rows of a tile times its columns of B.
template <class V>
__device__ inline void multiply_whole_tile(const Piece* stage, int slab, int first_eight, int lane,
                                           float (&sum)[eights][4])
{
    using S = TileStage<V>;
#pragma unroll
    for (int c = 0; c < S::chunks; ++c) {
        const Piece tile = stage[S::tile_at + (slab * S::chunks + c) * 32 + lane];
        std::uint32_t a[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) a[i] = Tile<V>::word(tile.word[i]);
        if constexpr (sizeof(V) == 2) {
            const int row = c * chunk_columns<V> + lane % 16;
#pragma unroll
            for (int t = 0; t < eights; t += 2) {
                std::uint32_t b[4];
                load_transposed(b, SharedAddress(stage + row * S::row_pieces +
                                                 S::piece(row, first_eight + t + lane / 16)));
                const std::uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
                Tile<V>::multiply(sum[t], a, left);
                Tile<V>::multiply(sum[t + 1], a, right);
            }
        } else {
            const int row = c * chunk_columns<V> + lane % 4;  // and the one four below, whose pieces lie alike
#pragma unroll
            for (int t = 0; t < eights; ++t) {
                const Piece* from = stage + row * S::row_pieces + S::piece(row, (first_eight + t) * 2 + lane / 16);
                const std::uint32_t b[2] = {Tile<V>::word(from[0].word[lane / 4 % 4]),
                                            Tile<V>::word(from[4 * S::row_pieces].word[lane / 4 % 4])};
                Tile<V>::multiply(sum[t], a, b);
            }
        }
    }
}

// The four sums of a lane in the eight columns from `j` on, entry by entry. Not inlined, and everything by value: this
// hardly ever happens.
template <class V>
__attribute__((noinline)) __device__ Run<float> add_stored(TilesView<V> tiles, Operands<V, float> o, offset_t first,
                                                           int slab, int lane, offset_t j)
{
    Run<float> sum = {};
    for (index_t slot = 0; slot < tiles.width && tiles.block_col[first + slot] >= 0; ++slot)
        for (int half = 0; half < 2; ++half) {
            const int row = slab * slab_rows + lane / 4 + half * 8;
            for (int col = 0; col < tile_side; ++col) {
                if (!(tiles.present[(first + slot) * tile_side + row] >> col & 1u)) continue;
                const float a = Tile<V>::factor(tiles.value[(first + slot) * tile_places + place_in_tile<V>(row, col)]);
                for (int c = 0; c < 2; ++c) {
                    const offset_t column = j + lane % 4 * 2 + c;
                    if (column < o.n)
                        sum.value[half * 2 + c] +=
                            a *
                            Tile<V>::factor(o.b[(tiles.block_col[first + slot] * offset_t{tile_side} + col) * o.b_row +
                                                column * o.b_col]);
                }
            }
        }
    return sum;
}

// Columns j and j+1 of a row of C, which are there already.
template <class V, class C>
__device__ inline void add_pair(const Operands<V, C>& o, bool pairs, offset_t row, offset_t j, float left, float right)
{
    if (pairs && j + 2 <= o.n) {
        auto* to = reinterpret_cast<Two<float>*>(o.c + row * o.c_row + j);
        const Two<float> old = *to;
        const RowFactor<V, C> scaled(o, row);
        *to = {{old.value[0] + o.alpha * scaled(left), old.value[1] + o.alpha * scaled(right)}};
        return;
    }
    if (j < o.n) put(o, row, j, left);
    if (j + 1 < o.n) put(o, row, j + 1, right);
}

// One block per panel and 64 columns of C; blocks with the same columns come together, because they share rows of B.
// beta is 1.
//   grid: panels for every 64 columns
//   shared memory: three stages, 18 KB (tf32: 36 KB)
//   C: rows of panels with tiles, read and written once
template <class V, class C>
__global__ void __launch_bounds__(threads_per_block)
    multiply_tiles_kernel(TilesView<V> tiles, Operands<V, C> o, bool pieces)
{
    using S = TileStage<V>;
    TULLE_SHARED(Piece, stages, depth * S::pieces);
    const offset_t panel = blockIdx.x % static_cast<unsigned>(tiles.panels);
    const TileJob<V, C> job{tiles, o, panel * tiles.width,
                            blockIdx.x / static_cast<unsigned>(tiles.panels) * offset_t{block_columns}, pieces};
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32,
              slab = warp % tile_slabs, first_eight = warp / tile_slabs * eights;
    index_t now = job.block_at(0), next = job.block_at(1), third = job.block_at(2);
    if (now < 0) return;  // the whole block
    float sum[eights][4] = {};
    job.ask(0, now, stages);
    end_copy_group();
    job.ask(1, next, stages + S::pieces);
    end_copy_group();
    int out = 0, in = depth - 1;  // the stages that are multiplied and asked for
    for (int slot = 0; now >= 0; ++slot) {
        wait_for_copies<depth - 2>();
        __syncthreads();  // all have their part of this stage, and have read the one before
        job.ask(slot + depth - 1, third, stages + in * S::pieces);
        end_copy_group();
        const index_t fourth = job.block_at(slot + depth);
        multiply_whole_tile<V>(stages + out * S::pieces, slab, first_eight, lane, sum);
        now = next;
        next = third;
        third = fourth;
        out = out == depth - 1 ? 0 : out + 1;
        in = in == depth - 1 ? 0 : in + 1;
    }

    const offset_t j = job.j + first_eight * 8;
    float nothing = 0;  // stays so as long as sums are finite
#pragma unroll
    for (int t = 0; t < eights; ++t)
        for (int i = 0; i < 4; ++i) nothing += sum[t][i] * 0.0f;
    if (__any_sync(all_lanes, nothing != 0.0f)) {
#pragma unroll
        for (int t = 0; t < eights; ++t) {
            const Run<float> four = add_stored<V>(tiles, o, job.first, slab, lane, j + t * 8);
            for (int i = 0; i < 4; ++i) sum[t][i] = four.value[i];
        }
    }
    const bool pairs = writes_pairs(o);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const offset_t position = (tiles.first_panel + panel) * tile_side + slab * slab_rows + lane / 4 + half * 8;
        if (position >= tiles.rows) continue;
#pragma unroll
        for (int t = 0; t < eights; ++t)
            add_pair(o, pairs, tiles.row[position], j + t * 8 + lane % 4 * 2, sum[t][half * 2], sum[t][half * 2 + 1]);
    }
}

// Both products' sums to C; one thread per entry.
//   grid: ceil(rows * n / threads)      shared memory: none      C: every entry once
template <class V, class C>
__global__ void __launch_bounds__(threads_per_block) round_sums_kernel(index_t rows, const float* sum, Operands<V, C> o)
{
    const offset_t i = global_thread() / o.n, j = global_thread() % o.n;
    if (i >= rows) return;
    C* to = o.c + i * o.c_row + j * o.c_col;
    *to = Narrow<C>::from(o.beta == 0 ? sum[i * o.n + j] : sum[i * o.n + j] + o.beta * widen(*to));
}

}  // namespace

template <class V, class C>
void multiply_tiles(const CudaQueue& q, const Tiles<V>& tiles, const Operands<V, C>& o)
{
    launch(q, {offset_t{tiles.panels} * ceil_div(o.n, index_t{block_columns}), threads_per_block},
           multiply_tiles_kernel<V, C>, tiles.view(), o, has_pieces(o));
}

template <class V, class C>
void round_sums(const CudaQueue& q, index_t rows, const Sum<V>* sum, const Operands<V, C>& o)
{
    launch(q, one_thread_each(offset_t{rows} * o.n, threads_per_block), round_sums_kernel<V, C>, rows, sum, o);
}

template void multiply_tiles(const CudaQueue&, const Tiles<float>&, const Operands<float, float>&);
template void multiply_tiles(const CudaQueue&, const Tiles<Float16>&, const Operands<Float16, float>&);
template void multiply_tiles(const CudaQueue&, const Tiles<Bfloat16>&, const Operands<Bfloat16, float>&);
template void multiply_tiles(const CudaQueue&, const Tiles<Float16>&, const Operands<Float16, Scaled<float>>&);
template void multiply_tiles(const CudaQueue&, const Tiles<Bfloat16>&, const Operands<Bfloat16, Scaled<float>>&);
template void round_sums(const CudaQueue&, index_t, const float*, const Operands<Float16, Float16>&);
template void round_sums(const CudaQueue&, index_t, const float*, const Operands<Bfloat16, Bfloat16>&);

}  // namespace tulle::inline TULLE_ABI::spmm
