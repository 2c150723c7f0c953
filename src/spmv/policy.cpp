// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which kernel, and why. Thresholds name their source: "measured" refers to docs/design/spmv.md.
#include "tulle/spmv.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/enumerators.hpp"
#include "base/math.hpp"
#include "base/plural.hpp"
#include "base/suggest.hpp"
#include "spmv/fitted_costs.hpp"
#include "spmv/sell.hpp"
#include "spmv/steps.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr std::array lane_counts{1, 2, 4, 8, 16, 32};
constexpr std::array kernel_names{"rows", "groups", "stream", "sell", "split", "scatter", "entries", "blocks"};
constexpr std::array format_names{"CSR", "CSC", "COO", "Blocked-ELL"};

// On a GPU, for a product done once: no lane walks over more nonzeros of an average row. Its loads are far apart, which
// the fitted costs do not know (stencil27:60 on an H200: one lane for 27 nonzeros 54 us, four 25).
constexpr double most_nonzeros_of_lane = 8;
// On a CPU, sliced ELL wins where most rows are the row before moved by one, short, and hardly padded.
constexpr double shifts_for_sell = 0.7, mean_for_sell = 32, padding_for_sell = 1.1;
// Below this many rows and nonzeros its kernel was 0.5 to 0.8 times as fast as a plain loop (Xeon).
constexpr offset_t least_for_sell = 65536;
// Beyond this many places a nonzero it is not even offered, unless the matrix is small.
constexpr offset_t most_padding = 16, small_padding = 65536;
// On a CPU no thread may have more than this many times its fair part of the work …
constexpr double largest_share_on_cpu = 1.15;
// … or, where parts are not known, a row more than this share of one.
constexpr double long_row_share_on_cpu = 0.25;
// Sums side by side that stand for a vector of the CPU, whatever it holds.
constexpr int lanes_of_a_vector = 8;
// Another kernel than the typical one must be this much faster as measured: noise of a clock should not decide, and
// bits should not change for nothing.
constexpr double worthwhile_gain = 1.05;
// … or this much faster than a plain loop, with one sum, in a trial: parts tell less than the whole, and few runs less
// than many, in which a predictor learns. So must one sum with the rows sorted be than any other row kernel.
constexpr double gain_over_plain = 1.1;
// … and slices more, which take a copy of the matrix.
constexpr double gain_for_sell = 1.15;
// Rows keep their order in slices that need no more places a nonzero than this.
constexpr double padding_for_order = 1.05;
// Sorted slices are not tried where the places of the longest row's slice are more than this share of the nonzeros: a
// plan may keep half as much again as its matrix has, and parts of a matrix that are tried leave out long rows.
constexpr double most_of_longest_slice = 0.25;

// op(A) can be read row by row as it is stored.
bool by_rows(const Features& t)
{
    return (t.format == Format::csr && !t.transposed) || (t.format == Format::csc && t.transposed);
}

// Columns of 16 bits from the first of their row, offsets of 32.
bool can_be_narrow(const RowFeatures& row) { return row.widest < 65536 && row.nonzeros <= max_index - 32; }

bool can_be_sliced(const RowFeatures& row) { return row.padded <= most_padding * row.nonzeros + small_padding; }

// Whether threads that get whole rows would wait for one of them.
bool is_uneven(const RowFeatures& row, int threads)
{
    const double work = static_cast<double>(row.rows + row.nonzeros);
    if (row.largest_part > 0) return static_cast<double>(row.largest_part) > largest_share_on_cpu * work / threads;
    return static_cast<double>(row.longest) > long_row_share_on_cpu * static_cast<double>(row.nonzeros) / threads;
}

bool is_skewed(const RowFeatures& row, const Limits& limits)
{
    return limits.threads > 1 && row.rows + row.nonzeros > cpu_piece_steps && is_uneven(row, limits.threads);
}

// Where a mean lies among the measured ones. Between two of them a cost moves with the logarithm of the length, which
// halves its way at half the distance; beyond them it stays.
struct MeanPlace {
    std::size_t below;
    double far;  // on the way to the next, 0 to 1
};

MeanPlace place_of(double mean)
{
    const auto& known = RowCosts::mean;
    if (mean <= known.front()) return {0, 0};
    for (std::size_t k = 1; k < known.size(); ++k)
        if (mean <= known[k])
            return {k - 1, std::log(mean / known[k - 1]) / std::log(static_cast<double>(known[k]) / known[k - 1])};
    return {known.size() - 1, 0};
}

