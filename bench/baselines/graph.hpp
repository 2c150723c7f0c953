// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The baselines of graph algorithms.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/contender.hpp"
#include "bench/operations/graph_problem.hpp"

namespace tulle::bench {

std::vector<Contender> graphblas_graph(GraphProblem& problem, const std::string& algorithm);  // on the CPU

}  // namespace tulle::bench
