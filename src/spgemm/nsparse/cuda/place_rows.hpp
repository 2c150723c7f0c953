// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <vector>

#include "spgemm/nsparse/groups.hpp"
#include "spgemm/steps.hpp"

namespace tulle::inline TULLE_ABI::spgemm::nsparse {

struct Placed {
    offset_t sum, longest, end;
    std::array<offset_t, groups + 1> rows;  // of each group; the first is nobody's work
};

// Writes the rows first … first + rows - 1, group after group, to the list. Their sizes are size[row], or differences
// of row_begin where that is given. Waits.
Placed place(const CudaQueue& q, const Groups& g, const offset_t* size, const offset_t* row_begin, index_t first,
             index_t rows, index_t* list);

std::vector<RowGroup> named(const Placed& placed, const std::array<const char*, groups + 1>& names);

}  // namespace tulle::inline TULLE_ABI::spgemm::nsparse
