// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one triangle: take it from a matrix, solve once in long double as the reference, let every contender
// prepare (our analysis and the baseline's), check each result, then time those that are right, in turn. A solve
// includes whatever a caller pays every time.
#include "bench/operations/sptrsv.hpp"

#include <iterator>
#include <memory>
#include <optional>

#include "bench/baselines/sptrsv.hpp"
#include "bench/build.hpp"
#include "bench/harness/comparison.hpp"
#include "tulle/context.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

template <class V>
Contender our_sptrsv(SptrsvProblem<V>& problem, const std::string& name, const sptrsv::Options& options)
{
    auto plan = std::make_shared<std::optional<sptrsv::Plan<V>>>();
    return {name,
            Role::ours,
            [plan, options, &problem] {
                *plan = sptrsv::Plan<V>::make(problem.ctx, problem.a, options);
                return Prepared{concat((*plan)->levels(), " of ", (*plan)->features().levels,
                                       " levels: ", sptrsv::to_text((*plan)->policy())),
                                (*plan)->bytes()};
            },
            [plan, &problem] { (*plan)->solve(V(1), problem.b_view(), problem.x_view()); },
            [plan, &problem] {
                (*plan)->wait();
                return problem.download_x();
            },
            true,
            [plan, &problem] { (*plan)->update_values(problem.a); }};
}

// What each idea adds: a step may use its own schemes and those of all steps before it.
struct AblationStep {
    const char* name;
    bool (*is_new)(const sptrsv::Policy&);
};
constexpr AblationStep ablation_steps[] = {
    {"the paper's schemes", [](const sptrsv::Policy& s) { return s.kernel == sptrsv::Kernel::groups; }},
    {"+ the number is its own flag",
     [](const sptrsv::Policy& s) {
         return s.kernel == sptrsv::Kernel::tasks && s.merge == sptrsv::Merge::none && s.warps_per_task == 1 &&
                s.execution_scope == sptrsv::ExecutionScope::device;
     }},
    {"+ clusters",
     [](const sptrsv::Policy& s) {
         return s.kernel == sptrsv::Kernel::tasks && s.merge != sptrsv::Merge::none && s.warps_per_task == 1 &&
                s.execution_scope == sptrsv::ExecutionScope::device;
     }},
    {"+ teams",
     [](const sptrsv::Policy& s) {
         return s.kernel == sptrsv::Kernel::tasks && s.warps_per_task > 1 &&
                s.execution_scope == sptrsv::ExecutionScope::device;
     }},
    {"+ regimes", [](const sptrsv::Policy& s) { return s.execution_scope != sptrsv::ExecutionScope::device; }},
};
constexpr double ablation_seconds = 2;  // for trying the schemes of a step

// The fastest scheme of each step, tried beforehand, races under the step's name.
template <class V>
void add_ablation(SptrsvProblem<V>& problem, std::vector<sptrsv::Policy> schemes, std::vector<Contender>& all)
{
    for (const sptrsv::Policy& s : sptrsv::ag_sptrsv_reduced_policies()) schemes.push_back(s);
    std::optional<sptrsv::Trial> best;
    for (const AblationStep& step : ablation_steps) {
        std::vector<sptrsv::Policy> added;
        std::copy_if(schemes.begin(), schemes.end(), std::back_inserter(added), step.is_new);
        const auto trials =
            sptrsv::try_policies<V>(problem.ctx, problem.a, {.seconds = ablation_seconds, .checked = false}, added);
        if (!trials.empty() && (!best || trials.front().solve_seconds < best->solve_seconds)) best = trials.front();
        if (best)
            all.push_back(our_sptrsv(problem, concat("ablation: ", step.name),
                                     {.right_hand_sides = problem.sides, .force = best->policy}));
    }
}

