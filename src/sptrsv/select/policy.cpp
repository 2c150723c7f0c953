// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A solve is latency: levels one after the other, each a hop between multiprocessors and a little arithmetic, unless
// there is so much data that reading it takes longer.
#include "tulle/sptrsv.hpp"

#include <algorithm>
#include <tuple>

#include "base/math.hpp"
#include "base/plural.hpp"
#include "sptrsv/schedule/schedule.hpp"
#include "sptrsv/steps.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// GPU, seconds: fitted by hand to solves of 18 triangles on an H200 (docs/design/sptrsv.md, "The model").
constexpr double start = 4e-6;         // a launch, and the first and last task
constexpr double row_level = 0.50e-6;  // rows alone: a hop, a sum over lanes
constexpr double row_task = 1.5e-9;
constexpr double team_level = 0.57e-6;  // a cluster by four warps
constexpr double team_task = 5.5e-9;
constexpr double warp_level = 1.1e-6;         // a cluster by one warp …
constexpr double warp_level_entry = 0.03e-6;  // … and for each entry of a mean row, because it takes them alone
constexpr double warp_task = 2.5e-9;
constexpr double shallow = 20;  // tasks in a level, below which few warps are enough: fewer disturb each other less
constexpr double least_nearness = 0.5;
constexpr double cluster_entry =
    5e-9;  // of the analysis on the host, for each entry: 2 to 4 measured on most of ten, 8 on scircuit
constexpr double cluster_start = 0.9e-3;  // … and for copies and threads
constexpr double narrow_entry =
    6e-9;  // … where levels are narrow, so that there are few nodes: half of it measured; now and then threads stop
constexpr double narrow_start = 0.35e-3;
constexpr double cluster_gain =
    0.2;  // of a solve, that clusters of the host save beside chains or rows alone: 0 to 0.4 on eight wide graphs …
          // … measured, 0 to 0.6 on seven narrow ones by the model below
constexpr double cluster_rows = 32;
constexpr double chain_level = 2e-6;  // of the analysis, that chains cost beside rows alone, for each level

// One block or cluster: predicted from hops of 70 ns in a multiprocessor and 150 ns in a cluster; measured to take 1.5
// to 4 times as long (Limits::execution_scopes).
constexpr double block_level = 0.20e-6;
constexpr double block_bandwidth = 70e9;  // bytes a second into one multiprocessor
constexpr double cluster_level = 0.35e-6;
constexpr double cluster_block_bandwidth = 62.5e9;  // … and into each of a cluster
constexpr double entry_bytes = 12;
constexpr double dense_bytes =
    16;  // of a cluster's matrices, for each pair of its rows: its own and as many late columns
constexpr std::size_t static_shared =
    13 * 1024;  // of a block's shared memory is not for unknowns: sums of its threads, tickets

// Levels: a sweep of the host for each entry and row, measured, features included; a level that is wide beside that;
// levels and tasks by the host, about.
constexpr double host_level_entry = 1.7e-9, host_level_row = 10e-9;
constexpr double wide_level = 0.85e-6;
constexpr double host_entry = 4e-9, host_row = 20e-9;
constexpr double there_level = 0.13e-6;  // of a GPU's sweep where levels are narrow, measured (pwtk, teko_nsjac); up to
                                         // 0.8 µs where they are not, which are few

// CPU, seconds: an entry of rows in their own order, and in the order of levels, where neighbours are far apart.
constexpr double cpu_entry = 1.5e-9;
constexpr double cpu_level_entry = 1.8e-9;
constexpr double worthwhile_gain =
    1.3;  // that levels must promise: waits come at the worst moment, and a prediction is no measurement

// Levels too small to be shared belong to one thread, as plan_threads() decides; here all are taken to be of the mean
// size.
double predict_levels(const Features& f, const Limits& limits)
{
    const bool shared = f.level_mean >= static_cast<double>(entries_worth_sharing) * limits.threads;
    return static_cast<double>(f.nonzeros) * cpu_level_entry / (shared ? limits.threads : 1) +
           f.levels * limits.handover;
}

double tasks_per_level(const MergeEstimate& o) { return static_cast<double>(o.tasks) / std::max<index_t>(1, o.levels); }

