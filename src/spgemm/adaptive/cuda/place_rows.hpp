// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows into the lists of their groups.
#pragma once

#include "spgemm/steps.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// What a row's group follows from. row_begin is that of C; null while only counting is ahead.
struct RowView {
    index_t first, rows;
    const offset_t* a_begin;
    const RowStats* facts;
    const unsigned char* runs_a;  // may be null
    const offset_t* row_begin;
    offset_t value_bytes;
    KernelSet kinds;
};

// The list of work.symbolic; rows that need no counting get their count.
void place_for_counting(const CudaQueue& q, const RowView& rows, Workspace& work, offset_t* count);
// The groups work.numeric and their list; returns row_begin[first + rows]. Waits.
offset_t place_for_filling(const CudaQueue& q, const RowView& rows, Workspace& work);

}  // namespace tulle::inline TULLE_ABI::spgemm
