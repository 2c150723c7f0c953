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
//
// What a sweep found is then surveyed: the sums that features are made of, over all rows, and how wide levels are. All
// of them are sums of whole numbers, so that the order in which threads add does not matter, and the features are those
// of the host.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "device/cuda/pinned_readback.hpp"
#include "device/cuda/value_flag.cuh"
#include "sptrsv/analysis.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// --- The sweep ---

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
struct NodeState {
    unsigned chain_level, place;  // place: first row of the chain, and the place in it: the lowest place_bits
    unsigned level;
};

__device__ NodeState state_in(const Split& split, NodeWord word)
{
    return {static_cast<unsigned>(split.chain_level_of(word)),
            static_cast<unsigned>(word >> split.level_bits) & split.place_mask(),
            static_cast<unsigned>(split.level_of(word))};
}

// What is known of the rows that a row needs.
struct Latest {
    NodeState most = {};  // of the latest chain, its last place; of all rows, the highest level
    bool alone = false;   // no other chain is as late
    bool leads = false;   // this row is the first to need that last one

    // A word that is not there yet changes nothing.
    __device__ void add(const NodeState& one, bool first_dependent)
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
    __device__ NodeState conclude() const
    {
        const NodeState& most = latest.most;
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
        w.latest.add(state_in(s.split, word[n]), (w.first_dependent >> n & 1) != 0);
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
    const NodeState word = w.conclude();
    if (word.level > s.deepest) return store_relaxed(s.too_deep, 1);
    store_relaxed(&s.standing[w.row], s.split.standing_of(word.chain_level, word.place, word.level));
    if (word.place != w.own_place)
        atomicMax(&s.size[word.place >> place_bits], static_cast<index_t>(word.place & most_place) + 1);
}

// What lane k tells, to those that need it.
__device__ void tell_warp(Waiting& w, const NodeState& mine, int k)
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
            const NodeState mine = w.conclude();
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

// --- The survey ---

constexpr int survey_threads = 256;
constexpr offset_t most_survey_blocks = 1024;  // each adds to the same few numbers at its end

// What is counted, in words: the sums, then two words for each level, each of them two counts.
struct Head {
    RowSums sums;
    unsigned long long chain_levels, too_deep;
    int came, unused;  // blocks that have added what they found
};
static_assert(sizeof(Head) <= counts_head * sizeof(unsigned long long));
constexpr int words_of_level =
    static_cast<int>(counts_of_level);         // of rows alone: rows and entries; of chains: chains and rows
constexpr int entry_bits = 37, row_bits = 32;  // of a word of rows alone, and of one of chains
constexpr unsigned long long one_row = 1ull << entry_bits, one_node = 1ull << row_bits;
static_assert(most_rows_swept <= 1ll << (64 - entry_bits));

// The first levels have most rows, and all blocks add to them: a block counts them in its shared memory first, in words
// of 32 bits.
constexpr int levels_of_block = 128;
constexpr int parts_of_level = 2 * words_of_level;
constexpr offset_t most_entries_counted = offset_t{1} << 32;

// What the last block leaves for the host: most graphs have no more levels.
constexpr int levels_told =
    static_cast<int>((cuda::Page::bytes - sizeof(Head)) / sizeof(unsigned long long)) / words_of_level;
struct Told {
    Head head;
    unsigned long long of_level[words_of_level * levels_told];
};

// The sum over the lanes whose bits are set, at the first of them. All lanes must call, each with those of its own
// group.
__device__ unsigned long long sum_of_group(unsigned long long value, unsigned group, int lane)
{
    int place = __popc(
        group &
        ((1u << lane) -
         1));  // in the group: every second one gives what it has to the one before, then every second of those left
    for (unsigned behind = group & ~((2u << lane) - 1); __any_sync(whole_warp, behind != 0) != 0; place /= 2) {
        const int next = __ffs(static_cast<int>(behind)) - 1;
        const unsigned long long other = __shfl_sync(whole_warp, value, next < 0 ? lane : next);
        value += next < 0 ? 0 : other;
        behind &= __ballot_sync(whole_warp, place % 2 == 0);
    }
    return value;
}

// Where a kind of word is counted: the levels of the block, and of all.
struct Counters {
    unsigned* of_block;  // two for each of its levels, high and low part; of the first levels only
    int levels;          // of the block
    int low_bits;        // of a word
    unsigned long long* of_all;
};

// Rows of a warp that are of one level add together: there are few levels, and all rows add to them. Level 0: no row.
__device__ void add_to_level(unsigned long long amount, index_t level, int lane, const Counters& to)
{
    const index_t first = __shfl_sync(whole_warp, level, 0);
    const bool is_one = __all_sync(whole_warp, level == first || level == 0) != 0;
    const unsigned group = is_one ? whole_warp : __match_any_sync(whole_warp, level);
    const unsigned long long sum = is_one ? slice_sum<lanes>(amount) : sum_of_group(amount, group, lane);
    if (level == 0 || (group & ((1u << lane) - 1)) != 0) return;
    if (level > to.levels) {
        atomicAdd(&to.of_all[(level - 1) * offset_t{words_of_level}], sum);
        return;
    }
    unsigned* const here = &to.of_block[(level - 1) * parts_of_level];
    atomicAdd(&here[0], static_cast<unsigned>(sum >> to.low_bits));
    atomicAdd(&here[1], static_cast<unsigned>(sum & ((1ull << to.low_bits) - 1)));
}

// Adds what a block found to the sums of all: first in its shared memory, since all blocks add to the same few numbers.
__device__ void add_sums(RowSums found, unsigned long long chain_levels, int lane, Head* of_block, Head* head)
{
    const unsigned long long squares = slice_sum<lanes>(found.squares),
                             dependency_nearness = slice_sum<lanes>(found.dependency_nearness);
    const unsigned long long longest = slice_max<lanes>(found.longest), levels = slice_max<lanes>(found.levels);
    chain_levels = slice_max<lanes>(chain_levels);
    if (threadIdx.x == 0) *of_block = {};
    __syncthreads();
    const auto add = [&](Head* to, const RowSums& sums, unsigned long long highest) {
        atomicAdd(&to->sums.squares, sums.squares);
        atomicAdd(&to->sums.dependency_nearness, sums.dependency_nearness);
        atomicMax(&to->sums.longest, sums.longest);
        atomicMax(&to->sums.levels, sums.levels);
        atomicMax(&to->chain_levels, highest);
    };
    if (lane == 0) add(of_block, {squares, dependency_nearness, longest, levels}, chain_levels);
    __syncthreads();
    if (threadIdx.x == 0) add(head, of_block->sums, of_block->chain_levels);
}

// The sums, and the first levels that have some, to where the host sees them: by the block that comes last.
__device__ void tell_host(Head* head, const unsigned long long* of_level, int* last, Told* told)
{
    __syncthreads();
    if (threadIdx.x == 0) *last = arrive(&head->came) + 1 == static_cast<int>(gridDim.x) ? 1 : 0;
    __syncthreads();
    if (*last == 0) return;
    const unsigned long long levels = load_relaxed(&head->sums.levels);
    const unsigned long long words = words_of_level * min(levels, static_cast<unsigned long long>(levels_told));
    for (unsigned long long k = threadIdx.x; k < words; k += survey_threads)
        told->of_level[k] = load_relaxed(&of_level[k]);
    if (threadIdx.x != 0) return;
    told->head.sums = {load_relaxed(&head->sums.squares), load_relaxed(&head->sums.dependency_nearness),
                       load_relaxed(&head->sums.longest), levels};
    told->head.chain_levels = load_relaxed(&head->chain_levels);
    told->head.too_deep = 0;
}

// What a block has counted of its levels to those of all.
__device__ void add_block(const unsigned* of_block, int levels, unsigned long long* of_level)
{
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < levels * words_of_level; k += survey_threads) {
        const unsigned long long high = of_block[2 * k], low = of_block[2 * k + 1];
        const unsigned long long word = (high << (k % words_of_level == 0 ? entry_bits : row_bits)) + low;
        if (word != 0) atomicAdd(&of_level[k], word);
    }
}

