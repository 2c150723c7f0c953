// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-bench spgemm: C = A A, compared with the baselines. Whole calls: the allocation of C and all temporaries is
// inside the clock.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/measure.hpp"

namespace tulle::bench {

struct SpgemmOptions {
    std::vector<std::string> matrices;  // sentences or files
    std::string suite = {};
    std::string backend = "all";  // cpu, cuda, all
    std::string type = "f64";     // f32, f64
    std::vector<std::string> against = {"eigen", "graphblas", "mkl", "cusparse"};
    std::vector<std::string> policies = {};  // in addition to the chosen one, by parts of their names
    bool checked = false;                    // let ours validate its input inside the clock; the baselines never do
    Wish wish = {};
    std::string json = {};  // file of JSON lines; "-" is standard output
    bool quiet = false;
    int threads = 0;
};

// Returns the program's exit status: 0, or 1 when a result of ours was wrong.
int bench_spgemm(const SpgemmOptions& options);

}  // namespace tulle::bench
