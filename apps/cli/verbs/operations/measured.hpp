// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What every operation tells of its runs on one backend: which policy, how long, whether the result is right.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/support/json.hpp"
#include "apps/cli/support/reference.hpp"
#include "tulle/trace.hpp"

namespace tulle::cli {

struct Measured {
    std::string backend = {};  // "cpu:8"
    std::string policy = {}, description = {};
    double plan_seconds = 0, median = 0, best = 0;
    std::size_t plan_bytes = 0;
    std::optional<Verdict> verdict = {};  // with --verify
};

// The median and the best of some runs; none: they stay as they are.
template <class Run>
void time_runs(int repeat, const Run& run, Measured& result)
{
    std::vector<double> times;
    for (int k = 0; k < repeat; ++k) {
        const double from = trace::now();
        run();
        times.push_back(trace::now() - from);
    }
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    result.median = times[times.size() / 2];
    result.best = times.front();
}

std::string check_text(const std::optional<Verdict>& verdict);  // "ok (0.12 of the bound)"

// The keys that results of all operations have. "check" is null without --verify.
Json measured_json(const Measured& result);

}  // namespace tulle::cli
