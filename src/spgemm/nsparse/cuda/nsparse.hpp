// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The method of nsparse (Nagasaka, Nukada, Matsuoka), step by step as the paper has it; its sections are mapped in
// docs/design/spgemm.md.
#pragma once

#include "spgemm/steps.hpp"

namespace tulle::inline TULLE_ABI::spgemm::nsparse {

// The numbers are the paper's steps. Groups run side by side, as in the paper, or one after the other.
template <class V>
void analyse(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, Workspace& work);  // (1), (2)
template <class V>
void count_nonzeros(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, bool side_by_side, Workspace& work,
                    offset_t* count);  // (3)
offset_t group_rows(const CudaQueue& q, Workspace& work, index_t first, index_t rows,
                    const offset_t* row_begin);  // (5)
template <class V>
void fill(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, bool side_by_side, Workspace& work,
          const RowRange<V>& c);  // (6)
std::size_t fill_bytes(const Workspace& work, offset_t rows, index_t cols, std::size_t value_bytes);

}  // namespace tulle::inline TULLE_ABI::spgemm::nsparse
