// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The triangle from the caller's rows, on the GPU: rows are counted and get their places by the way, then every entry
// is written there. Its rows, columns and diagonal are those of make_triangle, which is left to say what is wrong where
// anything is.
#include <algorithm>

#include "base/constant.hpp"
#include "base/math.hpp"
#include "device/cuda/look_back.cuh"
#include "device/cuda/pinned_readback.hpp"
#include "sptrsv/analysis.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int counters = 512;              // threads of a block that counts
constexpr offset_t blocks_that_count = 4;  // of a multiprocessor, as long as a warp has rows left to take: the more
                                           // blocks there are, the longer they wait for each other
constexpr int takers = 4;                  // warps of a block that takes
constexpr int entries_at_once = 4;         // of a lane, whose loads are on their way together
constexpr unsigned whole_warp = 0xffffffffu;

// From so many entries on a row is not left to its few lanes: all of their warp share it.
template <int Lanes>
constexpr unsigned many_entries = Lanes == lanes ? max_index : 8 * Lanes;

// Whether a row can be gone through at all; one of more entries than columns has some twice.
__device__ bool is_sound(const TriangleSource& s, offset_t row, offset_t begin, offset_t end)
{
    const bool ends = row + 1 < s.rows || s.nonzeros == max_offset || end == s.nonzeros;
    return begin >= 0 && begin <= end && end <= s.nonzeros && end - begin <= s.rows && ends && (row > 0 || begin == 0);
}

// What the host is told.
struct Told {
    offset_t fault, nonzeros;
};

// A row as it is stored; one that cannot be gone through has no entries.
struct StoredRow {
    index_t row;
    unsigned entries;
    offset_t begin;

    __device__ StoredRow of_lane(int lane) const
    {
        return {__shfl_sync(whole_warp, row, lane), __shfl_sync(whole_warp, entries, lane),
                __shfl_sync(whole_warp, begin, lane)};
    }
};

// Row i of the triangle; -1 beyond it.
__device__ StoredRow find_row(const TriangleSource& s, offset_t i, bool& wrong)
{
    if (i >= s.rows) return {-1, 0, 0};
    const auto row = static_cast<index_t>(s.upper ? s.rows - 1 - i : i);
    const offset_t begin = s.row_begin[row], end = s.row_begin[row + 1];
    const bool sound = is_sound(s, row, begin, end);
    wrong = wrong || !sound;
    return {row, sound ? static_cast<unsigned>(end - begin) : 0, sound ? begin : 0};
}

// Of a lane's share of a row, two for each entry inside the triangle, one for the diagonal. Wrong: columns beyond the
// matrix, out of order or there twice, an entry on the other side.
template <int Lanes>
__device__ unsigned count_share(const TriangleSource& s, const StoredRow& r, unsigned lane, bool& wrong)
{
    const index_t* const col = s.col + r.begin;
    unsigned found = 0;
#pragma unroll 4
    for (unsigned k = lane; k < r.entries; k += Lanes) {
        const index_t here = col[k], before = k == 0 ? -1 : col[k - 1];
        const bool is_inside = s.upper ? here > r.row : here < r.row, is_diagonal = here == r.row;
        found += is_inside ? 2 : is_diagonal ? 1 : 0;
        wrong = wrong || before >= here || here >= s.rows || (!is_inside && !is_diagonal && !s.ignore_other_side);
    }
    return found;
}

// The same of the whole row of this lane's slice. All lanes of a warp together.
template <int Lanes>
__device__ unsigned count_row(const TriangleSource& s, const StoredRow& r, int lane, bool& wrong)
{
    const bool is_shared = r.entries >= many_entries<Lanes>;
    unsigned found = is_shared ? 0 : count_share<Lanes>(s, r, lane % Lanes, wrong);
    if constexpr (Lanes == lanes) return __reduce_add_sync(whole_warp, found);
    found = slice_sum<Lanes>(found);
    for (unsigned left = __ballot_sync(whole_warp, is_shared && lane % Lanes == 0); left != 0; left &= left - 1) {
        const int owner = __ffs(static_cast<int>(left)) - 1;
        const unsigned all = __reduce_add_sync(whole_warp, count_share<lanes>(s, r.of_lane(owner), lane, wrong));
        if (lane / Lanes == owner / Lanes) found = all;
    }
    return found;
}

