// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which policy. A solve is latency: levels one after the other, each a transfer between multiprocessors and a little
// arithmetic, unless there is so much data that reading it takes longer. The costs below predict it; learned models may
// know better.
#include "sptrsv/steps.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/math.hpp"
#include "base/plural.hpp"
#include "model/embedded.hpp"
#include "tulle/context.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// GPU, seconds: fitted by hand to solves of 18 triangles on an H200 (docs/design/sptrsv.md, "The model").
constexpr double start = 4e-6;         // a launch, and the first and last task
constexpr double row_level = 0.50e-6;  // rows alone: a hop, a sum over lanes
constexpr double row_task = 1.5e-9;
constexpr double team_level = 0.57e-6;  // a merged node by four warps
constexpr double team_task = 5.5e-9;
constexpr double warp_level = 1.1e-6;         // a merged node by one warp …
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
    0.2;  // of a solve, that merged nodes of the host save beside chains or rows alone: 0 to 0.4 on eight wide graphs …
          // … measured, 0 to 0.6 on seven narrow ones by the model below
constexpr double cluster_rows = 32;
constexpr double chain_level = 2e-6;  // of the analysis, that chains cost beside rows alone, for each level

// Many right-hand sides, up to 32 at once: rows alone fitted to solves of 18 triangles on an H200; tasks of warp groups
// predicted (docs/design/sptrsv.md, "Many right-hand sides").
constexpr double many_level = 0.57e-6;
constexpr double many_entry = 3e-12;     // for each side: 256 bytes of an entry's 32 come from the L2
constexpr double bundle_level = 1.1e-6;  // a merged node by four warps for eight sides
constexpr double bundle_task = 10e-9;    // for each eight sides
constexpr int bundle_warps = 8;          // on a multiprocessor: registers allow no more

// One block or cluster: predicted from hops of 70 ns in a multiprocessor and 150 ns in a cluster; measured to take 1.5
// to 4 times as long (Limits::execution_scopes).
constexpr double block_level = 0.20e-6;
constexpr double block_bandwidth = 70e9;  // bytes a second into one multiprocessor
constexpr double cluster_level = 0.35e-6;
constexpr double cluster_block_bandwidth = 62.5e9;  // … and into each of a cluster
constexpr double entry_bytes = 12;
constexpr double dense_bytes =
    16;  // of a merged node's matrices, for each pair of its rows: its own and as many late columns
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
constexpr double level_unevenness = 0.3e-6;  // threads that have more to do than others, in a level; fitted by hand to
                                             // 16 threads (docs/experiments/sptrsv.md)
constexpr double quick_sync = 0.25e-6;       // of an idle machine; where that would pay, it is measured
constexpr double worthwhile_gain =
    1.3;  // that levels must promise: waits come at the worst moment, and a prediction is no measurement

// All levels are taken to be of the mean size; plan_threads() decides by the size of each. Nodes are not divided, so
// that a level takes at least as long as a large one.
double predict_levels(const Features& f, const MergeEstimate& e, const Limits& limits)
{
    const offset_t levels = std::max<index_t>(1, e.levels), mean = f.nonzeros / levels, width = e.tasks / levels;
    const auto sharers = std::clamp<offset_t>(width, 1, sharers_of(mean, limits.threads, entries_worth_sharing));
    const double work = static_cast<double>(f.nonzeros) * cpu_level_entry / static_cast<double>(sharers);
    const double nodes = e.levels * (e.rows * f.row_mean * cpu_entry);
    const double wait = level_unevenness + limits.sync_latency * std::max(1.0, std::log2(limits.threads) / 2);
    return std::max(work, nodes) + e.levels * wait;
}

// Rows alone, or merged where an estimate promises less.
struct SharedLevels {
    Policy policy;
    double seconds;
    index_t levels;
};
SharedLevels cheapest_levels(const Features& f, const std::vector<MergeEstimate>& estimates, const Limits& limits)
{
    SharedLevels best{{.kernel = Kernel::levels},
                      predict_levels(f, {Merge::none, 1, f.levels, f.rows}, limits),
                      f.levels};
    for (const MergeEstimate& e : estimates)
        if (const double seconds = predict_levels(f, e, limits); e.merge == Merge::critical && seconds < best.seconds)
            best = {{.kernel = Kernel::levels, .merge = e.merge, .rows = e.rows}, seconds, e.levels};
    return best;
}

