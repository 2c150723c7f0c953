// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The rows kernel on the caller's arrays as they are, for products without a plan.
#pragma once

#include "spmv/steps.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// Offsets and columns outside the matrix are left out. V: float, double; M: V, or float with double.
template <class V, class View>
void multiply_rows_direct(const CudaQueue& q, const View& a, int lanes, const Vectors<V>& v);

}  // namespace tulle::inline TULLE_ABI::spmv
