// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spmm/order/choose.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/math.hpp"
#include "tulle/error.hpp"
#include "tulle/features.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

// What it takes to make an order: seconds, and nanoseconds of a row and of a nonzero. Each row of a table is a
// measurement:
//
//   CPU   tulle spy MATRIX --reorder ORDER --threads 1, one core (docs/design/spmm-order.md)
//   GPU   tulle-bench spmm twin:cant twin:cop20k_A xenon1.mtx --backend cuda --type f16 --n 128 --policy "128, ", phase
//         "order rows", H200
//         (bench/results/spmm-h200-orders.jsonl): degree 0.5 to 0.7 ms, minhash 0.6 to 0.7, bsa 28 to 92; pack, on one
//         core of the host, 42 to 246
struct CostEstimate {
    OrderKind kind;
    double once, row, nonzero;
};
constexpr std::array cpu_prices{
    CostEstimate{OrderKind::natural, 0, 5, 0},  CostEstimate{OrderKind::degree, 0, 20, 0},
    CostEstimate{OrderKind::minhash, 0, 80, 3},  // of each hash
    CostEstimate{OrderKind::pack, 0, 2000, 25},  // twice to three times that with hubs
    CostEstimate{OrderKind::bsa, 0, 400, 25},
};
constexpr std::array gpu_prices{
    CostEstimate{OrderKind::natural, 0.3e-3, 0, 0},
    CostEstimate{OrderKind::degree, 0.5e-3, 1, 0},
    CostEstimate{OrderKind::minhash, 0.3e-3, 0.5, 0.01},  // of each hash
    CostEstimate{OrderKind::pack, 0, 1000, 22},           // on the host
    CostEstimate{OrderKind::bsa, 0, 600, 0},
};
// To count some panels on a CPU: of a row, of a nonzero of a sampled panel. On a GPU, reasoned: four launches, five
// arrays and two waits.
constexpr double count_row = 1, count_nonzero = 7, count_once = 0.3e-3;

// Seconds of the kernels on an H200, a fit to bench/results/spmm-h200-before.jsonl (cant, xenon1, cop20k_A in five
// orders; columns 128, f16; 7 % root mean square, 15 % at most): 7.0 TB/s of rows of B, 0.72 ps a tile of 16 x 8 and
// column, 1.9 ps a row of C and column (f32), 6 us beside. A tile of tf32 takes five times as long (cant, xenon1,
// cop20k_A in spmm-h200-policies.jsonl), a nonzero by rows 0.18 to 0.32 ps a column whatever its type (the same file).
struct Rates {
    std::size_t value_bytes;
    CostModel model;
};
constexpr std::array h200_rates{
    Rates{2,
          {.start = 6e-6,
           .per_byte = 1 / 7.0e12,
           .per_tile_column = 0.72e-12,
           .per_panel_column = 64 * 1.9e-12,
           .per_nonzero_column = 0.22e-12,
           .per_memory_byte = 1 / 4.5e12}},
    Rates{4,
          {.start = 6e-6,
           .per_byte = 1 / 7.0e12,
           .per_tile_column = 3.6e-12,
           .per_panel_column = 64 * 1.9e-12,
           .per_nonzero_column = 0.22e-12,
           .per_memory_byte = 1 / 4.5e12}},
    Rates{8,
          {.start = 6e-6,
           .per_byte = 1 / 7.0e12,
           .per_tile_column = 3.6e-12,
           .per_panel_column = 64 * 3.8e-12,
           .per_nonzero_column = 0.44e-12,
           .per_memory_byte = 1 / 4.5e12}},  // nothing but rows; reasoned
};
constexpr double cpu_bytes_per_second = 10e9;  // of a thread: judgement

// Degrees as even as these leave nothing to sort.
constexpr double even_degrees = 4;  // the longest row, beside the mean

bool has_even_degrees(const RowStatistics& lengths)
{
    return static_cast<double>(lengths.longest) * lengths.rows <= even_degrees * static_cast<double>(lengths.nonzeros);
}

OrderCandidate candidate(const Context& ctx, const Pattern& a, const OrderQuestion& question, const RowOrder& order,
                         const CostModel& model, Backend backend)
{
    OrderCandidate c{.kind = order.kind,
                     .order_seconds = order_seconds(backend, order.kind, a.rows, a.nonzeros, question.options.hashes)};
    c.cost = sample_cost(ctx, a, order, question.height, question.sample);
    c.call_seconds = multiply_seconds(model, c.cost, question.n, question.value_bytes);
    return c;
}