double tasks_per_level(const MergeEstimate& o) { return static_cast<double>(o.tasks) / std::max<index_t>(1, o.levels); }

Policy scheme_for(const MergeEstimate& o, int warps_per_task)
{
    const bool few = tasks_per_level(o) < shallow;
    const int warps = o.merge == Merge::none ? (few ? 4 : 16) : warps_per_task == 1 ? 8 : few ? 4 : 12;
    return {
        .kernel = Kernel::tasks, .merge = o.merge, .rows = o.rows, .warps_per_task = warps_per_task, .warps = warps};
}

// The schemes an estimate allows, the whole GPU's first.
std::vector<Policy> schemes_for(const Features& f, const MergeEstimate& o, const Limits& limits)
{
    std::vector<Policy> all;
    for (const int warps_per_task : {1, 4})
        if (o.merge != Merge::none || warps_per_task == 1) all.push_back(scheme_for(o, warps_per_task));
    if (!limits.execution_scopes) return all;
    for (const ExecutionScope execution_scope : {ExecutionScope::block, ExecutionScope::cluster}) {
        Policy s = scheme_for(o, o.merge == Merge::none ? 1 : 4);
        s.execution_scope = execution_scope;
        s.warps = most_warps_in_block(s.warps_per_task, o.merge != Merge::none);
        s.blocks = std::min(s.blocks, limits.cluster_blocks);
        if (works(s, limits) && fits(s, f.rows, sizeof(double), limits)) all.push_back(s);
    }
    return all;
}

// Tasks of a bundle: nodes share them where a level has more rows than 32 for each of the bundle's warp groups.
double tasks_of_bundle(const Features& f, const MergeEstimate& o, int bundles, const Limits& limits)
{
    const int teams = limits.multiprocessors * bundle_warps / (most_team * bundles);
    return std::min(static_cast<double>(o.tasks), static_cast<double>(o.levels) * teams + f.rows / cluster_rows);
}

// So many right-hand sides at once with an estimate's nodes: by warp groups where rows were merged.
double predict_many(const Features& f, const MergeEstimate& o, index_t sides, const Limits& limits)
{
    const auto levels = static_cast<double>(o.levels);
    if (o.merge == Merge::none)
        return start + levels * many_level + static_cast<double>(f.nonzeros) * many_entry * static_cast<double>(sides);
    return start + levels * bundle_level +
           tasks_of_bundle(f, o, bundles_for(sides), limits) * bundle_task * bundles_for(sides);
}

Policy scheme_for_many(const MergeEstimate& o)
{
    Policy s = scheme_for(o, o.merge == Merge::none ? 1 : most_team);
    if (o.merge != Merge::none) s.warps = std::min(s.warps, bundle_warps);
    return s;
}

std::string reason(const Features& f, const MergeEstimate& o, const Policy& s)
{
    std::string why = o.merge == Merge::none
                          ? concat(f.levels, " levels; merging rows would not pay")
                          : concat(o.merge == Merge::chains ? "chains leave " : "merged nodes leave ", o.levels, " of ",
                                   f.levels, " levels");
    if (s.execution_scope != ExecutionScope::device)
        why += concat(", narrow enough for one ", to_text(s.execution_scope));
    return why;
}

void check_execution_scope(const Policy& s, const Limits& limits)
{
    if (s.execution_scope == ExecutionScope::device) return;
    const int most = most_warps_in_block(s.warps_per_task, s.merge != Merge::none);
    require<ValueError>(s.kernel == Kernel::tasks,
                        [&] { return concat("the kernel '", to_text(s.kernel), "' works on the whole GPU"); });
    require<ValueError>(
        s.warps <= most && s.warps % s.warps_per_task == 0,
        [&] { return concat("a block of ", s.warps, " warps in warp groups of ", s.warps_per_task); },
        concat("up to ", most, ", whole warp groups"));
    if (s.execution_scope == ExecutionScope::block) return;
    require<ValueError>(limits.cluster_blocks > 1, "this GPU has no clusters of blocks");
    require<ValueError>(
        is_power_of_two(s.blocks) && s.blocks > 1 && s.blocks <= limits.cluster_blocks,
        [&] { return concat("a cluster of ", s.blocks, " blocks"); }, concat("2, 4, … ", limits.cluster_blocks));
}

