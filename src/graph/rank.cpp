// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// PageRank and HITS: an iteration is a product with a plan of SpMV, and a pass over the vectors; the same on both
// backends. PageRank of graphs without weights has a way of its own on a CPU (cpu/rank_by_pattern.cpp).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "graph/arguments.hpp"
#include "graph/steps.hpp"
#include "tulle/convert.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

using Vector = std::vector<double>;

// In proportion to `given`, adding up to 1; equal where nothing is given.
Vector distribution(std::span<const double> given, index_t n, const char* name)
{
    const auto size = static_cast<std::size_t>(n);
    if (given.empty()) return Vector(size, n > 0 ? 1.0 / n : 0.0);
    require(given.size() == size, [&] { return concat(name, " has ", given.size(), " entries, the graph ", n); });
    const bool sound = std::all_of(given.begin(), given.end(), [](double v) { return v >= 0 && !std::isinf(v); });
    const double all = std::accumulate(given.begin(), given.end(), 0.0);
    require<ValueError>(sound && all > 0, [&] {
        return concat(name, " must have finite entries that are not negative, and one above zero");
    });
    Vector x(given.begin(), given.end());
    for (double& v : x) v /= all;
    return x;
}

// A vector in the memory of a queue, and back.
template <class Queue>
Buffer<double> put(const Queue& q, const Vector& x)
{
    return to_queue(q, x.data(), std::ssize(x));
}
template <class Queue>
Vector get(const Queue& q, const Buffer<double>& x)
{
    Vector here(static_cast<std::size_t>(x.size()));
    download(q, x.data(), here.data(), x.size());
    return here;
}

// The transposed matrix with the weights of every vertex adding up to 1; which vertices have none.
template <class Queue>
Csr<double> transition(const Context& ctx, const Queue& q, const CsrView<double>& a, double* dangles)
{
    Csr<double> t = to_csr(ctx, a);
    run_pass(q, a.rows, ScaleRow{t.row_begin.data(), t.value.data(), dangles}, {});
    return transpose(ctx, t.view());
}

// An iteration is a product and one pass over the vectors; state: change, rank at vertices that dangle.
template <class Queue>
Ranking pagerank_on(const Context& ctx, const Queue& q, const CsrView<double>& a, const RankOptions& options,
                    const Vector& jumps, const Vector& from_dangling)
{
    const offset_t n = a.rows;
    Buffer<double> dangles(q, n), next(q, n), state(q, 2), rank = put(q, distribution({}, a.rows, ""));
    const Buffer<double> jump = put(q, jumps), dangling = put(q, from_dangling);
    vector::PassBuffer room(q, n);
    const Csr<double> step = transition(ctx, q, a, dangles.data());
    const auto plan = spmv::Plan<double>::make(ctx, step.view(), {.checked = false});
    run_pass(q, n, SumDangling{state.data() + 1, dangles.data(), rank.data()}, room.space());
    Ranking r;
    while (!r.converged && r.iterations < options.iterations) {
        plan.run(options.damping, rank.span(), 0.0, next.span());
        run_pass(q, n,
                 RankStep{options.damping, rank.data(), jump.data(), dangling.data(), dangles.data(), next.data(),
                          state.data()},
                 room.space());
        r.converged = read_value(q, state.data()) < static_cast<double>(n) * options.tolerance;
        ++r.iterations;
        std::swap(next, rank);
    }
    r.value = get(q, rank);
    return r;
}

// x scaled to add up to 1; the 1-norm of the change from `before`, which may be x.
template <class Queue>
double scale_to_one(const Queue& q, const double* before, Buffer<double>& x, Buffer<double>& state,
                    vector::PassBuffer& room)
{
    run_pass(q, x.size(), SumOf{state.data(), x.data()}, room.space());
    run_pass(q, x.size(), ScaleToOne{state.data() + 1, state.data(), before, x.data()}, room.space());
    return read_value(q, state.data() + 1);
}

template <class Queue>
HubsAndAuthorities hits_on(const Context& ctx, const Queue& q, const CsrView<double>& a, double tolerance,
                           int iterations)
{
    const Csr<double> back = transpose(ctx, a);
    const auto forth_plan = spmv::Plan<double>::make(ctx, a, {.checked = false});
    const auto back_plan = spmv::Plan<double>::make(ctx, back.view(), {.checked = false});
    const offset_t n = a.rows;
    Buffer<double> authority(q, n), next(q, n), state(q, 2), hub = put(q, distribution({}, a.rows, ""));
    fill_zero(q, authority.data(), n);
    vector::PassBuffer room(q, n);
    HubsAndAuthorities r;
    while (!r.converged && r.iterations < iterations) {
        back_plan.run(1.0, hub.span(), 0.0, authority.span());
        scale_to_one(q, authority.data(), authority, state, room);
        forth_plan.run(1.0, authority.span(), 0.0, next.span());
        r.converged = scale_to_one(q, hub.data(), next, state, room) < tolerance;
        ++r.iterations;
        std::swap(next, hub);
    }
    r.hub = get(q, hub);
    r.authority = get(q, authority);
    return r;
}

}  // namespace

Ranking pagerank(const Context& ctx, const AnyCsr<double>& given, const RankOptions& options)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<double>>(ctx, given, wide);
    require_graph(ctx, a);
    require_weights(ctx, a, true);
    require<ValueError>(options.damping >= 0 && options.damping <= 1 && options.tolerance >= 0 &&
                            options.iterations >= 0,
                        "damping must be in 0 … 1, tolerance and iterations not negative");
    const Vector jump = distribution(options.personalization, a.rows, "personalization");
    const Vector dangling = options.dangling.empty() ? jump : distribution(options.dangling, a.rows, "dangling");
    if (a.rows == 0) return {.value = {}, .iterations = 0, .converged = true};
    const Context some = ctx.for_work(a.nonzeros);
    return run_on(
        some, a.nonzeros, [&](const auto& q) { return pagerank_on(some, q, a, options, jump, dangling); },
        [&](const CpuQueue& q) {
            return has_equal_weights(q, a) ? rank_by_pattern(some, q, a, options, jump, dangling)
                                           : pagerank_on(some, q, a, options, jump, dangling);
        });
}

HubsAndAuthorities hits(const Context& ctx, const AnyCsr<double>& given, double tolerance, int iterations)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<double>>(ctx, given, wide);
    require_graph(ctx, a);
    require_weights(ctx, a, true);
    require<ValueError>(tolerance >= 0 && iterations >= 0, "tolerance and iterations must not be negative");
    if (a.rows == 0) return {.hub = {}, .authority = {}, .iterations = 0, .converged = true};
    const Context some = ctx.for_work(a.nonzeros);
    return some.run([&](const auto& q) { return hits_on(some, q, a, tolerance, iterations); });
}

}  // namespace tulle::inline TULLE_ABI::graph