// A thread for a row, again and again; level 0: no row.
//   grid: up to most_survey_blocks      head, of_level: zero before
__global__ void __launch_bounds__(survey_threads)
    survey_kernel(Split split, index_t rows, const offset_t* row_begin, const index_t* col, const NodeWord* standing,
                  const index_t* too_deep, Head* head, int levels_counted, unsigned long long* of_level, Told* told)
{
    TULLE_SHARED(int, last, 1);
    TULLE_SHARED(unsigned, counted, parts_of_level* levels_of_block);
    TULLE_SHARED(Head, of_block, 1);
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t step = offset_t{gridDim.x} * survey_threads;
    if (*too_deep != 0) {
        if (global_thread() == 0) told->head.too_deep = 1;
        return;
    }
    for (int k = static_cast<int>(threadIdx.x); k < parts_of_level * levels_counted; k += survey_threads)
        counted[k] = 0;
    __syncthreads();
    const Counters alone{counted, levels_counted, entry_bits, of_level},
        chained{counted + 2, levels_counted, row_bits, of_level + 1};
    RowSums found{};
    unsigned long long chain_levels = 0;
    for (offset_t first = global_thread() - lane; first < rows; first += step) {
        const offset_t i = first + lane;
        const bool there = i < rows;
        const offset_t begin = there ? row_begin[i] : 0, end = there ? row_begin[i + 1] : 0;
        const unsigned long long entries = there ? static_cast<unsigned long long>(end - begin) + 1 : 0;
        const NodeWord word = there ? standing[i] : 0;
        found.squares += entries * entries;
        if (begin < end) found.dependency_nearness += near_unit / static_cast<unsigned long long>(i - col[end - 1]);
        found.longest = max(found.longest, entries);
        found.levels = max(found.levels, split.level_of(word));
        chain_levels = max(chain_levels, split.chain_level_of(word));
        add_to_level(there ? one_row + entries : 0, static_cast<index_t>(split.level_of(word)), lane, alone);
        add_to_level(!there                      ? 0
                     : split.first_of(word) == i ? one_node + 1
                                                 : 1,
                     static_cast<index_t>(split.chain_level_of(word)), lane, chained);
    }
    add_block(counted, levels_counted, of_level);
    add_sums(found, chain_levels, lane, of_block, head);
    tell_host(head, of_level, last, told);
}

