// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A part of a sparse matrix: a window on its nonzeros, not a copy (MSREP). Lines are rows (CSR, coordinates sorted by
// row) or columns (CSC, coordinates sorted by column).
//
// The paper's fields: start_idx = begin, end_idx = end - 1, start_row = first_line, end_row = last_line - 1, start_flag
// = head. Windows are half open here, and every line has exactly one owner: the part in which it begins. Empty lines
// are owned too, so that beta y reaches them. A line may go on in any number of later parts; each of those has it as
// its head.
#pragma once

#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::partition {

struct Part {
    offset_t begin = 0, end = 0;            // positions in the nonzero arrays
    index_t first_line = 0, last_line = 0;  // owned, and before them the head; half open
    bool head = false;                      // the first line began in an earlier part, which owns it

    constexpr offset_t nonzeros() const { return end - begin; }
    constexpr index_t lines() const { return last_line - first_line; }
    constexpr index_t first_owned() const { return first_line + (head ? 1 : 0); }
    constexpr index_t owned() const { return last_line - first_owned(); }
    bool operator==(const Part&) const = default;
};

}  // namespace tulle::inline TULLE_ABI::partition
