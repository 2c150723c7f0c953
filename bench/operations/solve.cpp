// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one system: every contender sets up, its residual is computed in long double, and those that reach the
// tolerance are timed in turn. Setup is the time of preparation, a run is one solve from x = 0.
#include "bench/operations/solve.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/baselines/solve.hpp"
#include "bench/build.hpp"
#include "bench/harness/comparison.hpp"
#include "tulle/solve.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

Contender our_solve(SolveProblem& problem, const std::string& name, const solve::Recipe& recipe)
{
    auto plan = std::make_shared<std::optional<solve::Plan<double>>>();
    return {name,
            Role::ours,
            [plan, recipe, &problem] {
                *plan = solve::Plan<double>::make(problem.ctx, problem.a.view(), recipe);
                const solve::Recipe& r = (*plan)->policy();
                return Prepared{concat(to_text(*r.method), ", ", to_text(*r.preconditioner)), (*plan)->bytes()};
            },
            [plan, &problem] { (*plan)->solve(problem.b.span(), problem.x.span()); },
            [&problem] { return problem.download_x(); },
            true,
            [plan, &problem] { (*plan)->update_values(problem.a.view()); }};
}

std::vector<Contender> contenders_for(SolveProblem& problem, const SolveOptions& options, bool symmetric)
{
    const solve::Recipe plain{.stop = {.relative = options.tolerance},
                              .graphs = options.graphs == "never" ? solve::Graphs::never : solve::Graphs::automatic};
    std::vector<Contender> all{our_solve(problem, "tulle", plain)};
    for (const std::string& text : options.preconditioners) {
        solve::Recipe recipe = plain;
        recipe.preconditioner = solve::parse_preconditioner(text);
        all.push_back(our_solve(problem, concat("tulle ", text), recipe));
    }
    const bool on_cpu = problem.ctx.backend() == Backend::cpu;
    if constexpr (has_eigen)
        if (on_cpu && is_among(options.against, "eigen")) append(all, eigen_solve(problem, symmetric));
    if constexpr (has_cusparse)
        if (!on_cpu && is_among(options.against, "cusparse")) append(all, cusparse_solve(problem, symmetric));
    return all;
}

std::vector<MatrixResult> comparison(const Context& ctx, const Case& which, const SolveOptions& options,
                                     double memory_bandwidth)
{
    SolveProblem problem(ctx, load<double>(Context::cpu(), which), options.tolerance);
    const solve::Recipe look{.method = solve::Method::cg, .preconditioner = solve::None{}};
    const bool symmetric = solve::Plan<double>::make(ctx, problem.a.view(), look).features().symmetric;
    MatrixResult result = make_result(ctx, "solve", which, problem.host, "f64",
                                      problem.host.bytes() + problem.b.bytes() + problem.x.bytes(), memory_bandwidth);
    race_contenders(ctx, contenders_for(problem, options, symmetric), options.wish, result,
                    [&](const Contender& contender) {
                        return enter(
                            ctx, contender, [&] { problem.x = problem.constant(-1); },
                            [&](const std::vector<double>& x) { return problem.worst_share(x); });
                    });
    return {std::move(result)};
}

}  // namespace

int bench_solve(const SolveOptions& options)
{
    Report report(options.json, options.quiet);
    for (const std::string& name : options.against)
        require<ValueError>(
            name == "eigen" || name == "cusparse", [&] { return concat("there is no baseline '", name, "'"); },
            "eigen, cusparse");
    return race_all(options, "quick", report, [&](const Context& ctx, const Case& which, double bandwidth) {
        return comparison(ctx, which, options, bandwidth);
    });
}

}  // namespace tulle::bench
