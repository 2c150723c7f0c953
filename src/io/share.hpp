// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Equal shares, for several processes that read or generate a matrix together.
#pragma once

#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::io {

// Where part `part` of `parts` begins, of n things in order.
constexpr offset_t share_of(offset_t n, int part, int parts) { return n / parts * part + n % parts * part / parts; }

}  // namespace tulle::inline TULLE_ABI::io
