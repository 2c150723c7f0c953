// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Panels on tensor cores. A block has a unit of a panel (64 rows, some chunks of its columns) and 32, 64 or 128 columns of C. What a chunk needs (rows
// of B, tiles) is copied to shared memory some stages ahead, and the lists that say what to copy some stages before that. Each warp has a slab of 16
// rows: it multiplies the slab's tile of a chunk, if there is one, with all columns; sums stay in registers. Rows of C are written once, to their
// original places.
//
//   padding      columns beyond a panel's last bring in zeros, not rows of B
//   NaN, inf     a tile multiplies zeros that no nonzero stands for, and 0 times infinity is NaN. So where a number of B is not finite, no sum of the
//                slab in that column is; and where a sum is not finite, the warp adds up again, entry by entry
//   long panels  units leave their sums; the last of them to come adds all up in their order, so that results do not depend on who that is
#include "tulle/spmm/cuda/operands.cuh"

#include <type_traits>

#include "tulle/base/constant.hpp"
#include "tulle/base/math.hpp"
#include "tulle/device/cuda/copies.cuh"

namespace tulle::spmm {
namespace {

constexpr unsigned all_lanes = 0xffffffffu;

// How numbers lie in words, and the product, for each type.
template <class V>
struct Tile {                                                                  // 16 bits
    static constexpr Half half = std::is_same_v<V, Float16> ? Half::f16 : Half::bf16;
    __device__ static constexpr fragment::Entry place(int lane, int i) { return fragment::a16(lane, i); }
    __device__ static std::uint32_t word(std::uint32_t stored) { return stored; }
    __device__ static void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) { mma_m16n8k16<half>(d, a, b); }
    __device__ static float factor(V value) { return widen(value); }
    // The column, among those of the block, of a lane's c-th sum in a row of the t-th eight.
    __device__ static constexpr int column(int t, int lane, int c) { return t * 8 + lane % 4 * 2 + c; }
    // Where a row of B has its pieces: shuffled, so that eight rows of a matrix lie in different banks.
    template <int Pieces>
    __device__ static int piece(int row, int piece) { return Pieces == 4 ? piece ^ (row / 2 % 4) : piece ^ (row % 8); }
};

template <>
struct Tile<float> {                                                           // tf32
    __device__ static constexpr fragment::Entry place(int lane, int i) { return fragment::a32(lane, i); }
    __device__ static std::uint32_t word(std::uint32_t stored) { return to_tf32(__builtin_bit_cast(float, stored)); }
    __device__ static void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) { mma_m16n8k8_tf32(d, a, b); }
    __device__ static float factor(float value) { return __builtin_bit_cast(float, to_tf32(value)); }
    // Eights are every fourth column of 32, so that a lane reads what it needs for four of them at once.
    __device__ static constexpr int column(int t, int lane, int c) { return t / 4 * 32 + (lane % 4 * 2 + c) * 4 + t % 4; }
    template <int Pieces>
    __device__ static int piece(int row, int piece) { return piece ^ (row % 4 * 2); }
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

// The shape of a block that computes `Columns` columns of C.
template <class V, int Columns>
struct Shape {
    static constexpr int threads = 32 * slabs;
    static constexpr int chunks = Columns == 32 ? 4 : 2;                       // of a stage
    static constexpr int depth = 3;                                            // stages on their way or in use
    static constexpr int stages_per_list = 2 * (depth - 1);                    // a list is in use for so long after the next has been asked for
    static constexpr int chunks_per_list = stages_per_list * chunks;
    static constexpr int rows = chunk_columns<V>;                              // of B in a chunk
    static constexpr int row_pieces = Columns / per_piece<V>;
    static constexpr int tiles_at = rows * row_pieces, chunk_pieces = tiles_at + threads;      // rows of B, then a piece of A for each thread
    static constexpr int stage_pieces = chunks * chunk_pieces;
    static constexpr int list_pieces = static_cast<int>(sizeof(Chunk<V>) / sizeof(Piece));     // of a chunk
    static_assert(chunks_per_list * list_pieces <= threads);
};

// A row of B as the kernel sees it: pieces that can be copied, or single numbers anywhere.
enum class Rows { pieces, numbers };

// What a block knows from the beginning.
template <class V, class C>
struct Job {
    const PanelsView<V>& p;
    const Operands<V, C>& o;
    PanelUnit unit;
    offset_t j;                            // its first column
};

// Chunks in shared memory, counted from the beginning of the unit; those beyond its end have no columns and no tiles.
template <class S, class V>
struct Lists {
    Chunk<V>* list;

