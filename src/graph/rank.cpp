// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// PageRank and HITS: an iteration is a product with a plan of SpMV, and a pass over the vectors.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/arguments.hpp"
#include "tulle/convert.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

using Vector = std::vector<double>;

double sum_of(std::span<const double> x) { return std::accumulate(x.begin(), x.end(), 0.0); }

// In proportion to `given`, adding up to 1; equal where nothing is given.
Vector distribution(std::span<const double> given, index_t n, const char* name)
{
    const auto size = static_cast<std::size_t>(n);
    if (given.empty()) return Vector(size, n > 0 ? 1.0 / n : 0.0);
    require(given.size() == size, [&] { return concat(name, " has ", given.size(), " entries, the graph ", n); });
    const bool sound = std::all_of(given.begin(), given.end(), [](double v) { return v >= 0 && !std::isinf(v); });
    const double all = sum_of(given);
    require<ValueError>(sound && all > 0, [&] {
        return concat(name, " must have finite entries that are not negative, and one above zero");
    });
    Vector x(given.begin(), given.end());
    for (double& v : x) v /= all;
    return x;
}

// The transposed matrix with the weights of every vertex adding up to 1; which vertices have none.
Csr<double> transition(const Context& ctx, const CsrView<double>& a, std::vector<bool>& dangles)
{
    Csr<double> t = to_csr(ctx, a);
    dangles.assign(static_cast<std::size_t>(a.rows), false);
    for (index_t i = 0; i < a.rows; ++i) {
        double* const value = t.value.data();
        const offset_t begin = a.row_begin[i], end = a.row_begin[i + 1];
        const double all = std::accumulate(value + begin, value + end, 0.0);
        dangles[static_cast<std::size_t>(i)] = all == 0;
        for (offset_t p = begin; p < end && all > 0; ++p) value[p] /= all;
    }
    return transpose(ctx, t.view());
}

double change(const Vector& x, const Vector& y)
{
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::abs(x[i] - y[i]);
    return sum;
}

// x scaled to add up to 1, unless it is nothing.
void normalise(Vector& x)
{
    const double all = sum_of(x);
    if (all > 0)
        for (double& v : x) v /= all;
}

}  // namespace

Ranking pagerank(const Context& ctx, const CsrView<double>& a, const RankOptions& options)
{
    require_graph(ctx, a);
    require_weights(a);
    require<ValueError>(options.damping >= 0 && options.damping <= 1 && options.tolerance >= 0 &&
                            options.iterations >= 0,
                        "damping must be in 0 … 1, tolerance and iterations not negative");
    const Vector jump = distribution(options.personal, a.rows, "personal");
    const Vector from_dangling = options.dangling.empty() ? jump : distribution(options.dangling, a.rows, "dangling");
    std::vector<bool> dangles;
    const Csr<double> step = transition(ctx, a, dangles);
    const auto plan = spmv::Plan<double>::make(ctx, step.view(), {.checked = false});
    Ranking r{.value = distribution({}, a.rows, ""), .iterations = 0, .converged = a.rows == 0};
    Vector next(r.value.size());
    while (!r.converged && r.iterations < options.iterations) {
        plan.run(options.damping, r.value, 0.0, next);
        double lost = 0;
        for (std::size_t i = 0; i < next.size(); ++i) lost += dangles[i] ? r.value[i] : 0.0;
        for (std::size_t i = 0; i < next.size(); ++i)
            next[i] += options.damping * lost * from_dangling[i] + (1 - options.damping) * jump[i];
        r.converged = change(next, r.value) < a.rows * options.tolerance;
        ++r.iterations;
        std::swap(next, r.value);
    }
    return r;
}

HubsAndAuthorities hits(const Context& ctx, const CsrView<double>& a, double tolerance, int iterations)
{
    require_graph(ctx, a);
    require_weights(a);
    require<ValueError>(tolerance >= 0 && iterations >= 0, "tolerance and iterations must not be negative");
    const Csr<double> back = transpose(ctx, a);
    const auto forth_plan = spmv::Plan<double>::make(ctx, a, {.checked = false});
    const auto back_plan = spmv::Plan<double>::make(ctx, back.view(), {.checked = false});
    HubsAndAuthorities r{.hub = distribution({}, a.rows, ""),
                         .authority = {},
                         .iterations = 0,
                         .converged = a.rows == 0};
    r.authority.assign(r.hub.size(), 0.0);
    Vector next(r.hub.size());
    while (!r.converged && r.iterations < iterations) {
        back_plan.run(1.0, r.hub, 0.0, r.authority);
        normalise(r.authority);
        forth_plan.run(1.0, r.authority, 0.0, next);
        normalise(next);
        r.converged = change(next, r.hub) < tolerance;
        ++r.iterations;
        std::swap(next, r.hub);
    }
    return r;
}

}  // namespace tulle::inline TULLE_ABI::graph
