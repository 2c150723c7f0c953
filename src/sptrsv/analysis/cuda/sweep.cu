// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Levels and chains of rows in one sweep. A warp takes 32 rows behind each other by ticket, a lane for each. What a
// lane needs of rows before the warp's it asks for in global memory, where a row's word is its own flag; what it needs
// of the warp's own rows comes from their lanes as soon as they know. Most rows of a deep triangle need the row before
// them, so that most steps of its longest path stay inside a warp. No lane ever stands still for another; whoever is
// needed has a smaller number, and so has been taken.
//
// A lane has a few entries on their way; whatever comes makes room for the next, so that little is left when the last
// comes: entries ascend, and mostly come in that order. What lies between the last word a row needs and its own is kept
// short: numbers of 32 bits, told to the warp before the others.
//
// A row joins the chain of the latest row it needs if all others are of lower levels or of that chain, and if it is the
// first row that needs the last of them it needs there. That row can be followed once only, so that nobody has to
// count, and the chains are those of the host whoever comes first.
#include <algorithm>

#include "device/cuda/value_flag.cuh"
#include "sptrsv/analysis/cuda/nodes.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int threads = 128;
constexpr int warps_on_multiprocessor = 8;  // that ask; more disturb each other
constexpr int entries_at_once = 8;          // of a row, on their way
constexpr int few_entries = 4;              // … where no lane of the warp has more
constexpr unsigned few_mask = (1u << few_entries) - 1;
constexpr int inner_at_once = 4;      // columns of a row, read together
constexpr int steps_unpublished = 4;  // inside a warp, until all others are told
constexpr int rows_in_line = 8;       // from so many rows on that wait for each other only, one after the other is told
constexpr unsigned whole_warp = 0xffffffffu;
constexpr unsigned polls_between_looks = 32;  // at whether others have given up

struct Sweep {
    const offset_t* row_begin;
    const index_t* col;
    index_t rows;
    Split split;
    unsigned most, deepest;  // rows of a chain; level alone that is not exceeded
    const index_t* first;    // row to need each, turned
    index_t *ticket, *too_deep;
    NodeWord* standing;
    index_t* size;
};

// What a word says.
struct Told {
    unsigned chain_level, place;  // place: first row of the chain, and the place in it: the lowest place_bits
    unsigned level;
};

__device__ Told told_by(const Split& split, NodeWord word)
{
    return {static_cast<unsigned>(split.chain_level_of(word)),
            static_cast<unsigned>(word >> split.level_bits) & split.place_mask(),
            static_cast<unsigned>(split.level_of(word))};
}

// What is known of the rows that a row needs.
struct Latest {
    Told most = {};      // of the latest chain, its last place; of all rows, the highest level
    bool alone = false;  // no other chain is as late
    bool leads = false;  // this row is the first to need that last one

    // A word that is not there yet changes nothing.
    __device__ void add(const Told& one, bool first_dependent)
    {
        const bool later = one.chain_level > most.chain_level, as_late = one.chain_level == most.chain_level;
        const bool same = (one.place ^ most.place) >> place_bits == 0,
                   behind = as_late && same && one.place > most.place;
        alone = later || (alone && (!as_late || same));
        leads = later || behind ? first_dependent : leads;
        most.place = later || behind ? one.place : most.place;
        most.chain_level = later ? one.chain_level : most.chain_level;
        most.level = max(most.level, one.level);
    }
};

// A row on its way.
struct Waiting {
    index_t row;
    unsigned own_place, joinable;     // its place if it joins no chain; the chain it may join is shorter than this
    const index_t *next, *outside;    // entries of rows before the warp's that were not asked for yet: from next on
    index_t col[entries_at_once];     // on their way
    unsigned asked, first_dependent;  // which of them are; of which this row is the first to need
    unsigned inside, leads;  // rows of the warp that are needed and not known yet; those that no row before needs
    bool done;
    Latest latest;

