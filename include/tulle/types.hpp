// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

using index_t = std::int32_t;   // row and column numbers
using offset_t = std::int64_t;  // positions in the nonzero arrays, counts of products, bytes

// op(A): the matrix itself or its transpose.
enum class Op { none, transpose };

// Whether a plan's policy is predicted by a model, or searched for by timing candidates.
enum class Effort { model, search };

inline constexpr index_t max_index = std::numeric_limits<index_t>::max();
inline constexpr offset_t max_offset = std::numeric_limits<offset_t>::max();

}  // namespace tulle::inline TULLE_ABI
