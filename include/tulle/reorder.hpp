// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reordering a CSR matrix: rows and columns permuted, columns sorted inside rows, entries at the same position added
// up.
#pragma once

#include <span>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI {

// B(i, j) = A(row_from[i], col_from[j]); an empty span means that order stays. ValueError with the position if it is no
// permutation. The spans are in the context's memory. The result is sorted.
template <class V>
TULLE_API Csr<V> permute(const Context& ctx, const CsrView<V>& a, std::span<const index_t> row_from,
                         std::span<const index_t> col_from);

// Columns ascending inside each row; stable.
template <class V>
TULLE_API Csr<V> sort_rows(const Context& ctx, const CsrView<V>& a);

// Sorted, and entries at the same position added up in the order they were found.
template <class V>
TULLE_API Csr<V> sum_duplicates(const Context& ctx, const CsrView<V>& a);

}  // namespace tulle::inline TULLE_ABI
