// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one matrix and one number of columns: let every contender prepare, check some rows of each result, then
// time those that are right, in turn.
#include "bench/operations/sddmm.hpp"

#include <memory>
#include <optional>

#include "bench/baselines/sddmm.hpp"
#include "bench/build.hpp"
#include "bench/harness/comparison.hpp"
#include "tulle/sddmm.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

template <class V>
Contender our_sddmm(SddmmProblem<V>& problem, const std::string& name, std::optional<sddmm::Policy> force)
{
    using Plan = sddmm::Plan<V, typename SddmmProblem<V>::Result>;
    auto plan = std::make_shared<std::optional<Plan>>();
    return {name,
            Role::ours,
            [plan, force, &problem] {
                *plan = Plan::make(problem.ctx, problem.a, {.k = problem.k, .force = force});
                return Prepared{sddmm::to_text((*plan)->policy()), (*plan)->bytes()};
            },
            [plan, &problem] { (*plan)->run(problem.x, problem.y, problem.c.span()); },
            [&problem] { return problem.download(); },
            true};
}

template <class V>
std::vector<Contender> contenders_for(SddmmProblem<V>& problem, const SddmmOptions& options)
{
    const auto wanted = [&](const char* name) { return is_among(options.against, name); };
    const Backend backend = problem.ctx.backend();
    std::vector<Contender> all{our_sddmm(problem, "tulle", std::nullopt)};
    for (const sddmm::Policy& p : sddmm::candidates(backend))
        if (const std::string name = sddmm::to_text(p); !p.stored && is_named(name, options.policies))
            all.push_back(our_sddmm(problem, concat("tulle ", name), p));
    if (backend == Backend::cpu && wanted("plain")) append(all, plain_sddmm(problem));
    if constexpr (has_cusparse)
        if (backend == Backend::cuda && wanted("cusparse")) append(all, cusparse_sddmm(problem));
    return all;
}

template <class V>
std::vector<MatrixResult> comparison(const Context& ctx, const Case& which, const SddmmOptions& options,
                                     double memory_bandwidth)
{
    const Csr<float> matrix = load<float>(Context::cpu(), which);
    std::vector<MatrixResult> results;
    for (const index_t k : options.columns) {
        SddmmProblem<V> problem(ctx, matrix, k);
        MatrixResult result = make_result(ctx, concat("sddmm ", k), which, problem.host, options.type,
                                          problem.compulsory_bytes(), memory_bandwidth);
        race_contenders(ctx, contenders_for(problem, options), options.wish, result, [&](const Contender& contender) {
            return enter(
                ctx, contender, [&] { problem.poison(); },
                [&](const std::vector<double>& c) { return problem.worst_share(c); });
        });
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace

int bench_sddmm(const SddmmOptions& options)
{
    Report report(options.json, options.quiet);
    for (const std::string& name : options.against)
        require<ValueError>(
            name == "plain" || name == "cusparse", [&] { return concat("there is no baseline '", name, "'"); },
            "plain, cusparse");
    return race_all(options, "quick", report, [&](const Context& ctx, const Case& which, double bandwidth) {
        if (options.type == "f16") return comparison<Float16>(ctx, which, options, bandwidth);
        if (options.type == "bf16") return comparison<Bfloat16>(ctx, which, options, bandwidth);
        return options.type == "f64" ? comparison<double>(ctx, which, options, bandwidth)
                                     : comparison<float>(ctx, which, options, bandwidth);
    });
}

}  // namespace tulle::bench
