// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Small operations that graph algorithms need beside products: two matrices entry by entry, parts of a matrix,
/// reductions, the Kronecker product, and products with sparse vectors.
/// @code
/// auto S = tulle::graph::add(ctx, Monoid::plus, A.view(), At.view());              // A + A^T
/// auto P = tulle::graph::extract(ctx, A.view(), rows, {});                         // some rows, all columns
/// tulle::graph::reduce_rows(ctx, Monoid::plus, A.view(), degree);                  // sums of the rows
/// auto y = tulle::graph::multiply_sparse(ctx, Semiring::min_plus, A.view(), At.view(), x);
/// @endcode
/// Matrices and vectors, those that functions return too, are in the memory of the context, CPU or GPU; lists of rows
/// and columns are on the host. Both backends give the same bits, for any number of threads.
#pragma once

#include <span>
#include <type_traits>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/graph.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::graph {

/// An addition that is associative, with its identity.
enum class Monoid {
    plus,   ///< a + b, 0
    times,  ///< a * b, 1
    min,    ///< the smaller one, +infinity
    max,    ///< the larger one, -infinity
    any,    ///< 1 where one of them is not zero, else 0; 0
};

/// The entries of A and those of B; where both have one, their sum by the monoid. Rows are sorted. The result is in the
/// memory of the context.
/// @param ctx where the arrays are and the work is done.
/// @param monoid of the sums.
/// @param a the matrix A, in the memory of the context.
/// @param b the matrix B, of the shape of A, in the memory of the context.
/// @throws ShapeError if sizes differ.
/// @throws ValueError if a matrix is not valid or stores a position twice.
/// @throws OutOfMemory if the budget or the device does not allow the result and the work space.
template <class V>
TULLE_API Csr<V> add(const Context& ctx, Monoid monoid, const CsrView<V>& a, const CsrView<V>& b);

/// The positions where A and B both have an entry, with the product of the semiring. Rows are sorted. The result is in
/// the memory of the context.
/// @param ctx where the arrays are and the work is done.
/// @param semiring whose multiplication is used; the first operand is the entry of A.
/// @param a the matrix A, in the memory of the context.
/// @param b the matrix B, of the shape of A, in the memory of the context.
/// @throws ShapeError if sizes differ.
/// @throws ValueError if a matrix is not valid or stores a position twice.
/// @throws OutOfMemory if the budget or the device does not allow the result and the work space.
template <class V>
TULLE_API Csr<V> multiply_entries(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b);

/// C(i, j) = A(rows[i], cols[j]). An empty list stands for all, in their order. Rows may be named several times,
/// columns once. Rows are sorted. The result is in the memory of the context.
/// @param ctx where the arrays are and the work is done.
/// @param a the matrix A, in the memory of the context.
/// @param rows rows of A, on the host; empty: all.
/// @param cols columns of A, on the host; empty: all.
/// @throws ValueError if A is not valid, a list names what A does not have, or a column is named twice.
/// @throws OutOfMemory if the budget or the device does not allow the result and the work space.
template <class V>
TULLE_API Csr<V> extract(const Context& ctx, const CsrView<V>& a, std::span<const index_t> rows,
                         std::span<const index_t> cols);

/// C with C(rows[i], cols[j]) = A(i, j): entries of C at those positions go, those of A take their place. An empty list
/// stands for all, in their order. Rows are sorted. The result is in the memory of the context.
/// @param ctx where the arrays are and the work is done.
/// @param c the matrix C, in the memory of the context; not changed.
/// @param rows rows of C, one for each row of A, on the host; empty: all.
/// @param cols columns of C, one for each column of A, on the host; empty: all.
/// @param a the matrix A, in the memory of the context.
/// @throws ShapeError if A has not as many rows and columns as are named.
/// @throws ValueError if a matrix is not valid or stores a position twice, or a list names what C does not have, or the
/// same twice.
/// @throws OutOfMemory if the budget or the device does not allow the result and the work space.
template <class V>
TULLE_API Csr<V> assign(const Context& ctx, const CsrView<V>& c, std::span<const index_t> rows,
                        std::span<const index_t> cols, const CsrView<V>& a);

