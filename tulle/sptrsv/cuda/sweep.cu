// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Levels and chains of rows in one sweep. A warp takes 32 rows behind each other by ticket, a lane for each. What a lane needs of rows before the warp's it asks for
// in global memory, where a row's word is its own flag; what it needs of the warp's own rows comes from their lanes as soon as they know. Most rows of a deep
// triangle need the row before them, so that most steps of its longest path stay inside a warp. No lane ever stands still for another;
// whoever is needed has a smaller number, and so has been taken.
//
// All entries are asked for once; those that are not there yet are kept in shared memory, and only the last of them is asked for again and again: it is likely
// to be the last to come. What lies between the last word a row needs and its own is kept short: numbers of 32 bits, no branches, told to the warp before the others.
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
constexpr int missing_at_once = 4;                         // … of those that were missing
constexpr int most_missing = 32;
constexpr int inner_at_once = 4;                           // of the rows of a warp that need each other, read together
constexpr int steps_unpublished = 4;                       // inside a warp, until all others are told
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
    unsigned most, deepest;                                // rows of a chain; level alone that is not exceeded
    const index_t* first;                                  // row to need each, turned
    index_t *ticket, *too_deep;
    Standing* standing;
    index_t* size;
};

// What a word says.
struct Told {
    unsigned chain_level, place;                           // place: first row of the chain, and the place in it: the lowest place_bits
    unsigned level;
};

__device__ Told told_by(const Split& split, Standing word)
{
    return {static_cast<unsigned>(split.chain_level_of(word)), static_cast<unsigned>(word >> split.level_bits) & split.place_mask(), static_cast<unsigned>(split.level_of(word))};
}

// What is known of the rows that a row needs.
struct Latest {
    Told most = {};                                        // of the latest chain, its last place; of all rows, the highest level
    bool alone = false;                                    // no other chain is as late
    bool leads = false;                                    // this row is the first to need that last one

    // A word that is not there yet changes nothing.
    __device__ void add(const Told& one, bool first_to_need)
    {
        const bool later = one.chain_level > most.chain_level, as_late = one.chain_level == most.chain_level;
        const bool same = (one.place ^ most.place) >> place_bits == 0, behind = as_late && same && one.place > most.place;
        alone = later || (alone && (!as_late || same));
        leads = later || behind ? first_to_need : leads;
        most.place = later || behind ? one.place : most.place;
        most.chain_level = later ? one.chain_level : most.chain_level;
        most.level = max(most.level, one.level);
    }
};

// A row on its way.
struct Waiting {
    index_t row;
    unsigned own_place, joinable;                          // its place if it joins no chain; the chain it may join is shorter than this
    offset_t next, outside;                                // entries of rows before the warp's that were not asked for yet: next … outside - 1
    int missing, asking;                                   // of those asked for: not there; of those, from the last, how many to ask for next
    index_t last;                                          // of those missing, with its sign turned where this row is the first to need it
    unsigned inside, leads;                                // rows of the warp that are needed and not known yet; those that no row before needs
    bool done;
    Latest latest;

    __device__ bool may_take() const { return next < outside && missing + entries_at_once <= most_missing; }
    __device__ bool waits_outside() const { return next < outside || missing > 0; }

    // What this row would tell now.
    __device__ Told conclude() const
    {
        const Told& most = latest.most;
        const bool joins = latest.leads && latest.alone && (most.place & most_place) < joinable;
        return {most.chain_level + (joins ? 0 : 1), joins ? most.place + 1 : own_place, most.level + 1};
    }
};

// Columns ascend: those of the warp's rows come last.
__device__ Waiting begin_row(const Sweep& s, offset_t row, int lane)
{
    Waiting w{};
    w.row = static_cast<index_t>(row);
    w.done = row >= s.rows;
    const auto first_row = static_cast<index_t>(row - lane);
    const offset_t begin = w.done ? 0 : s.row_begin[row], end = w.done ? 0 : s.row_begin[row + 1];
    const bool is_long = end - begin > long_row;
    w.own_place = (static_cast<unsigned>(w.row) << place_bits) | (is_long ? static_cast<unsigned>(most_place) : 0);
    w.joinable = is_long ? 0 : s.most - 1;
    w.next = begin;
    w.outside = end;
    for (bool more = begin < end; more;) {
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
    unsigned before = w.inside;                            // needed by rows up to this one
    for (int distance = 1; distance < lanes; distance *= 2) {
        const unsigned other = __shfl_up_sync(whole_warp, before, distance);
        before |= lane >= distance ? other : 0;
    }
    before = __shfl_up_sync(whole_warp, before, 1);
    w.leads = w.inside & ~(lane > 0 ? before : 0);         // whoever needs a row of the warp first is one of the warp's
    return w;
}

// The next entries of this lane's row are asked for; missing: this lane's, `lanes` apart.
__device__ void take_entries(const Sweep& s, Waiting& w, index_t* missing)
{
    index_t col[entries_at_once], first[entries_at_once];
    Standing word[entries_at_once];
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) col[n] = w.next + n < w.outside ? s.col[w.next + n] : -1;
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) {
        first[n] = col[n] >= 0 ? s.first[col[n]] : 0;
        word[n] = col[n] >= 0 ? load_relaxed(&s.standing[col[n]]) : 0;
    }
#pragma unroll
    for (int n = 0; n < entries_at_once; ++n) {
        const bool leads = first[n] == turned(w.row);
        w.latest.add(told_by(s.split, word[n]), leads);
        if (col[n] < 0 || word[n] != 0) continue;
        w.last = leads ? ~col[n] : col[n];
        missing[w.missing++ * lanes] = w.last;
    }
    w.next += entries_at_once;
    w.asking = w.missing > 0 ? 1 : 0;
}

