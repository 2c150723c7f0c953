// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The verbs about products of sparse matrices: run, plan and explain spgemm.
#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/support/parser.hpp"
#include "apps/cli/support/source.hpp"
#include "apps/cli/verbs/operations/result_checks.hpp"
#include "tulle/spgemm.hpp"

namespace tulle::cli {

struct SpgemmOptions {
    Source a, b;  // b empty: A itself
    std::string backend = "cpu", type = "f64";
    std::string method;  // empty: tulle chooses
    bool transpose_a = false, transpose_b = false, verify = false;
    int repeat = 3;
    std::string chunks;                  // bytes that may be held beside A and B; empty: C at once
    std::string refill = "find_places";  // as spgemm::NumericReuse is named
    int devices = 0;                     // a team of so many; 0: one device, no team
    std::string to, to_format;           // file for C; its format, empty if the name says it
    std::uint64_t seed = 1;              // of the vector that --verify uses
};
void run_spgemm(const Session& session, const SpgemmOptions& options);
void plan_spgemm(const Session& session, const SpgemmOptions& options);
void explain_spgemm(const Session& session, const SpgemmOptions& options);  // every method beside the chosen one

// For demo: C = A A of a square matrix on the host; whole calls, timed and checked.
Summary multiply_by_itself(const Context& host, const Context& ctx, const CsrView<double>& a, int repeat,
                           std::uint64_t seed);

// Below the verbs run, plan and explain; the first is what run and plan have in common.
void add_spgemm_factors(Parser& parser, CLI::App* verb, SpgemmOptions& options);
void add_spgemm_plan(CLI::App* verb,
                     SpgemmOptions& options);  // where, by which method, on how many devices, what is kept
void add_run_spgemm(Parser& parser, CLI::App* run, SpgemmOptions& options);
void add_plan_spgemm(Parser& parser, CLI::App* plan, SpgemmOptions& options);
void add_explain_spgemm(Parser& parser, CLI::App* explain, SpgemmOptions& options);

}  // namespace tulle::cli
