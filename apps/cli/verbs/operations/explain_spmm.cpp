// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle explain spmm: what each way to multiply fetches of B, how full its tiles are, what that predicts, which one
// tulle takes and why, and after how many calls an order of the rows has paid for itself.
//
// Counts come from the pattern, on the host; predictions from the cost model that chooses orders
// (src/spmm/order/choose.hpp). Neither needs a GPU. Times are measured on the backend that is asked about, or on the
// CPU where there is no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs/operations/measure_spmm.hpp"
#include "base/math.hpp"
#include "spmm/order/choose.hpp"
#include "spmm/order/split.hpp"
#include "spmm/tile_choice.hpp"
#include "tulle/context.hpp"
#include "tulle/convert.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

constexpr double tile_places = 16 * 8;  // of the tiles that panel_cost counts

// One way to multiply.
struct Way {
    spmm::Kernel kernel = spmm::Kernel::rows;
    spmm::OrderKind order = spmm::OrderKind::natural;
    spmm::PanelCost cost = {};                   // by rows: every nonzero fetches its row of B
    double call_seconds = 0, order_seconds = 0;  // predicted
    double on_tensor_cores = 0;                  // share of the nonzeros
    bool made = true;  // false: cannot pay within the calls, so nobody counted; its time is what no order falls below
    std::optional<offset_t> pays_after = {};  // calls, beside panels in the order given; at least, where nobody counted
    std::optional<double> measured = {};      // seconds
    bool chosen = false;

    std::string name() const
    {
        return kernel == spmm::Kernel::rows || kernel == spmm::Kernel::dense
                   ? spmm::to_text(kernel)
                   : concat(kernel == spmm::Kernel::tiles ? "tiles and rest, " : "panels, ", spmm::to_text(order),
                            " order");
    }
    double reuse() const
    {
        return cost.pairs == 0 ? 0 : static_cast<double>(cost.nonzeros) / static_cast<double>(cost.pairs);
    }
    double fill() const
    {
        return cost.tiles == 0 ? 0
                               : on_tensor_cores * static_cast<double>(cost.nonzeros) /
                                     (static_cast<double>(cost.tiles) * tile_places);
    }
};

struct Explanation {
    spmm::Features features;
    std::vector<Way> ways;
    spmm::Choice choice;
    std::string order_why;                 // empty: orders play no part
    std::size_t result_bytes = 0;          // of a number of C
    std::string measured_on, description;  // the plan's own words

    const Way& chosen() const
    {
        return *std::find_if(ways.begin(), ways.end(), [](const Way& w) { return w.chosen; });
    }
    double bytes_of_b(const Way& w) const
    {
        return static_cast<double>(w.cost.pairs) * features.n * static_cast<double>(features.value_bytes);
    }
    // What mma.sync takes at once, of two bytes or of four: rows of B that a chunk has.
    int chunk_columns() const { return features.value_bytes == 2 ? 16 : 8; }
    double share_on_tensor_cores() const { return chosen().on_tensor_cores; }
};

bool can_be_panels(const spmm::Features& t, const spmm::Limits& limits)
{
    const auto all = spmm::candidates(t, limits);
    return std::any_of(all.begin(), all.end(), [](const spmm::Policy& p) { return p.kernel == spmm::Kernel::panels; });
}

Way by_rows(const spmm::Features& t, const spmm::CostModel& model)
{
    Way w{.cost = {.pairs = t.nonzeros, .tiles = 0, .panels = 0, .nonzeros = t.nonzeros}};
    w.call_seconds = spmm::rows_seconds(model, t.rows, t.nonzeros, t.n);
    return w;
}

Way by_panels(const spmm::OrderCandidate& c, const spmm::OrderCandidate& natural)
{
    Way w{.kernel = spmm::Kernel::panels,
          .order = c.kind,
          .cost = c.cost,
          .call_seconds = c.call_seconds,
          .order_seconds = c.order_seconds,
          .on_tensor_cores = 1,
          .made = c.made};
    const double gained = natural.call_seconds - c.call_seconds;
    if (c.kind != natural.kind && gained > 0)
        w.pays_after = static_cast<offset_t>(std::floor(c.order_seconds / gained)) + 1;
    return w;
}

