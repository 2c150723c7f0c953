// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How many lanes of a GPU share a nonzero (docs/design/sddmm.md). Four are fastest where there is enough work: measured
// on an H200 for f32 with 32 and 128 columns (bench/results/sddmm-h200-policies.jsonl). Long rows of few nonzeros get
// the fewest lanes that read a row of Y in one step, because there the time of one nonzero counts, up to 16 where there
// are some more.
#include <algorithm>
#include <array>

#include "tulle/error.hpp"
#include "tulle/sddmm.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr std::array lane_counts{4, 8, 16, 32};
constexpr offset_t bytes_per_lane = 16;
constexpr offset_t short_row_bytes = 128;  // two steps of four lanes
// Long rows (measured, 128 columns of f32): 16 lanes with 33,000 to 42,000 nonzeros, four or eight with 84,000 and
// more.
constexpr offset_t some_nonzeros = offset_t{1} << 15, many_nonzeros = offset_t{1} << 16;
constexpr int most_lanes_of_some = 16;

}  // namespace

Choice choose(const Features& t, Backend backend)
{
    if (backend == Backend::cpu) return {{1}, "on a CPU: vectors of a core walk each row of Y"};
    const offset_t row_bytes = static_cast<offset_t>(t.value_bytes) * t.k;
    if (row_bytes <= short_row_bytes || t.nonzeros >= many_nonzeros)
        return {{lane_counts.front()}, "four lanes give a block the most nonzeros, whose rows of Y meet in the L1"};
    for (const int lanes : lane_counts)
        if (lanes * bytes_per_lane >= row_bytes)
            return {{lanes}, concat(lanes, " lanes load a row of ", row_bytes, " bytes at once")};
        else if (lanes == most_lanes_of_some && t.nonzeros >= some_nonzeros)
            return {{lanes}, concat(lanes, " lanes load a row of ", row_bytes, " bytes in few steps")};
    return {{lane_counts.back()}, concat("rows of ", row_bytes, " bytes are longer than a warp loads at once")};
}

std::vector<Policy> candidates(Backend backend)
{
    if (backend == Backend::cpu) return {{1}};
    std::vector<Policy> all;
    for (const int lanes : lane_counts) all.push_back({lanes});
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
    return policy.lanes == 1 ? "rows" : concat(policy.lanes, " lanes for a nonzero");
}

}  // namespace tulle::inline TULLE_ABI::sddmm
