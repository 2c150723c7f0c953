// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Checks of a matrix: what is wrong with it, and where.
#pragma once

#include <string>

#include "tulle/api.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/outline.hpp"

namespace tulle::inline TULLE_ABI {

/// What validate() found.
struct Findings {
    std::string problem;      ///< empty: the structure is valid; else a sentence with row, position and numbers
    index_t row = -1;         ///< first row (CSC: column, COO: row of the entry) with a problem; -1: none
    bool sorted = true;       ///< as found, whatever the view claims
    bool unique = true;       ///< as found, whatever the view claims
    offset_t not_finite = 0;  ///< values that are NaN or infinite
    /// Whether the structure is valid.
    bool ok() const { return problem.empty(); }
};

/// Checks the whole matrix: sizes, offsets, indices, order, values; waits for the result. Never reads outside the
/// arrays if they have the sizes that the view says. A finding is returned, not thrown.
/// @param ctx where the arrays are and the work is done.
/// @param a the matrix; float or double.
template <class V>
TULLE_API Findings validate(const Context& ctx, const CsrView<V>& a);
/// @copydoc validate(const Context&, const CsrView<V>&)
template <class V>
TULLE_API Findings validate(const Context& ctx, const CscView<V>& a);
/// @copydoc validate(const Context&, const CsrView<V>&)
template <class V>
TULLE_API Findings validate(const Context& ctx, const CooView<V>& a);
/// @copydoc validate(const Context&, const CsrView<V>&)
template <class V>
TULLE_API Findings validate(const Context& ctx, const BlockedEllView<V>& a);
/// @copydoc validate(const Context&, const CsrView<V>&)
template <class V>
TULLE_API Findings validate(const Context& ctx, const Csr32View<V>& a);
/// @copydoc validate(const Context&, const CsrView<V>&)
template <class V>
TULLE_API Findings validate(const Context& ctx, const Csc32View<V>& a);

namespace detail {
// Checks the pattern. pattern.value is null; `value` is only checked for being there.
TULLE_API Findings validate_pattern(const Context& ctx, const CsrView<float>& pattern, const void* value);
}
/// Checks the matrix without its values, which may be of any type: Findings::not_finite is 0.
template <class V>
Findings validate_pattern(const Context& ctx, const CsrView<V>& a)
{
    return detail::validate_pattern(ctx, {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, nullptr, a.sorted, a.unique},
                                    a.value);
}

/// Checks the whole matrix as validate() does, and throws.
/// @throws ValueError if the structure is not valid, or not as sorted and unique as the view claims.
template <class View>
void check(const Context& ctx, const View& a)
{
    const Findings found = validate(ctx, a);
    require<ValueError>(found.ok(), found.problem);
}

}  // namespace tulle::inline TULLE_ABI