// All columns and all tiles.
Way by_dense(const spmm::Features& t, const spmm::CostModel& model)
{
    const offset_t panels = ceil_div(offset_t{t.rows}, offset_t{64});
    Way w{.kernel = spmm::Kernel::dense,
          .cost = {.pairs = panels * t.cols,
                   .tiles = panels * 4 * ceil_div(offset_t{t.cols}, offset_t{8}),
                   .panels = panels,
                   .nonzeros = t.nonzeros},
          .on_tensor_cores = 1};
    w.call_seconds = spmm::multiply_seconds(model, w.cost, t.n, t.value_bytes);
    return w;
}

// The paper's way: dense tiles in the order bsa, the rest by rows. A row of B is fetched for every 32 rows of a tile
// and for every nonzero of the rest.
template <class V>
Way by_tiles(const Context& host, const CsrView<V>& a, const spmm::Features& t, const spmm::CostModel& model,
             double order_seconds)
{
    const spmm::RowOrder order =
        spmm::order_rows(host, spmm::pattern_of(a), {.kind = spmm::OrderKind::bsa, .checked = false});
    const spmm::Split<V> split =
        spmm::split_tiles(host, a, order, spmm::tile_side,
                          spmm::cheapest_density(model, t.n, t.value_bytes).least / spmm::tile_places);
    Way w{.kernel = spmm::Kernel::tiles, .order = spmm::OrderKind::bsa, .order_seconds = order_seconds};
    const offset_t rest = split.rest.nonzeros(), panels = split.tiles.view().block_rows();
    w.cost = {.pairs = split.dense_tiles * spmm::tile_side + rest,
              .tiles = split.dense_tiles * (spmm::tile_places / 128),
              .panels = panels,
              .nonzeros = t.nonzeros};
    w.call_seconds = spmm::tiles_seconds(model, t.rows, split.dense_tiles, panels, rest, t.n, t.value_bytes);
    w.on_tensor_cores = t.nonzeros == 0 ? 0 : static_cast<double>(split.in_tiles) / static_cast<double>(t.nonzeros);
    return w;
}

// A candidate that nobody counted, counted.
spmm::OrderCandidate counted_too(const Context& host, const spmm::Pattern& a, spmm::OrderCandidate c,
                                 const spmm::Features& t, const spmm::CostModel& model)
{
    c.cost = spmm::panel_cost(host, a, spmm::order_rows(host, a, {.kind = c.kind, .checked = false}));
    c.call_seconds = spmm::multiply_seconds(model, c.cost, t.n, t.value_bytes);
    c.made = true;
    return c;
}

