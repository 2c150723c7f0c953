// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// First and last column of a row of B.
struct Span {
    index_t first, last;
};

inline constexpr Span no_columns{max_index, -1};  // widens nothing

// like[row] = 1 where a row has the columns of its predecessor, 0 elsewhere and for very long rows; span[row] = its
// first and last column, where it has any. Either may be null.
template <class V>
void look_at_rows(const CudaQueue& q, const CsrView<V>& a, unsigned char* like, Span* span);

}  // namespace tulle::inline TULLE_ABI::spgemm
