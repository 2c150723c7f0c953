// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How many lanes of a GPU share a nonzero (docs/design/sddmm.md), measured on an H200 for f32 with 32 and 128 columns
// (bench/results/sddmm-h200-lanes.jsonl.gz, sddmm-h200-loads.jsonl.gz): four for short rows of Y, and for long ones
// where there is much work; eight for long rows where four would leave much of the GPU without work, at the beginning
// or in a last round; and of few nonzeros the fewest lanes that read a row of Y in one step, because there the time of
// one nonzero counts. Tiles where computing every position is predicted to take less time. Attention in two kernels
// costs a launch more, and less for each row and nonzero.
#include <algorithm>
#include <array>
#include <optional>

#include "base/math.hpp"
#include "sddmm/steps.hpp"
#include "tulle/error.hpp"
#include "tulle/sddmm.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr std::array lane_counts{4, 8, 16, 32};
constexpr offset_t bytes_per_lane = 16;
constexpr offset_t short_row_bytes = 128;  // two steps of four lanes
// Nonzeros that an H200 holds at once: of long rows with 32 lanes (4 blocks a multiprocessor of 32 nonzeros), with four
// (36 warps of 32), and half of those with eight, so that two kernels have room (5 blocks of 64).
constexpr offset_t held_by_32 = measured_multiprocessors * 4 * 32, held_by_four = measured_multiprocessors * 36 * 32,
                   half_of_eight = measured_multiprocessors * 5 * 64 / 2;
// Long rows, measured with 128 columns of f32: 32 lanes while the first number above holds all, eight up to this number
// and from 1 to 2.75 times what is held with four.
constexpr offset_t many_nonzeros = 60'000;
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

// Microseconds on an H200 (bench/results/sddmm-h200-tiles.jsonl.gz, sddmm-h200-tensor.jsonl.gz: pruned weights, f32, 32
// and 128 columns).
//   lanes    a nonzero, and each byte of its row of Y, more where Y is larger than an L1; less of each where there are
//            many, behind a longer start
//   tiles    a start and a round, in which each multiprocessor has a tile, both by the columns of X and Y (twice as
//            many in double); what is kept of a tile, one after the other, and of all
struct LaneCosts {
    double start, byte;
};
constexpr LaneCosts few{1.25, 9.2e-8}, many{4.6, 7.6e-8};
constexpr double nonzero = 2.5e-6, beyond_l1 = 1.15;
struct TileCosts {
    double start, start_column, round, column, kept_of_tile, kept_of_all;
};
constexpr TileCosts by_fma{1.7, 0, 0.55, 0.034, 7e-4, 1.6e-6},
    by_tensor_cores{1.03, 0.0286, 0.322, 0.0177, 7.65e-4, 2.9e-7};
constexpr offset_t l1_bytes = 256 << 10, most_in_tiles = offset_t{1} << 32;

double time_of_lanes(const Features& t)
{
    const double row_bytes = static_cast<double>(t.value_bytes) * t.k, nonzeros = static_cast<double>(t.nonzeros);
    const double bytes = row_bytes * (row_bytes * t.cols > static_cast<double>(l1_bytes) ? beyond_l1 : 1);
    return std::min(few.start + nonzeros * (nonzero + few.byte * bytes),
                    many.start + nonzeros * (nonzero + many.byte * row_bytes));
}

// If all tiles have nonzeros.
double time_of_tiles(const Features& t, const TileCosts& costs)
{
    const offset_t tiles =
        ceil_div(offset_t{t.rows}, offset_t{tile_side}) * ceil_div(offset_t{t.cols}, offset_t{tile_side});
    const double columns = static_cast<double>(t.k) * (t.value_bytes == 8 ? 2 : 1),
                 nonzeros = static_cast<double>(t.nonzeros),
                 rounds = static_cast<double>(ceil_div(tiles, measured_multiprocessors));
    return costs.start + costs.start_column * columns + rounds * (costs.round + costs.column * columns) +
           nonzeros * (costs.kept_of_tile / static_cast<double>(std::max(offset_t{1}, tiles)) + costs.kept_of_all);
}

// Tiles, if they are predicted to be faster than lanes. Attention was not measured with them.
std::optional<Policy> tiles_of(const Features& t)
{
    if (t.attended > 0 || t.rows == 0 || t.nonzeros >= most_in_tiles) return {};
    const bool can_be_tensor = t.value_bytes != 8 && t.k >= least_tensor_columns;
    const double fma = time_of_tiles(t, by_fma), tensor = can_be_tensor ? time_of_tiles(t, by_tensor_cores) : fma;
    if (std::min(fma, tensor) >= time_of_lanes(t)) return {};
    return Policy{0, false, true, tensor < fma};
}

// Whether four lanes have too few warps for long rows of so many nonzeros, or a last round of few.
bool gains_by_eight(offset_t nonzeros)
{
    const double rounds = static_cast<double>(nonzeros) / static_cast<double>(held_by_four);
    return nonzeros < many_nonzeros || (rounds > 1 && rounds < few_rounds);
}

Choice choose_lanes(const Features& t)
{
    const offset_t row_bytes = static_cast<offset_t>(t.value_bytes) * t.k;
    const bool is_short = row_bytes <= short_row_bytes;
    if (is_short && row_bytes > short_row_bytes / 2 && t.nonzeros <= half_of_eight)
        return {{lanes_of_some}, concat("eight lanes load a row of ", row_bytes, " bytes at once")};
    if (!is_short && t.nonzeros > held_by_32 && gains_by_eight(t.nonzeros))
        return {{lanes_of_some}, "eight lanes use whole lines of the L1, with four nonzeros on their way"};
    if (is_short || t.nonzeros > held_by_32)
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
    if (const auto tiles = tiles_of(t))
        return {*tiles, "so many positions have a nonzero that computing all of them takes less time"};
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
    for (const bool stored : {false, true}) {
        for (const int lanes : lane_counts) all.push_back({lanes, stored});
        for (const bool tensor : {false, true}) all.push_back({0, stored, true, tensor});
    }
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
    const std::string how =
        policy.tiles ? concat("tiles of ", tile_side, " x ", tile_side, policy.tensor ? " on tensor cores" : "")
                     : concat(policy.lanes, " lanes for a nonzero");
    return policy.stored ? how + ", scores stored" : how;
}

}  // namespace tulle::inline TULLE_ABI::sddmm