// What a plan would look at and choose (src/spmm/spmm.cpp), without making one.
template <class V>
Explanation consider(const Context& host, const CsrView<LoadedAs<V>>& a, const ExplainSpmmOptions& options)
{
    const SpmmOptions& o = options.product;
    const Backend backend = o.backend == "cuda" ? Backend::cuda : Backend::cpu;
    Explanation e;
    e.features = {.rows = a.rows,
                  .cols = a.cols,
                  .nonzeros = a.nonzeros,
                  .longest = row_statistics(host, a.rows, a.cols, a.row_begin).longest,
                  .n = o.n,
                  .value_bytes = sizeof(V),
                  .tensor = sizeof(V) == 2 || o.type == "tf32",
                  .unique = a.unique,
                  .expected_calls = o.expected_calls};
    e.result_bytes = sizeof(ResultOf<V>);
    const spmm::CostModel model = spmm::cost_model(backend, host.host().threads, sizeof(V));
    e.ways.push_back(by_rows(e.features, model));
    if (can_be_panels(e.features, {backend})) {
        const auto found = spmm::choose_order(host, spmm::pattern_of(a),
                                              {.n = o.n,
                                               .value_bytes = sizeof(V),
                                               .expected_calls = o.expected_calls,
                                               .bsa = options.bsa,
                                               .backend = backend});
        for (const auto& c : found.candidates) {
            const bool wanted = options.all && (c.kind != spmm::OrderKind::bsa || options.bsa);
            e.ways.push_back(
                by_panels(c.made || !wanted ? c : counted_too(host, spmm::pattern_of(a), c, e.features, model),
                          found.candidates.front()));
            if (c.kind == found.order.kind) e.features.cost = c.cost;
        }
        e.features.order = found.order.kind;
        e.order_why = found.why;
        if (options.bsa) e.ways.push_back(by_tiles(host, a, e.features, model, found.candidates.back().order_seconds));
    } else if (spmm::wants_cost(e.features, {backend})) {  // full precision: dense or rows
        const spmm::Pattern pattern = spmm::pattern_of(a);
        e.features.cost = spmm::panel_cost(host, pattern, spmm::order_rows(host, pattern));
    }
    e.choice = spmm::choose(e.features, {backend});
    for (Way& w : e.ways)
        w.chosen =
            w.kernel == e.choice.policy.kernel && (w.kernel == spmm::Kernel::rows || w.order == e.choice.policy.order);
    if (e.choice.policy.kernel == spmm::Kernel::dense) {
        e.ways.push_back(by_dense(e.features, model));
        e.ways.back().chosen = true;
    }
    return e;
}

// Every way on a GPU, rows on a CPU. The chosen one is left to the plan, whose own words are kept.
template <class V>
void measure_ways(const Session& session, const Context& host, const CsrView<LoadedAs<V>>& a, const SpmmOptions& o,
                  Explanation& e)
{
    const bool on_gpu = o.backend == "cuda" && why_no_cuda().empty();
    if (o.backend == "cuda" && !on_gpu) session.console.say("measured on the CPU: " + why_no_cuda());
    const Activity work(session.console, "measuring");
    const Context ctx = on_gpu ? session.cuda() : session.host();
    const DenseProblem<V> problem = make_problem<V>(host, a, o);
    for (Way& w : e.ways) {
        if (!w.made || (!on_gpu && w.kernel != spmm::Kernel::rows)) continue;
        SpmmOptions one = o;
        if (!w.chosen && on_gpu) {
            one.kernel = spmm::to_text(w.kernel);
            one.order =
                w.kernel == spmm::Kernel::panels || w.kernel == spmm::Kernel::tiles ? spmm::to_text(w.order) : "";
        }
        const DenseResult result = measure_product(ctx, problem, one);
        w.measured = result.median;
        if (w.chosen || !on_gpu) e.description = result.description;
    }
    e.measured_on = ctx.name();
}

Json to_json(const Explanation& e, const SpmmOptions& o)
{
    Json list = Json::array();
    for (const Way& w : e.ways) {
        Json line{{"way", w.name()},
                  {"chosen", w.chosen},
                  {"counted", w.made},
                  {"predicted_seconds", w.call_seconds},
                  {"order_seconds", w.order_seconds}};
        if (w.made)
            line.update({{"rows_of_b", w.cost.pairs},
                         {"nonzeros_each", w.reuse()},
                         {"bytes_of_b", e.bytes_of_b(w)},
                         {"panels", w.cost.panels},
                         {"tiles_16x8", w.cost.tiles},
                         {"tile_fill", w.fill()}});
        line["share_on_tensor_cores"] = w.on_tensor_cores;
        line["pays_after_calls"] = w.pays_after ? Json(*w.pays_after) : Json();
        line["measured_seconds"] = w.measured ? Json(*w.measured) : Json();
        list.push_back(line);
    }
    return {{"n", o.n},
            {"type", o.type},
            {"predicted_for", o.backend},
            {"expected_calls", o.expected_calls},
            {"ways", list},
            {"chosen", spmm::to_text(e.choice.policy)},
            {"why", e.choice.why},
            {"order_why", e.order_why},
            {"share_on_tensor_cores", e.share_on_tensor_cores()},
            {"measured_on", e.measured_on},
            {"description", e.description}};
}

