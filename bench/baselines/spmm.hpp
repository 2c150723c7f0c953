// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What C = A B is measured against. Each is defined where its library was found (bench/build.hpp).
#pragma once

#include <vector>

#include "bench/harness/contender.hpp"
#include "bench/operations/spmm_problem.hpp"

namespace tulle::bench {

// The problem must outlive the contenders.
template <class V>
std::vector<Contender> eigen_spmm(SpmmProblem<V>& problem);  // for problems of float and double on the CPU
template <class V>
std::vector<Contender> mkl_spmm(SpmmProblem<V>& problem);  // for problems of float and double on the CPU
template <class V>
std::vector<Contender> cusparse_spmm(SpmmProblem<V>& problem);  // for problems on a GPU
template <class V>
std::vector<Contender> cublas_spmm(SpmmProblem<V>& problem);  // the same, with A as a dense matrix, where it fits

}  // namespace tulle::bench
