// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sums that features are made of, over all rows of a triangle that was swept, and how wide levels are. All of them are sums of whole numbers, so
// that the order in which threads add does not matter, and the features are those of the host.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tulle/base/math.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/device/cuda/kernel.cuh"
#include "tulle/sptrsv/cuda/nodes.cuh"

namespace tulle::sptrsv {
namespace {

constexpr int threads = 256;
constexpr offset_t most_blocks = 1024;                     // each adds to the same few numbers at its end
constexpr unsigned whole_warp = 0xffffffffu;

// What is counted, in words: the sums, then two words for each level, each of them two counts.
struct Head {
    RowSums sums;
    unsigned long long chain_levels, too_deep;
};
constexpr offset_t head_words = sizeof(Head) / sizeof(unsigned long long);
constexpr int words_of_level = 2;                          // of rows alone: rows and entries; of chains: chains and rows
constexpr unsigned long long one_row = 1ull << 37, one_node = 1ull << 32;
static_assert(most_rows_swept <= 1ll << (64 - 37));
constexpr offset_t levels_at_once = 2048;

// Where a warp's rows are all of one level, as in wide graphs, it adds once.
__device__ void add_to_level(unsigned long long amount, index_t level, int lane, unsigned long long* of_level)
{
    const index_t first = __shfl_sync(whole_warp, level, 0);
    if (__all_sync(whole_warp, level == first || level == 0) != 0) {
        const unsigned long long sum = slice_sum<lanes>(amount);
        if (lane == 0) atomicAdd(&of_level[(first - 1) * offset_t{words_of_level}], sum);
    } else if (level > 0) {
        atomicAdd(&of_level[(level - 1) * offset_t{words_of_level}], amount);
    }
}

// A thread for a row, again and again; level 0: no row.
//   grid: up to most_blocks      head, of_level: zero before
__global__ void __launch_bounds__(threads)
survey_kernel(Split split, index_t rows, const offset_t* row_begin, const index_t* col, const Standing* standing, const unsigned* too_deep, Head* head,
              unsigned long long* of_level)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t step = offset_t{gridDim.x} * threads;
    if (*too_deep != 0) {
        if (global_thread() == 0) head->too_deep = 1;
        return;
    }
    unsigned long long squares = 0, nearness = 0, longest = 0, levels = 0, chain_levels = 0;
    for (offset_t first = global_thread() - lane; first < rows; first += step) {
        const offset_t i = first + lane;
        const bool there = i < rows;
        const offset_t begin = there ? row_begin[i] : 0, end = there ? row_begin[i + 1] : 0;
        const unsigned long long entries = there ? static_cast<unsigned long long>(end - begin) + 1 : 0;
        const Standing found = there ? standing[i] : 0;
        squares += entries * entries;
        if (begin < end) nearness += near_unit / static_cast<unsigned long long>(i - col[end - 1]);
        longest = max(longest, entries);
        levels = max(levels, split.level_of(found));
        chain_levels = max(chain_levels, split.chain_level_of(found));
        add_to_level(there ? one_row + entries : 0, static_cast<index_t>(split.level_of(found)), lane, of_level);
        add_to_level(!there ? 0 : split.first_of(found) == i ? one_node + 1 : 1, static_cast<index_t>(split.chain_level_of(found)), lane, of_level + 1);
    }
    squares = slice_sum<lanes>(squares);
    nearness = slice_sum<lanes>(nearness);
    longest = slice_max<lanes>(longest);
    levels = slice_max<lanes>(levels);
    chain_levels = slice_max<lanes>(chain_levels);
    if (lane != 0) return;
    atomicAdd(&head->sums.squares, squares);
    atomicAdd(&head->sums.nearness, nearness);
    atomicMax(&head->sums.longest, longest);
    atomicMax(&head->sums.levels, levels);
    atomicMax(&head->chain_levels, chain_levels);
}

//   grid: one thread per row
__global__ void __launch_bounds__(threads) write_levels_kernel(Split split, index_t rows, const Standing* standing, index_t* level)
{
    const offset_t i = global_thread();
    if (i < rows) level[i] = static_cast<index_t>(split.level_of(standing[i]));
}

// The words of the survey: the first levels come with the sums, so that most graphs need one wait.
std::vector<unsigned long long> read_words(const CudaQueue& q, const Buffer<unsigned long long>& there, Head& head)
{
    std::vector<unsigned long long> word(static_cast<std::size_t>(std::min(there.size(), head_words + words_of_level * levels_at_once)));
    download(q, there.data(), word.data(), std::ssize(word));
    std::memcpy(&head, word.data(), sizeof(head));
    const auto known = std::ssize(word), needed = head_words + words_of_level * static_cast<offset_t>(head.sums.levels);
    if (needed > known) {
        word.resize(static_cast<std::size_t>(needed));
        download(q, there.data() + known, word.data() + known, needed - known);
    }
    word.erase(word.begin(), word.begin() + head_words);
    return word;
}

}  // namespace

std::optional<Surveyed> survey(const CudaQueue& q, const Triangle& there, const Swept& swept)
{
    Buffer<unsigned long long> words(q, head_words + offset_t{words_of_level} * there.rows);
    fill_zero(q, words.data(), words.size());
    const offset_t blocks = std::min(most_blocks, ceil_div(offset_t{there.rows}, offset_t{threads}));
    launch(q, {blocks, threads}, survey_kernel, split_of(swept), there.rows, there.row_begin.data(), there.col.data(), swept.standing.data(), swept.too_deep.data(),
           reinterpret_cast<Head*>(words.data()), words.data() + head_words);
    Head head;
    const auto of_level = read_words(q, words, head);
    if (head.too_deep != 0) return std::nullopt;
    Surveyed found;
    std::vector<unsigned long long> entries;
    for (std::size_t level = 0; level < head.sums.levels; ++level) {
        const unsigned long long alone = of_level[words_of_level * level], chained = of_level[words_of_level * level + 1];
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

void write_levels(const CudaQueue& q, const Swept& swept, index_t* level)
{
    const auto rows = static_cast<index_t>(swept.standing.size());
    launch(q, one_thread_each(rows, threads), write_levels_kernel, split_of(swept), rows, swept.standing.data(), level);
}

}  // namespace tulle::sptrsv
