// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the kernels on tensor cores share. A block has some chunks of a panel (64 rows) and 32, 64 or 128 columns of C.
// What a chunk needs (rows of B, tiles) is copied to shared memory some stages ahead. Each warp has a slab of 16 rows:
// it multiplies the slab's tile of a chunk, if there is one, with all columns; sums stay in registers. Rows of C are
// written once, to their original places.
//
//   padding      columns beyond a panel's last bring in zeros, not rows of B
//   NaN, inf     a tile multiplies zeros that no nonzero stands for, and 0 times infinity is NaN. So where a number of
//                B is not finite, no sum of the
//                slab in that column is; and where a sum is not finite, the warp adds up again, entry by entry
#pragma once

#include "spmm/cuda/panel_tiles.cuh"

#include "base/constant.hpp"
#include "base/math.hpp"
#include "device/cuda/copies.cuh"

namespace tulle::inline TULLE_ABI::spmm {

constexpr unsigned all_lanes = 0xffffffffu;

// The shape of a block that computes `Columns` columns of C, with `Depth` stages on their way or in use. `Groups` of
// warps share the `Chunks` of a stage. A warp has `Tall` slabs, `Across` warps share the columns.
template <class V, int Columns, int Depth = 3, int Groups = 1, int Chunks = Columns == 32 ? 4 : 2, int Tall = 1,
          int Across = 1>
struct Shape {
    static constexpr int columns = Columns, groups = Groups, tall = Tall, across = Across;
    static constexpr int warp_columns = Columns / Across, warps = slabs / Tall * Across * Groups, threads = 32 * warps;
    static constexpr int chunks = Chunks, copy_groups = warps / slabs;  // whose warps copy the tiles of every slab
    static_assert(chunks % copy_groups == 0 && (Groups == 1 || Tall == Across));  // group_of_warp()
    static constexpr int depth = Depth;
    static constexpr int rows = chunk_columns<V>;  // of B in a chunk
    static constexpr int row_pieces = Columns / per_piece<V>;
    static constexpr int tiles_at = rows * row_pieces,
                         chunk_pieces = tiles_at + 32 * slabs;  // rows of B, then a piece of A for each lane of a slab
    static constexpr int stage_pieces = chunks * chunk_pieces;
    // Whether stages that a source fills are copied without asking; not where registers are scarce.
    template <class Source>
    static constexpr bool in_order = Source::whole&& warp_columns == narrowest_panel;
};

// A row of B as the kernel sees it: pieces that can be copied, or single numbers anywhere.
enum class Rows { pieces, numbers };

// Chunks come from somewhere (`Source`) that says of the c-th chunk of this block
//     row(c, i)         which row of B is its i-th, -1 if there is none
//     has(c, slab)      whether the slab has a tile
//     tile(c, slab)     and which
//     whole             every slab has one, but beyond the last chunk, where it is zero: nobody has to ask before
//                       multiplying. Such a source also says
//     fills(c, n)       whether n chunks from the c-th on have all of their rows, which then follow each other, as
//                       their tiles do: addresses are added up, and nobody has to ask before copying

// This thread's part of the copies of rows of B: the same piece of some rows of every chunk.
template <class S, Rows Kind, class V, class C>
struct RowCopies {
    static constexpr int rows_at_once = S::threads / S::row_pieces;  // may be those of several chunks
    static constexpr int swap = sizeof(V) == 2 ? 8 : 4;              // rows after which pieces lie as before
    const Operands<V, C>& o;
    offset_t j;                 // the column that its piece begins with
    const unsigned char* from;  // its piece of row 0
    unsigned step;              // bytes from row to row
    bool live;                  // B has such columns
    int line, piece;            // its first row, counted through the chunks of a stage

    __device__ RowCopies(const Operands<V, C>& operands, offset_t first_column) : o(operands)
    {
        line = static_cast<int>(threadIdx.x) / S::row_pieces;
        piece = static_cast<int>(threadIdx.x) % S::row_pieces;
        j = first_column + piece * per_piece<V>;
        live = j < o.n;
        from = reinterpret_cast<const unsigned char*>(o.b + j);
        step = static_cast<unsigned>(o.b_row * static_cast<offset_t>(sizeof(V)));
    }