double at_place(const RowCosts::ByMean& costs, MeanPlace place, std::size_t lane)
{
    const double below = costs[place.below][lane];
    return place.far > 0 ? below * (1 - place.far) + costs[place.below + 1][lane] * place.far : below;
}

double cost_at(const RowCosts& costs, const RowFeatures& row, MeanPlace place, std::size_t lane)
{
    const double foreseen = row.rows > 0 ? static_cast<double>(row.steady) / row.rows : 1;
    const double steady = at_place(costs.steady, place, lane), changing = at_place(costs.changing, place, lane);
    return steady < RowCosts::never && changing < RowCosts::never ? foreseen * steady + (1 - foreseen) * changing
                                                                  : RowCosts::never;
}

// The cheapest lanes for rows like these. A product without a plan asks, too: one logarithm for all of them.
int cheapest_lanes(const RowFeatures& row, const RowCosts& costs)
{
    const MeanPlace place = place_of(row.mean);
    std::array<double, RowCosts::lanes.size()> cost;
    for (std::size_t lane = 0; lane < cost.size(); ++lane) cost[lane] = cost_at(costs, row, place, lane);
    return RowCosts::lanes[static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin())];
}

// Long rows that are cut between threads: two sums, or vectors where these are measured to be faster.
int lanes_for_split(const RowFeatures& row, const Limits& limits)
{
    return lanes_on_cpu(row, limits.costs) == lanes_of_a_vector ? lanes_of_a_vector : 32;
}

std::string in_lengths(const RowFeatures& row)
{
    return concat("the longest row has ", row.longest, plural(row.longest, " nonzero", " nonzeros"), ", the mean is ",
                  fixed(row.mean, 1));
}

bool has_shifts(const RowFeatures& row)
{
    return row.rows + row.nonzeros >= least_for_sell && row.shifts >= shifts_for_sell * row.rows &&
           row.mean <= mean_for_sell &&
           static_cast<double>(row.padded) <= padding_for_sell * static_cast<double>(row.nonzeros);
}

// Without preparation beyond the merge path.
Choice choose_unprepared(const Features& t, const Limits& limits, bool copy)
{
    if (is_skewed(t.row, limits))
        return {{Kernel::split, lanes_for_split(t.row, limits), copy},
                concat(in_lengths(t.row), ": too long for one thread")};
    return {{Kernel::rows, lanes_on_cpu(t.row, limits.costs), copy},
            concat(in_lengths(t.row), ": no row holds the others up")};
}

std::string share_that_shifts(const RowFeatures& row)
{
    return concat("of ", row.rows, " rows ", row.shifts,
                  " are the row before moved by one, so that columns need hardly any bytes");
}

Choice choose_on_cpu(const Features& t, const Limits& limits, bool copy)
{
    if (!t.reused || is_skewed(t.row, limits)) return choose_unprepared(t, limits, copy);
    if (has_shifts(t.row) && limits.costs.sell * gain_for_sell < limits.costs.sell_rows)
        return {{Kernel::sell, lanes_of_a_vector, copy}, share_that_shifts(t.row)};
    return choose_unprepared(t, limits, copy);
}

bool is_possible(const GpuCost& cost, const RowFeatures& row)
{
    if (cost.narrow && !can_be_narrow(row)) return false;
    if (cost.kernel == Kernel::groups) return row.longest <= longest_in_group;
    return cost.kernel != Kernel::sell || can_be_sliced(row);
}

// Without preparation, and with loads that are as close together as the costs assume.
bool is_possible_once(const GpuCost& cost, const RowFeatures& row)
{
    if (cost.kernel == Kernel::rows && !cost.narrow)
        return cost.lanes == lane_counts.back() || row.mean <= most_nonzeros_of_lane * cost.lanes;
    return cost.kernel == Kernel::split;
}

struct Prediction {
    const GpuCost* cost = nullptr;
    double us = std::numeric_limits<double>::infinity();
};

// The fastest of some kernels, as predicted.
template <class IsPossible>
Prediction fastest(const RowFeatures& row, IsPossible&& is_among)
{
    Prediction best;
    for (const GpuCost& cost : fitted::gpu_costs)
        if (const double us = microseconds_of(row, cost); is_among(cost) && us < best.us) best = {&cost, us};
    return best;
}

