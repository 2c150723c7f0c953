// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs/matrices/spy_reorder.hpp"

#include <fmt/format.h>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/progress.hpp"
#include "spmm/order/split.hpp"
#include "tulle/convert.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::cli {
namespace {

// The same pattern with ones for values: entries are told by where they are, whatever they hold.
Csr<float> ones_of(const Context& ctx, const CsrView<double>& a)
{
    return ctx.run([&](const auto& q) {
        Csr<float> b = Csr<float>::make(q, a.rows, a.cols, a.nonzeros);
        copy(q, a.row_begin, b.row_begin.data(), b.row_begin.size());
        copy(q, a.col, b.col.data(), b.col.size());
        const std::vector<float> ones(static_cast<std::size_t>(a.nonzeros), 1.0f);
        upload(q, ones.data(), b.value.data(), a.nonzeros);
        b.sorted = a.sorted;
        b.unique = a.unique;
        return b;
    });
}

OrderedMatrix look_at(const Context& ctx, const Csr<float>& a, const spmm::RowOrder& order, const SpyOptions& options)
{
    OrderedMatrix m{.row = {order.row.span().begin(), order.row.span().end()},
                    .cost = spmm::panel_cost(ctx, spmm::pattern_of(a.view()), order),
                    .row_begin = {},
                    .col = {}};
    const spmm::Split<float> split = spmm::split_tiles(ctx, a.view(), order, options.tau, options.delta);
    m.dense_tiles = split.dense_tiles;
    m.in_tiles = split.in_tiles;
    const Csr<float> dense = to_csr(ctx, split.tiles.view());
    m.row_begin.assign(static_cast<std::size_t>(a.rows - dense.rows), 0);  // the panels before the first tile
    m.row_begin.insert(m.row_begin.end(), dense.row_begin.span().begin(), dense.row_begin.span().end());
    m.col.assign(dense.col.span().begin(), dense.col.span().end());
    return m;
}

std::string order_text(const SpyOptions& options)
{
    return options.reorder == "bsa" ? fmt::format("bsa, tau {}, alpha {:g}", options.tau, options.alpha)
                                    : options.reorder;
}

std::string tiles_text(const SpyOptions& options)
{
    return fmt::format("tiles of {0} × {0} over {1} filled", options.tau, share_text(options.delta));
}

Json to_json(const OrderedMatrix& m)
{
    return {{"gathered", m.cost.pairs},
            {"tiles_16x8", m.cost.tiles},
            {"panels", m.cost.panels},
            {"dense_tiles", m.dense_tiles},
            {"share_in_dense_tiles", m.share_in_tiles()}};
}

}  // namespace

Reordering reorder(const Session& session, const Context& ctx, const CsrView<double>& a, const SpyOptions& options)
{
    const Activity work(session.console, concat("reordering by ", options.reorder));
    const spmm::OrderOptions wish{.kind = spmm::parse_order(options.reorder),
                                  .tau = options.tau,
                                  .alpha = options.alpha};
    const Csr<float> ones = ones_of(ctx, a);
    const double begin = trace::now();
    const spmm::RowOrder order = spmm::order_rows(ctx, spmm::pattern_of(ones.view()), wish);
    Reordering r{
        .cols = a.cols, .before = {}, .after = {}, .clusters = order.clusters, .seconds = trace::now() - begin};
    r.before = look_at(ctx, ones, spmm::order_rows(ctx, spmm::pattern_of(ones.view())), options);
    r.after = look_at(ctx, ones, order, options);
    return r;
}

void show(const Reordering& r, const SpyOptions& options, picture::Plot& plot)
{
    const auto gathers = [](const OrderedMatrix& m) {
        return fmt::format("{} of B gathered, {} in dense tiles", counted(m.cost.pairs, "row", "rows"),
                           share_text(m.share_in_tiles()));
    };
    plot.standing_out = tiles_text(options);
    plot.panels.front().subtitle = gathers(r.before);
    plot.panels.front().standing_out = r.before.dense(r.cols);
    plot.panels.push_back({.title = fmt::format("rows by {}", order_text(options)),
                           .subtitle = gathers(r.after),
                           .order = {r.after.row, {}},
                           .standing_out = r.after.dense(r.cols)});
}

std::string text_of(const Reordering& r, const SpyOptions& options, const Console& console)
{
    Table table({{concat("rows by ", order_text(options)), Align::left}, {"before"}, {"after"}});
    table.add({"rows of B gathered by panels of 64", grouped(r.before.cost.pairs), grouped(r.after.cost.pairs)});
    table.add({"nonzeros for each of them", fixed(r.before.reuse(), 2), fixed(r.after.reuse(), 2)});
    table.add({"tiles of 16 x 8 with a nonzero", grouped(r.before.cost.tiles), grouped(r.after.cost.tiles)});
    table.add({concat("dense tiles of ", options.tau, " x ", options.tau), grouped(r.before.dense_tiles),
               grouped(r.after.dense_tiles)});
    table.add({"nonzeros in them", share_text(r.before.share_in_tiles()), share_text(r.after.share_in_tiles())});
    return table.text(console) +
           fmt::format("  made in {}{}\n", seconds_text(r.seconds),
                       r.clusters > 0 ? concat(", ", counted(r.clusters, "cluster", "clusters")) : "");
}

Json to_json(const Reordering& r, const SpyOptions& options)
{
    return {{"order", options.reorder},        {"tau", options.tau},
            {"alpha", options.alpha},          {"delta", options.delta},
            {"milliseconds", r.seconds * 1e3}, {"clusters", r.clusters},
            {"before", to_json(r.before)},     {"after", to_json(r.after)}};
}

}  // namespace tulle::cli
