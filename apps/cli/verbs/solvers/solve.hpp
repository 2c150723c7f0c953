// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle solve: A x = b.
#pragma once

#include <optional>
#include <string>

#include "apps/cli/support/session.hpp"
#include "apps/cli/support/source.hpp"

namespace tulle::cli {

struct SolveOptions {
    Source matrix;
    Source rhs = {};                     // no text: ones; a matrix file, or one number a line
    std::string method, preconditioner;  // empty: chosen
    Source near_null_space = {};         // no text: constants; a matrix, or "rigid-body:" and coordinates
    index_t unknowns_per_node = 0;       // 0: 1, or the dimensions of the coordinates
    std::string backend = "cpu", type = "f64";
    std::string to, plot;             // x; a picture of the residuals
    std::optional<double> tolerance;  // empty: that of the type
    double seconds = 0;               // 0: no limit
    offset_t iterations = 10'000;
    int restart = 30;
    std::string graphs = "auto";
    int devices = 0;  // members of a team; 0: none, one context
};
void solve(const Session& session, const SolveOptions& options);
void explain_solve(const Session& session, const SolveOptions& options);  // every candidate, predicted and measured

}  // namespace tulle::cli