__device__ Standing look_at(const Sweep& s, index_t entry) { return load_relaxed(&s.standing[entry < 0 ? ~entry : entry]); }

// The last one missing is asked for again. Returns whether a lane got it.
__device__ bool ask_for_last(const Sweep& s, Waiting& w, const index_t* missing)
{
    const Standing word = w.asking > 0 ? look_at(s, w.last) : 0;
    if (__any_sync(whole_warp, word != 0) == 0) return false;
    w.latest.add(told_by(s.split, word), w.last < 0);
    if (word == 0) return true;
    --w.missing;
    w.asking = w.missing < missing_at_once ? w.missing : missing_at_once;
    if (w.missing > 0) w.last = missing[(w.missing - 1) * lanes];
    return true;
}

// Several are asked for, from the last; while one of them is missing, only the last of all from then on.
__device__ void ask_for_several(const Sweep& s, Waiting& w, index_t* missing)
{
    index_t entry[missing_at_once];
    Standing word[missing_at_once];
#pragma unroll
    for (int n = 0; n < missing_at_once; ++n) {
        entry[n] = n < w.asking ? missing[(w.missing - 1 - n) * lanes] : 0;
        word[n] = n < w.asking ? look_at(s, entry[n]) : 0;
    }
    const int others = w.missing - w.asking;
    int left = others;
#pragma unroll
    for (int n = missing_at_once - 1; n >= 0; --n) {
        w.latest.add(told_by(s.split, word[n]), entry[n] < 0);
        if (n < w.asking && word[n] == 0) missing[left++ * lanes] = entry[n];
    }
    w.asking = left > others ? 1 : left < missing_at_once ? left : missing_at_once;
    w.missing = left;
    if (left > 0) w.last = missing[(left - 1) * lanes];
}

// Something new of rows before the warp's. Returns whether there may be.
__device__ bool ask(const Sweep& s, Waiting& w, index_t* missing)
{
    if (__any_sync(whole_warp, w.may_take()) != 0) {
        if (w.may_take()) take_entries(s, w, missing);
        return true;
    }
    if (__any_sync(whole_warp, w.asking > 1) == 0) return ask_for_last(s, w, missing);
    ask_for_several(s, w, missing);
    return true;
}

// A row's word for everybody.
__device__ void publish(const Sweep& s, const Waiting& w)
{
    const Told word = w.conclude();
    if (word.level > s.deepest) return store_relaxed(s.too_deep, 1);
    store_relaxed(&s.standing[w.row], s.split.standing_of(word.chain_level, word.place, word.level));
    if (word.place != w.own_place) atomicMax(&s.size[word.place >> place_bits], static_cast<index_t>(word.place & most_place) + 1);
}

// Lanes that know all they need tell those of the warp, until no other can; after some steps, or at the end, everybody. wanted: rows that others of the warp need.
__device__ void tell(const Sweep& s, Waiting& w, int lane, unsigned wanted)
{
    const unsigned self = 1u << lane;
    unsigned open = w.inside | (w.done || w.waits_outside() ? self : 0);      // for whom the row waits; itself, where that is nobody of the warp
    for (unsigned telling = 1; telling != 0;) {
        bool ready = false;
#pragma unroll 1
        for (int step = 0; step < steps_unpublished; ++step) {
            const Told mine = w.conclude();
            telling = __ballot_sync(whole_warp, open == 0);
            if (telling == 0) break;
            ready = ready || open == 0;
            open = open == 0 ? self : open & ~telling;
            for (unsigned told = telling & wanted; told != 0;) {
                const int k = 31 - __clz(static_cast<int>(told));
                const Told other{__shfl_sync(whole_warp, mine.chain_level, k), __shfl_sync(whole_warp, mine.place, k), __shfl_sync(whole_warp, mine.level, k)};
                told ^= 1u << k;
                if ((w.inside >> k & 1) != 0) w.latest.add(other, (w.leads >> k & 1) != 0);
            }
            w.inside &= ~telling;
        }
        if (!ready) continue;
        publish(s, w);
        w.done = true;
    }
}

// A warp for 32 rows, again and again.      grid: any      shared memory: entries missing, of each thread      ticket, too_deep, standing, size: zero before
__global__ void __launch_bounds__(threads) sweep_kernel(Sweep s)
{
    TULLE_SHARED(index_t, missing_of_warp, threads * most_missing);
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    index_t* const missing = missing_of_warp + static_cast<int>(threadIdx.x) / lanes * lanes * most_missing + lane;
    for (;;) {
        index_t taken = 0;
        if (lane == 0) taken = atomicAdd(s.ticket, lanes);
        const offset_t row = offset_t{__shfl_sync(whole_warp, taken, 0)} + lane;
        if (row - lane >= s.rows) return;                  // the whole warp
        Waiting w = begin_row(s, row, lane);
        const unsigned wanted = __reduce_or_sync(whole_warp, w.inside);
        for (unsigned polls = 1; __any_sync(whole_warp, !w.done) != 0; ++polls) {
            if (ask(s, w, missing) || polls == 1) tell(s, w, lane, wanted);
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
           Sweep{there.row_begin.data(), there.col.data(), there.rows, Split(there.rows), static_cast<unsigned>(most), static_cast<unsigned>(deepest),
                 arrays.unneeded_from, arrays.ticket, arrays.too_deep, arrays.standing, arrays.size});
    return swept;
}

}  // namespace tulle::sptrsv
