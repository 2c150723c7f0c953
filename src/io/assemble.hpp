// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From what a file holds to the CSR matrix that read() promises: rows sorted, entries at the same position added up.
#pragma once

#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/io.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::io {

// What a stored entry (i, j), i != j, says of (j, i).
enum class Mirror { none, same, negated };

// Entries at the same position are added in the order of the file, so the result has the same bits for any number of
// threads. With a mirror, rows < max_index. `duplicates` tells how many stored entries had the position of an earlier
// one, and the first such position in the order of the rows.
template <class V>
Csr<V> assemble(const CpuQueue& q, const CooView<V>& entries, Mirror mirror, Occurrences& duplicates);

// The same for rows that may be unsorted or hold a column twice; `sorted` and `unique` are found out, not believed.
template <class V>
Csr<V> assemble(const CpuQueue& q, Csr<V> a, Occurrences& duplicates);

// The values of a matrix that has none, as the options ask for them; says so in `info`.
template <class V>
void set_pattern_values(const CpuQueue& q, Csr<V>& a, const ReadOptions& options, FileInfo& info);

}  // namespace tulle::inline TULLE_ABI::io