    __device__ bool waits_outside() const { return next < outside || asked != 0; }

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
    offset_t outside = end;
    for (bool more = begin < end; more;) {
        index_t col[inner_at_once];
#pragma unroll
        for (int n = 0; n < inner_at_once; ++n) col[n] = outside - 1 - n >= begin ? s.col[outside - 1 - n] : -1;
#pragma unroll
        for (int n = 0; n < inner_at_once; ++n) {
            more = col[n] >= first_row;
            if (more) w.inside |= 1u << (col[n] - first_row);
        }
        outside = more ? outside - inner_at_once : end - __popc(w.inside);
    }
    w.next = s.col + begin;
    w.outside = s.col + outside;
    unsigned before = w.inside;  // needed by rows up to this one
    for (int distance = 1; distance < lanes; distance *= 2) {
        const unsigned other = __shfl_up_sync(whole_warp, before, distance);
        before |= lane >= distance ? other : 0;
    }
    before = __shfl_up_sync(whole_warp, before, 1);
    w.leads = w.inside & ~(lane > 0 ? before : 0);  // whoever needs a row of the warp first is one of the warp's
    return w;
}

// Places that are free get the row's next entries, and all are asked for. Returns whether a lane got one, or asked for
// the first time.
template <int Places>
__device__ bool ask_for(const Sweep& s, Waiting& w)
{
    NodeWord word[Places];
    index_t first[Places];
    unsigned fresh = 0;
#pragma unroll
    for (int n = 0; n < Places; ++n) {
        const bool takes = (w.asked >> n & 1) == 0 && w.next < w.outside;
        if (!takes) continue;
        w.col[n] = *w.next++;
        fresh |= 1u << n;
    }
    w.asked |= fresh;
#pragma unroll
    for (int n = 0; n < Places; ++n) {
        word[n] = (w.asked >> n & 1) != 0 ? load_relaxed(&s.standing[w.col[n]]) : 0;
        first[n] = (fresh >> n & 1) != 0 ? s.first[w.col[n]] : 0;
    }
    NodeWord any = fresh;
#pragma unroll
    for (int n = 0; n < Places; ++n) any |= word[n];
    if (__any_sync(whole_warp, any != 0) == 0) return false;
    w.first_dependent &= ~fresh;
#pragma unroll
    for (int n = 0; n < Places; ++n) {
        w.first_dependent |= first[n] == descending_key(w.row) ? 1u << n : 0;
        w.latest.add(told_by(s.split, word[n]), (w.first_dependent >> n & 1) != 0);
        w.asked &= word[n] != 0 ? ~(1u << n) : ~0u;
    }
    return true;
}

// Something new of rows before the warp's. Returns whether there may be.
__device__ bool ask(const Sweep& s, Waiting& w)
{
    const bool needs_all = (w.asked & ~few_mask) != 0 || w.outside - w.next > few_entries - __popc(w.asked);
    return __any_sync(whole_warp, needs_all) != 0 ? ask_for<entries_at_once>(s, w) : ask_for<few_entries>(s, w);
}

// A row's word for everybody.
__device__ void publish(const Sweep& s, const Waiting& w)
{
    const Told word = w.conclude();
    if (word.level > s.deepest) return store_relaxed(s.too_deep, 1);
    store_relaxed(&s.standing[w.row], s.split.standing_of(word.chain_level, word.place, word.level));
    if (word.place != w.own_place)
        atomicMax(&s.size[word.place >> place_bits], static_cast<index_t>(word.place & most_place) + 1);
}

// What lane k tells, to those that need it.
__device__ void tell_warp(Waiting& w, const Told& mine, int k)
{
    const bool needs = (w.inside >> k & 1) != 0;  // no branch: what is not needed is as if it were not there
    const unsigned chain_level = __shfl_sync(whole_warp, mine.chain_level, k),
                   level = __shfl_sync(whole_warp, mine.level, k);
    w.latest.add({needs ? chain_level : 0, __shfl_sync(whole_warp, mine.place, k), needs ? level : 0},
                 (w.leads >> k & 1) != 0);
}

// Where no lane waits for another warp, one after the other knows all it needs. wanted: rows not told yet that others
// of the warp need.
__device__ void tell_in_line(const Sweep& s, Waiting& w, int lane, unsigned wanted)
{
    for (int first = 0; first < lanes; first += steps_unpublished) {
        if ((wanted >> first & ((1u << steps_unpublished) - 1)) != 0) {
#pragma unroll
            for (int n = 0; n < steps_unpublished; ++n) tell_warp(w, w.conclude(), first + n);
        }
        const bool is_half = (first + steps_unpublished) % (lanes / 2) == 0;
        if (!is_half || w.done || lane / (lanes / 2) != first / (lanes / 2)) continue;
        publish(s, w);
        w.done = true;
    }
    w.inside = 0;
}

