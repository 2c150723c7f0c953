// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One line for each scheme on each triangle: its features, the scheme, the seconds of a solve, and whether it is the
// one the library predicts to be best. Each lower triangle is solved as it is and transposed: that turns its graph
// round. Results are not checked here; the races and the tests do that.
#include <algorithm>

#include "bench/operations/collect_runs.hpp"
#include "bench/operations/sptrsv_problem.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::bench {
namespace {

std::vector<sptrsv::Policy> schemes_for(const Context& ctx, bool paper, const sptrsv::Policy& predicted)
{
    std::vector<sptrsv::Policy> all = sptrsv::candidates(sptrsv::limits_of(ctx));
    if (paper && ctx.backend() == Backend::cuda)
        for (const sptrsv::Policy& s : sptrsv::ag_sptrsv_reduced_policies()) all.push_back(s);
    if (std::find(all.begin(), all.end(), predicted) == all.end()) all.push_back(predicted);
    return all;
}

Json features_of(const sptrsv::Features& features)
{
    Json all;
    for (const std::string& name : sptrsv::feature_names()) all[name] = sptrsv::feature(features, name);
    return all;
}

// All schemes on one triangle, or on the same one transposed.
void collect(const Context& ctx, const SptrsvProblem<double>& problem, tulle::Op op, bool paper, const Lines& lines)
{
    sptrsv::Options options{.op = op, .seconds = 20, .checked = false, .model = "none"};
    const auto plan = sptrsv::Plan<double>::make(ctx, problem.a, options);
    for (const sptrsv::Trial& trial :
         sptrsv::try_policies<double>(ctx, problem.a, options, schemes_for(ctx, paper, plan.policy())))
        lines.add({op == tulle::Op::none ? "lower" : "lower transposed",
                   features_of(plan.features()),
                   sptrsv::to_line(trial.policy),
                   trial.solve_seconds,
                   trial.policy == plan.policy(),
                   {{"prepare_seconds", trial.prepare_seconds}, {"levels", trial.levels}}});
}

}  // namespace

int collect_sptrsv(const CollectOptions& options)
{
    return collect_runs(options, [&](const Context& ctx, const Case& which, const Lines& lines) {
        const SptrsvProblem<double> problem(ctx, load<double>(Context::cpu(), which), 1);
        for (const tulle::Op op : {tulle::Op::none, tulle::Op::transpose})
            collect(ctx, problem, op, options.paper, lines);
    });
}

}  // namespace tulle::bench