Policy scheme_for(const MergeEstimate& o, int team)
{
    const bool few = tasks_per_level(o) < shallow;
    const int warps = o.merge == Merge::none ? (few ? 4 : 16) : team == 1 ? 8 : few ? 4 : 12;
    return {.kernel = Kernel::tasks, .merge = o.merge, .rows = o.rows, .team = team, .warps = warps};
}

// The schemes an estimate allows, the whole GPU's first.
std::vector<Policy> schemes_for(const Features& f, const MergeEstimate& o, const Limits& limits)
{
    std::vector<Policy> all;
    for (const int team : {1, 4})
        if (o.merge != Merge::none || team == 1) all.push_back(scheme_for(o, team));
    if (!limits.execution_scopes) return all;
    for (const ExecutionScope execution_scope : {ExecutionScope::block, ExecutionScope::cluster}) {
        Policy s = scheme_for(o, o.merge == Merge::none ? 1 : 4);
        s.execution_scope = execution_scope;
        s.warps = most_warps_in_block(s.team, o.merge != Merge::none);
        s.blocks = std::min(s.blocks, limits.cluster_blocks);
        if (works(s, limits) && fits(s, f.rows, sizeof(double), limits)) all.push_back(s);
    }
    return all;
}

std::string reason(const Features& f, const MergeEstimate& o, const Policy& s)
{
    std::string why = o.merge == Merge::none ? concat(f.levels, " levels; clusters would not pay")
                                             : concat(o.merge == Merge::chains ? "chains leave " : "clusters leave ",
                                                      o.levels, " of ", f.levels, " levels");
    if (s.execution_scope != ExecutionScope::device)
        why += concat(", narrow enough for one ", to_text(s.execution_scope));
    return why;
}

void check_regime(const Policy& s, const Limits& limits)
{
    if (s.execution_scope == ExecutionScope::device) return;
    const int most = most_warps_in_block(s.team, s.merge != Merge::none);
    require<ValueError>(s.kernel == Kernel::tasks,
                        [&] { return concat("the kernel '", to_text(s.kernel), "' works on the whole GPU"); });
    require<ValueError>(
        s.warps <= most && s.warps % s.team == 0,
        [&] { return concat("a block of ", s.warps, " warps in teams of ", s.team); },
        concat("up to ", most, ", whole teams"));
    if (s.execution_scope == ExecutionScope::block) return;
    require<ValueError>(limits.cluster_blocks > 1, "this GPU has no clusters of blocks");
    require<ValueError>(
        is_power_of_two(s.blocks) && s.blocks > 1 && s.blocks <= limits.cluster_blocks,
        [&] { return concat("a cluster of ", s.blocks, " blocks"); }, concat("2, 4, … ", limits.cluster_blocks));
}

Choice choose_cpu(const Features& f, const Limits& limits)
{
    const double alone = static_cast<double>(f.nonzeros) * cpu_entry, shared = predict_levels(f, limits);
    if (limits.threads > 1 && shared * worthwhile_gain < alone)
        return {{.kernel = Kernel::levels},
                shared,
                concat(f.nonzeros, " entries in ", f.levels,
                       plural(f.levels, " level are worth ", " levels are worth "), limits.threads, " threads")};
    Limits idle = limits;
    idle.handover = Limits{}.handover;
    const bool busy = limits.threads > 1 && predict_levels(f, idle) * worthwhile_gain < alone;
    return {{.kernel = Kernel::serial},
            alone,
            limits.threads == 1 ? "one thread"
            : busy ? concat("the machine is busy: threads wait ", fixed(limits.handover * 1e6, 0), " us for each other")
                   : concat(f.levels, plural(f.levels, " level of ", " levels of "), fixed(f.level_mean, 1),
                            " entries each are too small to be shared")};
}

std::string number(int n) { return n == unlimited ? "unlimited" : std::to_string(n); }

}  // namespace

