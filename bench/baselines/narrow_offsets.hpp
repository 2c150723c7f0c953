// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "tulle/csr.hpp"
#include "tulle/error.hpp"

namespace tulle::bench {

// Row offsets of 32 bits, as users of libraries with 32-bit indices would have them.
template <class V>
std::vector<int> narrow_offsets(const CsrView<V>& a)
{
    require<ValueError>(a.nonzeros <= max_index, "more nonzeros than 32-bit offsets can count");
    return {a.row_begin, a.row_begin + a.rows + 1};
}

}  // namespace tulle::bench
