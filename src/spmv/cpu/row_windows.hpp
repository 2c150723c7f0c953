// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows in windows, those of one length after the other.
#pragma once

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// Writes the rows of the windows that begin with one of the rows first … last-1. Offsets are those of `narrow` where it
// has some; it must not have columns. A row has the bits that one sum of multiply_interval() gives it.
template <class V, class M>
void multiply_windows(const CsrView<M>& a, const Narrow& narrow, const RowWindow* window, offset_t first, offset_t last,
                      const Vectors<V>& v);

}  // namespace tulle::inline TULLE_ABI::spmv