//   grid: one thread per row
__global__ void __launch_bounds__(survey_threads)
    write_levels_kernel(Split split, index_t rows, const NodeWord* standing, index_t* level)
{
    const offset_t i = global_thread();
    if (i < rows) level[i] = static_cast<index_t>(split.level_of(standing[i]));
}

// The words of all levels: those that were told, and the others.
std::vector<unsigned long long> read_levels(const CudaQueue& q, const Told& told, const unsigned long long* of_level)
{
    const auto needed = words_of_level * static_cast<offset_t>(told.head.sums.levels),
               known = std::min<offset_t>(needed, std::ssize(told.of_level));
    std::vector<unsigned long long> word(told.of_level, told.of_level + known);
    if (needed == known) return word;
    word.resize(static_cast<std::size_t>(needed));
    download(q, of_level + known, word.data() + known, needed - known);
    return word;
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

std::optional<Surveyed> survey(const CudaQueue& q, const DeviceTriangle& there, LevelAnalysis& swept)
{
    require<ValueError>(swept.words.size() > SweptArrays<NodeWord>::swept_words(there.rows),
                        "only what a sweep has found is surveyed");
    cuda::PinnedReadback<Told> box(q);
    box.there()->head = {};  // what is told of no rows
    const SweptArrays<NodeWord> arrays = arrays_of(swept);
    unsigned long long* const of_levels = arrays.counts + counts_head;
    const offset_t blocks = std::min(most_survey_blocks, ceil_div(offset_t{there.rows}, offset_t{survey_threads}));
    launch(q, {blocks, survey_threads}, survey_kernel, Split(there.rows), there.rows, there.row_begin.data(),
           there.col.data(), arrays.standing, arrays.too_deep, reinterpret_cast<Head*>(arrays.counts),
           there.nonzeros() + there.rows < most_entries_counted ? levels_of_block : 0, of_levels, box.there());
    const Told& told = box.wait();
    const Head& head = told.head;
    if (head.too_deep != 0) return std::nullopt;
    const auto of_level = read_levels(q, told, of_levels);
    Surveyed found;
    std::vector<unsigned long long> entries;
    for (std::size_t level = 0; level < head.sums.levels; ++level) {
        const unsigned long long alone = of_level[words_of_level * level],
                                 chained = of_level[words_of_level * level + 1];
        entries.push_back(alone % one_row);
        found.alone.rows.push_back(static_cast<offset_t>(alone / one_row));
        if (level >= head.chain_levels) continue;
        found.chained.nodes.push_back(static_cast<offset_t>(chained / one_node));
        found.chained.rows.push_back(static_cast<offset_t>(chained % one_node));
    }
    found.alone.nodes = found.alone.rows;
    found.features = features_from(there.rows, there.nonzeros(), head.sums, entries);
    return found;
}

void write_levels(const CudaQueue& q, const LevelAnalysis& swept, index_t* level)
{
    launch(q, one_thread_each(swept.rows, survey_threads), write_levels_kernel, Split(swept.rows), swept.rows,
           arrays_of(swept).standing, level);
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
