// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-bench spmv: y = A x, compared with the baselines.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/measure.hpp"

namespace tulle::bench {

struct SpmvOptions {
    std::vector<std::string> matrices;  // sentences or files
    std::string suite = {};
    std::string backend = "all";  // cpu, cuda, all
    std::string type = "f64";     // f32, f64
    std::vector<std::string> against = {"plain", "eigen", "mkl", "cusparse"};
    std::vector<std::string> policies =
        {};  // in addition to the chosen one: "all", "split", "rows", "rows:8"; "once": the call without a plan
    Wish wish = {};
    std::string json = {};  // file of JSON lines; "-" is standard output
    bool quiet = false;
    int threads = 0;
};

// Returns the program's exit status: 0, or 1 when a result of ours was wrong.
int bench_spmv(const SpmvOptions& options);

}  // namespace tulle::bench
