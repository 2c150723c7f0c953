// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "spmv/cpu/merge_interval.hpp"
#include "spmv/cpu/row_windows.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// All rows by the calling thread, with windows where there are some, else by their interval_loop().
template <class V, class M>
void multiply_alone(const CsrView<M>& a, IntervalLoop<V, M> loop, const Workspace<V, M>& work, const Vectors<V>& v)
{
    if (work.window.empty()) loop(a, work.narrow, v, 0, a.row_begin[0], a.rows, a.row_begin[a.rows]);
    else multiply_windows(a, work.narrow, work.window.data(), 0, a.rows, v);
}

}  // namespace tulle::inline TULLE_ABI::spmv