std::string table_of(const Session& session, const Explanation& e)
{
    const auto counted = [](const Way& w, const std::string& text) { return w.made ? text : std::string("-"); };
    Table table({{"", Align::left},
                 {"rows of B"},
                 {"nonzeros each"},
                 {"B moved"},
                 {"tiles 16 x 8"},
                 {"filled"},
                 {"predicted"},
                 {"order made in"},
                 {"pays after"},
                 {e.measured_on.empty() ? "measured" : "on " + e.measured_on}});
    for (const Way& w : e.ways) {
        const bool tiles = w.kernel != spmm::Kernel::rows && w.made;
        table.add({w.name() + (w.chosen ? " (chosen)" : ""), counted(w, grouped(w.cost.pairs)),
                   counted(w, fixed(w.reuse(), 2)), counted(w, human_bytes(static_cast<std::size_t>(e.bytes_of_b(w)))),
                   tiles ? grouped(w.cost.tiles) : "-", tiles ? share_text(w.fill()) : "-",
                   concat(w.made ? "" : ">= ", seconds_text(w.call_seconds)),
                   w.kernel == spmm::Kernel::rows ? "-" : seconds_text(w.order_seconds),
                   w.pays_after ? concat(w.made ? "" : ">= ", cli::counted(*w.pays_after, "call", "calls"))
                   : w.order == spmm::OrderKind::natural ? "-"
                                                         : "never",
                   w.measured ? seconds_text(*w.measured) : "-"});
    }
    return table.text(session.console);
}

Facts facts_of(const Explanation& e, const SpmmOptions& o)
{
    const spmm::Features& t = e.features;
    const Way& chosen = e.chosen();
    Facts facts;
    facts.add("chosen", spmm::to_text(e.choice.policy));
    facts.add("why", e.choice.why);
    if (!e.order_why.empty()) facts.add("order", e.order_why);
    if (chosen.kernel == spmm::Kernel::panels || chosen.kernel == spmm::Kernel::dense) {
        facts.add("tensor cores", fmt::format("all nonzeros, in {} that are {} full",
                                              counted(chosen.cost.tiles, "tile", "tiles"), share_text(chosen.fill())));
        facts.add("chunks",
                  fmt::format("{} of {} rows of B at least; {} rows of B a panel on average",
                              grouped(ceil_div(chosen.cost.pairs, offset_t{e.chunk_columns()})), e.chunk_columns(),
                              number_text(static_cast<double>(chosen.cost.pairs) /
                                          static_cast<double>(std::max(offset_t{1}, chosen.cost.panels)))));
    } else facts.add("tensor cores", "no nonzero");
    const std::size_t a_bytes = static_cast<std::size_t>(t.nonzeros) * (t.value_bytes + sizeof(index_t)) +
                                (static_cast<std::size_t>(t.rows) + 1) * sizeof(offset_t);
    facts.add("also moved", fmt::format("A, {} as CSR, and C, {}", human_bytes(a_bytes),
                                        human_bytes(static_cast<std::size_t>(t.rows) * static_cast<std::size_t>(t.n) *
                                                    e.result_bytes)));
    facts.add("predicted",
              o.backend == "cuda" ? "from a fit to what the kernels took on an H200" : "from 10 GB/s a thread, judged");
    facts.add("for", fmt::format("{} calls", o.expected_calls));
    return facts;
}