Choice choose_on_gpu(const Features& t, bool copy)
{
    const auto possible = [&](const GpuCost& c) {
        return t.reused ? is_possible(c, t.row) : is_possible_once(c, t.row);
    };
    const Prediction best = fastest(t.row, possible);
    const Prediction second =
        fastest(t.row, [&](const GpuCost& cost) { return possible(cost) && cost.kernel != best.cost->kernel; });
    return {{best.cost->kernel, best.cost->lanes, copy, best.cost->narrow},
            concat(in_lengths(t.row), ": ", fixed(best.us, 1), " us predicted, ", fixed(second.us, 1), " by ",
                   to_text(second.cost->kernel))};
}

Choice choose_by_rows(const Features& t, const Limits& limits, bool copy, const std::string& reason)
{
    Choice choice = limits.backend == Backend::cuda ? choose_on_gpu(t, copy) : choose_on_cpu(t, limits, copy);
    choice.why = reason + choice.why;
    return choice;
}

// How matrices that are not stored by rows of op(A) can be multiplied without a copy.
Kernel direct_kernel(const Features& t)
{
    if (t.format == Format::blocked_ell) return Kernel::blocks;
    return t.format == Format::coo ? Kernel::entries : Kernel::scatter;
}

// Direct kernels that add into y in no fixed order.
bool direct_is_repeatable(const Features& t, const Limits& limits)
{
    if (t.format == Format::blocked_ell && !t.transposed) return true;
    return limits.backend == Backend::cpu && limits.threads == 1;
}

// Rows that are cut have two sums, or vectors.
Policy split_after_trial(const KernelTrial& tried, Policy policy)
{
    policy.lanes = tried.rows[3] * worthwhile_gain < tried.rows[1] ? lanes_of_a_vector : 32;
    return policy;
}

std::string listed(const std::array<double, RowCosts::lanes.size()>& costs)
{
    std::string text;
    for (const double ns : costs)
        text += (text.empty() ? "" : ", ") + (ns < RowCosts::never ? fixed(ns, 2) : std::string("-"));
    return text;
}

}  // namespace

double cost_of(const RowCosts& costs, const RowFeatures& row, int lanes)
{
    const auto lane = static_cast<std::size_t>(std::find(RowCosts::lanes.begin(), RowCosts::lanes.end(), lanes) -
                                               RowCosts::lanes.begin());
    return lane < RowCosts::lanes.size() ? cost_at(costs, row, place_of(row.mean), lane) : RowCosts::never;
}

int lanes_on_cpu(const RowFeatures& row, const RowCosts& costs)
{
    const int usual = cheapest_lanes(row, RowCosts{});
    if (!costs.measured) return usual;
    const int best = cheapest_lanes(row, costs);
    return cost_of(costs, row, best) * worthwhile_gain < cost_of(costs, row, usual) ? best : usual;
}

Slices slices_to_try(const RowFeatures& row)
{
    if (row.mean > mean_for_sell) return Slices::none;
    const auto nonzeros = static_cast<double>(row.nonzeros);
    if (static_cast<double>(row.padded) <= padding_for_order * nonzeros) return Slices::in_order;
    const double longest_slice = static_cast<double>(row.longest) * slice_rows;
    return longest_slice <= most_of_longest_slice * nonzeros ? Slices::sorted : Slices::none;
}

Policy policy_after_trial(const KernelTrial& tried, const Policy& chosen, Slices slices)
{
    const auto best = std::min_element(tried.rows.begin(), tried.rows.end());
    if (*best >= RowCosts::never) return chosen;
    if (chosen.kernel == Kernel::split) return split_after_trial(tried, chosen);
    const auto place = std::find(RowCosts::lanes.begin(), RowCosts::lanes.end(), chosen.lanes);
    if (place == RowCosts::lanes.end()) return chosen;
    std::size_t lane = static_cast<std::size_t>(place - RowCosts::lanes.begin());
    if (tried.rows[0] < *best * gain_over_plain) lane = 0;
    else if (*best * worthwhile_gain < tried.rows[lane]) lane = static_cast<std::size_t>(best - tried.rows.begin());
    if (slices != Slices::none && tried.sell * gain_for_sell < std::min(*best, tried.sorted_rows))
        return {Kernel::sell, tried.sell_lanes, chosen.copy, false, slices == Slices::sorted};
    Policy policy = chosen;
    policy.sort = tried.sorted_rows * gain_over_plain < *best;
    policy.lanes = policy.sort ? 1 : RowCosts::lanes[lane];
    return policy;
}

