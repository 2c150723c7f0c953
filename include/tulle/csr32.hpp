// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// CSR and CSC whose offsets have 32 bits, as SciPy, Eigen and cuSPARSE keep them. Views only: operations, conversions,
// validate() and to_device() accept them and widen the offsets to 64 bits once. A plan keeps the widened offsets where
// it needs them later, and counts their bytes; all results have offsets of 64 bits.
//
//     const tulle::Csr32View<double> a{.rows = n, .cols = m, .nonzeros = nnz,
//                                      .row_begin = indptr, .col = indices, .value = data};
//     auto plan = tulle::spmv::Plan<double>::make(ctx, a);
//
// Invariants as for CSR and CSC, with at most 2^31 - 1 nonzeros.
#pragma once

#include <cstdint>
#include <variant>

#include "tulle/csc.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI {

template <class V>
struct Csr32View {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    const std::int32_t* row_begin = nullptr;
    const index_t* col = nullptr;
    const V* value = nullptr;
    bool sorted = true, unique = true;
};

template <class V>
struct Csc32View {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    const std::int32_t* col_begin = nullptr;
    const index_t* row = nullptr;
    const V* value = nullptr;
    bool sorted = true, unique = true;
};

// The same arrays read as the transposed matrix in the other format; nothing is copied.
template <class V>
Csr32View<V> transposed(const Csc32View<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.col_begin, a.row, a.value, a.sorted, a.unique};
}

template <class V>
Csc32View<V> transposed(const Csr32View<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.row_begin, a.col, a.value, a.sorted, a.unique};
}

// What operations on CSR take.
template <class V>
using AnyCsr = std::variant<CsrView<V>, Csr32View<V>>;

// The value type of a view.
template <class T>
struct ValueOf;
template <template <class> class View, class V>
struct ValueOf<View<V>> {
    using type = V;
};

namespace matrix {

// A view with the offsets given instead of its own.
template <class V>
CsrView<V> with_offsets(const Csr32View<V>& a, const offset_t* row_begin)
{
    return {a.rows, a.cols, a.nonzeros, row_begin, a.col, a.value, a.sorted, a.unique};
}

template <class V>
CscView<V> with_offsets(const Csc32View<V>& a, const offset_t* col_begin)
{
    return {a.rows, a.cols, a.nonzeros, col_begin, a.row, a.value, a.sorted, a.unique};
}

}  // namespace matrix
}  // namespace tulle::inline TULLE_ABI
