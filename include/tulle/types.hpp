// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Index types, and options that mean the same in all operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tulle/api.hpp"

/// Sparse linear algebra on CPUs and GPUs.
namespace tulle::inline TULLE_ABI {

/// Row and column numbers, from 0.
using index_t = std::int32_t;

/// Positions in the nonzero arrays, and counts of nonzeros, products and entries.
using offset_t = std::int64_t;

/// op(A): the matrix itself or its transpose.
enum class Op {
    none,      ///< op(A) = A
    transpose  ///< op(A) = A transposed
};

/// How a plan finds its policy.
enum class Effort {
    model,  ///< predicted by a model; fast
    search  ///< candidates are prepared and timed on the device; slow
};

/// Largest row or column number, and largest number of rows or columns.
inline constexpr index_t max_index = std::numeric_limits<index_t>::max();

/// Largest position or count.
inline constexpr offset_t max_offset = std::numeric_limits<offset_t>::max();

}  // namespace tulle::inline TULLE_ABI