Choice choose_cpu(const Features& f, const std::vector<MergeEstimate>& estimates, const Limits& limits)
{
    const double alone = static_cast<double>(f.nonzeros) * cpu_entry;
    const SharedLevels shared = cheapest_levels(f, estimates, limits);
    if (limits.threads > 1 && shared.seconds * worthwhile_gain < alone)
        return {shared.policy, shared.seconds,
                concat(f.nonzeros, " entries in ", shared.levels,
                       plural(shared.levels, " level are worth ", " levels are worth "), limits.threads, " threads")};
    Limits idle = limits;
    idle.sync_latency = Limits{}.sync_latency;
    const bool busy = limits.threads > 1 && cheapest_levels(f, estimates, idle).seconds * worthwhile_gain < alone;
    return {{.kernel = Kernel::serial},
            alone,
            limits.threads == 1 ? "one thread"
            : busy              ? concat("the machine is busy: threads wait ", fixed(limits.sync_latency * 1e6, 1),
                                         " us for each other")
                   : concat(f.levels, plural(f.levels, " level of ", " levels of "), fixed(f.level_mean, 1),
                            " entries each are too small to be shared")};
}

constexpr std::string_view no_model = "none";

using Model = std::shared_ptr<const Learned>;

Model parse_built_in(std::string_view name)
{
    const std::string_view text = model::embedded(name);
    return text.empty() ? nullptr : std::make_shared<const Learned>(model::Perceptron::parse(text, name));
}

// There is one for a GPU, and one that was learned from nothing but nodes that a GPU finds by itself; none for CPUs.
// Null if this build does not have it.
enum class About { cpu, cuda, cuda_there };
Model built_in(About about)
{
    if (about == About::cpu) return nullptr;  // parsing the others takes as long as a small solve
    static const Model cuda = parse_built_in("sptrsv_cuda"), cuda_there = parse_built_in("sptrsv_cuda_there");
    return about == About::cuda ? cuda : cuda_there;
}

// The caller's, or the one built in; null if there is none, or none is wanted.
Model model_for(const Options& options, About about)
{
    if (options.model == no_model) return nullptr;
    return options.model.empty() ? built_in(about)
                                 : std::make_shared<const Learned>(model::Perceptron::load(options.model));
}

struct Judged {
    Policy policy;
    double worth;  // 0 to 1; from a half on it is thought to be good enough
};
constexpr double good_enough = 0.5;

// Those that work within the limits.
std::vector<Judged> judge(const Features& features, const Learned& learned, const Limits& limits)
{
    std::vector<double> values;
    for (const std::string& name : learned.model.features()) values.push_back(feature(features, name));
    const std::vector<double> worth = learned.model.judge(values);
    std::vector<Judged> all;
    for (std::size_t k = 0; k < worth.size(); ++k)
        if (const std::optional<Policy>& scheme = learned.schemes[k];
            scheme && works(*scheme, limits) && fits(*scheme, features.rows, sizeof(double), limits))
            all.push_back({*scheme, worth[k]});
    return all;
}

// Schemes that differ in the number of warps alone are taken for one.
bool is_like(const Policy& a, Policy b)
{
    b.warps = a.warps;
    return a == b;
}

bool was_looked_at(const Policy& s, const std::vector<MergeEstimate>& looked_at)
{
    return std::any_of(looked_at.begin(), looked_at.end(), [&](const MergeEstimate& o) {
        return o.merge == s.merge && (s.merge == Merge::none || o.rows == s.rows);
    });
}

std::string device_of(const Context& ctx)
{
    return ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const GpuInfo& gpu : cuda_devices())
                if (gpu.device == q.device) return gpu.name;
        (void)q;
        return ctx.name();
    });
}

}  // namespace

double predict_seconds(const Features& f, const MergeEstimate& o, int warps_per_task)
{
    const auto levels = static_cast<double>(o.levels), tasks = static_cast<double>(o.tasks);
    if (o.merge == Merge::none) return start + levels * row_level + tasks * row_task;
    if (warps_per_task > 1) return start + levels * team_level + tasks * team_task;
    return start + levels * (warp_level + warp_level_entry * f.row_mean) + tasks * warp_task;
}

