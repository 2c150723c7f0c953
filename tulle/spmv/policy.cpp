// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which kernel, and why. Thresholds name their source: "measured" refers to docs/design/spmv.md.
#include "tulle/spmv/policy.hpp"

#include <algorithm>
#include <array>

#include "tulle/base/error.hpp"
#include "tulle/base/math.hpp"
#include "tulle/base/text.hpp"

namespace tulle::spmv {
namespace {

constexpr std::array lane_counts{1, 2, 4, 8, 16, 32};
constexpr std::array kernel_names{"rows", "split", "scatter", "entries", "blocks"};
constexpr std::array format_names{"CSR", "CSC", "COO", "Blocked-ELL"};

// On a GPU a lane should have this many nonzeros of an average row (measured on an H200: best for rows of 20 to 120 nonzeros), …
constexpr double nonzeros_per_lane = 6.0;
// … and no more than this many of the longest row, which the others would wait for (about 80 ns each).
constexpr offset_t longest_lane = 64;
// More lanes than an average row can use cost little in a launch this small …
constexpr offset_t small_launch = 1'500'000;
// … and otherwise, beyond this many times as many, cutting rows into pieces is cheaper.
constexpr int lane_excess = 4;
// On a CPU a row may not exceed this share of a thread's fair part.
constexpr double long_row_share_on_cpu = 0.25;

// op(A) can be read row by row as it is stored.
bool by_rows(const Traits& t)
{
    return (t.format == Format::csr && !t.transposed) || (t.format == Format::csc && t.transposed);
}

// The power of two nearest to n in ratio, 1 to 32.
int nearest_lanes(double n)
{
    int lanes = 1;
    while (lanes < 32 && n > lanes * 1.41421356) lanes *= 2;
    return lanes;
}

int lanes_for_average(const RowStatistics& row) { return nearest_lanes(row.mean / nonzeros_per_lane); }

int lanes_for_longest(const RowStatistics& row)
{
    return static_cast<int>(std::min(offset_t{32}, power_of_two_from(ceil_div(row.longest, longest_lane))));
}

bool is_skewed(const RowStatistics& row, const Limits& limits)
{
    if (limits.backend == Backend::cpu)
        return limits.threads > 1 && static_cast<double>(row.longest) > long_row_share_on_cpu * static_cast<double>(row.nonzeros) / limits.threads;
    const int lanes = lanes_for_longest(row);
    const bool hopeless = row.longest > 32 * longest_lane * lane_excess;
    return hopeless || (lanes > lane_excess * lanes_for_average(row) && offset_t{row.rows} * lanes > small_launch);
}

int lanes_for(const RowStatistics& row, const Limits& limits)
{
    if (limits.backend == Backend::cpu) return row.mean >= 8.0 ? 4 : 1;      // four sums side by side hide the latency of the addition
    return std::max(lanes_for_average(row), lanes_for_longest(row));
}

Choice choose_by_rows(const Traits& t, const Limits& limits, bool copy, const std::string& reason)
{
    const std::string lengths = concat("the longest row has ", t.row.longest, " nonzeros, the mean is ", fixed(t.row.mean, 1));
    if (is_skewed(t.row, limits)) return {{Kernel::split, 32, copy}, concat(reason, lengths, ": too long for one ", limits.backend == Backend::cpu ? "thread" : "warp")};
    return {{Kernel::rows, lanes_for(t.row, limits), copy}, concat(reason, lengths, ": no row holds the others up")};
}

// How matrices that are not stored by rows of op(A) can be multiplied without a copy.
Kernel direct_kernel(const Traits& t)
{
    if (t.format == Format::blocked_ell) return Kernel::blocks;
    return t.format == Format::coo ? Kernel::entries : Kernel::scatter;
}

// Direct kernels that add into y in no fixed order.
bool direct_is_repeatable(const Traits& t, const Limits& limits)
{
    if (t.format == Format::blocked_ell && !t.transposed) return true;
    return limits.backend == Backend::cpu && limits.threads == 1;
}

}  // namespace

bool wants_copy(const Traits& t, const Limits& limits)
{
    if (by_rows(t) || (t.format == Format::blocked_ell && !t.transposed)) return false;
    return (t.deterministic && !direct_is_repeatable(t, limits)) || (t.reused && t.format != Format::blocked_ell);
}

Choice choose(const Traits& t, const Limits& limits)
{
    if (by_rows(t)) return choose_by_rows(t, limits, false, "stored by rows; ");
    if (wants_copy(t, limits))
        return choose_by_rows(t, limits, true, t.deterministic ? "a copy by rows, because results must be repeatable; " : "a copy by rows, because it will be used many times; ");
    if (t.format == Format::blocked_ell) return {{Kernel::blocks, 32, false}, "stored as dense blocks"};
    return {{direct_kernel(t), 32, false}, "used once, so it is not worth a copy by rows"};
}

std::vector<Policy> candidates(const Traits& t, const Limits& limits)
{
    std::vector<Policy> all;
    const bool copy = !by_rows(t);
    if (copy) all.push_back({direct_kernel(t), 32, false});
    for (const int lanes : lane_counts)
        if (limits.backend == Backend::cuda || lanes <= 4) all.push_back({Kernel::rows, lanes, copy});
    all.push_back({Kernel::split, 32, copy});
    std::erase_if(all, [&](const Policy& p) { return t.deterministic && !p.copy && copy && !direct_is_repeatable(t, limits); });
    return all;
}

void check_policy(const Policy& policy, const Traits& t, const Limits& limits)
{
    const auto all = candidates(t, limits);
    if (std::find(all.begin(), all.end(), policy) != all.end()) return;
    std::string possible;
    for (const Policy& p : all) possible += (possible.empty() ? "" : "; ") + to_text(p);
    throw ValueError(concat("the policy '", to_text(policy), "' cannot multiply a ", to_text(t.format), t.transposed ? " matrix transposed" : " matrix",
                            t.deterministic ? " repeatably" : ""),
                     concat("possible here: ", possible));
}

std::string to_text(Kernel kernel) { return kernel_names[static_cast<std::size_t>(kernel)]; }

std::string to_text(Format format) { return format_names[static_cast<std::size_t>(format)]; }

std::string to_text(const Policy& p)
{
    std::string text = to_text(p.kernel);
    if (p.kernel == Kernel::rows) text += concat(", ", p.lanes, p.lanes == 1 ? " lane" : " lanes");
    if (p.copy) text += ", on a copy by rows";
    return text;
}

Kernel parse_kernel(std::string_view name)
{
    const auto found = std::find(kernel_names.begin(), kernel_names.end(), name);
    require<ValueError>(found != kernel_names.end(), [&] { return concat("there is no SpMV kernel '", name, "'"); },
                        "one of rows, split, scatter, entries, blocks");
    return static_cast<Kernel>(found - kernel_names.begin());
}

}  // namespace tulle::spmv
