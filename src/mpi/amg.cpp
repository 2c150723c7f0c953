// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Multigrid by smoothed aggregation on distributed matrices: levels as those of one process (amg/amg.cpp), but that
// aggregates stay on a rank and products are distributed. The first small level, and all below it, are on every rank.
#include <algorithm>
#include <cmath>
#include <utility>

#include "amg/checks.hpp"
#include "amg/cycle.hpp"
#include "amg/near_null.hpp"
#include "amg/rigid_body.hpp"
#include "base/plural.hpp"
#include "device/placed.hpp"
#include "mpi/amg_level.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::mpi {

template <class V>
struct AmgPlan<V>::State {
    Context ctx;
    amg::Options options;
    index_t vectors = 1;
    NewValues new_values = NewValues::possible;
    std::vector<std::unique_ptr<AmgLevelData<V>>> level = {};
    std::vector<AmgLevel> levels = {};
    bool usable = true;
    const void* known_r = nullptr;
    const void* known_z = nullptr;
};

namespace {

// Rows of a level that every rank has, over coarse_rows: products with fewer take less time than their messages.
constexpr global_t replicated_share = 5;
// The same where aggregates do not grow any more, because ranks have few rows.
constexpr global_t most_replicated_rows = 50'000;

template <class V>
void check_matrix(const DistCsr<V>& a, const amg::Options& options, index_t vectors)
{
    require(a.rows() == a.cols(), [&] { return concat("A is ", a.rows(), " x ", a.cols(), ", not square"); });
    require(a.row_cuts() == a.col_cuts(), "columns of A are not distributed as its rows", "leave col_cuts empty");
    require<ValueError>(options.coarsening != amg::Coarsening::classical || a.cluster().ranks() == 1,
                        "classical coarsening is not distributed",
                        "use Coarsening::aggregation, or SolveOptions::local_amg");
    require<ValueError>(options.coarsening != amg::Coarsening::classical || vectors == 0,
                        "classical coarsening takes no near null space", "use Coarsening::aggregation");
    a.cluster().run_collective(amg_phase, [&] { amg::check_nodes(a.local().rows, options.unknowns_per_node); });
}

template <class V>
using DistributedLevels = std::vector<std::unique_ptr<AmgLevelData<V>>>;

template <class V>
void push_level(const DistCsr<V>& matrix, const amg::Options& options, DistributedLevels<V>& level)
{
    level.push_back(std::make_unique<AmgLevelData<V>>(matrix));
    matrix.cluster().run_collective(amg_phase, [&] {
        amg::make_vectors(matrix.cluster().context(), *level.back(), options, level.size() == 1);
    });
}

// The near null space of the rows of this rank, on the host, with columns scaled alike on all ranks. Collective.
template <class V>
Buffer<V> make_near_null(const DistCsr<V>& a, index_t unknowns, const DenseView<const V>& given)
{
    const Cluster& cluster = a.cluster();
    const index_t rows = a.local().rows;
    const global_t most = cluster.largest(given.cols);
    Buffer<V> mine;
    std::vector<double> largest;
    cluster.run_collective(amg_phase, [&] {
        require(given.cols == most, [&] {
            return concat("the near null space has ", given.cols, plural(given.cols, " column", " columns"),
                          ", but on another rank ", most);
        });
        if (most == 0) mine = amg::first_near_null<V>(cluster.state().host, rows, unknowns, {});
        if (most == 0) return;
        amg::check_near_null(cluster.context(), rows, given);
        mine = Buffer<V>(cluster.context().host(), offset_t{rows} * given.cols);
        cluster.context().run([&](const auto& q) { download(q, given.data, mine.data(), mine.size()); });
        largest = amg::largest_of_columns(mine.data(), rows, given.cols, a.row_cuts()[rank_of(cluster)]);
    });
    for (double& column : largest)
        column = reduce(cluster, amg_phase, column, [](double x, double y) { return std::max(x, y); });
    amg::scale_columns(std::as_const(mine).data(), most == 0 ? 0 : rows, largest, mine.data());
    return mine;
}

// The levels that are distributed; the last of them, or the only one, is on every rank where it is small enough.
template <class V>
DistributedLevels<V> make_levels(const DistCsr<V>& matrix, const amg::Options& options, index_t vectors,
                                 Buffer<V> near_null, NewValues new_values)
{
    const Cluster& cluster = matrix.cluster();
    const Context& host = cluster.state().host;
    DistributedLevels<V> level;
    Buffer<V> coarse_null;
    push_level(matrix, options, level);
    for (int n = 0;; ++n) {
        AmgLevelData<V>& l = *level.back();
        const global_t rows = l.whole.rows();
        global_t most = cluster.ranks() == 1 ? rows : replicated_share * options.coarse_rows;
        if (rows > most) {
            const AmgSetup<V> setup = inspect(l, options, n == 0);
            if (n + 1 >= options.most_levels) break;
            cluster.run_collective(amg_phase, [&] { coarse_null = to_device(host, std::as_const(near_null).span()); });
            const DistCsr<V> tentative =
                aggregate(l, amg::strength_of(options, n), n == 0 ? options.unknowns_per_node : vectors, vectors, setup,
                          coarse_null);
            if (!amg::is_stalled(tentative.cols(), rows)) {
                push_level(coarsen(l, tentative, options.prolongator_damping, setup, new_values), options, level);
                near_null = std::move(coarse_null);
                continue;
            }
            most = most_replicated_rows;
        }
        if (rows <= most) l.direct.emplace(l.whole, options, n, vectors, near_null);
        break;
    }
    return level;
}

template <class V>
std::vector<AmgLevel> list_levels(const DistributedLevels<V>& level)
{
    std::vector<AmgLevel> list;
    for (const auto& l : level)
        if (!l->direct) list.push_back({l->whole.rows(), l->whole.nonzeros(), l->spectral_radius, false});
        else
            for (const auto& r : l->direct->levels())
                list.push_back({r->a.rows, r->a.nonzeros, r->spectral_radius, true});
    return list;
}

}  // namespace

