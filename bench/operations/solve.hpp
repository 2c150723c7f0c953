// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "bench/harness/measure.hpp"

namespace tulle::bench {

struct SolveOptions {
    std::vector<std::string> matrices;  // sentences or files
    std::string suite = {};
    std::string backend = "all";  // cpu, cuda, all
    std::vector<std::string> against = {"eigen", "cusparse"};
    std::vector<std::string> preconditioners = {"jacobi"};  // in addition to the chosen one
    double tolerance = 1e-8;
    std::string graphs = "auto";  // CUDA graphs: auto, never
    Wish wish = {};
    std::string json = {};  // file of JSON lines; "-" is standard output
    bool quiet = false;
    int threads = 0;
};

int bench_solve(const SolveOptions& options);

}  // namespace tulle::bench
