// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Who solves which rows when.
#pragma once

#include <vector>

#include "sptrsv/analysis/graph.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// The CPU's schedule. Rows stand in the order of their nodes' levels, those of a node together and by the same thread;
// in each level a thread has one stretch of them, and before it starts waits until some other threads have passed a
// level. Levels too small to be shared belong to thread 0, so that runs of them cost nobody a wait; nodes of many rows
// leave fewer levels, and more to share in each.
struct ThreadPlan {
    struct Wait {
        int thread;
        index_t level;
    };
    struct RowRange {
        index_t level, begin, end;  // rows begin … end-1 in the order of solving
        index_t wait_begin, wait_end;
    };
    std::vector<index_t> order;  // rows of the triangle as they are solved
    std::vector<std::vector<RowRange>> of_thread;
    std::vector<std::vector<Wait>> waits;  // of each thread's stretches

    int threads() const { return static_cast<int>(of_thread.size()); }
};

inline constexpr int entries_worth_sharing = 2000;  // of a level, for each thread: about as long as a wait takes

ThreadPlan plan_threads(const CpuQueue& host, const Triangle& t, const Graph& graph, int threads,
                        int worth_sharing = entries_worth_sharing);

}  // namespace tulle::inline TULLE_ABI::sptrsv