double predict_seconds(const Features& f, const MergeEstimate& o, int team)
{
    const auto levels = static_cast<double>(o.levels), tasks = static_cast<double>(o.tasks);
    if (o.merge == Merge::none) return start + levels * row_level + tasks * row_task;
    if (team > 1) return start + levels * team_level + tasks * team_task;
    return start + levels * (warp_level + warp_level_entry * f.row_mean) + tasks * warp_task;
}

double predict_seconds(const Features& f, const MergeEstimate& o, const Policy& s)
{
    if (s.execution_scope == ExecutionScope::device) return predict_seconds(f, o, s.team);
    const double dense = o.merge == Merge::none ? 0 : static_cast<double>(o.tasks) * o.rows * o.rows * dense_bytes;
    const double bytes = static_cast<double>(f.nonzeros) * entry_bytes + dense;
    const double bandwidth =
        s.execution_scope == ExecutionScope::block ? block_bandwidth : s.blocks * cluster_block_bandwidth;
    return start + o.levels * (s.execution_scope == ExecutionScope::block ? block_level : cluster_level) +
           bytes / bandwidth;
}

int blocks_of(const Policy& s) { return s.execution_scope == ExecutionScope::cluster ? s.blocks : 1; }

offset_t unknowns_of_a_block(const Policy& s, index_t rows)
{
    return round_up(offset_t{rows}, offset_t{32} * blocks_of(s)) / blocks_of(s);
}

bool fits(const Policy& s, index_t rows, std::size_t value_bytes, const Limits& limits)
{
    return s.execution_scope == ExecutionScope::device ||
           static_cast<std::size_t>(unknowns_of_a_block(s, rows)) * value_bytes + static_shared <= limits.block_bytes;
}

bool favours_neighbours(const Features& features) { return features.dependency_nearness >= least_nearness; }

bool clusters_pay(const Features& f, double expected_calls)
{
    return expected_calls * f.levels * row_level > static_cast<double>(f.nonzeros) * cluster_entry;
}

bool chains_pay(double expected_calls) { return expected_calls * row_level > chain_level; }

bool has_wide_levels(const Features& f)
{
    return f.levels * wide_level <= static_cast<double>(f.nonzeros) * host_level_entry + f.rows * host_level_row;
}

bool host_merge_pays(const Features& f, index_t levels, double seconds, double expected_calls)
{
    const double most_gain = 1 - f.levels / cluster_rows / std::max<index_t>(1, levels);  // no cluster is longer
    const bool wide = has_wide_levels(f);
    const double costs =
        (wide ? cluster_start : narrow_start) + static_cast<double>(f.nonzeros) * (wide ? cluster_entry : narrow_entry);
    return expected_calls * seconds * std::min(cluster_gain, most_gain) > costs;
}

index_t most_levels_there(index_t rows, offset_t nonzeros)
{
    const double on_host = static_cast<double>(nonzeros) * host_entry + rows * host_row;
    return static_cast<index_t>(std::min<double>(on_host / there_level, most_levels_swept(rows)));
}

Choice choose(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& limits)
{
    if (limits.backend == Backend::cpu) return choose_cpu(features, limits);
    require<ValueError>(!estimates.empty(), "nothing to choose from");
    Choice best;
    for (const MergeEstimate& o : estimates)
        for (const Policy& s : schemes_for(features, o, limits)) {
            const double seconds = predict_seconds(features, o, s);
            if (best.seconds == 0 || seconds < best.seconds) best = {s, seconds, reason(features, o, s)};
        }
    return best;
}

