// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How large groups of rows with the same columns should be: kernels are compiled for two, three and four rows.
#pragma once

#include <array>
#include <cstddef>

#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spmv {

inline constexpr int smallest_group = 2, group_sizes = 3;
using GroupCounts = std::array<unsigned long long, group_sizes>;  // of groups of at most 2, 3, 4 rows

// Groups that a run of `length` rows is cut into.
constexpr index_t groups_of(index_t length, int most) { return length / most + (length % most != 0 ? 1 : 0); }

// The size that moves least: a group costs a column and, as if it were full, its values.
constexpr int best_group(const GroupCounts& groups)
{
    constexpr unsigned long long column = 1, value = 2;  // in units of four bytes
    int best = smallest_group;
    const auto cost = [&](int most) {
        return groups[static_cast<std::size_t>(most - smallest_group)] *
               (column + value * static_cast<unsigned long long>(most));
    };
    for (int most = smallest_group; most < smallest_group + group_sizes; ++most)
        if (cost(most) < cost(best)) best = most;
    return best;
}
static_assert(best_group({20, 10, 10}) == 3 && best_group({20, 20, 10}) == 4 && best_group({10, 10, 10}) == 2 &&
              best_group({30, 20, 20}) == 3);

}  // namespace tulle::inline TULLE_ABI::spmv
