// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A solve is latency: levels one after the other, each a hop between multiprocessors and a little arithmetic, unless there is so much data that
// reading it takes longer.
#include "tulle/sptrsv/policy.hpp"

#include <algorithm>

#include "tulle/base/error.hpp"
#include "tulle/base/math.hpp"
#include "tulle/base/text.hpp"

namespace tulle::sptrsv {
namespace {

// GPU, seconds: reasoned from hop costs measured on an H200 (a number that is its own flag: 236 ns between multiprocessors).
constexpr double start = 5e-6;                     // a launch, and the first and last task
constexpr double row_level = 0.40e-6;
constexpr double cluster_level = 0.50e-6;
constexpr double bytes_per_second = 2.0e12;        // entries read in steps of 32, unknowns gathered
constexpr double entry_bytes = 20;                 // column, value, and a share of the unknown's line
constexpr double cluster_row_bytes = 400;          // of the matrices of a cluster, per row
constexpr double levels_ahead = 16;                // tasks of this many levels are on their way at once

// CPU, seconds.
constexpr double cpu_entry = 1.2e-9;
constexpr double cpu_wait = 0.6e-6;                // of a level shared by threads

double predict_cpu(const Features& f, int threads) { return static_cast<double>(f.nonzeros) * cpu_entry / threads + f.levels * (threads > 1 ? cpu_wait : 0); }

int warps_for(const Features&, const Outlook& o, const Limits& limits)
{
    const double tasks_per_level = static_cast<double>(o.nodes) / std::max<index_t>(1, o.levels);
    const double wanted = tasks_per_level * levels_ahead / limits.multiprocessors;
    const int warps = power_of_two_from(std::clamp(static_cast<int>(wanted), 1, 32));
    return std::clamp(warps, 4, o.merge == Merge::none ? 32 : 8);
}

Choice choose_cpu(const Features& f, const Limits& limits)
{
    const double alone = predict_cpu(f, 1), shared = predict_cpu(f, limits.threads);
    if (limits.threads > 1 && shared < alone)
        return {{.kernel = Kernel::levels}, shared, concat(f.nonzeros, " entries in ", f.levels, " levels are worth ", limits.threads, " threads")};
    return {{.kernel = Kernel::serial}, alone,
            limits.threads == 1 ? "one thread" : concat(f.levels, " levels of ", fixed(f.level_mean, 0), " entries each are too small to be shared")};
}

std::string number(int n) { return n == unlimited ? "unlimited" : std::to_string(n); }

}  // namespace

double predict_seconds(const Features& f, const Outlook& o, const Limits& limits)
{
    if (limits.backend == Backend::cpu) return std::min(predict_cpu(f, 1), predict_cpu(f, limits.threads));
    const bool clusters = o.merge != Merge::none;
    const double bytes = static_cast<double>(f.nonzeros) * entry_bytes + (clusters ? f.rows * cluster_row_bytes : 0.0);
    return start + o.levels * (clusters ? cluster_level : row_level) + bytes / bytes_per_second;
}

Choice choose(const Features& features, const std::vector<Outlook>& outlooks, const Limits& limits)
{
    if (limits.backend == Backend::cpu) return choose_cpu(features, limits);
    require<ValueError>(!outlooks.empty(), "nothing to choose from");
    const auto faster = [&](const Outlook& x, const Outlook& y) { return predict_seconds(features, x, limits) < predict_seconds(features, y, limits); };
    const Outlook best = *std::min_element(outlooks.begin(), outlooks.end(), faster);
    Scheme scheme{.kernel = Kernel::tasks, .merge = best.merge, .rows = best.rows, .warps = warps_for(features, best, limits)};
    const std::string why = best.merge == Merge::none ? concat(features.levels, " levels; clusters would not pay")
                                                      : concat("clusters leave ", best.levels, " of ", features.levels, " levels");
    return {scheme, predict_seconds(features, best, limits), why};
}

std::vector<Scheme> candidates(const Limits& limits)
{
    if (limits.backend == Backend::cpu) {
        if (limits.threads == 1) return {{.kernel = Kernel::serial}};
        return {{.kernel = Kernel::serial}, {.kernel = Kernel::levels}};
    }
    std::vector<Scheme> all;
    for (const int team : {4, 1})
        for (const int rows : {32, 16, 8}) all.push_back({.kernel = Kernel::tasks, .merge = Merge::critical, .rows = rows, .team = team, .warps = 8});
    for (const int warps : {4, 16}) all.push_back({.kernel = Kernel::tasks, .merge = Merge::none, .warps = warps});
    for (const int team : {4, 1}) all.push_back({.kernel = Kernel::tasks, .merge = Merge::fixed, .rows = 32, .team = team, .warps = 8});
    all.push_back({.kernel = Kernel::tasks, .merge = Merge::none, .team = 4, .warps = 16});
    all.push_back({.kernel = Kernel::tasks, .merge = Merge::none, .reorder = true, .warps = 16});
    all.push_back({.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 32, .reorder = true, .warps = 4});
    return all;
}

void check_scheme(const Scheme& s, const Limits& limits)
{
    const bool for_cpu = s.kernel == Kernel::serial || s.kernel == Kernel::levels;
    require<ValueError>(for_cpu == (limits.backend == Backend::cpu), [&] { return concat("the kernel '", to_text(s.kernel), "' is not for this backend"); },
                        limits.backend == Backend::cpu ? "serial, levels" : "tasks, groups");
    require<ValueError>(s.rows >= 1 && s.rows <= 32, [&] { return concat("nodes of ", s.rows, " rows"); }, "1 to 32");
    require<ValueError>(s.warps >= 1 && s.warps <= 64, [&] { return concat(s.warps, " warps on a multiprocessor"); }, "1 to 64");
    require<ValueError>(s.team == 1 || s.team == 4, [&] { return concat("teams of ", s.team, " warps"); }, "1 or 4");
    require<ValueError>(s.limit >= 0, [&] { return concat("rows of at most ", s.limit, " entries"); });
}

std::string to_text(Kernel kernel)
{
    switch (kernel) {
    case Kernel::serial: return "serial";
    case Kernel::levels: return "levels";
    case Kernel::tasks: return "tasks";
    case Kernel::groups: return "groups";
    }
    return "?";
}

std::string to_text(Merge merge)
{
    switch (merge) {
    case Merge::none: return "rows alone";
    case Merge::critical: return "critical clusters";
    case Merge::fixed: return "merge_fixed";
    case Merge::average: return "merge_avg";
    case Merge::threshold: return "merge_thresh";
    }
    return "?";
}

std::string to_text(const Scheme& s)
{
    if (s.kernel == Kernel::serial || s.kernel == Kernel::levels) return to_text(s.kernel);
    std::string text = concat(to_text(s.kernel), ", ", to_text(s.merge));
    if (s.merge != Merge::none) text += concat(" of up to ", s.rows, " rows");
    if (s.merge == Merge::average || s.merge == Merge::threshold) text += concat(" with ", s.limit, " entries");
    text += concat(", ", s.warps, " warps");
    if (s.team > 1) text += concat(" in teams of ", s.team);
    if (s.reorder) text += ", reordered";
    if (s.kernel == Kernel::groups)
        text += concat(", n_g ", s.subwarps, ", sw_rnnz ", number(s.share_above), s.grouping == Grouping::balance ? ", rg_balance" : ", rg_sequential",
                       s.order == Warps::ticket ? ", ticket" : s.order == Warps::round_robin ? ", ws_rr" : s.order == Warps::balance ? ", ws_balance" : ", ws_locality",
                       ", alpha ", number(s.alpha));
    return text;
}

}  // namespace tulle::sptrsv
