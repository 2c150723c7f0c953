// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What all operations say of their checked results: one line for demo, and the failure that ends run.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/reference.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {

// One operation on one backend, timed and checked.
struct Summary {
    std::string backend, policy, check;
    double seconds = 0;     // median
    std::size_t bytes = 0;  // of all operands and results, each once
    bool good = true;
};

// CheckFailed if a result is wrong. `entry` and `of` stand around the number of the wrong entry: "row ", " of C".
template <class Results>
void require_good(const Results& results, std::string_view operation, std::string_view entry, std::string_view of = "")
{
    for (const auto& r : results)
        require<CheckFailed>(!r.verdict || r.verdict->good(), [&] {
            return concat(operation, " on ", r.backend, ": ", entry, r.verdict->entry, " (counted from 0)", of, " is ",
                          r.verdict->is, " and should be ", r.verdict->should, ": the error is ", r.verdict->worst,
                          " times its bound");
        });
}

// alpha and beta are converted to the type of the sums: what is too large for it is refused before any work.
inline void check_scalar(std::string_view option, double number, std::string_view type)
{
    require<UsageError>(
        type == "f64" || std::abs(number) <= double{std::numeric_limits<float>::max()},
        [&] { return concat(option, " ", number, " does not fit the sums of --type ", type, ", which are f32"); },
        "use --type f64");
}

}  // namespace tulle::cli
