// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of the methods: passes over vectors (ops/), once per queue.
#pragma once

#include "solve/ops/bicgstab.hpp"
#include "solve/ops/cg.hpp"
#include "solve/ops/chebyshev.hpp"
#include "solve/ops/gmres.hpp"
#include "solve/ops/minres.hpp"
#include "solve/ops/setup.hpp"
#include "tulle/memory.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::solve {

// vector::pass() over n entries.
template <class Op>
void run_pass(const CpuQueue& q, offset_t n, const Op& op, const vector::PassSpace& space);
template <class Op>
void run_pass(const CudaQueue& q, offset_t n, const Op& op, const vector::PassSpace& space);

// vector::scalar_step().
template <class Op>
void run_scalar_step(const CpuQueue& q, const Op& op);
template <class Op>
void run_scalar_step(const CudaQueue& q, const Op& op);

}  // namespace tulle::inline TULLE_ABI::solve