    __device__ const Chunk<V>& operator[](int chunk) const { return list[static_cast<unsigned>(chunk) % (2 * S::chunks_per_list)]; }

    // Asks for a list of them: a piece a thread.
    template <class C>
    __device__ void ask(const Job<V, C>& job, int first) const
    {
        const int i = static_cast<int>(threadIdx.x);
        if (i >= S::chunks_per_list * S::list_pieces) return;
        Piece* to = reinterpret_cast<Piece*>(list + static_cast<unsigned>(first) % (2 * S::chunks_per_list)) + i;
        const offset_t chunk = job.unit.begin + first;
        if (chunk + i / S::list_pieces < job.unit.end) copy_async(SharedAddress(to), reinterpret_cast<const Piece*>(job.p.chunk + chunk) + i);
        else if (i % S::list_pieces == S::list_pieces - 1) *to = {};
        else *to = {{~0u, ~0u, ~0u, ~0u}};
    }
};

// This thread's part of the copies of rows of B: the same piece of some rows of every chunk.
template <class S, Rows Kind, class V, class C>
struct RowCopies {
    static constexpr int rows_at_once = S::threads / S::row_pieces;            // may be those of several chunks
    static constexpr int swap = sizeof(V) == 2 ? 8 : 4;                        // rows after which pieces lie as before
    const unsigned char* from;             // its piece of row 0
    unsigned step;                         // bytes from row to row
    bool live;                             // B has such columns
    int line, piece;                       // its first row, counted through the chunks of a stage

    __device__ explicit RowCopies(const Job<V, C>& job)
    {
        line = static_cast<int>(threadIdx.x) / S::row_pieces;
        piece = static_cast<int>(threadIdx.x) % S::row_pieces;
        const offset_t j = job.j + piece * per_piece<V>;
        live = j < job.o.n;
        from = reinterpret_cast<const unsigned char*>(job.o.b + j);
        step = static_cast<unsigned>(job.o.b_row * static_cast<offset_t>(sizeof(V)));
    }

    __device__ void ask(const Job<V, C>& job, const Lists<S, V>& lists, int first, Piece* stage) const
    {
        // Rows that a thread copies are so far apart that pieces are shuffled alike in all of them.
        static_assert(rows_at_once % swap == 0 || S::chunks * S::rows <= rows_at_once);
        Piece* to = stage + line / S::rows * S::chunk_pieces + line % S::rows * S::row_pieces + Tile<V>::template piece<S::row_pieces>(line % S::rows, piece);
#pragma unroll
        for (int i = 0; i < S::chunks * S::rows; i += rows_at_once) {
            // Constant where whole chunks or parts of one are copied at once.
            const int chunk = rows_at_once >= S::rows ? i / S::rows + line / S::rows : i / S::rows, row = rows_at_once >= S::rows ? line % S::rows : i % S::rows + line;
            const int away = rows_at_once >= S::rows ? i / S::rows * S::chunk_pieces : i / S::rows * S::chunk_pieces + i % S::rows * S::row_pieces;
            const index_t b_row = lists[first + chunk].col[row];
            if constexpr (Kind == Rows::numbers) to[away] = collect(job, b_row);
            else if (live && b_row >= 0) copy_async(SharedAddress(to) + away * static_cast<int>(sizeof(Piece)), from + static_cast<std::uint64_t>(static_cast<unsigned>(b_row)) * step);
            else to[away] = {};
        }
    }

