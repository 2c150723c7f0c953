// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "base/math.hpp"
#include "prim/merge_path.hpp"
#include "spmv/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// The pieces of the split kernel, at least one, and room for what each carries to the next.
template <class Queue, class V, class M>
void prepare_split(const Queue& q, const CsrView<M>& a, Workspace<V, M>& work)
{
    const offset_t pieces = std::max(offset_t{1}, ceil_div(a.rows + a.nonzeros, steps_per_piece(q)));
    work.point = Buffer<prim::MergePoint>(q, pieces + 1);
    work.carry = Buffer<V>(q, pieces);
    prim::merge_path(q, a.row_begin, a.rows, a.nonzeros, pieces, work.point.data());
}

}  // namespace tulle::inline TULLE_ABI::spmv