    template <class Source>
    __device__ void ask(const Source& source, int first, Piece* stage) const
    {
        // Rows that a thread copies are so far apart that pieces are shuffled alike in all of them, and every thread
        // has one.
        static_assert(rows_at_once % swap == 0 || S::chunks * S::rows <= rows_at_once);
        static_assert(rows_at_once <= S::chunks * S::rows);
        Piece* to = stage + line / S::rows * S::chunk_pieces + line % S::rows * S::row_pieces +
                    Tile<V>::template piece<S::row_pieces>(line % S::rows, piece);
        if constexpr (S::template in_order<Source> && Kind == Rows::pieces)
            if (source.fills(first, S::chunks)) return ask_in_order(source.row(first, 0), to);
#pragma unroll
        for (int i = 0; i < S::chunks * S::rows; i += rows_at_once) {
            // Constant where whole chunks or parts of one are copied at once.
            const int chunk = rows_at_once >= S::rows ? i / S::rows + line / S::rows : i / S::rows,
                      row = rows_at_once >= S::rows ? line % S::rows : i % S::rows + line;
            const int away = distance(i);
            const index_t b_row = source.row(first + chunk, row);
            if constexpr (Kind == Rows::numbers) to[away] = collect(b_row);
            else if (live && b_row >= 0)
                copy_async(SharedAddress(to) + away * static_cast<int>(sizeof(Piece)),
                           from + static_cast<std::uint64_t>(static_cast<unsigned>(b_row)) * step);
            else to[away] = {};
        }
    }

    // From this thread's first piece in a stage to that of the row so many further on.
    __device__ static constexpr int distance(int rows)
    {
        return rows / S::rows * S::chunk_pieces + (rows_at_once >= S::rows ? 0 : rows % S::rows * S::row_pieces);
    }

    // All rows of a stage from `b_row` on; `to`: this thread's first piece.
    __device__ void ask_in_order(index_t b_row, Piece* to) const
    {
        constexpr int all = S::chunks * S::rows;
        const unsigned char* next = from + static_cast<std::uint64_t>(static_cast<unsigned>(b_row + line)) * step;
        const std::uint64_t apart = std::uint64_t{step} * rows_at_once;
        if (live)
#pragma unroll
            for (int i = 0; i < all; i += rows_at_once, next += apart)
                copy_async(SharedAddress(to) + distance(i) * static_cast<int>(sizeof(Piece)), next);
        else
#pragma unroll
            for (int i = 0; i < all; i += rows_at_once) to[distance(i)] = {};
    }

    // The piece where it may not be copied: number by number.
    __device__ Piece collect(index_t row) const
    {
        struct alignas(16) Numbers {
            V value[per_piece<V>];
        } all;
        for (int c = 0; c < per_piece<V>; ++c)
            all.value[c] = row >= 0 && j + c < o.n ? o.b[row * o.b_row + (j + c) * o.b_col] : V{};
        return __builtin_bit_cast(Piece, all);
    }
};

// The slab of this warp, and its group.
__device__ inline int slab_of_warp() { return static_cast<int>(threadIdx.x) / 32 % slabs; }
__device__ inline int group_of_warp() { return static_cast<int>(threadIdx.x) / 32 / slabs; }
// What it multiplies: the first of its slabs, and of its eights of columns.
template <class S>
__device__ inline int first_slab()
{
    return static_cast<int>(threadIdx.x) / 32 / S::across * S::tall % slabs;
}
template <class S>
__device__ inline int first_eight()
{
    return static_cast<int>(threadIdx.x) / 32 % S::across * (S::warp_columns / 8);
}

// Asks for the tiles of a stage: each lane for its own piece.
template <class S, class V, class Source>
__device__ inline void ask_for_tiles(const PanelsView<V>& p, const Source& source, int first, Piece* stage)
{
    const int slab = slab_of_warp(), lane = static_cast<int>(threadIdx.x) % 32;
    const SharedAddress to(stage + S::tiles_at + slab * 32 + lane);
    if constexpr (S::template in_order<Source>)
        if (source.fills(first, S::chunks)) {
            const int group = group_of_warp();
            const Piece* from = reinterpret_cast<const Piece*>(p.value) +
                                (std::uint64_t{source.tile(first + group, slab)} * 32 + static_cast<unsigned>(lane));
#pragma unroll
            for (int i = 0; i < S::chunks; i += S::copy_groups)
                copy_async(to + (group + i) * S::chunk_pieces * static_cast<int>(sizeof(Piece)), from + i * slabs * 32);
            return;
        }
#pragma unroll
    for (int i = 0; i < S::chunks; i += S::copy_groups) {
        const int c = S::copy_groups > 1 ? i + group_of_warp() : i;
        if (source.has(first + c, slab))
            copy_async(to + c * S::chunk_pieces * static_cast<int>(sizeof(Piece)),
                       reinterpret_cast<const Piece*>(p.value) +
                           (std::uint64_t{source.tile(first + c, slab)} * 32 + static_cast<unsigned>(lane)));
        else if (source.whole) stage[S::tiles_at + slab * 32 + lane + c * S::chunk_pieces] = {};
    }
}

// The tiles of a warp's slabs, the first of which is `slab`, times its columns.
template <class S, class V>
__device__ inline void multiply_chunk(const Piece* chunk, int slab, int lane, Sums<V, S::warp_columns> (&sums)[S::tall])
{
    std::uint32_t a[S::tall][4];
#pragma unroll
    for (int s = 0; s < S::tall; ++s) {
        const Piece tile = chunk[S::tiles_at + (slab + s) * 32 + lane];
        for (int i = 0; i < 4; ++i) a[s][i] = Tile<V>::word(tile.word[i]);
    }
    const int eight = first_eight<S>();
    if constexpr (sizeof(V) == 2) {
        const int row = lane % 16;
#pragma unroll
        for (int t = 0; t < S::warp_columns / 8; t += 2) {
            std::uint32_t b[4];
            load_transposed(b, SharedAddress(chunk + row * S::row_pieces +
                                             Tile<V>::template piece<S::row_pieces>(row, eight + t + lane / 16)));
            const std::uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
#pragma unroll
            for (int s = 0; s < S::tall; ++s) {
                Tile<V>::multiply(sums[s].value[t], a[s], left);
                Tile<V>::multiply(sums[s].value[t + 1], a[s], right);
            }
        }
    } else {
        const int row = lane % 4;  // and the one four below, whose pieces lie alike
#pragma unroll
        for (int t = 0; t < S::warp_columns / 8; t += 4) {
            const Piece* from =
                chunk + row * S::row_pieces + Tile<V>::template piece<S::row_pieces>(row, (eight + t) * 2 + lane / 4);
            const Piece upper = from[0], lower = from[4 * S::row_pieces];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const std::uint32_t b[2] = {Tile<V>::word(upper.word[i]), Tile<V>::word(lower.word[i])};
#pragma unroll
                for (int s = 0; s < S::tall; ++s) Tile<V>::multiply(sums[s].value[t + i], a[s], b);
            }
        }
    }
}

