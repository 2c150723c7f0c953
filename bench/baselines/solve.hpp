// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "bench/harness/contender.hpp"
#include "bench/operations/solve_problem.hpp"

namespace tulle::bench {

// ConjugateGradient with IncompleteCholesky for a symmetric matrix, BiCGSTAB with IncompleteLUT for others; on the CPU.
std::vector<Contender> eigen_solve(SolveProblem& problem, bool symmetric);

// CG with IC(0) for a symmetric matrix, BiCGStab with ILU(0) for others, with cuSPARSE and cuBLAS; factors applied by
// SpSV, and by two Jacobi sweeps for each triangle. On a GPU.
std::vector<Contender> cusparse_solve(SolveProblem& problem, bool symmetric);

}  // namespace tulle::bench