std::vector<Policy> candidates(const Limits& limits)
{
    if (limits.backend == Backend::cpu) {
        if (limits.threads == 1) return {{.kernel = Kernel::serial}};
        return {{.kernel = Kernel::serial},
                {.kernel = Kernel::levels},
                {.kernel = Kernel::levels, .merge = Merge::critical, .rows = 256}};
    }
    std::vector<Policy> all;
    for (const int team : {4, 1})
        for (const int rows : {32, 16, 8})
            all.push_back({.kernel = Kernel::tasks, .merge = Merge::critical, .rows = rows, .team = team, .warps = 8});
    for (const int warps : {4, 16}) all.push_back({.kernel = Kernel::tasks, .merge = Merge::none, .warps = warps});
    for (const int team : {4, 1})
        all.push_back({.kernel = Kernel::tasks, .merge = Merge::fixed, .rows = 32, .team = team, .warps = 8});
    for (const int team : {4, 1})
        all.push_back({.kernel = Kernel::tasks, .merge = Merge::chains, .rows = 32, .team = team, .warps = 8});
    all.push_back({.kernel = Kernel::tasks, .merge = Merge::none, .team = 4, .warps = 16});
    all.push_back({.kernel = Kernel::tasks, .merge = Merge::none, .reorder = true, .warps = 16});
    all.push_back({.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 32, .reorder = true, .warps = 4});
    for (const ExecutionScope execution_scope : {ExecutionScope::block, ExecutionScope::cluster}) {
        if (execution_scope == ExecutionScope::cluster && limits.cluster_blocks < 2) continue;
        for (const Merge merge : {Merge::critical, Merge::none})
            all.push_back({.kernel = Kernel::tasks,
                           .merge = merge,
                           .rows = merge == Merge::none ? 1 : 32,
                           .team = merge == Merge::none ? 1 : 4,
                           .warps = merge == Merge::none ? 16 : 12,
                           .execution_scope = execution_scope,
                           .blocks = std::min(Policy{}.blocks, limits.cluster_blocks)});
    }
    return all;
}

std::vector<Policy> paper_schemes()
{
    std::vector<Policy> variants;  // Prepare: n_g, sw_rnnz, n_w
    for (const int warps : {2, 8, 16})
        for (int subwarps = 1; subwarps <= 32; subwarps *= 2) {
            variants.push_back({.kernel = Kernel::groups, .warps = warps, .subwarps = subwarps, .share_above = 0});
            variants.push_back(
                {.kernel = Kernel::groups, .warps = warps, .subwarps = subwarps, .share_above = unlimited});
            for (int limit = 1; limit <= 32 / subwarps; limit *= 2)
                variants.push_back(
                    {.kernel = Kernel::groups, .warps = warps, .subwarps = subwarps, .share_above = limit});
        }
    std::vector<Policy> transformed;  // Transform: merging, reordering
    for (Policy s : variants)
        for (const bool reorder : {false, true})
            for (int n = 1; n <= 32; n *= 2)
                for (const Merge merge : {Merge::fixed, Merge::average, Merge::threshold}) {
                    s.reorder = reorder;
                    s.merge = merge;
                    s.rows = merge == Merge::fixed ? n : 32;
                    s.limit = merge == Merge::fixed ? 0 : n;
                    transformed.push_back(s);
                }
    std::vector<Policy> all;  // Schedule: rg_, ws_, alpha_level
    for (Policy s : transformed)
        for (const Grouping grouping : {Grouping::sequential, Grouping::balance})
            for (const WarpSchedule order : {WarpSchedule::round_robin, WarpSchedule::balance, WarpSchedule::locality})
                for (const int alpha : {0, 2, 4, 8, unlimited}) {
                    s.grouping = grouping;
                    s.order = order;
                    s.alpha = alpha;
                    all.push_back(s);
                }
    return all;
}

std::vector<Policy> reduced_schemes()
{
    std::vector<Policy> all;
    for (const WarpSchedule order :
         {WarpSchedule::ticket, WarpSchedule::round_robin, WarpSchedule::balance, WarpSchedule::locality})
        for (const int subwarps : {1, 4, 8})
            for (const int warps : {8, 16})
                for (const auto& [merge, rows, limit] : {std::tuple{Merge::fixed, 1, 0},
                                                         {Merge::fixed, 4, 0},
                                                         {Merge::average, 32, 8},
                                                         {Merge::threshold, 32, 8}})
                    for (const int alpha : {unlimited, 2})
                        all.push_back({.kernel = Kernel::groups,
                                       .merge = merge,
                                       .rows = rows,
                                       .limit = limit,
                                       .warps = warps,
                                       .subwarps = subwarps,
                                       .share_above = 4,
                                       .order = order,
                                       .alpha = alpha});
    return all;
}

