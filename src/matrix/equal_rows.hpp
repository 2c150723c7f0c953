// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::matrix {

// The row has the columns of the one before it. Empty rows have none to share. For hosts and kernels.
constexpr bool equals_predecessor(const offset_t* row_begin, const index_t* col, offset_t row)
{
    if (row == 0) return false;
    const offset_t begin = row_begin[row], length = row_begin[row + 1] - begin;
    if (length == 0 || begin - row_begin[row - 1] != length) return false;
    for (offset_t k = 0; k < length; ++k)
        if (col[begin + k] != col[begin + k - length]) return false;
    return true;
}

}  // namespace tulle::inline TULLE_ABI::matrix