template <class V>
AmgPlan<V> AmgPlan<V>::make(const DistCsr<V>& a, const amg::Options& options, const DenseView<const V>& near_null_space,
                            NewValues new_values)
{
    amg::check_options(options);
    require<ValueError>(options.storage == amg::Storage::full, "levels over several ranks are not kept in 16 bits",
                        "use amg::Storage::full");
    check_matrix(a, options, near_null_space.cols);
    const index_t vectors = near_null_space.cols > 0 ? near_null_space.cols : options.unknowns_per_node;
    auto state = std::make_unique<State>(State{a.cluster().context(), options, vectors, new_values});
    state->level =
        make_levels(a, options, vectors, make_near_null(a, options.unknowns_per_node, near_null_space), new_values);
    state->levels = list_levels(state->level);
    return AmgPlan(std::move(state));
}

template <class V>
void AmgPlan<V>::update_values()
{
    State& s = *state_;
    require<ValueError>(s.new_values == NewValues::possible, "the plan was made without room for new values",
                        "make it for new values (new_values)");
    s.usable = false;
    for (std::size_t n = 0; n < s.level.size(); ++n) {
        AmgLevelData<V>& l = *s.level[n];
        if (l.direct) {
            l.direct->update_values(l.whole);
            break;
        }
        const AmgSetup<V> setup = inspect(l, s.options, n == 0);
        if (l.next) refill(l, s.options.prolongator_damping, setup, s.level[n + 1]->whole);
    }
    s.levels = list_levels(s.level);
    s.usable = true;
}

template <class V>
void AmgPlan<V>::apply(std::span<const V> r, std::span<V> z)
{
    State& s = *state_;
    require<ValueError>(s.usable, "the plan has no hierarchy: the last update_values failed",
                        "call update_values with values that can be used");
    const index_t rows = s.level[0]->rows();
    require(std::ssize(r) == rows && std::ssize(z) == rows, [&] {
        return concat("the local parts of r and z have ", r.size(), " and ", z.size(), " entries, not ", rows);
    });
    require<ValueError>(are_apart(r, z), "r and z overlap", "give z memory of its own");
    require_placed(s.ctx, r.data(), r.size(), s.known_r, "r");
    require_placed(s.ctx, z.data(), z.size(), s.known_z, "z");
    amg::CycleOf<V, AmgLevelData<V>>{s.ctx, s.options, s.level}.run(0, r, z, true);
}

template <class V>
const std::vector<AmgLevel>& AmgPlan<V>::levels() const
{
    return state_->levels;
}

template <class V>
const amg::Options& AmgPlan<V>::policy() const
{
    return state_->options;
}

template <class V>
double AmgPlan<V>::operator_complexity() const
{
    double sum = 0;
    for (const AmgLevel& l : levels()) sum += static_cast<double>(l.nonzeros);
    return levels()[0].nonzeros == 0 ? 1 : sum / static_cast<double>(levels()[0].nonzeros);
}

template <class V>
std::size_t AmgPlan<V>::bytes() const
{
    std::size_t sum = 0;
    for (const auto& l : state_->level) sum += l->bytes() + l->whole.bytes();
    return sum - state_->level[0]->whole.bytes();
}

template <class V>
std::string AmgPlan<V>::describe() const
{
    const State& s = *state_;
    const int ranks = s.level[0]->whole.cluster().ranks();
    std::string text = concat("amg on ", ranks, plural(ranks, " rank", " ranks"), " of ", s.ctx.name(),
                              ": smoothed aggregation, ", s.vectors, plural(s.vectors, " vector", " vectors"),
                              " of the near null space, ", to_text(s.options.smoother), ", ", to_text(s.options.cycle),
                              "-cycle", sizeof(V) == 4 ? ", float" : ", double");
    for (std::size_t n = 0; n < s.levels.size(); ++n)
        text += concat("\n  level ", n, ": ", s.levels[n].rows, plural(s.levels[n].rows, " row, ", " rows, "),
                       s.levels[n].nonzeros, plural(s.levels[n].nonzeros, " nonzero", " nonzeros"),
                       s.levels[n].replicated ? ", on every rank" : ", distributed", ", spectral radius ",
                       fixed(s.levels[n].spectral_radius, 3));
    return text + concat("\n  operator complexity: ", fixed(operator_complexity(), 3),
                         s.new_values == NewValues::never ? "; no new values" : "");
}

template <class V>
Dense<V> rigid_body_modes(const Cluster& cluster, const DenseView<const V>& coordinates)
{
    amg::PointSums sums;
    cluster.run_collective("rigid-body modes", [&] { sums = amg::sums_of(coordinates); });
    sums = reduce(cluster, "rigid-body modes", sums, [](amg::PointSums x, const amg::PointSums& y) {
        for (std::size_t c = 0; c < x.of.size(); ++c) x.of[c] += y.of[c];
        x.points += y.points;
        return x;
    });
    const double reach = reduce(cluster, "rigid-body modes", amg::reach_of(coordinates, sums),
                                [](double x, double y) { return std::max(x, y); });
    Dense<V> modes;
    cluster.run_collective("rigid-body modes",
                           [&] { modes = amg::modes_of(cluster.context(), coordinates, sums, reach); });
    return modes;
}

template Dense<float> rigid_body_modes(const Cluster&, const DenseView<const float>&);
template Dense<double> rigid_body_modes(const Cluster&, const DenseView<const double>&);
template class AmgPlan<float>;
template class AmgPlan<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
