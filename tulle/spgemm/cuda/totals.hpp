// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Sums over all rows that the host waits for.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "tulle/spgemm/groups.hpp"

namespace tulle::spgemm {

inline constexpr int most_groups = 24;
static_assert(counters <= most_groups && fillers <= most_groups);

struct Totals {
    unsigned long long products, longest;
    unsigned long long pieces[2];            // of rows that are cut: with few lists, with more
    long long end;                           // of the last row of C that was asked for
    unsigned rows[most_groups];              // of each group
    unsigned alone[most_groups];             // the same if no rows were filled together
    unsigned cursor[most_groups];            // where the next row of each group goes
};

// Where each group begins in the list; group 0 is nobody's work and is left out. The place in the result is the group's number less one.
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

// Streams beside the queue's for so many groups that have rows: what is worth the events between them (reasoned).
inline int branches_for(const std::vector<RowGroup>& groups, bool side_by_side)
{
    const auto busy = std::count_if(groups.begin(), groups.end(), [](const RowGroup& g) { return g.rows > 0; });
    return side_by_side && busy > 2 ? 3 : 0;
}

// A launch takes at least as long as its longest row, so a few rows are better done with the next larger size of their kind, where
// has_larger(group) says that there is one; lists of neighbouring groups are neighbours.
inline constexpr offset_t few_rows = 2000;

template <class HasLarger>
std::vector<RowGroup> merged(std::vector<RowGroup> groups, HasLarger&& has_larger)
{
    for (std::size_t g = 1; g < groups.size(); ++g) {
        RowGroup &small = groups[g - 1], &large = groups[g];
        if (!has_larger(g) || small.rows == 0 || small.rows > few_rows || large.rows == 0) continue;
        large.begin = small.begin;
        large.rows += small.rows;
        small.rows = 0;
    }
    return groups;
}

}  // namespace tulle::spgemm
