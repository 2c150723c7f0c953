// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/price_orders.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "factor/orders.hpp"
#include "partition/metis.hpp"
#include "sptrsv/analysis.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

// Seconds of the host for each entry of A: the order and the matrix in that order (docs/design/factor.md, "Prices").
struct AnalysisCost {
    Order order;
    double entry;
};
constexpr std::array analysis_costs{AnalysisCost{Order::rcm, 20e-9}, AnalysisCost{Order::colour, 15e-9},
                                    AnalysisCost{Order::nested_dissection, 500e-9}};

// A product, in seconds for each entry of one thread of a CPU, and of a GPU with its start.
constexpr double cpu_product_entry = 0.8e-9, gpu_product_entry = 4e-12, gpu_product = 5e-6;

// What another order must promise: a prediction of iterations is no measurement.
constexpr double margin = 1.3;

// Pivots that are looked at, and later neighbours of each.
constexpr offset_t pivots = 256;
constexpr std::size_t most_later = 16;

// Iterations go with these powers of the norm, within these bounds: fewer are promised with less confidence
// (docs/design/factor.md, "Prices").
constexpr double power_more = 1.2, power_fewer = 0.6, fewest = 0.4, most = 10;

// Entries of one sampled pivot and its later neighbours.
template <class V>
class Pivot {
public:
    explicit Pivot(const CsrView<V>& a) : a_(a) {}

    // The sum of the squares of what row and column k leave out; `later` may have rows twice.
    double square(index_t k, std::vector<index_t>& later)
    {
        std::sort(later.begin(), later.end());
        later.erase(std::unique(later.begin(), later.end()), later.end());
        const double scale = thin_out(later), pivot = std::abs(at(k, k));
        double sum = 0;
        if (pivot == 0) return 0;
        for (const index_t i : later) {
            const double below = at(i, k) / pivot, own = std::abs(at(i, i));
            if (below == 0 || own == 0) continue;
            for (const index_t j : later) {
                const double right = at(k, j), other = std::abs(at(j, j));
                if (i == j || right == 0 || other == 0 || find(i, j) != nullptr) continue;
                sum += below * below * right * right / (own * other);
            }
        }
        return scale * sum;
    }

private:
    // Of many, evenly spaced ones; returns how many pairs stand for one.
    static double thin_out(std::vector<index_t>& rows)
    {
        const std::size_t all = rows.size();
        if (all <= most_later) return 1;
        for (std::size_t n = 0; n < most_later; ++n) rows[n] = rows[all * n / most_later];
        rows.resize(most_later);
        const double part = static_cast<double>(all) / static_cast<double>(most_later);
        return part * part;
    }
    const V* find(index_t i, index_t j) const
    {
        const index_t *begin = a_.col + a_.row_begin[i], *end = a_.col + a_.row_begin[i + 1];
        const index_t* const found = std::lower_bound(begin, end, j);
        return found != end && *found == j ? a_.value + (found - a_.col) : nullptr;
    }
    double at(index_t i, index_t j) const
    {
        const V* const found = find(i, j);
        return found == nullptr ? 0 : static_cast<double>(*found);
    }

    CsrView<V> a_;
};

template <class V>
double left_out_of(const CsrView<V>& a, const Neighbours& graph, const index_t* place)
{
    Pivot<V> pivot(a);
    std::vector<index_t> later;
    double sum = 0;
    const offset_t samples = std::min<offset_t>(a.rows, pivots);
    for (offset_t s = 0; s < samples; ++s) {
        const auto k = static_cast<index_t>(a.rows * s / samples);
        later.clear();
        for (const index_t i : graph.of(k))
            if (place[i] > place[k]) later.push_back(i);
        sum += pivot.square(k, later);
    }
    return std::sqrt(sum);
}

double more_iterations(double left_out, double natural)
{
    if (left_out == natural) return 1;
    if (natural == 0) return most;
    const double ratio = left_out / natural;
    return std::clamp(std::pow(ratio, ratio > 1 ? power_more : power_fewer), fewest, most);
}

// Where the triangles are solved.
struct Place {
    Context host;
    sptrsv::Limits limits;
};

Place place_of(const Context& ctx, offset_t nonzeros)
{
    const Context here = ctx.backend() == Backend::cpu ? ctx.for_work(nonzeros) : Context::cpu(ctx.host().threads);
    return {here, sptrsv::limits_of(ctx.backend() == Backend::cpu ? here : ctx)};
}

double product_seconds(const sptrsv::Limits& limits, offset_t nonzeros)
{
    const auto entries = static_cast<double>(nonzeros);
    return limits.backend == Backend::cpu ? entries * cpu_product_entry / limits.threads
                                          : gpu_product + entries * gpu_product_entry;
}

// One thread sweeps over all rows: levels do not matter, and only fewer iterations can pay.
bool is_alone(const sptrsv::Limits& limits) { return limits.backend == Backend::cpu && limits.threads == 1; }