// Lanes that know all they need tell those of the warp, until no other can; after some steps, or at the end, everybody.
// wanted: rows that others of the warp need.
__device__ void tell(const Sweep& s, Waiting& w, int lane, unsigned wanted)
{
    const unsigned left = __ballot_sync(whole_warp, !w.done);
    if (__popc(left & wanted) >= rows_in_line && __any_sync(whole_warp, w.waits_outside()) == 0)
        return tell_in_line(s, w, lane, wanted & left);
    const unsigned self = 1u << lane;
    unsigned open =
        w.inside |
        (w.done || w.waits_outside() ? self : 0);  // for whom the row waits; itself, where that is nobody of the warp
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
                told ^= 1u << k;
                tell_warp(w, mine, k);
            }
            w.inside &= ~telling;
        }
        if (!ready) continue;
        publish(s, w);
        w.done = true;
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
        if (row - lane >= s.rows) return;  // the whole warp
        Waiting w = begin_row(s, row, lane);
        const unsigned wanted = __reduce_or_sync(whole_warp, w.inside);
        for (unsigned polls = 1; __any_sync(whole_warp, !w.done) != 0; ++polls) {
            if (ask(s, w) || polls == 1) tell(s, w, lane, wanted);
            if (polls % polls_between_looks != 0) continue;
            const index_t given_up = lane == 0 ? load_relaxed(s.too_deep) : 0;
            if (__shfl_sync(whole_warp, given_up, 0) != 0) return;
        }
    }
}

}  // namespace

LevelAnalysis sweep(const CudaQueue& q, const DeviceTriangle& there, int most, index_t deepest)
{
    require<ValueError>(there.rows < most_rows_swept && most >= 1 && most <= most_rows &&
                            deepest <= most_levels_swept(there.rows),
                        "so many rows or levels are not swept on a GPU");
    require<ValueError>(there.first_dependent.size() == there.rows, "only triangles taken on a GPU are swept there");
    LevelAnalysis swept{.most = most,
                        .rows = there.rows,
                        .words = Buffer<NodeWord>(q, SweptArrays<NodeWord>::all_words(there.rows,
                                                                                      std::min(there.rows, deepest)))};
    fill_zero(q, swept.words.data(), swept.words.size());
    const SweptArrays<NodeWord> arrays = arrays_of(swept);
    const offset_t enough = (offset_t{there.rows} + threads - 1) / threads;
    const offset_t most_blocks = offset_t{multiprocessors(q)} * warps_on_multiprocessor * lanes / threads;
    launch(q, {enough < most_blocks ? enough : most_blocks, threads}, sweep_kernel,
           Sweep{there.row_begin.data(), there.col.data(), there.rows, Split(there.rows), static_cast<unsigned>(most),
                 static_cast<unsigned>(deepest), there.first_dependent.data(), arrays.ticket, arrays.too_deep,
                 arrays.standing, arrays.size});
    return swept;
}

LevelAnalysis upload_nodes(const CudaQueue& q, const CpuQueue& host, const Graph& graph)
{
    const auto rows = static_cast<index_t>(graph.node_of.size());
    require<ValueError>(can_take_nodes(rows, graph.levels), "so many rows or levels are not laid out on a GPU");
    const Split split(rows);
    Buffer<NodeWord> words(host, SweptArrays<NodeWord>::swept_words(rows));
    const SweptArrays<NodeWord> arrays(words.data(), rows);
    Buffer<index_t> first(host, graph.nodes);
    for (index_t i = 0; i < rows; ++i) {
        const index_t node = graph.node_of.data()[i], place = graph.position.empty() ? 0 : graph.position.data()[i];
        const auto level = static_cast<unsigned>(graph.level.data()[node]);
        if (place == 0) first.data()[node] = i;
        arrays.standing[i] =
            split.standing_of(level,
                              (static_cast<unsigned>(first.data()[node]) << place_bits) | static_cast<unsigned>(place),
                              level);
        arrays.size[i] = place == 0 && !graph.size.empty() ? graph.size.data()[node] : 0;
    }
    LevelAnalysis swept{.most = most_rows, .rows = rows, .words = Buffer<NodeWord>(q, words.size())};
    upload(q, std::as_const(words).data(), swept.words.data(),
           offset_t{rows} + (rows + 1) / 2);  // what else a sweep needs, nobody reads
    return swept;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