// Split numbers, three products for one. One kind of product after the other: none waits for the one just ahead.
template <int Columns>
__device__ inline void multiply_split(const SplitFour& a, const SplitFour& upper, const SplitFour& lower, int t,
                                      Sums<Split, Columns>& sums)
{
    using T = Tile<Split>;
#pragma unroll
    for (int i = 0; i < 4; ++i) T::multiply(sums.small[t + i], a.small, {upper.big[i], lower.big[i]});
#pragma unroll
    for (int i = 0; i < 4; ++i) T::multiply(sums.value[t + i], a.big, {upper.big[i], lower.big[i]});
#pragma unroll
    for (int i = 0; i < 4; ++i) T::multiply(sums.small[t + i], a.big, {upper.small[i], lower.small[i]});
}

template <class S>
__device__ inline void multiply_split_chunk(const Piece* chunk, int slab, int lane,
                                            Sums<Split, S::warp_columns> (&sums)[S::tall])
{
    const int row = lane % 4, eight = first_eight<S>();
    const Piece* tile = chunk + S::tiles_at + slab * 32 + lane;
    const SplitFour first(tile[0]), last(tile[(S::tall - 1) * 32]);
#pragma unroll
    for (int t = 0; t < S::warp_columns / 8; t += 4) {
        const Piece* from =
            chunk + row * S::row_pieces + Tile<Split>::piece<S::row_pieces>(row, (eight + t) * 2 + lane / 4);
        const SplitFour upper(from[0]), lower(from[4 * S::row_pieces]);
        multiply_split(first, upper, lower, t, sums[0]);
        if constexpr (S::tall > 1) multiply_split(last, upper, lower, t, sums[S::tall - 1]);
    }
    static_assert(S::tall <= 2);
}

// The tiles of a warp's slabs in all chunks of a stage that its group has, of doubles: two or four chunks at once,
// because products of four columns alone leave half of a tensor core unused.
template <class S>
__device__ inline void multiply_stage(const Piece* stage, int slab, int lane,
                                      Sums<double, S::warp_columns> (&sums)[S::tall])
{
    constexpr int count = S::chunks / S::groups;
    const int row = lane % 4, eight = first_eight<S>();
    const Piece* first = stage + (S::groups > 1 ? group_of_warp() : 0) * S::chunk_pieces;
    double a[S::tall][count][2], b[2][count];
#pragma unroll
    for (int s = 0; s < S::tall; ++s)
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const Piece& tile = first[i * S::groups * S::chunk_pieces + S::tiles_at + (slab + s) * 32 + lane];
            const auto both = __builtin_bit_cast(Two<double>, tile);
            a[s][i][0] = both.value[0], a[s][i][1] = both.value[1];
        }
