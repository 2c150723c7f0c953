// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-bench spmm: C = A B with a dense B, rows contiguous, compared with the baselines.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/measure.hpp"
#include "tulle/types.hpp"

namespace tulle::bench {

struct SpmmOptions {
    std::vector<std::string> matrices;  // sentences or files
    std::string suite = {};
    std::string backend = "all";               // cpu, cuda, all
    std::string type = "f32";                  // f64, f32, tf32, f16, bf16
    std::string scale = "off";                 // f16, bf16: powers of two of rows: off, auto, rows
    std::vector<index_t> columns = {32, 128};  // of B
    std::vector<std::string> against = {"eigen", "mkl", "cusparse", "cublas"};
    std::vector<std::string> policies =
        {};  // in addition to the chosen one: those whose names contain one of these; all
    Wish wish = {};
    std::string json = {};  // file of JSON lines; "-" is standard output
    bool quiet = false;
    int threads = 0;
};

// Returns the program's exit status: 0, or 1 when a result of ours was wrong.
int bench_spmm(const SpmmOptions& options);

}  // namespace tulle::bench
