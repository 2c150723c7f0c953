// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From every format to every other, on the context's device. CSR is the hub: what is not written out here goes through
// it.
//
// Entries at the same position are kept apart where the format can (CSR, CSC, COO) and added where it cannot
// (Blocked-ELL, dense). Explicit zeros are kept, except that a dense matrix has entries only where it is not zero.
// Results are sorted, except CSR to CSR and to COO, which keep the order found. Order among equal positions is kept
// (conversions are stable), so results are the same bits every time. Inputs are checked: ValueError says what is wrong
// and where. Results that do not fit are an OutOfMemory, or a ValueError where no machine could hold them.
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

template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const CsrView<V>& a);  // a copy
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const CscView<V>& a);
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const CooView<V>& a);
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const BlockedEllView<V>& a);  // zeros inside blocks are dropped
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const DenseView<const V>& a);
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const Csr32View<V>& a);  // offsets of 64 bits
template <class V>
TULLE_API Csr<V> to_csr(const Context& ctx, const Csc32View<V>& a);
template <class V>
requires(!std::is_const_v<V>) Csr<V> to_csr(const Context& ctx, const DenseView<V>& a)
{
    return to_csr(ctx, DenseView<const V>(a));
}

template <class V>
TULLE_API Csc<V> to_csc(const Context& ctx, const CsrView<V>& a);
template <class V>
TULLE_API Coo<V> to_coo(const Context& ctx, const CsrView<V>& a);
template <class V>
TULLE_API BlockedEll<V> to_blocked_ell(const Context& ctx, const CsrView<V>& a, index_t block);
template <class V>
TULLE_API Dense<V> to_dense(const Context& ctx, const CsrView<V>& a, Layout layout = Layout::row_major);

// From anything else, through CSR.
template <class View>
auto to_csc(const Context& ctx, const View& a)
{
    const auto csr = to_csr(ctx, a);
    return to_csc(ctx, csr.view());
}
template <class View>
auto to_coo(const Context& ctx, const View& a)
{
    const auto csr = to_csr(ctx, a);
    return to_coo(ctx, csr.view());
}
template <class View>
auto to_blocked_ell(const Context& ctx, const View& a, index_t block)
{
    const auto csr = to_csr(ctx, a);
    return to_blocked_ell(ctx, csr.view(), block);
}
template <class View>
auto to_dense(const Context& ctx, const View& a, Layout layout = Layout::row_major)
{
    const auto csr = to_csr(ctx, a);
    return to_dense(ctx, csr.view(), layout);
}

// The transposed matrix in CSR, rows sorted. `source`, where given, receives for every new position the old one
// (nonzeros entries): the way to carry new values over without a new analysis.
template <class V>
TULLE_API Csr<V> transpose(const Context& ctx, const CsrView<V>& a, Buffer<offset_t>* source = nullptr);

// Reordering a CSR matrix: rows and columns permuted, columns sorted inside rows, entries at the same position added
// up.

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
