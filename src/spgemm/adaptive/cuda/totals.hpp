// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What follows from sums over all rows.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "spgemm/adaptive/groups.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

static_assert(counters <= most_groups && fillers <= most_groups);

// Filling rows together pays where there is a run among so many rows; fewer are not worth launches of their own (0.15
// ms of cant, measured).
inline constexpr offset_t rows_per_run = 50;

constexpr bool runs_pay(const Totals& filling, offset_t rows)
{
    offset_t runs = 0;
    for (int f = static_cast<int>(NumericKernel::run_tiny); f <= static_cast<int>(NumericKernel::run_huge); ++f)
        runs += filling.rows[f];
    return runs * rows_per_run > rows;
}

// Where each group begins in the list; group 0 is nobody's work and is left out. The place in the result is the group's
// number less one.
template <std::size_t N>
std::vector<RowGroup> groups_of(const unsigned (&rows)[most_groups], const std::array<const char*, N>& names)
{
    std::vector<RowGroup> groups;
    offset_t begin = 0;
    for (std::size_t g = 1; g < N; ++g) {
        groups.push_back({names[g], begin, rows[g]});
        begin += rows[g];
    }
    return groups;
}

// What the host wants to know of counting.
inline void note_counting(const Totals& found, Workspace& work)
{
    work.products = static_cast<offset_t>(found.products);
    work.longest = static_cast<offset_t>(found.longest);
    work.symbolic = groups_of(found.rows, counter_names);
    work.pieces.few = static_cast<offset_t>(found.pieces[0]);
    work.pieces.all = work.pieces.few + static_cast<offset_t>(found.pieces[1]);
}

// Streams beside the queue's for so many groups that have rows: what is worth the events between them (reasoned).
inline int branches_for(const std::vector<RowGroup>& groups, bool side_by_side)
{
    const auto busy = std::count_if(groups.begin(), groups.end(), [](const RowGroup& g) { return g.rows > 0; });
    return side_by_side && busy > 2 ? 3 : 0;
}

// Numbers of the groups that have rows, as they are launched: the longest rows first, which others hide.
inline std::vector<std::size_t> launch_order(const std::vector<RowGroup>& groups)
{
    std::vector<std::size_t> order;
    for (std::size_t g = groups.size(); g > 0; --g)
        if (groups[g - 1].rows > 0) order.push_back(g);
    return order;
}

// A launch takes at least as long as its longest row, so a few rows are better done with the next larger size of their
// kind, where has_larger(group) says that there is one; lists of neighbouring groups are neighbours. Small products
// have launches to save more than work: as many rows as there are warps on a GPU are few (reasoned: cage10 has 4133
// rows of up to 64 nonzeros and 5547 of up to 128).
inline constexpr offset_t few_rows = 2000, few_rows_of_small = 8192;

// Small products, unless a long row among them has launches wait for it: memplus took 1030 µs group after group, and
// 670 side by side (measured).
inline bool saves_launches(const Workspace& work) { return work.kinds.at_once && work.longest <= counted_at_once; }

template <class HasLarger>
std::vector<RowGroup> merged(std::vector<RowGroup> groups, offset_t few, HasLarger&& has_larger)
{
    for (std::size_t g = 1; g < groups.size(); ++g) {
        RowGroup &small = groups[g - 1], &large = groups[g];
        if (!has_larger(g) || small.rows == 0 || small.rows > few || large.rows == 0) continue;
        large.begin = small.begin;
        large.rows += small.rows;
        small.rows = 0;
    }
    return groups;
}

}  // namespace tulle::inline TULLE_ABI::spgemm
