// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The verbs about products of a sparse with a dense matrix: run spmm, explain spmm.
#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/support/parser.hpp"
#include "apps/cli/support/source.hpp"
#include "apps/cli/verbs/operations/result_checks.hpp"
#include "tulle/spmm.hpp"

namespace tulle::cli {

struct SpmmOptions {
    Source a;
    std::string backend = "cpu", type = "f64";  // f64, f32, tf32, f16, bf16; the last two with C in f32
    index_t n = 32;                             // columns of B
    std::string layout = "rows";                // of B and C: rows or columns are contiguous
    std::string kernel, order;                  // empty: tulle chooses
    double delta = -1;                          // tiles: dense above this density; negative: tulle chooses
    bool search = false;                        // tiles: deltas are tried
    std::string scale = "auto";                 // f16, bf16: which rows are scaled: auto, off, rows
    bool transpose = false, verify = false;
    double alpha = 1, beta = 0;
    double expected_calls = 100;
    int devices = 0;                  // a team of so many; 0: one device, no team
    std::string split = "automatic";  // of a team: rows or columns
    int repeat = 10;
    std::uint64_t seed = 1;
};
void run_spmm(const Session& session, const SpmmOptions& options);

// What would be multiplied how, and why: counts, predictions for the backend, measured times where it is there.
struct ExplainSpmmOptions {
    SpmmOptions product{.a = {},
                        .backend = "cuda",
                        .type = "f16",
                        .kernel = {},
                        .order = {},
                        .repeat = 5};  // repeat 0: nothing is measured
    bool all = false, bsa = false;     // count orders that cannot pay too; consider bsa too
};
void explain_spmm(const Session& session, const ExplainSpmmOptions& options);

// For demo: C = A B with 32 columns, timed and checked.
Summary multiply_dense_matrix(const Context& host, const Context& ctx, const CsrView<double>& a, int repeat,
                              std::uint64_t seed);

// Below the verbs run and explain.
void add_run_spmm(Parser& parser, CLI::App* run, SpmmOptions& options);
void add_explain_spmm(Parser& parser, CLI::App* explain, ExplainSpmmOptions& options);

}  // namespace tulle::cli
