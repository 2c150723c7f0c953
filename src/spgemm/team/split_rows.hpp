// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where the rows of C are cut for several devices, by a prefix of their weights: products, or nonzeros. Two ways that
// give the same cuts.
#pragma once

#include <vector>

#include "partition/split_steps.hpp"
#include "tulle/api.hpp"
#include "tulle/spgemm_team.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// Whether `item` is the first whose weights begin at the position or behind it; for 0 <= item <= items this holds once.
constexpr bool begins_at(const offset_t* prefix, offset_t items, offset_t item, offset_t position)
{
    return (item == 0 || prefix[item - 1] < position) && (item == items || prefix[item] >= position);
}

// What partition::find_split_candidates finds at the fair positions of count - 1 parts, by looking at every item.
TULLE_API void scan_split_candidates(const CpuQueue& q, const offset_t* prefix, offset_t items, offset_t count,
                                     partition::SplitCandidate* found);
TULLE_API void scan_split_candidates(const CudaQueue& q, const offset_t* prefix, offset_t items, offset_t count,
                                     partition::SplitCandidate* found);

// parts + 1 cuts between rows, from the first to the last. `prefix` has rows + 1 entries in the queue's memory; waits.
template <class Queue>
std::vector<partition::Cut> cut_rows(const Queue& q, const offset_t* prefix, offset_t rows, int parts,
                                     CutMethod cut_method)
{
    if (cut_method == CutMethod::search) return partition::split(q, prefix, rows, parts);
    std::vector<partition::SplitCandidate> around(
        partition::fair_positions(0, parts).size());  // refuses what cannot be
    Buffer<partition::SplitCandidate> found(q, std::ssize(around));
    scan_split_candidates(q, prefix, rows, found.size(), found.data());
    download(q, found.data(), around.data(), found.size());
    return partition::choose_cuts(around, rows);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