void check_policy(const Policy& s, const Limits& limits)
{
    const bool for_cpu = s.kernel == Kernel::serial || s.kernel == Kernel::levels;
    require<ValueError>(
        for_cpu == (limits.backend == Backend::cpu),
        [&] { return concat("the kernel '", to_text(s.kernel), "' is not for this backend"); },
        limits.backend == Backend::cpu ? "serial, levels" : "tasks, groups");
    const int longest = s.kernel == Kernel::levels ? 4096 : most_rows;
    require<ValueError>(
        s.rows >= 1 && s.rows <= longest, [&] { return concat("nodes of ", s.rows, " rows"); },
        concat("1 to ", longest));
    require<ValueError>(s.kernel != Kernel::levels || s.merge == Merge::none || s.merge == Merge::critical ||
                            s.merge == Merge::fixed,
                        "the CPU merges rows along the critical path, or a fixed number", "none, critical, fixed");
    require<ValueError>(
        s.warps >= 1 && s.warps <= 64, [&] { return concat(s.warps, " warps on a multiprocessor"); }, "1 to 64");
    if (s.kernel == Kernel::groups) {
        require<ValueError>(s.merge != Merge::critical && s.merge != Merge::chains && s.merge != Merge::none,
                            "the paper's kernels need nodes of consecutive rows",
                            "merge_fixed, merge_avg, merge_thresh");
        require<ValueError>(
            s.warps <= 16, [&] { return concat("blocks of ", s.warps, " warps"); }, "1 to 16");
        require<ValueError>(
            is_power_of_two(s.subwarps) && s.subwarps <= 32, [&] { return concat(s.subwarps, " subwarps"); },
            "1, 2, 4, 8, 16, 32");
        require<ValueError>(s.alpha >= unlimited && s.share_above >= unlimited,
                            "alpha_level and sw_rnnz are not negative, or unlimited");
    }
    require<ValueError>(
        s.team == 1 || s.team == 4, [&] { return concat("teams of ", s.team, " warps"); }, "1 or 4");
    require<ValueError>(
        s.kernel != Kernel::tasks || s.limit <= 256,
        [&] { return concat("clusters of rows of up to ", s.limit, " entries"); }, "up to 256");
    require<ValueError>(s.limit >= 0, [&] { return concat("rows of at most ", s.limit, " entries"); });
    check_regime(s, limits);
}

bool works(const Policy& scheme, const Limits& limits)
{
    try {
        check_policy(scheme, limits);
        return true;
    } catch (const ValueError&) {
        return false;
    }
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
    case Merge::chains: return "chains";
    }
    return "?";
}

std::string to_text(ExecutionScope execution_scope)
{
    switch (execution_scope) {
    case ExecutionScope::device: return "whole GPU";
    case ExecutionScope::block: return "block";
    case ExecutionScope::cluster: return "cluster";
    }
    return "?";
}

std::string to_text(const Policy& s)
{
    const bool on_cpu = s.kernel == Kernel::serial || s.kernel == Kernel::levels;
    if (on_cpu && s.merge == Merge::none) return to_text(s.kernel);
    std::string text = concat(to_text(s.kernel), ", ", to_text(s.merge));
    if (s.merge != Merge::none) text += concat(" of up to ", s.rows, " rows");
    if (on_cpu) return text;
    if (s.merge == Merge::average || s.merge == Merge::threshold) text += concat(" with ", s.limit, " entries");
    text += concat(", ", s.warps, " warps");
    if (s.team > 1) text += concat(" in teams of ", s.team);
    if (s.execution_scope == ExecutionScope::block) text += ", in one block";
    if (s.execution_scope == ExecutionScope::cluster) text += concat(", in one cluster of ", s.blocks, " blocks");
    if (s.reorder) text += ", reordered";
    if (s.kernel == Kernel::groups)
        text += concat(", n_g ", s.subwarps, ", sw_rnnz ", number(s.share_above),
                       s.grouping == Grouping::balance ? ", rg_balance" : ", rg_sequential",
                       s.order == WarpSchedule::ticket        ? ", ticket"
                       : s.order == WarpSchedule::round_robin ? ", ws_rr"
                       : s.order == WarpSchedule::balance     ? ", ws_balance"
                                                              : ", ws_locality",
                       ", alpha ", number(s.alpha));
    return text;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