// Where each row of the triangle begins. A lane knows the row that it will write, and slices of so many lanes count one
// after the other.
//   grid: one warp for rows_of_warp rows, up to 32 and as many as it has slices at least      sums: of a look-back
//   row_begin: every row written once, and the end
//   first_dependent: zero after
//   told: zero before; at fault: anything that find_row and count_share call wrong, no diagonal
template <int Lanes>
__global__ void __launch_bounds__(counters)
    count_triangle_kernel(TriangleSource s, int rows_of_warp, SumWord* sums, offset_t* row_begin,
                          index_t* first_dependent, Told* told)
{
    TULLE_SHARED(offset_t, of_warps, words_of_block<counters>);
    constexpr int slices = lanes / Lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t block = number_of_block<counters>(sums, of_warps),
                   warp = block * (counters / lanes) + threadIdx.x / lanes, i = warp * rows_of_warp + lane;
    const bool writes = lane < rows_of_warp && i < s.rows;
    bool wrong = false;
    const StoredRow mine = find_row(s, writes ? i : s.rows, wrong);
    unsigned found = 0;
    for (int r = 0; r < rows_of_warp; r += slices) {
        const unsigned of_slice = count_row<Lanes>(s, mine.of_lane(r + lane / Lanes), lane, wrong),
                       of_mine = __shfl_sync(whole_warp, of_slice, (lane - r) * Lanes);
        if (lane >= r && lane < r + slices) found = of_mine;
    }
    if (wrong || (writes && found % 2 == 0 && !s.unit_diagonal)) store_relaxed(&told->fault, 1);
    const offset_t inside = found / 2, before = sum_before_thread<counters>(sums, of_warps, block, inside);
    if (!writes) return;
    row_begin[i] = before;
    first_dependent[i] = 0;
    if (i + 1 < s.rows) return;
    row_begin[s.rows] = before + inside;
    told->nonzeros = before + inside;
}

// Where entries go.
struct Taking {
    index_t *col, *first_dependent;
    offset_t *row_source, *diagonal;  // diagonal null: ones
};

// A row of the triangle, and where it stands: from `first` on, upwards or downwards.
struct TakenRow {
    index_t i;
    unsigned count;
    offset_t begin, first;

    __device__ TakenRow of_lane(int lane) const
    {
        return {__shfl_sync(whole_warp, i, lane), __shfl_sync(whole_warp, count, lane),
                __shfl_sync(whole_warp, begin, lane), __shfl_sync(whole_warp, first, lane)};
    }
};

// A lane's share of a row.
template <int Lanes>
__device__ void take_row(const TriangleSource& s, const TakenRow& r, int lane, const Taking& to)
{
    const offset_t step = s.upper ? -1 : 1;
    const index_t mine = descending_key(r.i);
    for (unsigned chunk = lane; chunk < r.count; chunk += entries_at_once * Lanes) {
        index_t needed[entries_at_once], known[entries_at_once];
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            const unsigned k = chunk + n * Lanes;
            needed[n] = k < r.count ? s.col[r.first + step * k] : -1;
            needed[n] = s.upper && k < r.count ? s.rows - 1 - needed[n] : needed[n];
        }
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n)
            known[n] = needed[n] < 0 ? mine : load_relaxed(&to.first_dependent[needed[n]]);
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            if (needed[n] < 0) continue;
            const unsigned k = chunk + n * Lanes;
            to.col[r.begin + k] = needed[n];
            if (known[n] < mine) atomicMax(&to.first_dependent[needed[n]], mine);
        }
    }
}

