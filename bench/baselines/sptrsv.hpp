// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What L x = b is measured against. Each is defined where its library was found (bench/build.hpp).
#pragma once

#include <vector>

#include "bench/harness/contender.hpp"
#include "bench/operations/sptrsv_problem.hpp"

namespace tulle::bench {

// The problem must outlive the contenders.
template <class V>
std::vector<Contender> eigen_sptrsv(SptrsvProblem<V>& problem);  // for problems on the CPU
template <class V>
std::vector<Contender> mkl_sptrsv(SptrsvProblem<V>& problem);  // for problems on the CPU
template <class V>
std::vector<Contender> cusparse_sptrsv(SptrsvProblem<V>& problem);  // for problems on a GPU

}  // namespace tulle::bench