std::string to_text(const RowCosts& costs)
{
    std::string text = concat(costs.measured ? "measured" : "typical", ", ns a nonzero with 1, 2, 4 sums and vectors:");
    for (std::size_t k = 0; k < RowCosts::mean.size(); ++k)
        text += concat(k > 0 ? ";" : "", " rows of ", RowCosts::mean[k], " ", listed(costs.steady[k]), " (uneven ",
                       listed(costs.changing[k]), ")");
    return text;
}

bool wants_copy(const Features& t, const Limits& limits)
{
    if (by_rows(t) || (t.format == Format::blocked_ell && !t.transposed)) return false;
    return (t.deterministic && !direct_is_repeatable(t, limits)) || (t.reused && t.format != Format::blocked_ell);
}

Choice choose(const Features& t, const Limits& limits)
{
    if (by_rows(t)) return choose_by_rows(t, limits, false, "stored by rows; ");
    if (wants_copy(t, limits))
        return choose_by_rows(t, limits, true,
                              t.deterministic ? "a copy by rows, because results must be repeatable; "
                                              : "a copy by rows, because it will be used many times; ");
    if (t.format == Format::blocked_ell) return {{Kernel::blocks, 32, false}, "stored as dense blocks"};
    return {{direct_kernel(t), 32, false}, "used once, so it is not worth a copy by rows"};
}

std::vector<Policy> candidates(const Features& t, const Limits& limits)
{
    std::vector<Policy> all;
    const bool copy = !by_rows(t), gpu = limits.backend == Backend::cuda;
    if (copy) all.push_back({direct_kernel(t), 32, false});
    for (const bool narrow : {false, true})
        for (const int lanes : lane_counts)
            if ((gpu || lanes <= lanes_of_a_vector) && (!narrow || can_be_narrow(t.row)))
                all.push_back({Kernel::rows, lanes, copy, narrow});
    if (!gpu) all.push_back({Kernel::rows, 1, copy, false, true});
    for (const int lanes : gpu ? std::vector{8, 16, 32} : std::vector{1})
        if (t.row.longest <= longest_in_group) all.push_back({Kernel::groups, lanes, copy});
    if (gpu) all.push_back({Kernel::stream, 32, copy});
    for (const int lanes : gpu ? std::vector{32} : std::vector{1, 4, lanes_of_a_vector})
        for (const bool sort : {false, true})
            if (can_be_sliced(t.row)) all.push_back({Kernel::sell, lanes, copy, false, sort});
    all.push_back({Kernel::split, 32, copy});
    if (!gpu) all.push_back({Kernel::split, lanes_of_a_vector, copy});
    std::erase_if(all, [&](const Policy& p) {
        return t.deterministic && !p.copy && copy && !direct_is_repeatable(t, limits);
    });
    return all;
}

void check_policy(const Policy& policy, const Features& t, const Limits& limits)
{
    const auto all = candidates(t, limits);
    if (std::find(all.begin(), all.end(), policy) != all.end()) return;
    std::string possible;
    for (const Policy& p : all) possible += (possible.empty() ? "" : "; ") + to_text(p);
    throw ValueError(concat("the policy '", to_text(policy), "' cannot multiply a ", to_text(t.format),
                            t.transposed ? " matrix transposed" : " matrix", t.deterministic ? " repeatably" : ""),
                     concat("possible here: ", possible));
}

std::string to_text(Kernel kernel) { return name_in(kernel_names, kernel); }

std::string to_text(Format format) { return name_in(format_names, format); }

std::string to_text(const Policy& p)
{
    std::string text = to_text(p.kernel);
    if (p.kernel == Kernel::rows || p.kernel == Kernel::groups ||
        ((p.kernel == Kernel::sell || p.kernel == Kernel::split) && p.lanes < 32))
        text += concat(", ", p.lanes, p.lanes == 1 ? " lane" : " lanes");
    if (p.narrow) text += ", narrow columns";
    if (p.sort) text += ", sorted";
    if (p.copy) text += ", on a copy by rows";
    return text;
}

Kernel parse_kernel(std::string_view name)
{
    const auto found = std::find(kernel_names.begin(), kernel_names.end(), name);
    require<ValueError>(
        found != kernel_names.end(), [&] { return concat("there is no SpMV kernel '", name, "'"); },
        one_of_hint(name, kernel_names));
    return static_cast<Kernel>(found - kernel_names.begin());
}

}  // namespace tulle::inline TULLE_ABI::spmv