// The schemes asked for.
template <class V>
void add_policies(SptrsvProblem<V>& problem, const std::vector<std::string>& policies, std::vector<Contender>& all)
{
    const sptrsv::Limits limits = sptrsv::limits_of(problem.ctx);
    std::vector<sptrsv::Policy> candidates = sptrsv::candidates(limits);
    std::erase_if(candidates,
                  [&](const sptrsv::Policy& s) { return !sptrsv::fits(s, problem.host.rows, sizeof(V), limits); });
    std::vector<std::string> parts;
    for (const std::string& wanted : policies) {
        if (wanted == "ablation" && problem.ctx.backend() == Backend::cuda) add_ablation(problem, candidates, all);
        else if (wanted.starts_with("kernel=")) {
            const std::optional<sptrsv::Policy> scheme = sptrsv::parse_policy(wanted);
            require<ValueError>(
                scheme.has_value(), [&] { return concat("'", wanted, "' is no scheme"); },
                "\"kernel=tasks merge=critical rows=32 warps_per_task=4 warps=8\"");
            all.push_back(our_sptrsv(problem, concat("tulle ", sptrsv::to_text(*scheme)),
                                     {.right_hand_sides = problem.sides, .force = *scheme}));
        } else if (wanted != "ablation") parts.push_back(wanted);
    }
    for (const sptrsv::Policy& s : candidates)
        if (is_named(sptrsv::to_text(s), parts))
            all.push_back(our_sptrsv(problem, concat("tulle ", sptrsv::to_text(s)),
                                     {.right_hand_sides = problem.sides, .force = s}));
}

template <class V>
std::vector<Contender> contenders_for(SptrsvProblem<V>& problem, const SptrsvOptions& options)
{
    const auto wanted = [&](const char* name) { return is_among(options.against, name); };
    std::vector<Contender> all{our_sptrsv(problem, "tulle", {.right_hand_sides = problem.sides})};
    if (problem.ctx.backend() == Backend::cuda)
        all.push_back(our_sptrsv(problem, "tulle, analysed on the host",
                                 {.right_hand_sides = problem.sides, .analysis = sptrsv::Analysis::host}));
    add_policies(problem, options.policies, all);
    if constexpr (has_eigen)
        if (problem.ctx.backend() == Backend::cpu && wanted("eigen")) append(all, eigen_sptrsv(problem));
    if constexpr (has_mkl)
        if (problem.ctx.backend() == Backend::cpu && wanted("mkl")) append(all, mkl_sptrsv(problem));
    if constexpr (has_cusparse)
        if (problem.ctx.backend() == Backend::cuda && wanted("cusparse")) append(all, cusparse_sptrsv(problem));
    all.push_back(reading(problem.ctx, problem.compulsory_bytes()));
    return all;
}

template <class V>
std::vector<MatrixResult> comparison(const Context& ctx, const Case& which, const SptrsvOptions& options,
                                     double memory_bandwidth)
{
    SptrsvProblem<V> problem(ctx, load<V>(Context::cpu(), which), options.right_hand_sides);
    const SptrsvReference<V> reference(problem);
    MatrixResult result =
        make_result(ctx, options.right_hand_sides == 1 ? "sptrsv" : concat("sptrsm ", options.right_hand_sides), which,
                    problem.host, options.type, problem.compulsory_bytes(), memory_bandwidth);
    race_contenders(ctx, contenders_for(problem, options), options.wish, result, [&](const Contender& contender) {
        return enter(
            ctx, contender, [&] { problem.poison_x(); },
            [&](const std::vector<double>& x) { return reference.worst_share(x); });
    });
    return {std::move(result)};
}

}  // namespace

int bench_sptrsv(const SptrsvOptions& options)
{
    Report report(options.json, options.quiet);
    for (const std::string& name : options.against)
        require<ValueError>(
            name == "eigen" || name == "mkl" || name == "cusparse",
            [&] { return concat("there is no baseline '", name, "'"); }, "eigen, mkl, cusparse");
    return race_all(options, "triangles", report, [&](const Context& ctx, const Case& which, double bandwidth) {
        return options.type == "f32" ? comparison<float>(ctx, which, options, bandwidth)
                                     : comparison<double>(ctx, which, options, bandwidth);
    });
}

}  // namespace tulle::bench