#pragma unroll
    for (int t = 0; t < S::warp_columns / 8; t += 2) {
        const int piece = row * S::row_pieces + Tile<double>::piece<S::row_pieces>(row, (eight + t) * 4 + lane / 4);
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const auto both = __builtin_bit_cast(Two<double>, first[i * S::groups * S::chunk_pieces + piece]);
            b[0][i] = both.value[0], b[1][i] = both.value[1];
        }
#pragma unroll
        for (int s = 0; s < S::tall; ++s)
#pragma unroll
            for (int k = 0; k < 2; ++k)
                if constexpr (count == 4) mma_m16n8k16(sums[s].value[t + k], a[s], b[k]);
                else mma_m16n8k8(sums[s].value[t + k], a[s], b[k]);
    }
}

// A stage of this block, of whose chunks `first` is the first: what its warp has to multiply.
template <class S, class V, class Source>
__device__ inline void multiply_chunks_of_stage(const Source& source, int first, const Piece* stage, int slab, int lane,
                                                Sums<V, S::warp_columns> (&sums)[S::tall])
{
    if constexpr (std::is_same_v<V, double>) multiply_stage<S>(stage, slab, lane, sums);
    else
#pragma unroll
        for (int i = 0; i < S::chunks; i += S::groups) {
            const int c = S::groups > 1 ? i + group_of_warp() : i;
            if (!source.whole && !source.has(first + c, slab)) continue;
            if constexpr (std::is_same_v<V, Split>)
                multiply_split_chunk<S>(stage + c * S::chunk_pieces, slab, lane, sums);
            else multiply_chunk<S, V>(stage + c * S::chunk_pieces, slab, lane, sums);
        }
}

// All chunks of a block, from the first on; `each_step` is called once a stage, to ask for more of what the source
// reads.
template <class S, Rows Kind, class V, class C, class Source, class Ask>
__device__ inline void multiply_chunks(const PanelsView<V>& p, const RowCopies<S, Kind, V, C>& rows,
                                       const Source& source, int chunks, Piece* stages,
                                       Sums<V, S::warp_columns> (&sums)[S::tall], Ask&& each_step)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, slab = first_slab<S>(), steps = ceil_div(chunks, S::chunks);
    const auto ask_for_stage = [&](int step, Piece* stage) {
        rows.ask(source, step * S::chunks, stage);
        ask_for_tiles<S>(p, source, step * S::chunks, stage);
    };
    const int ahead = min(steps, S::depth - 1);
    for (int step = 0; step < ahead; ++step)
        ask_for_tiles<S>(p, source, step * S::chunks, stages + step * S::stage_pieces);
    wait_for_earlier_kernels();  // tiles are the plan's own, B is not
    for (int step = 0; step < S::depth - 1; ++step) {
        if (step < ahead) rows.ask(source, step * S::chunks, stages + step * S::stage_pieces);
        end_copy_group();
    }
    int out = 0, in = S::depth - 1;  // the stages that are multiplied and asked for
    for (int step = 0; step < steps; ++step) {
        wait_for_copies<S::depth - 2>();
        __syncthreads();  // all have their part of this stage, and have read the one before
        if (step + S::depth - 1 < steps) ask_for_stage(step + S::depth - 1, stages + in * S::stage_pieces);
        each_step(step);
        end_copy_group();
        multiply_chunks_of_stage<S, V>(source, step * S::chunks, stages + out * S::stage_pieces, slab, lane, sums);
        out = out == S::depth - 1 ? 0 : out + 1;
        in = in == S::depth - 1 ? 0 : in + 1;
    }
}

