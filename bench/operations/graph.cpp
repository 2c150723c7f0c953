// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One graph and one algorithm: every contender's result is compared with that of a plain loop, then those that are
// right are timed in turn. Our calls are whole ones: they check the graph and prepare what they need.
#include "bench/operations/graph.hpp"

#include <memory>

#include "bench/baselines/graph.hpp"
#include "bench/build.hpp"
#include "bench/harness/comparison.hpp"
#include "tulle/graph.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/spmv.hpp"

namespace tulle::bench {
namespace {

using Values = std::vector<double>;

Values host_values(const Context& ctx, std::span<const double> values)
{
    const Buffer<double> here = to_host(ctx, values);
    return {here.data(), here.data() + here.size()};
}

Values row_sums(const Context& ctx, const CsrView<double>& c)
{
    Buffer<double> sum = to_device<double>(ctx, Values(static_cast<std::size_t>(c.rows)));
    graph::reduce_rows(ctx, graph::Monoid::plus, c, sum.span());
    return host_values(ctx, std::as_const(sum).span());
}

Values ours(const GraphProblem& p, const std::string& algorithm)
{
    if (algorithm == "triangles") return {static_cast<double>(graph::count_triangles(p.ctx, p.view()))};
    if (algorithm == "bfs") {
        const graph::Levels r = graph::breadth_first(p.ctx, p.view(), p.source);
        return {r.level.begin(), r.level.end()};
    }
    if (algorithm == "pagerank")
        return graph::pagerank(p.ctx, p.view(),
                               {.damping = rank_damping, .tolerance = 0, .iterations = rank_iterations})
            .value;
    const Csr<double> c = graph::multiply_masked(p.ctx, graph::Semiring::plus_times, p.view(), p.view(), p.view());
    return row_sums(p.ctx, c.view());
}

// The whole product and a filter after it, in place of a masked one.
Values without_mask(const GraphProblem& p, const std::string& algorithm)
{
    const Csr<double> whole = spgemm::multiply(p.ctx, p.view(), p.view());
    const Csr<double> c = graph::multiply_entries(p.ctx, graph::Semiring::plus_times, whole.view(), p.view());
    if (algorithm == "masked") return row_sums(p.ctx, c.view());
    return {graph::reduce(p.ctx, graph::Monoid::plus, c.view()) / 6};  // of graphs without self loops
}

Contender whole_call(const GraphProblem& problem, const std::string& name, Role role, const std::string& algorithm,
                     Values (*compute)(const GraphProblem&, const std::string&))
{
    auto result = std::make_shared<Values>();
    return {name, role, [] { return Prepared{}; }, [=, &problem] { *result = compute(problem, algorithm); },
            [result] { return *result; }};
}

// As many products as an iteration of PageRank has; no result.
Contender products_alone(const GraphProblem& problem)
{
    using Plan = spmv::Plan<double>;
    struct Held {
        std::optional<Plan> plan;
        Buffer<double> x, y;
    };
    auto held = std::make_shared<Held>();
    return {"spmv", Role::roofline,
            [held, &problem] {
                const Values ones(static_cast<std::size_t>(problem.host.rows), 1.0);
                held->plan = Plan::make(problem.ctx, problem.view());
                held->x = to_device<double>(problem.ctx, ones);
                held->y = to_device<double>(problem.ctx, ones);
                return Prepared{};
            },
            [held] {
                for (int k = 0; k < rank_iterations; ++k)
                    held->plan->run(1.0, std::as_const(held->x).span(), 0.0, held->y.span());
            }};
}

std::vector<Contender> contenders_for(GraphProblem& problem, const std::string& algorithm)
{
    std::vector<Contender> all{whole_call(problem, "tulle", Role::ours, algorithm, ours)};
    if (algorithm == "triangles" || algorithm == "masked")
        all.push_back(whole_call(problem, "product and filter", Role::baseline, algorithm, without_mask));
    if (algorithm == "pagerank") all.push_back(products_alone(problem));
    if constexpr (has_graphblas)
        if (problem.ctx.backend() == Backend::cpu) append(all, graphblas_graph(problem, algorithm));
    return all;
}

std::vector<MatrixResult> comparison(const Context& ctx, const Case& which, const GraphOptions& options,
                                     double memory_bandwidth)
{
    GraphProblem problem(ctx, load<double>(Context::cpu(), which));
    std::vector<MatrixResult> results;
    for (const std::string& algorithm : options.algorithms) {
        const Values want = problem.expected(algorithm);
        MatrixResult result = make_result(ctx, concat("graph ", algorithm), which, problem.host, "f64",
                                          problem.host.bytes(), memory_bandwidth);
        race_contenders(ctx, contenders_for(problem, algorithm), options.wish, result, [&](const Contender& one) {
            return enter(
                ctx, one, [] {}, [&](const Values& got) { return worst_share(got, want); });
        });
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace

int bench_graph(const GraphOptions& options)
{
    Report report(options.json, options.quiet);
    return race_all(options, "quick", report, [&](const Context& ctx, const Case& which, double bandwidth) {
        return comparison(ctx, which, options, bandwidth);
    });
}

}  // namespace tulle::bench
