// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What cutting a matrix costs and gains, compared with one upload of it; and what each part of a product takes alone.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/measure.hpp"

namespace tulle::bench {

struct PartitionOptions {
    std::vector<std::string> matrices = {};
    std::string suite = {}, backend = "all";
    int parts = 8;
    int threads = 0;               // of the CPU
    std::string overlap = "auto";  // or always, never
    double link = 400;             // GB/s between members, assumed
    Wish wish = {};
    std::string json = {};
    bool quiet = false;
};

int bench_partition(const PartitionOptions& options);

}  // namespace tulle::bench
