// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How many lanes of a GPU share a nonzero (docs/design/sddmm.md), measured on an H200 for f32 with 32 and 128 columns
// (bench/results/sddmm-h200-lanes.jsonl.gz): four for short rows of Y, and for long ones where there is much work;
// eight for long rows where four would leave much of the GPU without work, at the beginning or in a last round; and of
// few nonzeros the fewest lanes that read a row of Y in one step, because there the time of one nonzero counts.
// Attention in two kernels costs a launch more, and less for each row and nonzero.
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
// Nonzeros of long rows, measured with 128 columns of f32: 32 lanes up to the first number, eight up to the second and
// from 1 to 2.75 times what an H200 holds at once with four lanes (132 multiprocessors of 36 warps).
constexpr offset_t some_nonzeros = 21'000, many_nonzeros = 60'000, held_at_once = offset_t{132} * 36 * 32;
constexpr double few_rounds = 2.75;
constexpr int lanes_of_some = 8;

// Attention in one kernel beside two, in nanoseconds on an H200 (f32, docs/design/sddmm.md): a row costs so much more,
// and a nonzero for each byte of a row of V; the second kernel costs a launch.
constexpr double more_of_row = 1.1, more_of_byte = 0.0002, of_launch = 2500;

bool gains_by_storing(const Features& t)
{
    const double bytes = static_cast<double>(t.value_bytes) * t.attended;
    return t.attended > 0 && more_of_row * t.rows + more_of_byte * bytes * static_cast<double>(t.nonzeros) > of_launch;
}

// Whether four lanes have too few warps for long rows of so many nonzeros, or a last round of few.
bool gains_by_eight(offset_t nonzeros)
{
    const double rounds = static_cast<double>(nonzeros) / static_cast<double>(held_at_once);
    return nonzeros < many_nonzeros || (rounds > 1 && rounds < few_rounds);
}

Choice choose_lanes(const Features& t)
{
    const offset_t row_bytes = static_cast<offset_t>(t.value_bytes) * t.k;
    const bool is_short = row_bytes <= short_row_bytes;
    if (!is_short && t.nonzeros >= some_nonzeros && gains_by_eight(t.nonzeros))
        return {{lanes_of_some}, "eight lanes use whole lines of the L1, with four nonzeros on their way"};
    if (is_short || t.nonzeros >= some_nonzeros)
        return {{lane_counts.front()}, "four lanes give a block the most nonzeros, whose rows of Y meet in the L1"};
    for (const int lanes : lane_counts)
        if (lanes * bytes_per_lane >= row_bytes)
            return {{lanes}, concat(lanes, " lanes load a row of ", row_bytes, " bytes at once")};
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