/// y[i] is the sum of the entries of row i by the monoid, in their order; the identity where there are none.
/// @param ctx where the arrays are and the work is done.
/// @param monoid of the sums.
/// @param a the matrix A, in the memory of the context.
/// @param y vector with an entry for each row of A, in the memory of the context; overwritten.
/// @throws ShapeError if y has not as many entries as A has rows.
/// @throws ValueError if A is not valid or y is null.
/// @throws DeviceError if y is in other memory.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
template <class V>
TULLE_API void reduce_rows(const Context& ctx, Monoid monoid, const CsrView<V>& a,
                           std::type_identity_t<std::span<V>> y);

/// y[j] is the sum of the entries of column j by the monoid, in the order of their rows.
/// @param ctx where the arrays are and the work is done.
/// @param monoid of the sums.
/// @param a the matrix A, in the memory of the context.
/// @param y vector with an entry for each column of A, in the memory of the context; overwritten.
/// @throws ShapeError if y has not as many entries as A has columns.
/// @throws ValueError if A is not valid or y is null.
/// @throws DeviceError if y is in other memory.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
template <class V>
TULLE_API void reduce_cols(const Context& ctx, Monoid monoid, const CsrView<V>& a,
                           std::type_identity_t<std::span<V>> y);

/// The sum of all entries by the monoid: of the sums of the rows, in their order. Waits for the result.
/// @param ctx where the arrays are and the work is done.
/// @param monoid of the sum.
/// @param a the matrix A, in the memory of the context.
/// @throws ValueError if A is not valid.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
template <class V>
TULLE_API V reduce(const Context& ctx, Monoid monoid, const CsrView<V>& a);

/// The Kronecker product: C(i B.rows + k, j B.cols + l) is the product of A(i, j) and B(k, l) by the semiring. Rows are
/// sorted where those of A and B are. The result is in the memory of the context.
/// @param ctx where the arrays are and the work is done.
/// @param semiring whose multiplication is used; the first operand is the entry of A.
/// @param a the matrix A, in the memory of the context.
/// @param b the matrix B, in the memory of the context.
/// @throws ShapeError if C has more rows, columns or nonzeros than can be counted.
/// @throws ValueError if a matrix is not valid.
/// @throws OutOfMemory if the budget or the device does not allow the result and the work space.
template <class V>
TULLE_API Csr<V> kron(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b);

/// A vector of which only some entries are stored; in the memory of a context.
/// @tparam V value type: float or double.
template <class V>
struct SparseVector {
    index_t size = 0;       ///< of the whole vector
    Buffer<index_t> index;  ///< where the entries are; ascending
    Buffer<V> value;        ///< what they are

    /// Number of stored entries.
    offset_t entries() const { return index.size(); }
};

/// How a product with a sparse vector is computed.
enum class Direction {
    automatic,  ///< push if there are fewer products than a sixteenth of the nonzeros of A
    push,       ///< from the entries of x along the columns of A: takes time by the products
    pull,       ///< every row looks for entries of x: takes time by the nonzeros of A
};

/// y = A x over a semiring with sparse x: y has an entry where there is a product of stored entries. Products are added
/// in the order of the columns. The result is in the memory of the context.
/// @param ctx where the arrays are and the work is done.
/// @param semiring of the product; the first operand is the entry of A.
/// @param a the matrix A, rows sorted, in the memory of the context.
/// @param transposed the same matrix transposed, rows sorted, in the memory of the context: tulle::transpose(). Of a
/// symmetric one, A itself.
/// @param x the vector, in the memory of the context.
/// @param direction push or pull; both give the same bits.
/// @throws ShapeError if sizes do not fit.
/// @throws ValueError if a matrix is not valid or not sorted, or indices of x do not ascend or are out of range.
/// @throws DeviceError if x is in other memory.
/// @throws OutOfMemory if the budget or the device does not allow the result and the work space.
template <class V>
TULLE_API SparseVector<V> multiply_sparse(const Context& ctx, Semiring semiring, const CsrView<V>& a,
                                          const CsrView<V>& transposed, const SparseVector<V>& x,
                                          Direction direction = Direction::automatic);

}  // namespace tulle::inline TULLE_ABI::graph
