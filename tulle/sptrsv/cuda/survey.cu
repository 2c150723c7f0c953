// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sums that features are made of, over all rows of a triangle whose levels are known, and how wide levels are. All of them are sums of whole numbers, so
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
    unsigned long long chain_levels;
};
constexpr offset_t head_words = sizeof(Head) / sizeof(unsigned long long);
constexpr int words_of_level = 2;                          // of rows alone: rows and entries; of chains: chains and rows
constexpr unsigned long long one_row = 1ull << (64 - chain_bits), one_node = 1ull << 32;
constexpr offset_t levels_at_once = 2048;

__device__ unsigned long long warp_maximum(unsigned long long value)
{
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        const unsigned long long other = __shfl_xor_sync(whole_warp, value, distance);
        value = other > value ? other : value;
    }
    return value;
}

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
__global__ void __launch_bounds__(threads) survey_kernel(index_t rows, const offset_t* row_begin, const index_t* col, const index_t* level, Head* head, unsigned long long* of_level)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t step = offset_t{gridDim.x} * threads;
    unsigned long long squares = 0, nearness = 0, longest = 0, levels = 0;
    for (offset_t first = global_thread() - lane; first < rows; first += step) {
        const offset_t i = first + lane;
        const bool there = i < rows;
        const offset_t begin = there ? row_begin[i] : 0, end = there ? row_begin[i + 1] : 0;
        const unsigned long long entries = there ? static_cast<unsigned long long>(end - begin) + 1 : 0;
        const index_t at = there ? level[i] : 0;
        squares += entries * entries;
        if (begin < end) nearness += near_unit / static_cast<unsigned long long>(i - col[end - 1]);
        longest = entries > longest ? entries : longest;
        levels = static_cast<unsigned long long>(at) > levels ? static_cast<unsigned long long>(at) : levels;
        add_to_level(there ? one_row + entries : 0, at, lane, of_level);
    }
    squares = slice_sum<lanes>(squares);
    nearness = slice_sum<lanes>(nearness);
    longest = warp_maximum(longest);
    levels = warp_maximum(levels);
    if (lane != 0) return;
    atomicAdd(&head->sums.squares, squares);
    atomicAdd(&head->sums.nearness, nearness);
    atomicMax(&head->sums.longest, longest);
    atomicMax(&head->sums.levels, levels);
}

// Likewise, of chains.      grid: up to most_blocks      head, of_level: zero before
__global__ void __launch_bounds__(threads) survey_chains_kernel(index_t rows, NodesView nodes, Head* head, unsigned long long* of_level)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t step = offset_t{gridDim.x} * threads;
    unsigned long long levels = 0;
    for (offset_t first = global_thread() - lane; first < rows; first += step) {
        const bool there = first + lane < rows;
        const auto row = static_cast<index_t>(first + lane);
        const index_t at = there ? nodes.level_of(row) : 0;
        levels = static_cast<unsigned long long>(at) > levels ? static_cast<unsigned long long>(at) : levels;
        add_to_level(!there ? 0 : nodes.first_of(row) == row ? one_node + 1 : 1, at, lane, of_level + 1);
    }
    levels = warp_maximum(levels);
    if (lane == 0) atomicMax(&head->chain_levels, levels);
}

}  // namespace

SurveyThere start_survey(const CudaQueue& q, const Triangle& there, const index_t* level, const Chains* chains)
{
    SurveyThere survey{there.rows, there.nonzeros(), Buffer<unsigned long long>(q, head_words + offset_t{words_of_level} * there.rows)};
    fill_zero(q, survey.word.data(), survey.word.size());
    auto* head = reinterpret_cast<Head*>(survey.word.data());
    const LaunchShape grid = one_thread_each(std::min(most_blocks, ceil_div(offset_t{there.rows}, offset_t{threads})) * threads, threads);
    launch(q, grid, survey_kernel, there.rows, there.row_begin.data(), there.col.data(), level, head, survey.word.data() + head_words);
    if (chains) launch(q, grid, survey_chains_kernel, there.rows, view_of({.chains = chains}), head, survey.word.data() + head_words);
    return survey;
}

// The first levels come with the sums: one wait, for most graphs that are looked at here.
Surveyed read_survey(const CudaQueue& q, const SurveyThere& survey)
{
    std::vector<unsigned long long> word(static_cast<std::size_t>(std::min(survey.word.size(), head_words + words_of_level * levels_at_once)));
    download(q, survey.word.data(), word.data(), std::ssize(word));
    Head head;
    std::memcpy(&head, word.data(), sizeof(head));
    const auto known = static_cast<offset_t>(word.size()), needed = head_words + words_of_level * static_cast<offset_t>(std::max(head.sums.levels, head.chain_levels));
    if (needed > known) {
        word.resize(static_cast<std::size_t>(needed));
        download(q, survey.word.data() + known, word.data() + known, needed - known);
    }
    Surveyed found;
    std::vector<unsigned long long> entries;
    const auto at = [&](unsigned long long level, int which) { return word[static_cast<std::size_t>(head_words) + level * words_of_level + static_cast<std::size_t>(which)]; };
    for (unsigned long long level = 0; level < head.sums.levels; ++level) {
        entries.push_back(at(level, 0) % one_row);
        found.alone.rows.push_back(static_cast<offset_t>(at(level, 0) / one_row));
    }
    found.alone.nodes = found.alone.rows;
    for (unsigned long long level = 0; level < head.chain_levels; ++level) {
        found.chained.nodes.push_back(static_cast<offset_t>(at(level, 1) / one_node));
        found.chained.rows.push_back(static_cast<offset_t>(at(level, 1) % one_node));
    }
    found.features = features_from(survey.rows, survey.nonzeros, head.sums, entries);
    return found;
}

}  // namespace tulle::sptrsv
