// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Conversions from every format to every other, on the device of the context. CSR is the hub: conversions that are not
/// written out go through it.
///
/// Entries at the same position are kept apart where the format can (CSR, CSC, COO) and added where it cannot
/// (Blocked-ELL, dense). Explicit zeros are kept, except in conversions from dense and Blocked-ELL matrices. Results
/// are sorted, except CSR to CSR and to COO, which keep the order. Conversions are stable, so results are the same bits
/// every time.
///
/// Value types are float and double. Arrays of arguments and results are in the memory of the context. Functions wait
/// where they need a size; on a GPU the last copies may still be in progress on return, in the order of the stream.
/// Every function throws ValueError, with the place, if the matrix is not valid, and OutOfMemory if the result does not
/// fit (ValueError where no machine could hold it). All may be called from several threads.
#pragma once

#include <span>
#include <type_traits>

#include "tulle/api.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"

namespace tulle::inline TULLE_ABI {

/// A copy.
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const CsrView<V>& a);
/// CSC to CSR.
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const CscView<V>& a);
/// COO to CSR.
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const CooView<V>& a);
/// Blocked-ELL to CSR; zeros inside blocks are dropped.
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const BlockedEllView<V>& a);
/// Dense to CSR; zeros are dropped.
/// @throws ShapeError if the leading dimension is too small; ValueError if the array is null; DeviceError if it is not
/// in the memory of the context.
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const DenseView<const V>& a);
/// CSR with offsets of 32 bits to CSR with offsets of 64 bits.
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const Csr32View<V>& a);
/// CSC with offsets of 32 bits to CSR with offsets of 64 bits.
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const Csc32View<V>& a);
/// Dense to CSR; zeros are dropped.
template <class V>
requires(!std::is_const_v<V>) Csr<V> to_csr(const Context& ctx, const DenseView<V>& a)
{
    return to_csr(ctx, DenseView<const V>(a));
}

/// CSR to CSC.
template <class V>
TULLE_API Csc<V> to_csc(const Context& ctx, const CsrView<V>& a);
/// CSR to COO, in the order of the rows.
template <class V>
TULLE_API Coo<V> to_coo(const Context& ctx, const CsrView<V>& a);
/// CSR to Blocked-ELL.
/// @param ctx where the matrix is and the work is done.
/// @param a the matrix.
/// @param block rows and columns of a block; ValueError below 1.
template <class V>
TULLE_API BlockedEll<V> to_blocked_ell(const Context& ctx, const CsrView<V>& a, index_t block);
/// CSR to dense, without gaps.
template <class V>
TULLE_API Dense<V> to_dense(const Context& ctx, const CsrView<V>& a, Layout layout = Layout::row_major);

/// Any other format to CSC, through CSR.
template <class View>
auto to_csc(const Context& ctx, const View& a)
{
    const auto csr = to_csr(ctx, a);
    return to_csc(ctx, csr.view());
}
/// Any other format to COO, through CSR.
template <class View>
auto to_coo(const Context& ctx, const View& a)
{
    const auto csr = to_csr(ctx, a);
    return to_coo(ctx, csr.view());
}
/// Any other format to Blocked-ELL, through CSR.
template <class View>
auto to_blocked_ell(const Context& ctx, const View& a, index_t block)
{
    const auto csr = to_csr(ctx, a);
    return to_blocked_ell(ctx, csr.view(), block);
}
/// Any other format to dense, through CSR.
template <class View>
auto to_dense(const Context& ctx, const View& a, Layout layout = Layout::row_major)
{
    const auto csr = to_csr(ctx, a);
    return to_dense(ctx, csr.view(), layout);
}

/// The transposed matrix in CSR, rows sorted.
/// @param ctx where the matrix is and the work is done.
/// @param a the matrix.
/// @param source where given, receives for every new position the old one (nonzeros() entries): the way to carry new
/// values over without a new analysis.
template <class V>
TULLE_API Csr<V> transpose(const Context& ctx, const CsrView<V>& a, Buffer<offset_t>* source = nullptr);

/// Permutes rows and columns: B(i, j) = A(row_from[i], col_from[j]). The result is sorted.
/// @param ctx where the matrix and the permutations are and the work is done.
/// @param a the matrix.
/// @param row_from permutation of the rows, in the memory of the context; empty: the order stays.
/// @param col_from permutation of the columns, in the memory of the context; empty: the order stays.
/// @throws ShapeError if a permutation has the wrong size.
/// @throws ValueError (with the position) if it is not a permutation.
template <class V>
TULLE_API Csr<V> permute(const Context& ctx, const CsrView<V>& a, std::span<const index_t> row_from,
                         std::span<const index_t> col_from);

/// Sorts the columns inside each row; stable.
template <class V>
TULLE_API Csr<V> sort_rows(const Context& ctx, const CsrView<V>& a);

/// Sorts the columns inside each row and adds up entries at the same position, in the order in which they are stored.
template <class V>
TULLE_API Csr<V> sum_duplicates(const Context& ctx, const CsrView<V>& a);

}  // namespace tulle::inline TULLE_ABI
