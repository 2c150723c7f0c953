// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Policies: those that are worth trying, the paper's, and how they and features are written. What is written for models
// and files reads back as the same, what is not understood is refused.
#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "tulle/error.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

std::string number(int n) { return n == unlimited ? "unlimited" : std::to_string(n); }

template <class E, std::size_t N>
struct Names {
    std::string_view key;
    E Policy::*member;
    std::array<std::string_view, N> name;  // in the order of the enumerators
};
constexpr Names<Kernel, 4> kernels{"kernel", &Policy::kernel, {"serial", "levels", "tasks", "groups"}};
constexpr Names<Merge, 6> merges{"merge",
                                 &Policy::merge,
                                 {"none", "critical", "fixed", "average", "threshold", "chains"}};
constexpr Names<Grouping, 2> groupings{"grouping", &Policy::grouping, {"sequential", "balance"}};
constexpr Names<WarpSchedule, 4> orders{"order", &Policy::order, {"ticket", "round_robin", "balance", "locality"}};

constexpr Names<ExecutionScope, 3> execution_scopes{"execution_scope",
                                                    &Policy::execution_scope,
                                                    {"device", "block", "cluster"}};
// Keys in files written before the first release, and what they are called now.
constexpr std::pair<std::string_view, std::string_view> older_keys[] = {{"regime", "execution_scope"},
                                                                        {"team", "warps_per_task"}};

constexpr std::pair<std::string_view, int Policy::*> numbers[] = {
    {"rows", &Policy::rows},   {"limit", &Policy::limit},       {"warps_per_task", &Policy::warps_per_task},
    {"warps", &Policy::warps}, {"subwarps", &Policy::subwarps}, {"share_above", &Policy::share_above},
    {"alpha", &Policy::alpha}, {"blocks", &Policy::blocks}};

template <class E, std::size_t N>
void write_name(const Names<E, N>& names, const Policy& s, std::string& line)
{
    if (s.*names.member != Policy{}.*names.member)
        line += concat(" ", names.key, "=", names.name[static_cast<std::size_t>(s.*names.member)]);
}

template <class E, std::size_t N>
bool read_name(const Names<E, N>& names, std::string_view key, std::string_view value, Policy& s)
{
    if (key != names.key) return false;
    for (std::size_t k = 0; k < N; ++k)
        if (names.name[k] == value) {
            s.*names.member = static_cast<E>(k);
            return true;
        }
    return false;
}

std::string_view key_of(std::string_view written)
{
    for (const auto& [older, key] : older_keys)
        if (written == older) return key;
    return written;
}

bool read_number(std::string_view key, std::string_view value, Policy& s)
{
    int number = 0;
    const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (fault != std::errc{} || end != value.data() + value.size()) return false;
    for (const auto& [name, member] : numbers)
        if (name == key) {
            s.*member = number;
            return true;
        }
    if (key != "reorder" || (number != 0 && number != 1)) return false;
    s.reorder = number == 1;
    return true;
}

}  // namespace

std::vector<Policy> candidates(const Limits& limits)
{
    if (limits.backend == Backend::cpu) {
        if (limits.threads == 1) return {{.kernel = Kernel::serial}};
        return {{.kernel = Kernel::serial},
                {.kernel = Kernel::levels},
                {.kernel = Kernel::levels, .merge = Merge::critical, .rows = 256}};
    }
    std::vector<Policy> all;
    for (const int warps_per_task : {4, 1})
        for (const int rows : {32, 16, 8})
            all.push_back({.kernel = Kernel::tasks,
                           .merge = Merge::critical,
                           .rows = rows,
                           .warps_per_task = warps_per_task,
                           .warps = 8});
    for (const int warps : {4, 16}) all.push_back({.kernel = Kernel::tasks, .merge = Merge::none, .warps = warps});
    for (const int warps_per_task : {4, 1})
        all.push_back(
            {.kernel = Kernel::tasks, .merge = Merge::fixed, .rows = 32, .warps_per_task = warps_per_task, .warps = 8});
    for (const int warps_per_task : {4, 1})
        all.push_back({.kernel = Kernel::tasks,
                       .merge = Merge::chains,
                       .rows = 32,
                       .warps_per_task = warps_per_task,
                       .warps = 8});
    all.push_back({.kernel = Kernel::tasks, .merge = Merge::none, .warps_per_task = 4, .warps = 16});
    all.push_back({.kernel = Kernel::tasks, .merge = Merge::none, .reorder = true, .warps = 16});
    all.push_back({.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 32, .reorder = true, .warps = 4});
    for (const ExecutionScope execution_scope : {ExecutionScope::block, ExecutionScope::cluster}) {
        if (execution_scope == ExecutionScope::cluster && limits.cluster_blocks < 2) continue;
        for (const Merge merge : {Merge::critical, Merge::none})
            all.push_back({.kernel = Kernel::tasks,
                           .merge = merge,
                           .rows = merge == Merge::none ? 1 : 32,
                           .warps_per_task = merge == Merge::none ? 1 : 4,
                           .warps = merge == Merge::none ? 16 : 12,
                           .execution_scope = execution_scope,
                           .blocks = std::min(Policy{}.blocks, limits.cluster_blocks)});
    }
    return all;
}

std::vector<Policy> ag_sptrsv_policies()
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

std::vector<Policy> ag_sptrsv_reduced_policies()
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
    case Merge::none: return "single rows";
    case Merge::critical: return "critical-path nodes";
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
    if (s.warps_per_task > 1) text += concat(" in warp groups of ", s.warps_per_task);
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

std::string to_line(const Policy& s)
{
    std::string line = concat("kernel=", kernels.name[static_cast<std::size_t>(s.kernel)]);
    write_name(merges, s, line);
    for (const auto& [name, member] : numbers)
        if (s.*member != Policy{}.*member) line += concat(" ", name, "=", s.*member);
    if (s.reorder) line += " reorder=1";
    write_name(groupings, s, line);
    write_name(orders, s, line);
    write_name(execution_scopes, s, line);
    return line;
}

std::optional<Policy> parse_policy(std::string_view line)
{
    if (!line.starts_with("kernel=")) return std::nullopt;
    Policy s;
    while (!line.empty()) {
        const std::string_view word = line.substr(0, line.find(' '));
        line.remove_prefix(std::min(word.size() + 1, line.size()));
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        const std::string_view written = word.substr(0, equals), value = word.substr(equals + 1);
        const std::string_view key = key_of(written);
        const bool understood = read_name(kernels, key, value, s) || read_name(merges, key, value, s) ||
                                read_name(groupings, key, value, s) || read_name(orders, key, value, s) ||
                                read_name(execution_scopes, key, value, s) || read_number(key, value, s);
        if (!understood) return std::nullopt;
    }
    return s;
}

const std::vector<std::string>& feature_names()
{
    static const std::vector<std::string> names{"rows",          "nonzeros",   "row_mean",      "row_longest",
                                                "row_variation", "level_mean", "level_longest", "level_variation",
                                                "levels",        "nearness"};
    return names;
}

double feature(const Features& f, std::string_view name)
{
    const double values[] = {static_cast<double>(f.rows),
                             static_cast<double>(f.nonzeros),
                             f.row_mean,
                             f.row_longest,
                             f.row_variation,
                             f.level_mean,
                             f.level_longest,
                             f.level_variation,
                             static_cast<double>(f.levels),
                             f.dependency_nearness};
    for (std::size_t k = 0; k < feature_names().size(); ++k)
        if (feature_names()[k] == name) return values[k];
    throw ValueError(concat("a triangle has no feature '", name, "'"));
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
