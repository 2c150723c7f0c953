// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one triangle: take it from a matrix, solve once in long double as the reference, let every contender prepare (our analysis beside
// the yardstick's), check each result, then time those that are right, in turn. A solve includes whatever a caller pays every time.
#include "bench/sptrsv.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/build.hpp"
#include "bench/machine.hpp"
#include "bench/race.hpp"
#include "bench/yardsticks/sptrsv.hpp"
#include "tulle/base/text.hpp"
#include "tulle/device/info.hpp"
#include "tulle/sptrsv/sptrsv.hpp"

namespace tulle::bench {
namespace {

template <class V>
Contender our_sptrsv(SptrsvProblem<V>& problem, const std::string& name, const sptrsv::Options& options)
{
    auto plan = std::make_shared<std::optional<sptrsv::Plan<V>>>();
    return {name, Role::ours,
            [plan, options, &problem] {
                *plan = sptrsv::Plan<V>::make(problem.ctx, problem.a, options);
                return Prepared{concat((*plan)->levels(), " of ", (*plan)->features().levels, " levels: ", sptrsv::to_text((*plan)->scheme())), (*plan)->bytes()};
            },
            [plan, &problem] { (*plan)->solve(V(1), problem.b_view(), problem.x_view()); },
            [plan, &problem] {
                (*plan)->wait();
                return problem.download_x();
            }};
}

template <class V>
std::vector<Contender> contenders_for(SptrsvProblem<V>& problem, const SptrsvOptions& options)
{
    const auto wanted = [&](const char* name) { return std::count(options.against.begin(), options.against.end(), name) > 0; };
    std::vector<Contender> all{our_sptrsv(problem, "tulle", {.right_hand_sides = problem.sides})};
    if (problem.ctx.backend() == Backend::cuda)
        all.push_back(our_sptrsv(problem, "tulle, entries arranged on the GPU", {.right_hand_sides = problem.sides, .analysis = sptrsv::Analysis::device}));
    const sptrsv::Limits limits{.backend = problem.ctx.backend(), .threads = problem.ctx.host().threads};
    if (options.all_schemes)
        for (const sptrsv::Scheme& scheme : sptrsv::candidates(limits))
            all.push_back(our_sptrsv(problem, concat("tulle ", sptrsv::to_text(scheme)), {.right_hand_sides = problem.sides, .force = scheme}));
    if constexpr (has_eigen)
        if (problem.ctx.backend() == Backend::cpu && wanted("eigen")) append(all, eigen_sptrsv(problem));
    if constexpr (has_cusparse)
        if (problem.ctx.backend() == Backend::cuda && wanted("cusparse")) append(all, cusparse_sptrsv(problem));
    all.push_back(reading(problem.ctx, problem.compulsory_bytes()));
    return all;
}

template <class V>
std::vector<MatrixResult> race(const Context& ctx, const Case& which, const SptrsvOptions& options, double memory_bandwidth)
{
    SptrsvProblem<V> problem(ctx, load<V>(Context::cpu(), which), options.right_hand_sides);
    const SptrsvReference<V> reference(problem);
    MatrixResult result{options.right_hand_sides == 1 ? "sptrsv" : concat("sptrsm ", options.right_hand_sides), which.name, problem.host.rows, problem.host.cols, problem.host.nonzeros(),
                        options.type, ctx.backend() == Backend::cpu ? "cpu" : "cuda", device_name(ctx), problem.compulsory_bytes(), memory_bandwidth};
    race_contenders(ctx, contenders_for(problem, options), options.wish, result, [&](const Contender& contender) {
        return enter(ctx, contender, [&] { problem.poison_x(); }, [&](const std::vector<double>& x) { return reference.worst_share(x); });
    });
    return {std::move(result)};
}

}  // namespace

int bench_sptrsv(const SptrsvOptions& options)
{
    Report report(options.json, options.quiet);
    for (const std::string& name : options.against)
        require<ValueError>(name == "eigen" || name == "cusparse", [&] { return concat("there is no yardstick '", name, "'"); }, "eigen, cusparse");
    return race_all(options, "triangles", report, [&](const Context& ctx, const Case& which, double bandwidth) {
        return options.type == "f32" ? race<float>(ctx, which, options, bandwidth) : race<double>(ctx, which, options, bandwidth);
    });
}

}  // namespace tulle::bench
