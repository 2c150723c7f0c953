// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where a triangle whose numbers are on the host is solved soonest. A GPU analyses and solves wide triangles many times
// as fast, but the matrix travels once, b and x travel with every solve, and deep or tiny triangles leave it waiting
// for one level after the other.
#pragma once

#include <string>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/sptrsv_policy.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// Seconds.
struct CostEstimate {
    double prepare = 0;  // once: the analysis, and the matrix to the GPU
    double solve = 0;    // each time, b and x there and back

    double total(double calls) const { return prepare + calls * solve; }
};

struct Placement {
    Backend backend = Backend::cpu;
    CostEstimate cpu, gpu;  // gpu: zero where there is none
    std::string why;
};

// What will be solved, and how often.
struct Work {
    double calls = 1;
    index_t right_hand_sides = 1;
    std::size_t value_bytes = 8;
};

// Pure. `estimates` as for choose().
TULLE_API Placement place(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& cpu,
                          const Limits& gpu, const Work& work);

// The most that clusters could gain on a GPU: where it is not enough, nobody needs to look for them.
TULLE_API std::vector<MergeEstimate> best_estimates(const Features& features);

}  // namespace tulle::inline TULLE_ABI::sptrsv
