// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row on a CPU: what the loops over nonzeros know of B and C. They are compiled once for a type of values, each
// in a file of its own; which type of entries C has, and whether its rows have factors, they ask for each block.
#pragma once

#include <type_traits>

#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {

inline constexpr std::size_t cache_line = 64;

// Sums of 16-bit values are rounded to entries of that type, or are entries themselves.
template <class V>
inline constexpr bool is_own_sum = std::is_same_v<V, Sum<V>>;

template <class V>
struct RowOperands {
    Sum<V> alpha;
    const V* b;
    offset_t b_row, b_col;
    Sum<V> beta;
    Sum<V>* sums;  // C, if its entries are sums
    V* rounded;    // C otherwise
    offset_t c_row, c_col;
    index_t n;
    const Sum<V>* row_scale;  // of each row of C, or null
};

// Rows [begin, end); `streams`: C is written past the caches.
template <class V>
using RowKernel = void (*)(const CsrView<V>& a, offset_t begin, offset_t end, const RowOperands<V>& o, bool streams);

// The one for this machine.
template <class V>
RowKernel<V> best_row_kernel();

}  // namespace tulle::inline TULLE_ABI::spmm
