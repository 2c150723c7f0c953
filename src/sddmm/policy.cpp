// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How many lanes of a GPU share a nonzero. Reasoned, not yet measured (docs/design/sddmm.md): a lane loads 16 bytes at
// once, so the fewest lanes that read a row of Y in one step.
#include <algorithm>
#include <array>

#include "tulle/error.hpp"
#include "tulle/sddmm.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr std::array lane_counts{4, 8, 16, 32};
constexpr std::array batch_counts{1, 4, 16};
constexpr offset_t bytes_per_lane = 16;

}  // namespace

Choice choose(const Features& t, Backend backend)
{
    if (backend == Backend::cpu) return {{1}, "on a CPU: vectors of a core walk each row of Y"};
    const offset_t row_bytes = static_cast<offset_t>(t.value_bytes) * t.k;
    for (const int lanes : lane_counts)
        if (lanes * bytes_per_lane >= row_bytes)
            return {{lanes}, concat(lanes, " lanes load a row of ", row_bytes, " bytes at once")};
    return {{lane_counts.back()}, concat("rows of ", row_bytes, " bytes are longer than a warp loads at once")};
}

std::vector<Policy> candidates(Backend backend)
{
    if (backend == Backend::cpu) return {{1}};
    std::vector<Policy> all;
    for (const int batches : batch_counts)
        for (const int lanes : lane_counts) all.push_back({lanes, batches});
    return all;
}

void check_policy(const Policy& policy, Backend backend)
{
    const auto all = candidates(backend);
    if (std::find(all.begin(), all.end(), policy) != all.end()) return;
    std::string possible;
    for (const Policy& p : all) possible += (possible.empty() ? "" : "; ") + to_text(p);
    throw ValueError(concat("the policy '", to_text(policy), "' is not for a ",
                            backend == Backend::cpu ? "CPU" : "GPU"),
                     concat("possible here: ", possible));
}

std::string to_text(const Policy& policy)
{
    if (policy.lanes == 1) return "rows";
    const std::string text = concat(policy.lanes, " lanes for a nonzero");
    return policy.batches == 1 ? text : concat(text, ", ", policy.batches, " batches");
}

}  // namespace tulle::inline TULLE_ABI::sddmm
