// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Checks at the door: what is wrong with a matrix, and where.
#pragma once

#include <string>

#include "tulle/api.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/outline.hpp"

namespace tulle::inline TULLE_ABI {

struct Findings {
    std::string problem;  // empty: the structure is sound; else one sentence with row, position and numbers
    index_t row = -1;     // first row (column for CSC, entry's row for COO) with a problem
    bool sorted = true, unique = true;  // as found, whatever the view claims
    offset_t not_finite = 0;            // values that are NaN or infinite
    bool ok() const { return problem.empty(); }
};

// Looks at everything; never reads outside the arrays as long as they have the sizes the view says.
template <class V>
TULLE_API Findings validate(const Context& ctx, const CsrView<V>& a);
template <class V>
TULLE_API Findings validate(const Context& ctx, const CscView<V>& a);
template <class V>
TULLE_API Findings validate(const Context& ctx, const CooView<V>& a);
template <class V>
TULLE_API Findings validate(const Context& ctx, const BlockedEllView<V>& a);
template <class V>
TULLE_API Findings validate(const Context& ctx, const Csr32View<V>& a);
template <class V>
TULLE_API Findings validate(const Context& ctx, const Csc32View<V>& a);

// The same without looking at the numbers, which may be of any type: Findings::not_finite stays 0.
namespace detail {
TULLE_API Findings validate_pattern(const Context& ctx, const CsrView<float>& pattern,
                                    const void* value);  // pattern.value is null
}
template <class V>
Findings validate_pattern(const Context& ctx, const CsrView<V>& a)
{
    return detail::validate_pattern(ctx, {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, nullptr, a.sorted, a.unique},
                                    a.value);
}

// ValueError with the finding's sentence if the structure is not sound or not as sorted and unique as the view claims.
template <class View>
void check(const Context& ctx, const View& a)
{
    const Findings found = validate(ctx, a);
    require<ValueError>(found.ok(), found.problem);
}

}  // namespace tulle::inline TULLE_ABI