template <class V>
void explain_as(const Session& session, const ExplainSpmmOptions& options)
{
    const SpmmOptions& o = options.product;
    const Context host = session.host();
    const Loaded<LoadedAs<V>> loaded = load_for<V>(session, host, o.a, o.scale != "off");
    const auto given = loaded.matrix.view();
    const Csr<LoadedAs<V>> turned = o.transpose ? transpose(host, given) : Csr<LoadedAs<V>>{};
    const auto a = o.transpose ? turned.view() : given;
    Explanation e;
    {
        const Activity work(session.console, "counting");
        e = consider<V>(host, a, options);
    }
    if (o.repeat > 0) measure_ways<V>(session, host, given, o, e);
    if (session.settings.json) {
        Json result = about(o.a, given);
        result.update(to_json(e, o));
        return print(session, result);
    }
    const std::string title =
        fmt::format("C = A{} B, A = {}, {}, {}, B with {}, {}, on {}\n", o.transpose ? "^T" : "", o.a.name(),
                    shape_text(a.rows, a.cols), counted(a.nonzeros, "nonzero", "nonzeros"),
                    counted(o.n, "column", "columns"), o.type, o.backend == "cuda" ? "a GPU" : host.name());
    session.console.print(session.console.styled(title, Style::bold) + table_of(session, e) + "\n" +
                          facts_of(e, o).text(session.console) +
                          (e.description.empty() ? "" : "\nmeasured: " + shown(session, e.description)));
}

}  // namespace

void explain_spmm(const Session& session, const ExplainSpmmOptions& options)
{
    with_type(options.product.type, [&](auto v) { explain_as<decltype(v)>(session, options); });
}

void add_explain_spmm(Parser& parser, CLI::App* explain, ExplainSpmmOptions& options)
{
    SpmmOptions& o = options.product;
    CLI::App* verb =
        parser.verb("spmm",
                    "Every way to multiply with a dense B: rows of B fetched, tiles and how full they are, bytes, "
                    "predicted and measured times; which is chosen, and why.",
                    "tulle explain spmm matrix.mtx --n 128 --type f16\ntulle explain spmm twin:cant --n 64 --type tf32 "
                    "--expected-calls 100\ntulle explain spmm fem:24,3 --all --bsa --repeat 0",
                    explain);
    parser.matrix(verb, o.a);
    verb->add_option("--n", o.n, "columns of B (32)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    verb->add_option("--type", o.type,
                     "f16 (the default), bf16, tf32, f32 or f64; the first two with sums and C in f32")
        ->check(one_of({"f64", "f32", "tf32", "f16", "bf16"}))
        ->option_text("TYPE");
    verb->add_option("--backend", o.backend, "cuda (the default; predictions need no GPU) or cpu")
        ->check(one_of({"cpu", "cuda"}))
        ->option_text("WHERE");
    verb->add_flag("--transpose", o.transpose, "multiply with the transposed matrix");
    verb->add_flag("--all", options.all, "count orders that cannot pay within the calls too");
    verb->add_flag("--bsa", options.bsa,
                   "consider the order bsa too, for panels and for the paper's tiles and rest; takes long where the "
                   "matrix has hubs");
    verb->add_option("--expected-calls", o.expected_calls, "runs to prepare for (100)")
        ->check(positive())
        ->option_text("N");
    verb->add_option("--repeat", o.repeat, "timed runs (5); 0: measure nothing")
        ->check(CLI::Range(0, 1'000'000))
        ->option_text("N");
    Parser::seed(verb, o.seed, "of B");
    parser.device(verb, [&o] { return o.backend == "cuda" && o.repeat > 0 && why_no_cuda().empty(); });
    parser.verbose(verb);
    const auto orders_matter = [&o] {
        return o.backend == "cuda" && (o.type == "f16" || o.type == "bf16" || o.type == "tf32");
    };
    for (const char* option : {"--all", "--bsa"})
        parser.effective(verb, option, orders_matter, "where no tensor cores are used: on a CPU, or in f32 and f64");
    parser.effective(
        verb, "--verbose", [&o] { return o.repeat > 0; }, "with --repeat 0, which measures nothing");
    parser.effective(
        verb, "--seed", [&o] { return o.repeat > 0; }, "with --repeat 0, which measures nothing");
    parser.when(verb, [&options](const Session& session) { explain_spmm(session, options); });
}

}  // namespace tulle::cli
