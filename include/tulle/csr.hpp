// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Compressed sparse rows (CSR) and columns (CSC), with offsets of 64 or 32 bits.
///
/// CSR: the columns and values of row i are at positions row_begin[i] … row_begin[i+1]-1. Invariants: row_begin has
/// rows+1 entries, starts at 0, never falls and ends at `nonzeros`; 0 <= col < cols. `sorted`: columns ascend inside
/// each row. `unique`: no column is stored twice in a row. validate() checks all of it.
///
/// CSC: the same with rows and columns exchanged; the CSC arrays of A are the CSR arrays of A transposed.
///
/// Csr32View and Csc32View have offsets of 32 bits, as SciPy, Eigen and cuSPARSE use them, and at most 2^31 - 1
/// nonzeros. Operations, conversions, validate() and to_device() accept them and widen the offsets to 64 bits once. A
/// plan keeps the widened offsets where it needs them later, and counts their bytes. All results have offsets of 64
/// bits.
/// @code
/// const tulle::Csr32View<double> a{.rows = n, .cols = m, .nonzeros = nnz,
///                                  .row_begin = indptr, .col = indices, .value = data};
/// auto plan = tulle::spmv::Plan<double>::make(ctx, a);
/// @endcode
#pragma once

#include <cstdint>
#include <variant>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

/// A CSR matrix in arrays that the view does not own.
///
/// The arrays are in the memory of the context that uses the view.
/// @tparam V value type: float or double; Float16 and Bfloat16 for SpMM.
template <class V>
struct CsrView {
    index_t rows = 0;                     ///< rows of the matrix
    index_t cols = 0;                     ///< columns of the matrix
    offset_t nonzeros = 0;                ///< stored entries
    const offset_t* row_begin = nullptr;  ///< rows + 1 offsets
    const index_t* col = nullptr;         ///< column of each nonzero
    const V* value = nullptr;             ///< value of each nonzero
    bool sorted = true;                   ///< columns ascend inside each row
    bool unique = true;                   ///< no column is stored twice in a row
};

/// A CSR matrix that owns its arrays; moves, never copies.
/// @tparam V value type: float or double; Float16 and Bfloat16 for SpMM.
template <class V>
struct Csr {
    index_t rows = 0;            ///< rows of the matrix
    index_t cols = 0;            ///< columns of the matrix
    Buffer<offset_t> row_begin;  ///< rows + 1 offsets
    Buffer<index_t> col;         ///< column of each nonzero
    Buffer<V> value;             ///< value of each nonzero
    bool sorted = true;          ///< columns ascend inside each row
    bool unique = true;          ///< no column is stored twice in a row

    /// Allocates a matrix of this size in the memory of the queue; the contents are not set.
    /// @throws OutOfMemory if the budget or the device does not allow it.
    template <class Queue>
    static Csr make(const Queue& q, index_t rows, index_t cols, offset_t nonzeros)
    {
        return {.rows = rows,
                .cols = cols,
                .row_begin = Buffer<offset_t>(q, offset_t{rows} + 1),
                .col = Buffer<index_t>(q, nonzeros),
                .value = Buffer<V>(q, nonzeros)};
    }

    /// Number of stored entries.
    offset_t nonzeros() const { return col.size(); }
    /// Bytes of all arrays.
    std::size_t bytes() const { return row_begin.bytes() + col.bytes() + value.bytes(); }
    /// A view of this matrix; valid while the owner lives.
    CsrView<V> view() const&
    {
        return {rows, cols, nonzeros(), row_begin.data(), col.data(), value.data(), sorted, unique};
    }
    /// Deleted: a view of a temporary would outlive it. Give the owner a name.
    CsrView<V> view() const&& = delete;
};

/// A CSC matrix in arrays that the view does not own.
///
/// The arrays are in the memory of the context that uses the view.
/// @tparam V value type: float or double.
template <class V>
struct CscView {
    index_t rows = 0;                     ///< rows of the matrix
    index_t cols = 0;                     ///< columns of the matrix
    offset_t nonzeros = 0;                ///< stored entries
    const offset_t* col_begin = nullptr;  ///< cols + 1 offsets
    const index_t* row = nullptr;         ///< row of each nonzero
    const V* value = nullptr;             ///< value of each nonzero
    bool sorted = true;                   ///< rows ascend inside each column
    bool unique = true;                   ///< no row is stored twice in a column
};