    // The piece where it may not be copied: number by number.
    __device__ Piece collect(const Job<V, C>& job, index_t row) const
    {
        struct alignas(16) Numbers {
            V value[per_piece<V>];
        } all;
        for (int c = 0; c < per_piece<V>; ++c) {
            const offset_t j = job.j + piece * per_piece<V> + c;
            all.value[c] = row >= 0 && j < job.o.n ? job.o.b[row * job.o.b_row + j * job.o.b_col] : V{};
        }
        return __builtin_bit_cast(Piece, all);
    }
};

// Asks for the tiles of a stage: each lane for its own piece.
template <class S, class V>
__device__ inline void ask_for_tiles(const PanelsView<V>& p, const Lists<S, V>& lists, int first, Piece* stage)
{
    const unsigned slab = threadIdx.x / 32, lane = threadIdx.x % 32;
    const SharedAddress to(stage + S::tiles_at + threadIdx.x);
#pragma unroll
    for (int c = 0; c < S::chunks; ++c) {
        const Chunk<V>& chunk = lists[first + c];
        if (!(chunk.slabs >> slab & 1u)) continue;
        const unsigned tile = chunk.first + static_cast<unsigned>(__popc(chunk.slabs & ((1u << slab) - 1)));
        copy_async(to + c * S::chunk_pieces * static_cast<int>(sizeof(Piece)), reinterpret_cast<const Piece*>(p.value) + (std::uint64_t{tile} * 32 + lane));
    }
}

// The tile of a warp's slab times all columns.
template <class S, class V, int Columns>
__device__ inline void multiply_tile(const Piece& tile, const Piece* chunk, int lane, float (&sum)[Columns / 8][4])
{
    std::uint32_t a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = Tile<V>::word(tile.word[i]);
    if constexpr (sizeof(V) == 2) {
        const int row = lane % 16;
#pragma unroll
        for (int t = 0; t < Columns / 8; t += 2) {
            std::uint32_t b[4];
            load_transposed(b, SharedAddress(chunk + row * S::row_pieces + Tile<V>::template piece<S::row_pieces>(row, t + lane / 16)));
            const std::uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
            Tile<V>::multiply(sum[t], a, left);
            Tile<V>::multiply(sum[t + 1], a, right);
        }
    } else {
        const int row = lane % 4;                                              // and the one four below, whose pieces lie alike
#pragma unroll
        for (int t = 0; t < Columns / 8; t += 4) {
            const Piece* from = chunk + row * S::row_pieces + Tile<V>::template piece<S::row_pieces>(row, t * 2 + lane / 4);
            const Piece upper = from[0], lower = from[4 * S::row_pieces];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const std::uint32_t b[2] = {Tile<V>::word(upper.word[i]), Tile<V>::word(lower.word[i])};
                Tile<V>::multiply(sum[t + i], a, b);
            }
        }
    }
}

// The four sums of a lane in the t-th eight columns from `j` on, entry by entry, only where nonzeros are. The four lanes of a group have all values of its
// two rows. Not inlined, and everything by value: nothing of it shall be in the way of what usually happens.
template <class V, class C>
__attribute__((noinline)) __device__ Run<float> add_entries(PanelsView<V> p, Operands<V, C> o, offset_t begin, offset_t end, int slab, int lane, offset_t j, int t)
{
    Run<float> sum = {};
    for (offset_t k = begin; k < end; ++k) {
        const Chunk<V>& chunk = p.chunk[k];
        if (!chunk.has(slab)) continue;
        for (int holder = lane / 4 * 4; holder < lane / 4 * 4 + 4; ++holder) {
            const offset_t at = chunk.tile(slab) * 32 + holder;
            for (int i = 0; i < values_per_lane<V>; ++i) {
                if (!(p.present[at] >> i & 1)) continue;
                const fragment::Entry place = Tile<V>::place(holder, i);
                const float factor = Tile<V>::factor(p.value[at * values_per_lane<V> + i]);
                for (int c = 0; c < 2; ++c) {
                    const offset_t column = j + Tile<V>::column(t, lane, c);
                    if (column < o.n) sum.value[place.row / 8 * 2 + c] += factor * Tile<V>::factor(o.b[chunk.col[place.col] * o.b_row + column * o.b_col]);
                }
            }
        }
    }
    return sum;
}

// Eights of columns that a lane's run of columns in a row goes through: a run has two for numbers of 16 bits, eight for tf32.
template <class V> constexpr int eights_per_run = sizeof(V) == 2 ? 1 : 4;

// Sums that are written at once.
template <class V, class C>
struct alignas((sizeof(V) == 2 ? 2 : 4) * sizeof(C)) Together {
    static constexpr int count = sizeof(V) == 2 ? 2 : 4;
    C value[count];
};