std::string explanation(const OrderCandidate& best, const OrderCandidate& natural, double calls)
{
    if (best.kind == OrderKind::natural) return concat("no order earns back its making within ", calls, " calls");
    const double gained = natural.call_seconds - best.call_seconds;
    return concat(to_text(best.kind), " gathers ",
                  fixed(static_cast<double>(natural.cost.pairs) / static_cast<double>(best.cost.pairs), 2),
                  " times fewer rows of B than the order given; pays after ",
                  static_cast<offset_t>(best.order_seconds / gained) + 1, " calls");
}

}  // namespace

CostModel cost_model(Backend backend, int threads, std::size_t value_bytes)
{
    // A CPU multiplies nonzeros one by one: order only changes what it fetches.
    const double byte = 1 / (cpu_bytes_per_second * threads);
    if (backend == Backend::cpu)
        return {.per_byte = byte, .per_nonzero_column = byte * static_cast<double>(value_bytes)};
    for (const Rates& rates : h200_rates)
        if (rates.value_bytes == value_bytes) return rates.model;
    throw ValueError(concat("there are no rates for numbers of ", value_bytes, " bytes"), "2, 4 or 8");
}

double multiply_seconds(const CostModel& model, const PanelCost& cost, index_t n, std::size_t value_bytes)
{
    const double bytes = static_cast<double>(cost.pairs) * static_cast<double>(value_bytes);
    return model.start +
           static_cast<double>(n) * (model.per_byte * bytes + model.per_tile_column * static_cast<double>(cost.tiles) +
                                     model.per_panel_column * static_cast<double>(cost.panels));
}

double rows_seconds(const CostModel& model, index_t rows, offset_t nonzeros, index_t n)
{
    return model.start + static_cast<double>(n) * (model.per_nonzero_column * static_cast<double>(nonzeros) +
                                                   model.per_panel_column * rows / 64);
}

double order_seconds(Backend backend, OrderKind kind, index_t rows, offset_t nonzeros, int hashes)
{
    const bool gpu = backend == Backend::cuda;
    const CostEstimate& price = (gpu ? gpu_prices : cpu_prices)[static_cast<std::size_t>(kind)];
    const double times = kind == OrderKind::minhash ? hashes : 1, entries = static_cast<double>(nonzeros);
    const double sampled = std::min(1.0, 64.0 * 64.0 / std::max<double>(1, rows));
    const double counting = kind == OrderKind::natural ? 0
                            : gpu                      ? count_once
                                                       : 1e-9 * (count_row * rows + count_nonzero * sampled * entries);
    return times * (price.once + 1e-9 * (price.row * rows + price.nonzero * entries)) + counting;
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
    require<ValueError>(question.n >= 0 && question.expected_calls >= 0,
                        "a product of a negative number of columns, or calls");
    const trace::Phase phase{"choose order"};
    const Backend backend = question.backend.value_or(ctx.backend());
    const CostModel model = cost_model(backend, ctx.host().threads, question.value_bytes);
    const double calls = question.expected_calls;
    OrderOptions options = question.options;
    options.kind = OrderKind::natural;
    OrderChoice choice{.order = order_rows(ctx, a, options), .candidates = {}, .why = {}};
    options.checked = false;
    options.panel = question.height;
    if (!options.lengths) options.lengths = row_statistics(ctx, a.rows, a.cols, a.row_begin);
    choice.candidates.push_back(candidate(ctx, a, question, choice.order, model, backend));
    const OrderCandidate natural = choice.candidates.front();
    const double at_best =
        multiply_seconds(model, ideal_cost(natural.cost, question.height), question.n, question.value_bytes);
    for (const OrderKind kind : {OrderKind::degree, OrderKind::minhash, OrderKind::pack, OrderKind::bsa}) {
        const double price = order_seconds(backend, kind, a.rows, a.nonzeros, options.hashes);
        const double cheapest_yet = choice.candidates[cheapest(choice.candidates, calls)].total(calls);
        choice.candidates.push_back({.kind = kind, .call_seconds = at_best, .order_seconds = price, .made = false});
        if (choice.candidates.back().total(calls) >= cheapest_yet) continue;
        if (kind == OrderKind::bsa && (!question.bsa || a.nonzeros > max_index)) continue;
        if (kind == OrderKind::degree && has_even_degrees(*options.lengths)) continue;
        options.kind = kind;
        RowOrder order = order_rows(ctx, a, options);
        choice.candidates.back() = candidate(ctx, a, question, order, model, backend);
        if (cheapest(choice.candidates, calls) == choice.candidates.size() - 1) choice.order = std::move(order);
    }
    choice.why = explanation(choice.candidates[cheapest(choice.candidates, calls)], natural, calls);
    return choice;
}

}  // namespace tulle::inline TULLE_ABI::spmm
