// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The noun behind a number: concat(n, plural(n, " row", " rows")).
#pragma once

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

template <class N>
constexpr const char* plural(N n, const char* one, const char* many)
{
    return n == N(1) ? one : many;
}

}  // namespace tulle::inline TULLE_ABI