// Writes the sums of this lane, in two rows. What can be written without looking is: the general case would cost a third of the kernel's time.
template <int Columns, class V, class C>
__device__ inline void write_sums(const PanelsView<V>& p, const Operands<V, C>& o, offset_t first_row, offset_t j, int lane, const float (&sum)[Columns / 8][4])
{
    using Some = Together<V, C>;
    constexpr int eights = eights_per_run<V>;
    const bool aligned = o.c_col == 1 && o.c_row % Some::count == 0 && reinterpret_cast<std::uintptr_t>(o.c) % sizeof(Some) == 0;
    const bool simple = aligned && o.beta == 0 && j + Columns <= o.n, pairs = writes_pairs(o);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const offset_t position = first_row + lane / 4 + half * 8;
        if (position >= p.rows) continue;
        const offset_t row = p.row != nullptr ? p.row[position] : position, column = j + Tile<V>::column(0, lane, 0);
        const auto at = [&](int t, int k) { return sum[t + k % eights][half * 2 + k / eights]; };      // the k-th of the run from the t-th eight on
        if (simple) {
            C* to = o.c + row * o.c_row + column;
#pragma unroll
            for (int t = 0; t < Columns / 8; t += eights)
#pragma unroll
                for (int k = 0; k < 2 * eights; k += Some::count) {
                    Some some;
#pragma unroll
                    for (int i = 0; i < Some::count; ++i) some.value[i] = Narrow<C>::from(o.alpha * at(t, k + i));
                    *reinterpret_cast<Some*>(to + t * 8 + k) = some;
                }
        } else {
#pragma unroll
            for (int t = 0; t < Columns / 8; t += eights)
#pragma unroll
                for (int k = 0; k < 2 * eights; k += 2) put_pair(o, pairs, row, column + t * 8 + k, at(t, k), at(t, k + 1));
        }
    }
}

// Where units leave their sums, and how many units of a panel have.
struct Pieces {
    float* partial;                        // of each slot and each `Columns` columns, a block's sums
    int* arrived;                          // of each slot (the first of a panel counts) and each `Columns` columns
};

// Leaves this unit's sums. True for the last unit of the panel to come, whose sums are then those of all.
template <int Columns>
__device__ inline bool join_units(const PanelUnit& unit, const Pieces& pieces, offset_t tile, offset_t tiles, int* is_last, float (&sum)[Columns / 8][4])
{
    // Sums lie as threads hold them: nobody else reads them.
    const auto at = [&](int piece) { return reinterpret_cast<Run<float>*>(pieces.partial) + ((offset_t{unit.first_slot + piece} * tiles + tile) * (Columns / 8)) * blockDim.x + threadIdx.x; };
    Run<float>* mine = at(unit.piece);
#pragma unroll
    for (int t = 0; t < Columns / 8; ++t) mine[t * blockDim.x] = {{sum[t][0], sum[t][1], sum[t][2], sum[t][3]}};
    int* arrived = pieces.arrived + unit.first_slot * tiles + tile;
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last[0] = arrive(arrived) == unit.pieces - 1;
        if (is_last[0]) *arrived = 0;                                          // for the next run
    }
    __syncthreads();
    if (!is_last[0]) return false;
#pragma unroll
    for (int t = 0; t < Columns / 8; ++t)
        for (int i = 0; i < 4; ++i) sum[t][i] = 0;
    for (int piece = 0; piece < unit.pieces; ++piece) {
        const Run<float>* other = at(piece);
#pragma unroll
        for (int t = 0; t < Columns / 8; ++t) {
            const Run<float> four = other[t * blockDim.x];
            for (int i = 0; i < 4; ++i) sum[t][i] += four.value[i];
        }
    }
    return true;
}

