// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// Values play no part where columns are looked for, so one type of them is enough.
using Pattern = CsrView<float>;

template <class V>
Pattern pattern_of(const CsrView<V>& a)
{
    return {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, nullptr, a.sorted, a.unique};
}

}  // namespace tulle::inline TULLE_ABI::spgemm
