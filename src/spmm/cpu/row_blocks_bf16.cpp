// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spmm/cpu/row_blocks.hpp"

namespace tulle::inline TULLE_ABI::spmm {

template RowKernel<Bfloat16> best_row_kernel();

}  // namespace tulle::inline TULLE_ABI::spmm
