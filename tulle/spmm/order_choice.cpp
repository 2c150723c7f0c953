// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/spmm/order_choice.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "tulle/base/error.hpp"
#include "tulle/base/math.hpp"
#include "tulle/base/text.hpp"
#include "tulle/base/trace.hpp"

namespace tulle::spmm {
namespace {

// Nanoseconds on one core: of a row, of a nonzero (measured, docs/design/spmm-order.md). On a GPU degree, minhash and bsa are made
// there; until that is measured, these stand for it.
struct Price {
    OrderKind kind;
    double row, nonzero;
};
constexpr std::array prices{
    Price{OrderKind::natural, 5, 0},
    Price{OrderKind::degree, 20, 0},
    Price{OrderKind::minhash, 80, 3},                    // of each hash
    Price{OrderKind::pack, 2000, 25},                     // twice to three times that with hubs
    Price{OrderKind::bsa, 400, 25},
};
constexpr double count_price = 7;                        // of a nonzero, to count panels

OrderCandidate candidate(const Context& ctx, const Pattern& a, const OrderQuestion& question, const RowOrder& order, const CostModel& model)
{
    OrderCandidate c{.kind = order.kind, .order_seconds = order_seconds(order.kind, a.rows, a.nonzeros, question.options.hashes)};
    c.cost = panel_cost(ctx, a, order, question.height);
    c.call_seconds = multiply_seconds(model, c.cost, question.n, question.value_bytes);
    return c;
}

std::string explanation(const OrderCandidate& best, const OrderCandidate& natural, double calls)
{
    if (best.kind == OrderKind::natural) return concat("no order earns back its making within ", calls, " calls");
    const double gained = natural.call_seconds - best.call_seconds;
    return concat(to_text(best.kind), " gathers ", fixed(static_cast<double>(natural.cost.pairs) / static_cast<double>(best.cost.pairs), 2),
                  " times fewer rows of B than the order given; pays after ", static_cast<offset_t>(best.order_seconds / gained) + 1, " calls");
}

}  // namespace

CostModel cost_model(Backend backend, int threads)
{
    // Gathers of rows from L2 at 6.9 TB/s and 16 x 8 tiles at 476 TFLOP/s were measured on an H200. A panel's start, 2 microseconds over two
    // blocks on each of 132 multiprocessors, is judgement. A CPU multiplies nonzeros one by one: order only changes what it fetches.
    if (backend == Backend::cuda) return {1 / 6.9e12, 2 * 16 * 8 / 476e12, 2e-6 / 264, 0.3e-12, 1 / 4.5e12};
    return {1 / (10e9 * threads), 0, 0, 0, 0};
}

double multiply_seconds(const CostModel& model, const PanelCost& cost, index_t n, std::size_t value_bytes)
{
    const double columns = static_cast<double>(n);
    const double bytes = static_cast<double>(cost.pairs) * columns * static_cast<double>(value_bytes);
    return model.per_byte * bytes + model.per_tile_column * static_cast<double>(cost.tiles) * columns + model.per_panel * static_cast<double>(cost.panels);
}

double order_seconds(OrderKind kind, index_t rows, offset_t nonzeros, int hashes)
{
    const Price& price = prices[static_cast<std::size_t>(kind)];
    const double times = kind == OrderKind::minhash ? hashes : 1, entries = static_cast<double>(nonzeros);
    const double counting = kind == OrderKind::natural ? 0 : count_price * entries;
    return 1e-9 * (times * (price.row * rows + price.nonzero * entries) + counting);
}

PanelCost ideal_cost(const PanelCost& natural, index_t height)
{
    const offset_t pairs = ceil_div(natural.nonzeros, offset_t{height});
    const offset_t tiles = ceil_div(natural.nonzeros, offset_t{16 * 8});
    return {.pairs = pairs, .tiles = tiles, .panels = std::min(natural.panels, pairs), .nonzeros = natural.nonzeros};
}

std::size_t cheapest(std::span<const OrderCandidate> candidates, double calls)
{
    std::size_t best = 0;
    for (std::size_t c = 1; c < candidates.size(); ++c)
        if (candidates[c].made && candidates[c].total(calls) < candidates[best].total(calls)) best = c;
    return best;
}

OrderChoice choose_order(const Context& ctx, const Pattern& a, const OrderQuestion& question)
{
    require<ValueError>(question.n >= 0 && question.expected_calls >= 0, "a product of a negative number of columns, or calls");
    const trace::Phase phase{"choose order"};
    const CostModel model = cost_model(question.backend.value_or(ctx.backend()), ctx.host().threads);
    const double calls = question.expected_calls;
    OrderOptions options = question.options;
    options.kind = OrderKind::natural;
    OrderChoice choice{.order = order_rows(ctx, a, options), .candidates = {}, .why = {}};
    options.checked = false;
    options.panel = question.height;
    choice.candidates.push_back(candidate(ctx, a, question, choice.order, model));
    const OrderCandidate natural = choice.candidates.front();
    const double at_best = multiply_seconds(model, ideal_cost(natural.cost, question.height), question.n, question.value_bytes);
    for (const OrderKind kind : {OrderKind::degree, OrderKind::minhash, OrderKind::pack, OrderKind::bsa}) {
        const double price = order_seconds(kind, a.rows, a.nonzeros, options.hashes);
        const double cheapest_yet = choice.candidates[cheapest(choice.candidates, calls)].total(calls);
        choice.candidates.push_back({.kind = kind, .call_seconds = at_best, .order_seconds = price, .made = false});
        if (choice.candidates.back().total(calls) >= cheapest_yet) continue;
        if (kind == OrderKind::bsa && (!question.bsa || a.nonzeros > max_index)) continue;
        options.kind = kind;
        RowOrder order = order_rows(ctx, a, options);
        choice.candidates.back() = candidate(ctx, a, question, order, model);
        if (cheapest(choice.candidates, calls) == choice.candidates.size() - 1) choice.order = std::move(order);
    }
    choice.why = explanation(choice.candidates[cheapest(choice.candidates, calls)], natural, calls);
    return choice;
}

}  // namespace tulle::spmm
