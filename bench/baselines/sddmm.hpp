// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What c = X Y^T at the positions of A is measured against. Each is defined where its library was found
// (bench/build.hpp).
#pragma once

#include <vector>

#include "bench/harness/contender.hpp"
#include "bench/operations/sddmm_problem.hpp"

namespace tulle::bench {

// The problem must outlive the contenders.
template <class V>
std::vector<Contender> plain_sddmm(SddmmProblem<V>& problem);  // for problems on the CPU
template <class V>
std::vector<Contender> cusparse_sddmm(SddmmProblem<V>& problem);  // for problems on a GPU

}  // namespace tulle::bench
