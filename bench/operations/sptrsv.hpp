// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-bench sptrsv: L x = b for the lower triangle of a matrix, compared with the baselines.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/measure.hpp"

namespace tulle::bench {

struct SptrsvOptions {
    std::vector<std::string> matrices;  // sentences or files
    std::string suite = {};
    std::string backend = "all";  // cpu, cuda, all
    std::string type = "f64";     // f32, f64
    std::vector<std::string> against = {"eigen", "mkl", "cusparse"};
    std::vector<std::string> policies =
        {};  // in addition to the chosen one: parts of names of candidates, lines of schemes, "ablation"
    int right_hand_sides = 1;
    Wish wish = {};
    std::string json = {};  // file of JSON lines; "-" is standard output
    bool quiet = false;
    int threads = 0;
};

// Returns the program's exit status: 0, or 1 when a result of ours was wrong.
int bench_sptrsv(const SptrsvOptions& options);

}  // namespace tulle::bench
