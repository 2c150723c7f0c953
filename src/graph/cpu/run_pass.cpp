// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "graph/matrix_ops.hpp"
#include "graph/steps.hpp"
#include "vector/cpu/pass.hpp"

namespace tulle::inline TULLE_ABI::graph {

template <class Op>
void run_pass(const CpuQueue& q, offset_t n, const Op& op, const vector::PassSpace& space)
{
    vector::pass(q, n, op, space);
}

#define TULLE_RUN_PASS(Op) template void run_pass(const CpuQueue&, offset_t, const Op&, const vector::PassSpace&);
TULLE_GRAPH_PASSES(TULLE_RUN_PASS)
TULLE_GRAPH_MATRIX_PASSES(TULLE_RUN_PASS)
#undef TULLE_RUN_PASS

}  // namespace tulle::inline TULLE_ABI::graph
