// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-bench collect sptrsv: runs for tools/train. Every scheme on many triangles, with their features.
#pragma once

#include <string>
#include <vector>

namespace tulle::bench {

struct CollectOptions {
    std::vector<std::string> matrices = {};
    std::string suite = {};                                // learn
    std::string backend = "cuda";                          // cpu, cuda
    std::string json = {};                                 // file of JSON lines, or "-"
    double seconds = 170;                                  // no new matrix after this long
    bool paper = false;                                    // the paper's reduced schemes too
    int threads = 0;
    bool quiet = false;
};

// Returns the program's exit status.
int collect_sptrsv(const CollectOptions& options);

}  // namespace tulle::bench
