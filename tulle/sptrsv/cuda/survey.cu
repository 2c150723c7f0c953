// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sums that features are made of, over all rows of a triangle whose levels are known, and how wide levels are. All of them are sums of whole numbers, so
// that the order in which threads add does not matter, and the features are those of the host.
#include <algorithm>
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
constexpr unsigned long long node_and_row = 1ull << 32;    // what the first row of a node adds; the others add one

__device__ unsigned long long warp_maximum(unsigned long long value)
{
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        const unsigned long long other = __shfl_xor_sync(whole_warp, value, distance);
        value = other > value ? other : value;
    }
    return value;
}

// Where a warp's rows are all of one level, as in wide graphs, it adds once.
__device__ void add_to_level(unsigned long long entries, index_t level, int lane, unsigned long long* of_level)
{
    const index_t first = __shfl_sync(whole_warp, level, 0);
    if (__all_sync(whole_warp, level == first || level == 0) != 0) {
        const unsigned long long sum = slice_sum<lanes>(entries);
        if (lane == 0) atomicAdd(&of_level[first - 1], sum);
    } else if (level > 0) {
        atomicAdd(&of_level[level - 1], entries);
    }
}

// A thread for a row, again and again; level 0: no row.
//   grid: up to most_blocks      sums, of_level: zero before
__global__ void __launch_bounds__(threads) survey_kernel(index_t rows, const offset_t* row_begin, const index_t* col, const index_t* level, RowSums* sums, unsigned long long* of_level)
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
        add_to_level(entries, at, lane, of_level);
    }
    squares = slice_sum<lanes>(squares);
    nearness = slice_sum<lanes>(nearness);
    longest = warp_maximum(longest);
    levels = warp_maximum(levels);
    if (lane != 0) return;
    atomicAdd(&sums->squares, squares);
    atomicAdd(&sums->nearness, nearness);
    atomicMax(&sums->longest, longest);
    atomicMax(&sums->levels, levels);
}

// Likewise.      grid: up to most_blocks      levels, of_level: zero before
__global__ void __launch_bounds__(threads) widths_kernel(index_t rows, NodesView nodes, unsigned long long* levels, unsigned long long* of_level)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t step = offset_t{gridDim.x} * threads;
    unsigned long long most = 0;
    for (offset_t first = global_thread() - lane; first < rows; first += step) {
        const bool there = first + lane < rows;
        const auto row = static_cast<index_t>(first + lane);
        const index_t level = there ? nodes.level_of(row) : 0;
        most = static_cast<unsigned long long>(level) > most ? static_cast<unsigned long long>(level) : most;
        add_to_level(!there ? 0 : nodes.first_of(row) == row ? node_and_row : 1, level, lane, of_level);
    }
    most = warp_maximum(most);
    if (lane == 0) atomicMax(levels, most);
}

offset_t survey_blocks(index_t rows) { return std::min(most_blocks, ceil_div(offset_t{rows}, offset_t{threads})); }

}  // namespace

WidthsThere start_widths(const CudaQueue& q, index_t rows, const NodesThere& nodes)
{
    WidthsThere widths{Buffer<unsigned long long>(q, 1), Buffer<unsigned long long>(q, rows)};
    fill_zero(q, widths.levels.data(), 1);
    fill_zero(q, widths.of_level.data(), rows);
    launch(q, one_thread_each(survey_blocks(rows) * threads, threads), widths_kernel, rows, view_of(nodes), widths.levels.data(), widths.of_level.data());
    return widths;
}

Widths widths_of(const CudaQueue& q, const WidthsThere& there)
{
    std::vector<unsigned long long> of_level(static_cast<std::size_t>(read_value(q, there.levels.data())));
    download(q, there.of_level.data(), of_level.data(), std::ssize(of_level));
    Widths widths;
    for (const unsigned long long both : of_level) {
        widths.nodes.push_back(static_cast<offset_t>(both / node_and_row));
        widths.rows.push_back(static_cast<offset_t>(both % node_and_row));
    }
    for (std::size_t k = 0; k < of_level.size(); ++k) widths.rows[k] += widths.nodes[k];
    return widths;
}

Survey start_survey(const CudaQueue& q, const Triangle& there, const index_t* level)
{
    Survey survey{Buffer<RowSums>(q, 1), Buffer<unsigned long long>(q, there.rows)};
    fill_zero(q, survey.sums.data(), 1);
    fill_zero(q, survey.of_level.data(), survey.of_level.size());
    launch(q, one_thread_each(survey_blocks(there.rows) * threads, threads), survey_kernel, there.rows, there.row_begin.data(), there.col.data(), level, survey.sums.data(), survey.of_level.data());
    return survey;
}

Features features_of(const CudaQueue& q, const Triangle& there, const Survey& survey)
{
    const RowSums sums = read_value(q, survey.sums.data());
    std::vector<unsigned long long> of_level(static_cast<std::size_t>(sums.levels));
    download(q, survey.of_level.data(), of_level.data(), static_cast<offset_t>(sums.levels));
    return features_from(there.rows, there.nonzeros(), sums, of_level);
}

}  // namespace tulle::sptrsv
