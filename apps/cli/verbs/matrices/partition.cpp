// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle partition: how the rows of a matrix would be dealt out to the ranks of a cluster, without MPI. x is dealt out
// as the rows where the matrix is square, else evenly. With METIS, rows and columns are ordered first.
//
// Times are a model, not a measurement: a rank reads its rows and its x from memory at the stated speed, receives its
// halo at the speed of the link, and pays the latency once for each neighbour; the slowest rank counts.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apps/cli/picture/colour.hpp"
#include "apps/cli/picture/plot.hpp"
#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs.hpp"
#include "tulle/convert.hpp"
#include "tulle/repartition.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

struct RankShare {
    offset_t rows = 0, nonzeros = 0, halo = 0, neighbours = 0;  // halo: entries of x from other ranks
};

struct Dealt {
    std::vector<RankShare> ranks;
    double imbalance = 1;  // nonzeros of the fullest rank beside the mean
    offset_t halo = 0, most_halo = 0, most_neighbours = 0;
    double seconds = 0, one = 0;  // of a product, predicted: on all ranks, on one
};

// The matrix whose rows are dealt out in their order, and where.
struct Cut {
    std::optional<Csr<double>> ordered = {};  // rows and columns in the order of METIS
    mpi::Cuts rows;

    CsrView<double> view(const CsrView<double>& given) const { return ordered ? ordered->view() : given; }
};

Cut cut_rows(const Context& ctx, const CsrView<double>& a, const PartitionOptions& o)
{
    if (o.method == "metis") {
        const mpi::RowOrder order = mpi::metis_order(a, o.ranks);
        return {permute<double>(ctx, a, order.order, order.order), order.cuts};
    }
    const bool by_rows = o.method == "rows";
    return {{},
            by_rows ? mpi::even_cuts(a.rows, o.ranks)
                    : mpi::balanced_cuts({a.row_begin, static_cast<std::size_t>(a.rows) + 1}, o.ranks)};
}

// The columns of other ranks that rows use, each once, and how many ranks have them. Memory by nonzeros, not by
// columns, of which there may be far more.
RankShare share_of(const CsrView<double>& a, const mpi::Cuts& rows, const mpi::Cuts& cols, std::size_t rank)
{
    RankShare share{rows[rank + 1] - rows[rank], a.row_begin[rows[rank + 1]] - a.row_begin[rows[rank]]};
    std::vector<index_t> ghosts;
    for (offset_t k = a.row_begin[rows[rank]]; k < a.row_begin[rows[rank + 1]]; ++k) {
        const index_t j = a.col[k];
        if (j < cols[rank] || j >= cols[rank + 1]) ghosts.push_back(j);
    }
    std::sort(ghosts.begin(), ghosts.end());
    ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
    share.halo = std::ssize(ghosts);
    for (std::size_t k = 0; k < ghosts.size(); ++share.neighbours) {
        const auto end = *std::upper_bound(cols.begin(), cols.end(), ghosts[k]);
        while (k < ghosts.size() && ghosts[k] < end) ++k;
    }
    return share;
}

double seconds_of(const RankShare& s, const PartitionOptions& o)
{
    constexpr double nonzero_bytes = sizeof(double) + sizeof(index_t),
                     row_bytes = sizeof(offset_t) + 2 * sizeof(double);
    const double bytes = static_cast<double>(s.nonzeros) * nonzero_bytes + static_cast<double>(s.rows) * row_bytes;
    return bytes / (o.memory * 1e9) + static_cast<double>(s.halo) * sizeof(double) / (o.link * 1e9) +
           static_cast<double>(s.neighbours) * o.latency * 1e-6;
}

Dealt deal(const CsrView<double>& a, const mpi::Cuts& rows, const PartitionOptions& o)
{
    const mpi::Cuts cols = a.rows == a.cols ? rows : mpi::even_cuts(a.cols, o.ranks);
    Dealt dealt;
    offset_t most = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(o.ranks); ++r) {
        const RankShare share = share_of(a, rows, cols, r);
        dealt.ranks.push_back(share);
        most = std::max(most, share.nonzeros);
        dealt.halo += share.halo;
        dealt.most_halo = std::max(dealt.most_halo, share.halo);
        dealt.most_neighbours = std::max(dealt.most_neighbours, share.neighbours);
        dealt.seconds = std::max(dealt.seconds, seconds_of(share, o));
    }
    if (a.nonzeros > 0) dealt.imbalance = static_cast<double>(most) * o.ranks / static_cast<double>(a.nonzeros);
    dealt.one = seconds_of({a.rows, a.nonzeros}, o);
    return dealt;
}

