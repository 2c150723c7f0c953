// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "spgemm/deltasparse/steps.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {

// The most entries of a row that can be sorted by digits: those of the largest hash table.
inline constexpr int most_sorted = static_cast<int>(filling[filling_groups - 2].up_to);

// Sorts the entries of rows of C, of at most most_sorted entries each, by their columns, in place.
template <class V>
void sort_by_digits(const CudaQueue& q, const Rows& rows, index_t cols, const RowRange<V>& c);

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
