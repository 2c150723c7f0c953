// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-bench sddmm: c = X Y^T at the positions of A, rows of X and Y contiguous, compared with the baselines.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/measure.hpp"
#include "tulle/types.hpp"

namespace tulle::bench {

struct SddmmOptions {
    std::vector<std::string> matrices;  // sentences or files
    std::string suite = {};
    std::string backend = "all";               // cpu, cuda, all
    std::string type = "f32";                  // f64, f32, f16, bf16
    std::vector<index_t> columns = {32, 128};  // of X and Y
    std::vector<std::string> against = {"plain", "cusparse"};
    std::vector<std::string> policies =
        {};  // in addition to the chosen one: those whose names contain one of these; all
    Wish wish = {};
    std::string json = {};  // file of JSON lines; "-" is standard output
    bool quiet = false;
    int threads = 0;
};

// Returns the program's exit status: 0, or 1 when a result of ours was wrong.
int bench_sddmm(const SddmmOptions& options);

}  // namespace tulle::bench