double predict_seconds(const Features& f, const MergeEstimate& o, const Policy& s)
{
    if (s.execution_scope == ExecutionScope::device) return predict_seconds(f, o, s.warps_per_task);
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

bool depends_on_neighbours(const Features& features) { return features.dependency_nearness >= least_nearness; }

bool merges_pay_on_cpu(const Features& f, const Limits& limits, double expected_calls)
{
    const double shared = static_cast<double>(f.nonzeros) * cpu_level_entry / limits.threads,
                 cost = static_cast<double>(f.nonzeros) * host_entry + f.rows * host_row;
    return limits.threads > 1 && f.levels * quick_sync > shared &&
           expected_calls * static_cast<double>(f.nonzeros) * cpu_entry > 10 * cost;
}

bool critical_merge_pays(const Features& f, double expected_calls)
{
    return expected_calls * f.levels * row_level > static_cast<double>(f.nonzeros) * cluster_entry;
}

bool chain_merge_pays(double expected_calls) { return expected_calls * row_level > chain_level; }

bool has_wide_levels(const Features& f)
{
    return f.levels * wide_level <= static_cast<double>(f.nonzeros) * host_level_entry + f.rows * host_level_row;
}

bool host_merge_pays(const Features& f, index_t levels, double seconds, double expected_calls)
{
    const double most_gain = 1 - f.levels / cluster_rows / std::max<index_t>(1, levels);  // no merged node is longer
    const bool wide = has_wide_levels(f);
    const double costs =
        (wide ? cluster_start : narrow_start) + static_cast<double>(f.nonzeros) * (wide ? cluster_entry : narrow_entry);
    return expected_calls * seconds * std::min(cluster_gain, most_gain) > costs;
}

index_t most_levels_on_device(index_t rows, offset_t nonzeros)
{
    const double on_host = static_cast<double>(nonzeros) * host_entry + rows * host_row;
    return static_cast<index_t>(std::min<double>(on_host / there_level, most_levels_swept(rows)));
}

Choice choose(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& limits)
{
    if (limits.backend == Backend::cpu) return choose_cpu(features, estimates, limits);
    require<ValueError>(!estimates.empty(), "nothing to choose from");
    Choice best;
    for (const MergeEstimate& o : estimates)
        for (const Policy& s : schemes_for(features, o, limits)) {
            const double seconds = predict_seconds(features, o, s);
            if (best.seconds == 0 || seconds < best.seconds) best = {s, seconds, reason(features, o, s)};
        }
    return best;
}

Choice choose_many(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& limits,
                   index_t sides)
{
    require<ValueError>(!estimates.empty(), "nothing to choose from");
    const index_t at_once = std::min(sides, sides_at_once);
    Choice best;
    for (const MergeEstimate& o : estimates) {
        const double seconds =
            predict_many(features, o, at_once, limits) * static_cast<double>(ceil_div(sides, sides_at_once));
        const Policy s = scheme_for_many(o);
        if (best.seconds == 0 || seconds < best.seconds)
            best = {s, seconds, concat(reason(features, o, s), ", for ", sides, " right-hand sides")};
    }
    return best;
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
        s.warps_per_task == 1 || s.warps_per_task == 4,
        [&] { return concat("warp groups of ", s.warps_per_task, " warps"); }, "1 or 4");
    require<ValueError>(
        s.kernel != Kernel::tasks || s.limit <= 256,
        [&] { return concat("nodes of rows of up to ", s.limit, " entries"); }, "up to 256");
    require<ValueError>(s.limit >= 0, [&] { return concat("rows of at most ", s.limit, " entries"); });
    check_execution_scope(s, limits);
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

CacheKey key_of(const Context& ctx, AnalysisState& known, std::string_view type)
{
    return {fingerprint(ctx.host(), pattern_on_host(ctx, known), known.unit_diagonal), device_of(ctx),
            std::string(type)};
}

Learned::Learned(model::Perceptron perceptron) : model(std::move(perceptron))
{
    for (const std::string& line : model.outputs()) schemes.push_back(parse_policy(line));
}

std::optional<Choice> choose_learned(const Features& features, const Learned& learned, const Limits& limits)
{
    const std::vector<Judged> judged = judge(features, learned, limits);
    if (judged.empty()) return std::nullopt;
    const Judged& best = *std::max_element(judged.begin(), judged.end(),
                                           [](const Judged& a, const Judged& b) { return a.worth < b.worth; });
    return Choice{best.policy, 0,
                  concat("the learned model judges it ", fixed(best.worth, 2), ", the most of ", judged.size(),
                         " schemes")};
}

Choice overrule(const Choice& predicted, const Features& features, const Learned& learned, const Limits& limits,
                const std::vector<MergeEstimate>& looked_at)
{
    double most = 0, most_like = 0;
    Policy best;
    for (const Judged& one : judge(features, learned, limits)) {
        if (is_like(predicted.policy, one.policy)) most_like = std::max(most_like, one.worth);
        if (one.worth <= most || !was_looked_at(one.policy, looked_at)) continue;
        most = one.worth;
        best = one.policy;
    }
    if (most_like >= good_enough || most < good_enough) return predicted;
    return {best, 0,
            concat("the learned model judges it ", fixed(most, 2), ", and ", fixed(most_like, 2),
                   " what was predicted to be the fastest: ", to_text(predicted.policy))};
}

namespace {

index_t fewest_levels(const AnalysisState& known)
{
    index_t fewest = known.features.levels;
    for (const MergeEstimate& o : known.estimates) fewest = std::min(fewest, o.levels);
    return fewest;
}

// For several right-hand sides on a GPU. Models know solves for one alone.
Choice select_many(const Context& ctx, const Options& options, const Limits& limits, AnalysisState& known)
{
    if (known.wide) {
        look_at_chains(ctx, limits, options.expected_calls, known);
        const Choice there = choose_many(known.features, known.estimates, limits, options.right_hand_sides);
        if (!host_merge_pays(known.features, fewest_levels(known), there.seconds, options.expected_calls)) return there;
    }
    evaluate_merges(ctx, limits, options.expected_calls, known);
    return choose_many(known.features, known.estimates, limits, options.right_hand_sides);
}

}  // namespace

Selection select(const Context& ctx, const Options& options, const Limits& limits, std::string_view type,
                 AnalysisState& known)
{
    const trace::Phase phase{"select"};
    if (options.force) return {.choice = {*options.force, 0, "asked for by the caller"}, .settled = true};
    Selection selected;
    if (!options.cache.empty()) {
        selected.key = key_of(ctx, known, type);
        const Remembered found = recall(options.cache, selected.key, limits);
        if (found.policy)
            return {.choice = {*found.policy, found.seconds, "the fastest of an earlier search"},
                    .settled = true,
                    .key = selected.key,
                    .note = "remembered"};
        selected.note = found.note.empty() ? "nothing remembered" : found.note;
    }
    if (limits.backend == Backend::cuda && options.right_hand_sides > 1) {
        selected.choice = select_many(ctx, options, limits, known);
        return selected;
    }
    if (known.wide) {
        look_at_chains(ctx, limits, options.expected_calls, known);
        selected.choice = choose(known.features, known.estimates, limits);
        if (!host_merge_pays(known.features, fewest_levels(known), selected.choice.seconds, options.expected_calls)) {
            if (const Model model = model_for(options, About::cuda_there))
                selected.choice = overrule(selected.choice, known.features, *model, limits, known.estimates);
            return selected;
        }
    }
    const bool may_cluster =
        limits.backend == Backend::cpu || critical_merge_pays(known.features, options.expected_calls);
    if (const Model model =
            may_cluster ? model_for(options, limits.backend == Backend::cpu ? About::cpu : About::cuda) : nullptr)
        if (const std::optional<Choice> learned = choose_learned(known.features, *model, limits)) {
            selected.choice = *learned;
            return selected;
        }
    evaluate_merges(ctx, limits, options.expected_calls, known);
    Limits now = limits;
    now.sync_latency = std::min(limits.sync_latency, quick_sync);
    selected.choice = choose(known.features, known.estimates, now);
    if (selected.choice.policy.kernel == Kernel::levels) {  // the same bits, but not on a machine that others use
        now.sync_latency = measure_sync_latency(limits.threads);
        selected.choice = choose(known.features, known.estimates, now);
    }
    return selected;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
