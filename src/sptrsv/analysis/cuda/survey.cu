// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sums that features are made of, over all rows of a triangle that was swept, and how wide levels are. All of them
// are sums of whole numbers, so that the order in which threads add does not matter, and the features are those of the
// host.
#include <algorithm>
#include <vector>

#include "base/math.hpp"
#include "device/cuda/kernel.cuh"
#include "device/cuda/pinned_readback.hpp"
#include "sptrsv/analysis/cuda/nodes.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int threads = 256;
constexpr offset_t most_blocks = 1024;  // each adds to the same few numbers at its end
constexpr unsigned whole_warp = 0xffffffffu;

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
    for (unsigned long long k = threadIdx.x; k < words; k += threads) told->of_level[k] = load_relaxed(&of_level[k]);
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
    for (int k = static_cast<int>(threadIdx.x); k < levels * words_of_level; k += threads) {
        const unsigned long long high = of_block[2 * k], low = of_block[2 * k + 1];
        const unsigned long long word = (high << (k % words_of_level == 0 ? entry_bits : row_bits)) + low;
        if (word != 0) atomicAdd(&of_level[k], word);
    }
}

// A thread for a row, again and again; level 0: no row.
//   grid: up to most_blocks      head, of_level: zero before
__global__ void __launch_bounds__(threads)
    survey_kernel(Split split, index_t rows, const offset_t* row_begin, const index_t* col, const NodeWord* standing,
                  const index_t* too_deep, Head* head, int levels_counted, unsigned long long* of_level, Told* told)
{
    TULLE_SHARED(int, last, 1);
    TULLE_SHARED(unsigned, counted, parts_of_level* levels_of_block);
    TULLE_SHARED(Head, of_block, 1);
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t step = offset_t{gridDim.x} * threads;
    if (*too_deep != 0) {
        if (global_thread() == 0) told->head.too_deep = 1;
        return;
    }
    for (int k = static_cast<int>(threadIdx.x); k < parts_of_level * levels_counted; k += threads) counted[k] = 0;
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
__global__ void __launch_bounds__(threads)
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

std::optional<Surveyed> survey(const CudaQueue& q, const DeviceTriangle& there, LevelAnalysis& swept)
{
    require<ValueError>(swept.words.size() > SweptArrays<NodeWord>::swept_words(there.rows),
                        "only what a sweep has found is surveyed");
    cuda::PinnedReadback<Told> box(q);
    box.there()->head = {};  // what is told of no rows
    const SweptArrays<NodeWord> arrays = arrays_of(swept);
    unsigned long long* const of_levels = arrays.counts + counts_head;
    const offset_t blocks = std::min(most_blocks, ceil_div(offset_t{there.rows}, offset_t{threads}));
    launch(q, {blocks, threads}, survey_kernel, Split(there.rows), there.rows, there.row_begin.data(), there.col.data(),
           arrays.standing, arrays.too_deep, reinterpret_cast<Head*>(arrays.counts),
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
    launch(q, one_thread_each(swept.rows, threads), write_levels_kernel, Split(swept.rows), swept.rows,
           arrays_of(swept).standing, level);
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