// One block per unit and `Columns` columns of C; blocks with the same columns come together, because they share rows of B.
//   grid: units for every `Columns` columns      shared memory: three stages and two lists, 26 to 39 KB      C: every row once
template <int Columns, Rows Kind, class V, class C>
__global__ void __launch_bounds__(Shape<V, Columns>::threads) multiply_panels_kernel(PanelsView<V> p, Operands<V, C> o, Pieces pieces)
{
    using S = Shape<V, Columns>;
    TULLE_SHARED(Piece, stages, S::depth * S::stage_pieces);
    TULLE_SHARED(Chunk<V>, list, 2 * S::chunks_per_list);
    TULLE_SHARED(int, is_last, 1);
    const offset_t tile = blockIdx.x / p.units;
    const Job<V, C> job{p, o, p.unit[blockIdx.x % p.units], tile * Columns};
    const Lists<S, V> lists{list};
    const RowCopies<S, Kind, V, C> rows(job);
    const int lane = static_cast<int>(threadIdx.x) % 32, slab = static_cast<int>(threadIdx.x) / 32;
    const int steps = static_cast<int>(ceil_div<offset_t>(job.unit.end - job.unit.begin, S::chunks));
    const auto ask_for_stage = [&](int step, Piece* stage) {
        rows.ask(job, lists, step * S::chunks, stage);
        ask_for_tiles(p, lists, step * S::chunks, stage);
    };
    float sum[Columns / 8][4] = {};

    lists.ask(job, 0);
    end_copy_group();
    wait_for_copies<0>();
    __syncthreads();
    for (int step = 0; step < S::depth - 1; ++step) {
        ask_for_stage(step, stages + step * S::stage_pieces);
        end_copy_group();
    }
    int out = 0, in = S::depth - 1;                                            // the stages that are multiplied and asked for
    for (int step = 0; step < steps; ++step) {
        wait_for_copies<S::depth - 2>();
        __syncthreads();                                                       // all have their part of this stage, and have read the one before
        if (step + S::depth - 1 < steps) ask_for_stage(step + S::depth - 1, stages + in * S::stage_pieces);
        if (step % S::stages_per_list == 0) lists.ask(job, step * S::chunks + S::chunks_per_list);
        end_copy_group();
        const Piece* stage = stages + out * S::stage_pieces;
#pragma unroll
        for (int c = 0; c < S::chunks; ++c)
            if (lists[step * S::chunks + c].slabs >> slab & 1u)
                multiply_tile<S, V, Columns>(stage[c * S::chunk_pieces + S::tiles_at + threadIdx.x], stage + c * S::chunk_pieces, lane, sum);
        out = out == S::depth - 1 ? 0 : out + 1;
        in = in == S::depth - 1 ? 0 : in + 1;
    }

    float nothing = 0;                                                         // stays so as long as sums are finite
#pragma unroll
    for (int t = 0; t < Columns / 8; ++t)
        for (int i = 0; i < 4; ++i) nothing += sum[t][i] * 0.0f;
    if (__any_sync(all_lanes, nothing != 0.0f)) {
#pragma unroll
        for (int t = 0; t < Columns / 8; ++t) {
            const Run<float> four = add_entries(p, o, job.unit.begin, job.unit.end, slab, lane, job.j, t);
            for (int i = 0; i < 4; ++i) sum[t][i] = four.value[i];
        }
    }
    if (job.unit.first_slot >= 0 && !join_units<Columns>(job.unit, pieces, tile, ceil_div<offset_t>(o.n, Columns), is_last, sum)) return;
    write_sums<Columns>(p, o, offset_t{job.unit.panel} * panel_rows + slab * slab_rows, job.j, lane, sum);
}

template <int Columns, Rows Kind, class V, class C>
void launch_panels(const CudaQueue& q, const Workspace<V>& work, const Operands<V, C>& o)
{
    const Pieces pieces{const_cast<float*>(work.partial.data()), const_cast<int*>(work.arrived.data())};
    const offset_t tiles = ceil_div(o.n, index_t{Columns});
    launch(q, {work.panels.unit.size() * tiles, Shape<V, Columns>::threads}, multiply_panels_kernel<Columns, Kind, V, C>, work.panels.view(), o, pieces);
}

// Whether rows of B are whole pieces.
template <class V, class C>
bool has_pieces(const Operands<V, C>& o)
{
    const offset_t step = o.b_row * static_cast<offset_t>(sizeof(V));
    return o.b_col == 1 && o.n % per_piece<V> == 0 && reinterpret_cast<std::uintptr_t>(o.b) % sizeof(Piece) == 0 && step % static_cast<offset_t>(sizeof(Piece)) == 0 && step <= max_index;
}

}  // namespace

template <class V, class C>
void multiply_panels(const CudaQueue& q, int width, const Workspace<V>& work, const Operands<V, C>& o)
{
    if (!has_pieces(o)) launch_panels<32, Rows::numbers>(q, work, o);
    else if (width == 128) launch_panels<128, Rows::pieces>(q, work, o);
    else if (width == 64) launch_panels<64, Rows::pieces>(q, work, o);
    else launch_panels<32, Rows::pieces>(q, work, o);
}

template void multiply_panels(const CudaQueue&, int, const Workspace<float>&, const Operands<float, float>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Float16>&, const Operands<Float16, Float16>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Float16>&, const Operands<Float16, float>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Bfloat16>&, const Operands<Bfloat16, Bfloat16>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Bfloat16>&, const Operands<Bfloat16, float>&);

}  // namespace tulle::spmm