// Both triangles are taken to be alike.
template <class V>
void price_solves(const Place& place, const CsrView<V>& b, double calls, OrderCost& cost)
{
    const sptrsv::Options options{.unit_diagonal = true, .other_side = sptrsv::OtherSide::ignore, .checked = false};
    sptrsv::AnalysisState known{.features = {.rows = b.rows, .nonzeros = (b.nonzeros + b.rows) / 2}};
    if (!is_alone(place.limits)) {
        known = sptrsv::analyze_pattern(place.host, sptrsv::WideView<V>(b), options);
        sptrsv::evaluate_merges(place.host, place.limits, calls, known);
    }
    cost.levels = known.features.levels;
    cost.iteration = product_seconds(place.limits, b.nonzeros) +
                     2 * sptrsv::choose(known.features, known.estimates, place.limits).seconds;
}

std::vector<AnalysisCost> worth_trying(const sptrsv::Limits& limits)
{
    std::vector<AnalysisCost> all(analysis_costs.begin(), analysis_costs.end());
    if (is_alone(limits)) all.resize(1);
    else if (!partition::has_metis()) all.pop_back();
    return all;
}

// Empty where METIS cannot take the graph: the other orders remain.
Buffer<index_t> try_order(const CpuQueue& q, const partition::Neighbours& graph, Order order)
{
    try {
        return find_order(q, graph, order);
    } catch (const ValueError&) {
        if (order != Order::nested_dissection) throw;
        return {};
    }
}

template <class V>
CsrView<V> with_values(const CpuQueue& q, const CsrView<V>& a, ArrangedMatrix<V>& b)
{
    b.value = Buffer<V>(q, b.col.size());
    gather(q, b.from_matrix, a.value, b.value.data());
    return b.view();
}

}  // namespace

template <class V>
double left_out(const CpuQueue& q, const CsrView<V>& a, const Buffer<index_t>& place)
{
    const auto graph = partition::both_directions(q, a, [](index_t j) { return j; });
    return left_out_of(a, graph, place.data());
}

template <class V>
std::vector<PricedOrder> price_orders(const Context& ctx, const CsrView<V>& a, const Options& options)
{
    const CpuQueue q = ctx.host();
    const Place place = place_of(ctx, a.nonzeros + a.rows);
    std::vector<PricedOrder> all;
    all.push_back({{}, arrange(q, a, options.match, Order::natural)});
    ArrangedMatrix<V> matrix = make_arranged(q, a, all.front().by);
    const CsrView<V> natural = with_values(q, a, matrix);
    price_solves(place, natural, options.expected_calls, all.front().cost);
    const auto graph = partition::both_directions(q, natural, [](index_t j) { return j; });
    const double before = left_out_of(natural, graph, inverse_of(q, all.front().by.row).data());
    for (const AnalysisCost& one : worth_trying(place.limits)) {
        OrderCost cost{.order = one.order, .analysis = static_cast<double>(a.nonzeros) * one.entry};
        if (margin * cost.analysis > all.front().cost.total(options.expected_calls)) continue;
        const Buffer<index_t> order = try_order(q, graph, one.order);
        if (order.size() < a.rows) continue;
        Arrangement by = reordered(q, all.front().by, order);
        cost.iterations = more_iterations(left_out_of(natural, graph, inverse_of(q, by.row).data()), before);
        price_solves(place, make_arranged(q, a, by).view(), options.expected_calls, cost);
        all.push_back({cost, std::move(by)});
    }
    return all;
}

std::size_t choose_order(const std::vector<OrderCost>& costs, double calls)
{
    std::size_t best = 0;
    for (std::size_t k = 1; k < costs.size(); ++k)
        if (costs[k].total(calls) < costs[best].total(calls)) best = k;
    return best > 0 && margin * costs[best].total(calls) < costs.front().total(calls) ? best : 0;
}

std::string to_text(const std::vector<OrderCost>& costs, double calls)
{
    std::string text;
    for (const OrderCost& c : costs)
        text += concat(text.empty() ? "" : "; ", to_text(c.order), " ", fixed(c.total(calls) * 1e3, 2), " ms (",
                       c.levels > 0 ? concat(c.levels, " levels, ") : "", fixed(c.iteration * 1e6, 1),
                       " us an iteration, ", fixed(c.iterations, 2), " times the iterations)");
    return text;
}

template double left_out(const CpuQueue&, const CsrView<float>&, const Buffer<index_t>&);
template double left_out(const CpuQueue&, const CsrView<double>&, const Buffer<index_t>&);
template std::vector<PricedOrder> price_orders(const Context&, const CsrView<float>&, const Options&);
template std::vector<PricedOrder> price_orders(const Context&, const CsrView<double>&, const Options&);

}  // namespace tulle::inline TULLE_ABI::factor