// Rows of the triangle from sorted rows of what is stored: a lower one has their beginnings, an upper one their ends,
// turned round.
//   grid: so many lanes per row
//   col, row_source, diagonal: every entry written once
//   first_dependent: zero before
template <int Lanes>
__global__ void __launch_bounds__(takers* lanes)
    take_triangle_kernel(TriangleSource s, const offset_t* row_begin, Taking to)
{
    const offset_t i = global_thread() / Lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    TakenRow r{};
    if (i < s.rows) {
        const offset_t row = s.upper ? s.rows - 1 - i : i, begin = row_begin[i];
        r = {static_cast<index_t>(i), static_cast<unsigned>(row_begin[i + 1] - begin), begin,
             s.upper ? s.row_begin[row + 1] - 1 : s.row_begin[row]};
        if (lane % Lanes == 0) to.row_source[i] = r.first;
        if (lane % Lanes == 0 && to.diagonal) to.diagonal[i] = s.upper ? r.first - r.count : r.first + r.count;
    }
    const bool is_shared = r.count >= many_entries<Lanes>;
    if (!is_shared) take_row<Lanes>(s, r, lane % Lanes, to);
    for (unsigned left = __ballot_sync(whole_warp, is_shared && lane % Lanes == 0); left != 0; left &= left - 1)
        take_row<lanes>(s, r.of_lane(__ffs(static_cast<int>(left)) - 1), lane, to);
}

// How many lanes of a warp go through a row: a few where rows are short, so that most lanes have an entry.
// f(lanes), a constant; nonzeros may be unknown: max_offset.
template <class F>
void with_lanes_of_rows(index_t rows, offset_t nonzeros, F&& f)
{
    const offset_t mean = nonzeros / (rows > 0 ? rows : 1);
    with_constant<4, 8, lanes>(mean <= 2 ? 4 : mean <= 16 ? 8 : lanes, f);
}

}  // namespace

std::optional<DeviceTriangle> extract_triangle(const CudaQueue& q, const TriangleSource& stored)
{
    require<ValueError>(!stored.transpose, "rows are taken as they are stored");
    const index_t rows = stored.rows;
    if (rows == max_index) return std::nullopt;  // a row of so many entries would pass for one that is shared
    DeviceTriangle there{
        {.rows = rows, .reversed = stored.upper, .row_begin = Buffer<offset_t>(q, offset_t{rows} + 1)}};
    there.first_dependent = Buffer<index_t>(q, rows);
    cuda::PinnedReadback<Told> told(q);
    *told.there() = {};
    with_lanes_of_rows(rows, stored.nonzeros, [&](auto of_row) {
        constexpr offset_t warps = counters / lanes;
        const offset_t each =
                           power_of_two_from(ceil_div(offset_t{rows}, blocks_that_count * multiprocessors(q) * warps)),
                       rows_of_warp = std::clamp<offset_t>(each, lanes / of_row(), lanes);
        const offset_t blocks = ceil_div(offset_t{rows}, rows_of_warp * warps);
        LookBack sums(q, blocks);
        launch(q, {blocks, counters}, count_triangle_kernel<of_row()>, stored, static_cast<int>(rows_of_warp),
               sums.words(), there.row_begin.data(), there.first_dependent.data(), told.there());
    });
    there.row_source = Buffer<offset_t>(q, rows);  // while rows are counted
    there.diagonal = Buffer<offset_t>(q, stored.unit_diagonal ? 0 : rows);
    if (rows == 0) fill_zero(q, there.row_begin.data(), there.row_begin.size());
    const auto [fault, nonzeros] = told.wait();
    if (fault != 0) return std::nullopt;
    there.col = Buffer<index_t>(q, nonzeros);
    with_lanes_of_rows(rows, nonzeros, [&](auto of_row) {
        launch(q, one_thread_each(offset_t{rows} * of_row(), takers * lanes), take_triangle_kernel<of_row()>, stored,
               there.row_begin.data(),
               Taking{there.col.data(), there.first_dependent.data(), there.row_source.data(),
                      stored.unit_diagonal ? nullptr : there.diagonal.data()});
    });
    return there;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
