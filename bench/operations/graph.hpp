// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-bench graph: graph algorithms compared with SuiteSparse:GraphBLAS.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/measure.hpp"

namespace tulle::bench {

struct GraphOptions {
    std::vector<std::string> matrices;  // sentences or files
    std::string suite = {};
    std::string backend = "all";  // cpu, cuda, all
    std::vector<std::string> algorithms = {"triangles", "bfs", "pagerank", "masked"};
    Wish wish = {};
    std::string json = {};  // file of JSON lines; "-" is standard output
    bool quiet = false;
    int threads = 0;
};

// Returns the program's exit status: 0, or 1 when a result of ours was wrong.
int bench_graph(const GraphOptions& options);

}  // namespace tulle::bench
