// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How many lanes of a GPU share a nonzero (docs/design/sddmm.md). Four are fastest where there is enough work: measured
// on an H200 for f32 with 32 and 128 columns (bench/results/sddmm-h200-policies.jsonl). Long rows of few nonzeros get
// the fewest lanes that read a row of Y in one step, because there the time of one nonzero counts, up to 16 where there
// are some more. Attention in two kernels costs a launch more, and less for each row and nonzero.
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

// Attention in one kernel beside two, in nanoseconds on an H200 (f32, docs/design/sddmm.md): a row costs so much more,
// and a nonzero for each byte of a row of V; the second kernel costs a launch.
constexpr double more_of_row = 1.1, more_of_byte = 0.0002, of_launch = 2500;

bool gains_by_storing(const Features& t)
{
    const double bytes = static_cast<double>(t.value_bytes) * t.attended;
    return t.attended > 0 && more_of_row * t.rows + more_of_byte * bytes * static_cast<double>(t.nonzeros) > of_launch;
}

Choice choose_lanes(const Features& t)
{
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

}  // namespace

Choice choose(const Features& t, Backend backend)
{
    if (backend == Backend::cpu) return {{1}, "on a CPU: vectors of a core walk each row of Y"};
    Choice choice = choose_lanes(t);
    if (!gains_by_storing(t)) return choice;
    choice.policy.stored = true;
    choice.why += "; attention in two kernels: rows of one kernel would cost more than a launch";
    return choice;
}

std::vector<Policy> candidates(Backend backend)
{
    if (backend == Backend::cpu) return {{1}};
    std::vector<Policy> all;
    for (const bool stored : {false, true})
        for (const int lanes : lane_counts) all.push_back({lanes, stored});
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
    if (policy == Policy{1}) return "rows";
    return concat(policy.lanes, " lanes for a nonzero", policy.stored ? ", scores stored" : "");
}

}  // namespace tulle::inline TULLE_ABI::sddmm