/// A CSC matrix that owns its arrays; moves, never copies.
/// @tparam V value type: float or double.
template <class V>
struct Csc {
    index_t rows = 0;            ///< rows of the matrix
    index_t cols = 0;            ///< columns of the matrix
    Buffer<offset_t> col_begin;  ///< cols + 1 offsets
    Buffer<index_t> row;         ///< row of each nonzero
    Buffer<V> value;             ///< value of each nonzero
    bool sorted = true;          ///< rows ascend inside each column
    bool unique = true;          ///< no row is stored twice in a column

    /// Number of stored entries.
    offset_t nonzeros() const { return row.size(); }
    /// Bytes of all arrays.
    std::size_t bytes() const { return col_begin.bytes() + row.bytes() + value.bytes(); }
    /// A view of this matrix; valid while the owner lives.
    CscView<V> view() const&
    {
        return {rows, cols, nonzeros(), col_begin.data(), row.data(), value.data(), sorted, unique};
    }
    /// Deleted: a view of a temporary would outlive it. Give the owner a name.
    CscView<V> view() const&& = delete;
};

/// The same arrays read as the transposed matrix in CSR; nothing is copied.
template <class V>
CsrView<V> transposed(const CscView<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.col_begin, a.row, a.value, a.sorted, a.unique};
}

/// The same arrays read as the transposed matrix in CSC; nothing is copied.
template <class V>
CscView<V> transposed(const CsrView<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.row_begin, a.col, a.value, a.sorted, a.unique};
}

/// A CSR matrix with offsets of 32 bits, in arrays that the view does not own; at most 2^31 - 1 nonzeros.
/// @tparam V value type: float or double; Float16 and Bfloat16 for SpMM.
template <class V>
struct Csr32View {
    index_t rows = 0;                         ///< rows of the matrix
    index_t cols = 0;                         ///< columns of the matrix
    offset_t nonzeros = 0;                    ///< stored entries
    const std::int32_t* row_begin = nullptr;  ///< rows + 1 offsets
    const index_t* col = nullptr;             ///< column of each nonzero
    const V* value = nullptr;                 ///< value of each nonzero
    bool sorted = true;                       ///< columns ascend inside each row
    bool unique = true;                       ///< no column is stored twice in a row
};

/// A CSC matrix with offsets of 32 bits, in arrays that the view does not own; at most 2^31 - 1 nonzeros.
/// @tparam V value type: float or double.
template <class V>
struct Csc32View {
    index_t rows = 0;                         ///< rows of the matrix
    index_t cols = 0;                         ///< columns of the matrix
    offset_t nonzeros = 0;                    ///< stored entries
    const std::int32_t* col_begin = nullptr;  ///< cols + 1 offsets
    const index_t* row = nullptr;             ///< row of each nonzero
    const V* value = nullptr;                 ///< value of each nonzero
    bool sorted = true;                       ///< rows ascend inside each column
    bool unique = true;                       ///< no row is stored twice in a column
};

/// The same arrays read as the transposed matrix in CSR; nothing is copied.
template <class V>
Csr32View<V> transposed(const Csc32View<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.col_begin, a.row, a.value, a.sorted, a.unique};
}

/// The same arrays read as the transposed matrix in CSC; nothing is copied.
template <class V>
Csc32View<V> transposed(const Csr32View<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.row_begin, a.col, a.value, a.sorted, a.unique};
}

/// A CSR matrix with offsets of 64 or 32 bits: what SpMM and SpGEMM accept.
template <class V>
using AnyCsr = std::variant<CsrView<V>, Csr32View<V>>;

/// The value type of a view or owner: ValueOf<CsrView<float>>::type is float.
template <class T>
struct ValueOf;
/// The value type of a view or owner.
template <template <class> class View, class V>
struct ValueOf<View<V>> {
    using type = V;  ///< the value type
};

/// Used inside the library: offsets and sizes of views.
namespace matrix {

/// The view with other offsets, of 64 bits.
template <class V>
CsrView<V> with_offsets(const Csr32View<V>& a, const offset_t* row_begin)
{
    return {a.rows, a.cols, a.nonzeros, row_begin, a.col, a.value, a.sorted, a.unique};
}

/// The view with other offsets, of 64 bits.
template <class V>
CscView<V> with_offsets(const Csc32View<V>& a, const offset_t* col_begin)
{
    return {a.rows, a.cols, a.nonzeros, col_begin, a.row, a.value, a.sorted, a.unique};
}

}  // namespace matrix
}  // namespace tulle::inline TULLE_ABI
