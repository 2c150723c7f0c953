// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The paper's Schedule stage (section 4.4): nodes of a level form groups, a group is the task of a warp, warps get
// their groups by ticket or by a list made beforehand, and levels are cut into kernels.
#pragma once

#include <vector>

#include "sptrsv/analysis/graph.hpp"
#include "sptrsv/analysis/rows.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

inline constexpr int resident_warps = 64;  // of a multiprocessor, at most: what alpha is multiplied with

// Groups first … last-1 in the order of levels, in one launch.
struct Segment {
    index_t first, last;
    bool waits;     // rows of several levels: they must wait for each other
    bool tells;     // rows of this launch or a later one wait for its rows
    offset_t list;  // where the warps' lists of this launch begin among list_begin
};

struct Groups {
    int subwarps = 1, share_above = 0, warps_per_block = 1, blocks = 1;
    bool by_ticket = true;
    Buffer<index_t> node_begin;        // rows of each node are consecutive in the order of solving
    Buffer<index_t> node;              // of each group: `subwarps` of them, -1 where there are fewer
    Buffer<index_t> list, list_begin;  // groups of each warp in each launch; empty with tickets
    std::vector<Segment> segments;

    std::size_t bytes() const { return node_begin.bytes() + node.bytes() + list.bytes() + list_begin.bytes(); }
};

// `rows` are those of `graph`, which was merged from consecutive rows.
Groups make_groups(const CpuQueue& host, const Rows& rows, const Graph& graph, const Policy& scheme,
                   int multiprocessors);

}  // namespace tulle::inline TULLE_ABI::sptrsv
