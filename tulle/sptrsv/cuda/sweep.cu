// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Levels and chains of rows in one sweep. A warp takes 32 rows behind each other by ticket, a lane for each. What a lane needs of rows before the warp's it asks for
// in global memory, where a row's word is its own flag; what it needs of the warp's own rows comes from their lanes as soon as they know. Most rows of a deep
// triangle need the row before them, so that most steps of its longest path stay inside a warp. No lane ever stands still for another;
// whoever is needed has a smaller number, and so has been taken.
//
// A row joins the chain of the latest row it needs if all others are of lower levels or of that chain, and if it is the first row that needs the last of them
// it needs there. That row can be followed once only, so that nobody has to count, and the chains are those of the host whoever comes first.
#include "tulle/device/copy.hpp"
#include "tulle/device/cuda/value_flag.cuh"
#include "tulle/sptrsv/cuda/nodes.cuh"

namespace tulle::sptrsv {
namespace {

constexpr int threads = 128;
constexpr int warps_on_multiprocessor = 8;                 // that ask; more disturb each other
constexpr int entries_at_once = 8;                         // of a row, asked for together
constexpr int inner_at_once = 4;                           // of the rows of a warp that need each other, read together
constexpr unsigned whole_warp = 0xffffffffu;
constexpr unsigned polls_between_looks = 32;               // at whether others have given up

// The first row that needs each row, turned round so that none is zero.
__device__ index_t turned(index_t row) { return max_index - row; }

//   grid: one warp per row      first: zero before
__global__ void __launch_bounds__(threads) first_to_need_kernel(const offset_t* row_begin, const index_t* col, index_t rows, index_t* first)
{
    const offset_t row = global_thread() / lanes;
    if (row >= rows) return;
    const index_t mine = turned(static_cast<index_t>(row));
    for (offset_t k = row_begin[row] + static_cast<int>(threadIdx.x) % lanes; k < row_begin[row + 1]; k += lanes)
        if (load_relaxed(&first[col[k]]) < mine) atomicMax(&first[col[k]], mine);
}

struct Sweep {
    const offset_t* row_begin;
    const index_t* col;
    index_t rows;
    Split split;
    Standing most, deepest;                                // rows of a chain; level alone that is not exceeded
    const index_t* first;                                  // row to need each, turned
    index_t *ticket, *too_deep;
    Standing* standing;
    index_t* size;
};

// What is known of the rows that a row needs.
struct Latest {
    Standing largest = 0, turned = 0, level = 0;           // turned: first rows of chains turned round, so that the largest of a level has the smallest
    bool leads = false;                                    // this row is the first to need the one that has the largest

    __device__ void add(const Split& split, Standing one, bool first_to_need)
    {
        if (one > largest) leads = first_to_need;
        largest = max(largest, one);
        turned = max(turned, (one >> split.chain_bits()) ^ split.first_mask());
        level = max(level, split.level_of(one));
    }
    __device__ bool alone(const Split& split) const { return (turned ^ split.first_mask()) == largest >> split.chain_bits(); }
};

// A row on its way.
struct Waiting {
    index_t row;
    bool is_long, done;
    offset_t next, outside;                                // entries of rows before the warp's that were not asked for yet: next … outside - 1
    index_t col[entries_at_once];                          // asked for
    unsigned missing, leads;                               // of those: not there yet; this row is the first to need it
    unsigned inside;                                       // rows of the warp that are needed and not known yet
    Latest latest;
    Standing word;                                         // what was told

    __device__ bool is_ready() const { return !done && missing == 0 && next >= outside && inside == 0; }
};

// Columns ascend: those of the warp's rows come last.
__device__ Waiting begin_row(const Sweep& s, offset_t row, int lane)
{
    Waiting w{};
    w.row = static_cast<index_t>(row);
    w.done = row >= s.rows;
    if (w.done) return w;
    const auto first_row = static_cast<index_t>(row - lane);
    const offset_t begin = s.row_begin[row], end = s.row_begin[row + 1];
    w.is_long = end - begin > long_row;
    w.next = begin;
    w.outside = end;
    for (bool more = true; more;) {
        index_t col[inner_at_once];
#pragma unroll
        for (int n = 0; n < inner_at_once; ++n) col[n] = w.outside - 1 - n >= begin ? s.col[w.outside - 1 - n] : -1;
#pragma unroll
        for (int n = 0; n < inner_at_once; ++n) {
            more = col[n] >= first_row;
            if (more) w.inside |= 1u << (col[n] - first_row);
        }
        w.outside = more ? w.outside - inner_at_once : end - __popc(w.inside);
    }
    return w;
}

// The next entries to ask for.
__device__ void take_entries(const Sweep& s, Waiting& w)
{
    index_t first[entries_at_once];
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) w.col[n] = w.next + n < w.outside ? s.col[w.next + n] : -1;
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) first[n] = w.col[n] >= 0 ? s.first[w.col[n]] : 0;
    w.missing = w.leads = 0;
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) {
        w.missing |= w.col[n] >= 0 ? 1u << n : 0;
        w.leads |= first[n] == turned(w.row) ? 1u << n : 0;
    }
    w.next += entries_at_once;
}

