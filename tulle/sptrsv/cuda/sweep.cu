// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Levels and chains of rows in one sweep. A lane for a row asks again and again for the words of the rows it needs, and publishes its own once all are there; a
// warp takes 32 rows by ticket and goes on when all of them are done. No lane ever stands still for another, so those of a warp may need each other; whoever is
// needed has a smaller number, and so has been taken. Many rows on their way at once count more than soon answers: rows come in the order of the
// matrix, not of levels.
//
// A row joins the chain of the latest row it needs if all others are of lower levels or of that chain, and if it is the first row that needs the last of them
// it needs there. That row can be followed once only, so that nobody has to count, and the chains are those of the host whoever comes first.
#include "tulle/device/copy.hpp"
#include "tulle/device/cuda/value_flag.cuh"
#include "tulle/sptrsv/cuda/nodes.cuh"

namespace tulle::sptrsv {
namespace {

constexpr int threads = 128;
constexpr int warps_on_multiprocessor = 16;                // that ask; more disturb each other
constexpr int entries_at_once = 4;                         // of a row, asked for together
constexpr unsigned whole_warp = 0xffffffffu;
constexpr unsigned polls_between_looks = 32;               // at whether others have given up

// The first row that needs each row.      grid: one warp per row      first: beyond all rows before
__global__ void __launch_bounds__(threads) first_to_need_kernel(const offset_t* row_begin, const index_t* col, index_t rows, index_t* first)
{
    const offset_t row = global_thread() / lanes;
    if (row >= rows) return;
    for (offset_t k = row_begin[row] + static_cast<int>(threadIdx.x) % lanes; k < row_begin[row + 1]; k += lanes)
        if (load_relaxed(&first[col[k]]) > row) atomicMin(&first[col[k]], static_cast<index_t>(row));
}

struct Sweep {
    const offset_t* row_begin;
    const index_t* col;
    index_t rows;
    Standing most, deepest;                                // rows of a chain; level alone that is not exceeded
    const index_t* first;                                  // row to need each
    unsigned* ticket;
    unsigned* too_deep;
    Standing* standing;
    index_t* size;
};

// What is known of the rows that a row needs.
struct Latest {
    Standing largest = 0, turned = 0, level = 0;           // turned: first rows of chains turned round, so that the largest of a level has the smallest
    index_t row = 0;                                       // that has the largest

    __device__ void add(Standing one, index_t of_row)
    {
        const Standing other = (one ^ first_mask) >> chain_bits;
        if (one > largest) row = of_row;
        largest = max(largest, one);
        turned = max(turned, other);
        level = max(level, level_of(one));
    }
    __device__ bool alone() const { return (turned ^ (first_mask >> chain_bits)) == largest >> chain_bits; }
};

// Adds what is there, in order; returns the first entry that is not.
__device__ offset_t ask(const Sweep& s, offset_t k, offset_t end, Latest& latest)
{
    Standing word[entries_at_once];
    index_t col[entries_at_once];
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) {
        col[n] = k + n < end ? s.col[k + n] : -1;
        word[n] = col[n] >= 0 ? load_relaxed(&s.standing[col[n]]) : 0;
    }
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) {
        if (word[n] == 0) return k + n;
        latest.add(word[n], col[n]);
    }
    return k + entries_at_once;
}

__device__ void tell(const Sweep& s, index_t row, bool is_long, const Latest& latest)
{
    const Standing place = place_of(latest.largest) + 1, level = latest.level + 1;
    if (level > s.deepest) return store_relaxed(s.too_deep, 1);
    const bool joins = latest.largest != 0 && latest.alone() && !is_long && place < s.most && s.first[latest.row] == row;
    const index_t first = joins ? first_of(latest.largest) : row;
    const Standing chain_level = chain_level_of(latest.largest) + (joins ? 0 : 1);
    store_relaxed(&s.standing[row], standing_of(chain_level, first, joins ? place : is_long ? most_place : 0, level));
    if (joins) atomicMax(&s.size[first], static_cast<index_t>(place) + 1);
}

// A warp for 32 rows, again and again.      grid: any      ticket, too_deep, standing, size: zero before
__global__ void __launch_bounds__(threads) sweep_kernel(Sweep s)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    for (;;) {
        unsigned taken = 0;
        if (lane == 0) taken = atomicAdd(s.ticket, static_cast<unsigned>(lanes));
        const offset_t row = offset_t{__shfl_sync(whole_warp, taken, 0)} + lane;
        if (row - lane >= s.rows) return;                  // the whole warp
        const offset_t begin = row < s.rows ? s.row_begin[row] : 0, end = row < s.rows ? s.row_begin[row + 1] : 0;
        Latest latest;
        offset_t k = begin;
        bool done = row >= s.rows;
        for (unsigned polls = 1; __any_sync(whole_warp, !done) != 0; ++polls) {
            if (!done && k < end) k = ask(s, k, end, latest);
            if (!done && k >= end) {
                tell(s, static_cast<index_t>(row), end - begin > long_row, latest);
                done = true;
            }
            if (polls % polls_between_looks != 0) continue;
            const unsigned given_up = lane == 0 ? load_relaxed(s.too_deep) : 0;
            if (__shfl_sync(whole_warp, given_up, 0) != 0) return;
        }
    }
}

}  // namespace

Swept sweep(const CudaQueue& q, const Triangle& there, int most, index_t deepest)
{
    require<ValueError>(there.rows < most_rows_swept && most >= 1 && most <= most_rows && deepest <= most_levels_swept,
                        "so many rows or levels are not swept on a GPU");
    Swept swept{.most = most, .standing = Buffer<unsigned long long>(q, there.rows), .size = Buffer<index_t>(q, there.rows),
                .too_deep = Buffer<unsigned>(q, 1)};
    Buffer<index_t> first(q, there.rows);
    Buffer<unsigned> ticket(q, 1);
    fill_bytes(q, first.data(), 0x7f, first.bytes());      // beyond all rows
    fill_zero(q, ticket.data(), 1);
    fill_zero(q, swept.too_deep.data(), 1);
    fill_zero(q, swept.standing.data(), there.rows);
    fill_zero(q, swept.size.data(), there.rows);
    launch(q, one_thread_each(offset_t{there.rows} * lanes, threads), first_to_need_kernel, there.row_begin.data(), there.col.data(), there.rows, first.data());
    const offset_t enough = (offset_t{there.rows} + threads - 1) / threads;
    const offset_t most_blocks = offset_t{multiprocessors(q)} * warps_on_multiprocessor * lanes / threads;
    launch(q, {enough < most_blocks ? enough : most_blocks, threads}, sweep_kernel,
           Sweep{there.row_begin.data(), there.col.data(), there.rows, static_cast<Standing>(most), static_cast<Standing>(deepest),
                 first.data(), ticket.data(), swept.too_deep.data(), swept.standing.data(), swept.size.data()});
    return swept;
}

}  // namespace tulle::sptrsv
