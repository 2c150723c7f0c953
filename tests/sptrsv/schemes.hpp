// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The schemes that tests of the triangular solve go through.
#pragma once

#include <vector>

#include "sptrsv/triangles.hpp"
#include "tulle/context.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// Fewer multiprocessors and smaller clusters than any GPU has: the simulator would be busy with idle threads.
inline Limits small_limits(const Context& ctx)
{
    return {.backend = ctx.backend(), .threads = ctx.host().threads, .multiprocessors = 4, .cluster_blocks = 2};
}

// The library's candidates, some of the paper's schemes, and levels shared by threads however small they are.
inline std::vector<Policy> schemes_for(const Context& ctx)
{
    std::vector<Policy> all = candidates(small_limits(ctx));
    if (test::without_regimes())
        std::erase_if(all, [](const Policy& s) { return s.execution_scope != ExecutionScope::device; });
    if (ctx.backend() == Backend::cuda) {
        all.push_back(
            {.kernel = Kernel::groups, .merge = Merge::fixed, .rows = 1, .warps = 8, .subwarps = 4, .alpha = 0});
        all.push_back({.kernel = Kernel::groups,
                       .merge = Merge::fixed,
                       .rows = 8,
                       .warps = 2,
                       .subwarps = 2,
                       .share_above = unlimited});
        all.push_back({.kernel = Kernel::groups,
                       .merge = Merge::threshold,
                       .rows = 32,
                       .limit = 8,
                       .reorder = true,
                       .warps = 8,
                       .subwarps = 8,
                       .share_above = 4,
                       .grouping = Grouping::balance});
    }
    if (ctx.backend() == Backend::cpu && ctx.host().threads > 1)
        for (const Merge merge : {Merge::none, Merge::critical, Merge::fixed})
            all.push_back(
                {.kernel = Kernel::levels, .merge = merge, .rows = merge == Merge::none ? 1 : 40, .limit = 1});
    return all;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