// The four sums of a lane in the t-th eight columns from `j` on, entry by entry, only where nonzeros are. The four
// lanes of a group have all values of its two rows. Not inlined, and everything by value: nothing of it shall be in the
// way of what usually happens.
template <class V, class C>
__attribute__((noinline)) __device__ Run<Sum<V>> add_entries(PanelsView<V> p, Operands<V, C> o, offset_t begin,
                                                             offset_t end, int slab, int lane, offset_t j, int t)
{
    Run<Sum<V>> sum = {};
    for (offset_t k = begin; k < end; ++k) {
        const Chunk<V>& chunk = p.chunk[k];
        if (!chunk.has(slab)) continue;
        for (int holder = lane / 4 * 4; holder < lane / 4 * 4 + 4; ++holder) {
            const offset_t at = chunk.tile(slab) * 32 + holder;
            for (int i = 0; i < values_per_lane<V>; ++i) {
                if (!(p.present[at] >> i & 1)) continue;
                const fragment::Entry place = Tile<V>::place(holder, i);
                const Sum<V> factor = Tile<V>::factor(p.value[at * values_per_lane<V> + i]);
                for (int c = 0; c < 2; ++c) {
                    const offset_t column = j + Tile<V>::column(t, lane, c);
                    if (column < o.n)
                        sum.value[place.row / 8 * 2 + c] +=
                            factor * Tile<V>::factor(o.b[chunk.col[place.col] * o.b_row + column * o.b_col]);
                }
            }
        }
    }
    return sum;
}

// Sums that are not finite are added up again, of the chunks of the panel that this block has.
template <int Columns, class V, class C>
__device__ inline void mend_sums(const PanelsView<V>& p, const Operands<V, C>& o, offset_t begin, offset_t end,
                                 int slab, int lane, offset_t j, Sum<V> (&sum)[Columns / 8][4])
{
    Sum<V> none[4] = {};  // stay so as long as sums are finite
#pragma unroll
    for (int t = 0; t < Columns / 8; ++t)
        for (int i = 0; i < 4; ++i) none[i] += sum[t][i] * 0;
    if (!__any_sync(all_lanes, (none[0] + none[1]) + (none[2] + none[3]) != 0)) return;
#pragma unroll
    for (int t = 0; t < Columns / 8; ++t) {
        const Run<Sum<V>> four = add_entries<V, EntryType<C>>(p, o, begin, end, slab, lane, j, t);
        for (int i = 0; i < 4; ++i) sum[t][i] = four.value[i];
    }
}

// Eights of columns that a lane's run of columns in a row goes through: a run has two for numbers of 16 bits, eight for
// tf32, four for doubles.
template <class V>
constexpr int eights_per_run = sizeof(V) == 2 ? 1 : per_piece<V>;

// Sums that are written at once.
template <class V>
constexpr int at_once = sizeof(V) == 4 ? 4 : 2;
template <class V, class C>
struct alignas(at_once<V> * sizeof(C)) Together {
    static constexpr int count = at_once<V>;
    C value[count];
};

// Writes the sums of this lane, in two rows. What can be written without looking is: the general case would cost a
// third of the kernel's time.
template <int Columns, class V, class C>
__device__ inline void write_sums(const PanelsView<V>& p, const Operands<V, C>& o, offset_t first_row, offset_t j,
                                  int lane, const Sum<V> (&sum)[Columns / 8][4])
{
    using Entry = EntryType<C>;
    using Some = Together<V, Entry>;
    constexpr int eights = eights_per_run<V>;
    const bool aligned =
        o.c_col == 1 && o.c_row % Some::count == 0 && reinterpret_cast<std::uintptr_t>(o.c) % sizeof(Some) == 0;
    const bool simple = aligned && o.beta == 0 && j + Columns <= o.n, pairs = writes_pairs(o);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const offset_t position = first_row + lane / 4 + half * 8;
        if (position >= p.rows) continue;
        const offset_t row = p.row != nullptr ? p.row[position] : position, column = j + Tile<V>::column(0, lane, 0);
        const auto at = [&](int t, int k) {
            return sum[t + k % eights][half * 2 + k / eights];
        };  // the k-th of the run from the t-th eight on
        if (simple) {
            const RowFactor<V, C> scaled(o, row);
            Entry* to = o.c + row * o.c_row + column;
#pragma unroll
            for (int t = 0; t < Columns / 8; t += eights)
#pragma unroll
                for (int k = 0; k < 2 * eights; k += Some::count) {
                    Some some;
#pragma unroll
                    for (int i = 0; i < Some::count; ++i)
                        some.value[i] = Narrow<Entry>::from(o.alpha * scaled(at(t, k + i)));
                    *reinterpret_cast<Some*>(to + t * 8 + k) = some;
                }
        } else {
#pragma unroll
            for (int t = 0; t < Columns / 8; t += eights)
#pragma unroll
                for (int k = 0; k < 2 * eights; k += 2)
                    put_pair(o, pairs, row, column + t * 8 + k, at(t, k), at(t, k + 1));
        }
    }
}

}  // namespace tulle::inline TULLE_ABI::spmm