Json partition_json(const Dealt& d, const PartitionOptions& o)
{
    Json ranks = Json::array();
    for (const RankShare& s : d.ranks)
        ranks.push_back({{"rows", s.rows}, {"nonzeros", s.nonzeros}, {"halo", s.halo}, {"neighbours", s.neighbours}});
    return {{"method", o.method},
            {"ranks", ranks},
            {"imbalance", d.imbalance},
            {"halo", d.halo},
            {"halo_bytes", d.halo * offset_t{sizeof(double)}},
            {"most_halo", d.most_halo},
            {"most_neighbours", d.most_neighbours},
            {"predicted_seconds", d.seconds},
            {"predicted_seconds_one_rank", d.one},
            {"predicted_speedup", d.seconds > 0 ? d.one / d.seconds : 1.0},
            {"assumed",
             {{"link_bytes_per_second", o.link * 1e9},
              {"latency_seconds", o.latency * 1e-6},
              {"memory_bytes_per_second", o.memory * 1e9}}}};
}

// Up to so many ranks are listed; others are in the sums alone.
std::string text_of(const Session& session, const Dealt& d, const PartitionOptions& o)
{
    constexpr std::size_t listed = 64;
    Table table({{"rank"}, {"rows"}, {"nonzeros"}, {"x from others"}, {"neighbours"}, {"predicted"}});
    for (std::size_t r = 0; r < std::min(listed, d.ranks.size()); ++r)
        table.add({std::to_string(r), grouped(d.ranks[r].rows), grouped(d.ranks[r].nonzeros), grouped(d.ranks[r].halo),
                   grouped(d.ranks[r].neighbours), seconds_text(seconds_of(d.ranks[r], o))});
    Facts facts;
    if (d.ranks.size() > listed)
        facts.add("not listed", counted(std::ssize(d.ranks) - offset_t{listed}, "rank", "ranks"));
    facts.add("imbalance", fmt::format("{:.4f}: nonzeros of the fullest rank beside the mean", d.imbalance));
    facts.add("halo",
              fmt::format("{} of x in a product, {}; at most {} for a rank", counted(d.halo, "entry", "entries"),
                          human_bytes(static_cast<std::size_t>(d.halo) * sizeof(double)), grouped(d.most_halo)));
    facts.add("neighbours", fmt::format("at most {}", d.most_neighbours));
    facts.add("model",
              fmt::format("{} for SpMV, {} on one rank: {:.2f} times as fast; {} GB/s of memory and {} GB/s of "
                          "link for each rank, {} us a message",
                          seconds_text(d.seconds), seconds_text(d.one), d.seconds > 0 ? d.one / d.seconds : 1.0,
                          o.memory, o.link, o.latency));
    return table.text(session.console) + "\n" + facts.text(session.console);
}

void draw(const Session& session, const CsrView<double>& a, const mpi::Cuts& rows, const PartitionOptions& o)
{
    const picture::Plot plot{.matrix = picture::pattern_of(a),
                             .panels = {{.title = o.matrix.name(),
                                         .subtitle =
                                             fmt::format("{} by {}", counted(o.ranks, "rank", "ranks"), o.method),
                                         .order = {}}},
                             .parts = {rows.begin(), rows.end()}};
    const Activity work(session.console, concat("drawing ", o.plot));
    picture::write_plot(o.plot, plot, session.host().host().threads);
}

}  // namespace

void partition_rows(const Session& session, const PartitionOptions& options)
{
    if (!options.plot.empty()) {
        picture::check_picture(options.plot, {});
        require<UsageError>(
            options.ranks <= picture::most_parts,
            [&] { return concat(options.ranks, " ranks cannot be told apart by their colours"); },
            concat("draw at most ", picture::most_parts));
    }
    const Context ctx = session.host();
    const Loaded<double> loaded = load<double>(session, ctx, options.matrix);
    const auto& a = loaded.matrix;
    const Cut cut = cut_rows(ctx, a.view(), options);
    const Dealt dealt = deal(cut.view(a.view()), cut.rows, options);
    if (!options.plot.empty()) draw(session, cut.view(a.view()), cut.rows, options);
    if (session.settings.json) {
        Json result = about(options.matrix, a.view());
        result.update(partition_json(dealt, options));
        return print(session, result);
    }
    const std::string title =
        fmt::format("{} on {} by {}: {}, {}\n", options.matrix.name(), counted(options.ranks, "rank", "ranks"),
                    options.method, shape_text(a.rows, a.cols), counted(a.nonzeros(), "nonzero", "nonzeros"));
    session.console.print(session.console.styled(title, Style::bold) + text_of(session, dealt, options));
}

}  // namespace tulle::cli
