// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The verb about products of dense matrices at the positions of a sparse one: run sddmm.
#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/support/parser.hpp"
#include "apps/cli/support/source.hpp"

namespace tulle::cli {

struct SddmmOptions {
    Source a;
    std::string backend = "cpu", type = "f64";  // f64, f32, f16, bf16; the last two with results in f32
    index_t k = 32;                             // columns of X and Y
    bool scaled = false, verify = false;
    int repeat = 10;
    std::uint64_t seed = 1;
};

// Below the verb run.
void add_run_sddmm(Parser& parser, CLI::App* run, SddmmOptions& options);

}  // namespace tulle::cli
