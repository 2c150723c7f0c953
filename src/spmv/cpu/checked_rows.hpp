// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of rows that are checked on the way.
#pragma once

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// The rows first … last-1 of alpha A x, a matrix by rows with offsets of 64 or 32 bits, with so many lanes as
// multiply_interval() has; y is not read. False where offsets or columns are not what the view says. Then nothing
// beyond the arrays was read, and rows of y may have been written.
template <class V, class View>
bool multiply_checked(const View& a, offset_t first, offset_t last, int lanes, const Vectors<V>& v);

}  // namespace tulle::inline TULLE_ABI::spmv
