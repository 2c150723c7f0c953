// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Who takes part in a measurement: ours, a baseline, or the machine's own limit. All stand behind the same four calls,
// so that one page (measure.cpp) times them in the same rounds on the same data, whatever the operation.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tulle::bench {

enum class Role { ours, baseline, roofline };

// What is reported of a preparation in addition to its time.
struct Prepared {
    std::string choice;             // our policy; the baseline's own words, if any
    std::size_t bytes = 0;          // held in addition to the matrix
    std::size_t beside_result = 0;  // of that, what stays between runs and is not the result; 0 where nobody asks
};

struct Contender {
    std::string name;  // "tulle", "eigen", "cusparse csr alg2"
    Role role = Role::baseline;
    std::function<Prepared()> prepare;                 // converts and analyses, once; throws where it must refuse
    std::function<void()> run;                         // the operation, put on the context's queue
    std::function<std::vector<double>()> result = {};  // of the last run, on the host; empty for a roofline
    bool prepares_again = false;                       // prepare() may be called once more and does the same
    std::function<void()> update = {};                 // new values, same pattern; empty where there is no such call
};

inline void append(std::vector<Contender>& all, std::vector<Contender> more)
{
    for (Contender& contender : more) all.push_back(std::move(contender));
}

}  // namespace tulle::bench
