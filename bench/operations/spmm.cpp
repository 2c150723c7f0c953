// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one matrix and one number of columns: load it, round it to its type, let every contender prepare, check
// some rows of each result, then time those that are right, in turn.
#include "bench/operations/spmm.hpp"

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "bench/baselines/spmm.hpp"
#include "bench/build.hpp"
#include "bench/harness/comparison.hpp"
#include "tulle/spmm.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

constexpr double bench_calls = 1000;  // of the tables in docs/benchmarks.md

template <class V>
Contender our_spmm(SpmmProblem<V>& problem, const std::string& name, std::optional<spmm::Policy> force,
                   bool scaled = true)
{
    using Plan = spmm::Plan<V, typename SpmmProblem<V>::Result>;
    auto plan = std::make_shared<std::optional<Plan>>();
    return {name,
            Role::ours,
            [plan, force, scaled, &problem] {
                *plan = Plan::make(problem.ctx, problem.a,
                                   {.n = problem.n,
                                    .math = problem.tf32 ? spmm::Math::tf32 : spmm::Math::exact,
                                    .expected_calls = bench_calls,
                                    .force = force,
                                    .row_scale =
                                        scaled ? std::as_const(problem.row_scale).span() : std::span<const float>()});
                return Prepared{spmm::to_text((*plan)->policy()), (*plan)->bytes()};
            },
            [plan, &problem] { (*plan)->run(problem.b, problem.c); },
            [scaled, &problem] { return problem.download(scaled); },
            true};
}

template <class V>
std::vector<Contender> contenders_for(SpmmProblem<V>& problem, const SpmmOptions& options)
{
    const auto wanted = [&](const char* name) { return is_among(options.against, name); };
    std::vector<Contender> all{our_spmm(problem, "tulle", std::nullopt)};
    if (!problem.row_scale.empty()) all.push_back(our_spmm(problem, "tulle without factors", std::nullopt, false));
    const spmm::Features features{.rows = problem.a.rows,
                                  .cols = problem.a.cols,
                                  .nonzeros = problem.a.nonzeros,
                                  .n = problem.n,
                                  .value_bytes = sizeof(V),
                                  .tensor = sizeof(V) == 2 || problem.tf32,
                                  .unique = problem.a.unique};
    for (const spmm::Policy& p : spmm::candidates(features, {problem.ctx.backend()})) {
        const std::string name = spmm::to_text(p);
        if (is_named(name, options.policies)) all.push_back(our_spmm(problem, concat("tulle ", name), p));
    }
    if constexpr (has_eigen && sizeof(V) != 2)
        if (problem.ctx.backend() == Backend::cpu && wanted("eigen")) append(all, eigen_spmm(problem));
    if constexpr (has_mkl && sizeof(V) != 2)
        if (problem.ctx.backend() == Backend::cpu && wanted("mkl")) append(all, mkl_spmm(problem));
    if constexpr (has_cusparse) {
        if (problem.ctx.backend() == Backend::cuda && wanted("cusparse")) append(all, cusparse_spmm(problem));
        if (problem.ctx.backend() == Backend::cuda && wanted("cublas")) append(all, cublas_spmm(problem));
    }
    return all;
}

// What choose() looks at, for tools/fit_costs.py.
template <class V>
std::vector<std::pair<std::string, double>> features_of(const SpmmProblem<V>& problem)
{
    using Plan = spmm::Plan<V, typename SpmmProblem<V>::Result>;
    const spmm::Features t = Plan::make(problem.ctx, problem.a,
                                        {.n = problem.n,
                                         .math = problem.tf32 ? spmm::Math::tf32 : spmm::Math::exact,
                                         .expected_calls = bench_calls})
                                 .features();
    return {{"n", t.n},
            {"longest", static_cast<double>(t.longest)},
            {"value_bytes", static_cast<double>(t.value_bytes)},
            {"tensor", t.tensor},
            {"order", static_cast<double>(t.order)},
            {"panels", static_cast<double>(t.cost.panels)},
            {"pairs", static_cast<double>(t.cost.pairs)},
            {"tiles", static_cast<double>(t.cost.tiles)}};
}

template <class V>
std::vector<MatrixResult> comparison(const Context& ctx, const Case& which, const SpmmOptions& options,
                                     double memory_bandwidth)
{
    using Loaded = std::conditional_t<sizeof(V) == 8, double, float>;
    const Csr<Loaded> matrix = load<Loaded>(Context::cpu(), which);
    std::vector<MatrixResult> results;
    for (const index_t n : options.columns) {
        SpmmProblem<V> problem(ctx, matrix, n, options.type == "tf32", parse_scaling(options.scale));
        MatrixResult result = make_result(ctx, concat("spmm ", n), which, problem.host, options.type,
                                          problem.compulsory_bytes(), memory_bandwidth);
        result.features = features_of(problem);
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

int bench_spmm(const SpmmOptions& options)
{
    Report report(options.json, options.quiet);
    for (const std::string& name : options.against)
        require<ValueError>(
            name == "eigen" || name == "mkl" || name == "cusparse" || name == "cublas",
            [&] { return concat("there is no baseline '", name, "'"); }, "eigen, mkl, cusparse, cublas");
    return race_all(options, "quick", report, [&](const Context& ctx, const Case& which, double bandwidth) {
        if (options.type == "f16") return comparison<Float16>(ctx, which, options, bandwidth);
        if (options.type == "bf16") return comparison<Bfloat16>(ctx, which, options, bandwidth);
        return options.type == "f64" ? comparison<double>(ctx, which, options, bandwidth)
                                     : comparison<float>(ctx, which, options, bandwidth);
    });
}

}  // namespace tulle::bench
