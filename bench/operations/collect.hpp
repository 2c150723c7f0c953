// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-bench collect: runs for tools/train. Every choice an operation has, on many matrices, with their features.
#pragma once

#include <string>
#include <vector>

namespace tulle::bench {

struct CollectOptions {
    std::string operation = {};  // sptrsv, spgemm
    std::vector<std::string> matrices = {};
    std::string suite = {};        // learn
    std::string backend = "cuda";  // cpu, cuda
    std::string json = {};         // file of JSON lines, or "-"
    double seconds = 170;          // no new matrix after this long
    bool paper = false;            // sptrsv: the paper's reduced schemes too
    double products = 0;           // spgemm: no matrix with more multiplications; 0: what suits the backend
    int threads = 0;
    bool quiet = false;
};

// Return the program's exit status.
int collect_sptrsv(const CollectOptions& options);
int collect_spgemm(const CollectOptions& options);

}  // namespace tulle::bench