// Asks for all of `wanted` at once, and returns those to ask for next: while something is missing only the last of it, which is likely to be the last to come.
__device__ unsigned ask(const Sweep& s, Waiting& w, unsigned wanted)
{
    Standing word[entries_at_once];
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) word[n] = (wanted >> n & 1) != 0 ? load_relaxed(&s.standing[w.col[n]]) : 0;
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) {
        if (word[n] == 0) continue;
        w.latest.add(s.split, word[n], (w.leads >> n & 1) != 0);
        w.missing &= ~(1u << n);
    }
    const bool all_came = (w.missing & wanted) == 0;
    return all_came || w.missing == 0 ? w.missing : 1u << (31 - __clz(static_cast<int>(w.missing)));
}

// The word of a row that knows all it needs, for everybody.
__device__ Standing tell(const Sweep& s, const Waiting& w)
{
    const Latest& latest = w.latest;
    const Standing place = s.split.place_of(latest.largest) + 1, level = latest.level + 1;
    if (level > s.deepest) {
        store_relaxed(s.too_deep, 1);
        return 0;
    }
    const bool joins = latest.largest != 0 && latest.leads && latest.alone(s.split) && !w.is_long && place < s.most;
    const index_t first = joins ? s.split.first_of(latest.largest) : w.row;
    const Standing chain_level = s.split.chain_level_of(latest.largest) + (joins ? 0 : 1);
    const Standing word = s.split.standing_of(chain_level, first, joins ? place : w.is_long ? most_place : 0, level);
    store_relaxed(&s.standing[w.row], word);
    if (joins) atomicMax(&s.size[first], static_cast<index_t>(place) + 1);
    return word;
}

// Lanes that know all they need tell, until no other can. wanted: rows that others of the warp need, of which the first to need it is one of the warp's.
__device__ void tell_each_other(const Sweep& s, Waiting& w, int lane, unsigned wanted)
{
    for (;;) {
        const bool ready = w.is_ready();
        const unsigned telling = __ballot_sync(whole_warp, ready);
        if (telling == 0) return;
        if (ready) {
            w.word = tell(s, w);
            w.done = true;
        }
        for (unsigned told = telling & wanted; told != 0; told &= told - 1) {
            const int k = __ffs(static_cast<int>(told)) - 1;
            const bool needs = (w.inside >> k & 1) != 0;
            const unsigned all = __ballot_sync(whole_warp, needs);
            const Standing word = __shfl_sync(whole_warp, w.word, k);
            if (needs) w.latest.add(s.split, word, lane == __ffs(static_cast<int>(all)) - 1);
        }
        w.inside &= ~telling;
    }
}

// A warp for 32 rows, again and again.      grid: any      ticket, too_deep, standing, size: zero before
__global__ void __launch_bounds__(threads) sweep_kernel(Sweep s)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    for (;;) {
        index_t taken = 0;
        if (lane == 0) taken = atomicAdd(s.ticket, lanes);
        const offset_t row = offset_t{__shfl_sync(whole_warp, taken, 0)} + lane;
        if (row - lane >= s.rows) return;                  // the whole warp
        Waiting w = begin_row(s, row, lane);
        const unsigned wanted_inside = __reduce_or_sync(whole_warp, w.inside);
        unsigned wanted = 0;
        for (unsigned polls = 1; __any_sync(whole_warp, !w.done) != 0; ++polls) {
            if (w.missing == 0 && w.next < w.outside) {
                take_entries(s, w);
                wanted = w.missing;
            }
            wanted = ask(s, w, wanted);
            tell_each_other(s, w, lane, wanted_inside);
            if (polls % polls_between_looks != 0) continue;
            const index_t given_up = lane == 0 ? load_relaxed(s.too_deep) : 0;
            if (__shfl_sync(whole_warp, given_up, 0) != 0) return;
        }
    }
}

}  // namespace

Swept sweep(const CudaQueue& q, const Triangle& there, int most, index_t deepest)
{
    require<ValueError>(there.rows < most_rows_swept && most >= 1 && most <= most_rows && deepest <= most_levels_swept(there.rows),
                        "so many rows or levels are not swept on a GPU");
    Swept swept{.most = most, .rows = there.rows, .words = Buffer<Standing>(q, SweptArrays<Standing>::words(there.rows))};
    fill_zero(q, swept.words.data(), swept.words.size());
    const SweptArrays<Standing> arrays = arrays_of(swept);
    launch(q, one_thread_each(offset_t{there.rows} * lanes, threads), first_to_need_kernel, there.row_begin.data(), there.col.data(), there.rows, arrays.unneeded_from);
    const offset_t enough = (offset_t{there.rows} + threads - 1) / threads;
    const offset_t most_blocks = offset_t{multiprocessors(q)} * warps_on_multiprocessor * lanes / threads;
    launch(q, {enough < most_blocks ? enough : most_blocks, threads}, sweep_kernel,
           Sweep{there.row_begin.data(), there.col.data(), there.rows, Split(there.rows), static_cast<Standing>(most), static_cast<Standing>(deepest),
                 arrays.unneeded_from, arrays.ticket, arrays.too_deep, arrays.standing, arrays.size});
    return swept;
}

}  // namespace tulle::sptrsv
