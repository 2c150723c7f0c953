// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the kernels for kept places agree on.
#pragma once

#include "spgemm/adaptive/cuda/fill_steps.hpp"
#include "spgemm/reuse/places.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// Entries of C that a warp sums up at once in rows that are long: 28 warps of a multiprocessor share its 227 KiB.
inline constexpr int window_entries = 1024;

constexpr bool is_run(NumericKernel f) { return f >= NumericKernel::run_tiny && f <= NumericKernel::run_huge; }
constexpr bool is_list(NumericKernel f) { return f >= NumericKernel::lists4 && f <= NumericKernel::cut8; }
// Scaled rows have no places, and lists are merged again: that reads no more, and nothing is kept.
constexpr bool keeps_places(NumericKernel f)
{
    return f != NumericKernel::none && f != NumericKernel::copy && !is_list(f);
}
constexpr bool is_long(NumericKernel f) { return f >= NumericKernel::hash1024; }

// All long rows: their groups are the last ones and stand one behind the other in the list.
inline RowGroup long_rows_of(const std::vector<RowGroup>& groups)
{
    RowGroup all;
    for (std::size_t g = groups.size(); g > 0 && is_long(static_cast<NumericKernel>(g)); --g)
        all.begin = groups[g - 1].begin, all.rows += groups[g - 1].rows;
    return all;
}

}  // namespace tulle::inline TULLE_ABI::spgemm
