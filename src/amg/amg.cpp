// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Multigrid by smoothed aggregation (Vanek, Mandel, Brezina 1996, doi:10.1007/BF02238511) or classical interpolation,
// from a matrix to a cycle.
//
// Levels are made one after the other (levels.cpp):
//
//   inspect     diagonal, and the spectral radius of D^-1 A by a few steps of Lanczos
//   aggregate   strong connections, of nodes where these have several unknowns (nodes.hpp), a maximal independent set
//               of distance two, aggregates around it; the near null space on each of them, orthonormal, is the
//               tentative prolongator T (setup.cpp, rows.hpp). Or: coarse points (classical.cpp)
//   coarsen     P = (I - w D^-1 A) T, or interpolation from coarse points; R = P^T, coarse matrix R (A P): products by
//               SpGEMM, whose plans are kept
//   invert      the coarsest matrix, dense (coarse.cpp)
//   cycle       smooth, restrict, recurse, prolong, smooth: SpMV and updates (cycle.hpp; K-cycle: krylov.hpp)
#include "tulle/amg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "amg/checks.hpp"
#include "amg/cycle.hpp"
#include "amg/setup.hpp"
#include "base/enumerators.hpp"
#include "base/indented.hpp"
#include "base/plural.hpp"
#include "device/placed.hpp"
#include "matrix/plan_checks.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::amg {

template <class V>
struct Plan<V>::State {
    Context ctx;
    Options options;
    Buffer<offset_t> wide;  // offsets of the caller's matrix, if they had 32 bits
    Features features = {};
    MakeSmoother<V> smoother;  // empty: that of the options
    Levels<V> level;
    std::vector<Level> levels;
    bool usable = false;
    const void* known_r = nullptr;
    const void* known_z = nullptr;
};

namespace {

std::string coarsening_text(const Options& o, index_t vectors)
{
    if (o.coarsening == Coarsening::classical) return "classical coarsening (PMIS), extended+i interpolation, ";
    return concat("smoothed aggregation, ", vectors, plural(vectors, " vector", " vectors"),
                  " of the near null space, ",
                  o.unknowns_per_node > 1 ? concat(o.unknowns_per_node, " unknowns per node, ") : "");
}

// Whether a cycle multiplies with the matrix of a level.
template <class V>
bool is_read(const LevelData<V>& l)
{
    return l.multiply && !l.direct;
}

template <class V>
Level summary_of(const LevelData<V>& l)
{
    return {l.a.rows, l.a.nonzeros, l.spectral_radius, is_read(l) && !l.multiply->full()};
}

// What is said of a level where 16 bits were asked for.
template <class V>
std::string storage_text(Storage storage, const LevelData<V>& l)
{
    if (storage == Storage::full || !is_read(l)) return {};
    return concat(", ", l.multiply->full() ? "in float: rows of too different size or length" : to_text(storage));
}

// The smoother from a module above, as the first level that has one describes it.
template <class V>
std::string given_text(const Levels<V>& level)
{
    for (std::size_t n = 0; n < level.size(); ++n)
        if (level[n]->given)
            return concat("\n  smoother of level ", n, ", times ", fixed(level[n]->damping, 3), ":\n",
                          indented(level[n]->given->describe(), 4));
    return {};
}

}  // namespace

std::string to_text(Cycle cycle) { return cycle == Cycle::v ? "V" : cycle == Cycle::w ? "W" : "K"; }

std::string to_text(Storage storage) { return name_in(std::array{"full", "f16", "bf16"}, storage); }

std::string to_text(Smoother smoother)
{
    switch (smoother) {
    case Smoother::jacobi: return "jacobi";
    case Smoother::l1_jacobi: return "l1_jacobi";
    case Smoother::chebyshev: return "chebyshev";
    case Smoother::gauss_seidel: return "gauss_seidel";
    }
    return "unknown";
}

template <class V>
Plan<V> Plan<V>::make(const Context& ctx, const AnyCsr<V>& given, const Options& options,
                      const DenseView<const V>& near_null_space)
{
    return PlanAccess::make<V>(ctx, given, options, near_null_space, {});
}

template <class V>
Plan<V> PlanAccess::make(const Context& ctx, const AnyCsr<V>& given, const Options& options,
                         const DenseView<const V>& near_null_space, MakeSmoother<V> smoother)
{
    using State = typename Plan<V>::State;
    check_options(options);
    require<ValueError>(std::is_same_v<V, float> || options.storage == Storage::full,
                        "matrices of 16 bits are multiplied in float", "use amg::Plan<float>, or Storage::full");
    auto state = std::make_unique<State>(
        State{.ctx = ctx, .options = options, .wide = {}, .smoother = std::move(smoother), .level = {}, .levels = {}});
    State& s = *state;
    const auto a = std::visit([&](const auto& m) { return matrix::widened<CsrView<V>>(ctx, m, s.wide); }, given);
    require(a.rows == a.cols, [&] { return concat("a matrix of ", a.rows, " x ", a.cols, " is not square"); });
    if (options.checked) check(ctx, a);
    check_nodes(a.rows, options.unknowns_per_node);
    require<ValueError>(options.coarsening != Coarsening::classical ||
                            (near_null_space.cols == 0 && options.unknowns_per_node == 1),
                        "classical coarsening takes no near null space and no nodes of several unknowns",
                        "use Coarsening::aggregation");
    s.features = {a.rows, a.nonzeros, near_null_space.cols > 0 ? near_null_space.cols : options.unknowns_per_node};
    s.level = make_levels(ctx, a, options, 0, s.features.near_null_cols,
                          first_near_null(ctx, a.rows, options.unknowns_per_node, near_null_space), s.smoother);
    for (const auto& l : s.level) s.levels.push_back(summary_of(*l));
    s.usable = true;
    return Plan<V>(std::move(state));
}

template <class V>
void Plan<V>::update_values(const AnyCsr<V>& given)
{
    State& s = *state_;
    Buffer<offset_t> fresh;
    const auto a = matrix::renewed<CsrView<V>>(s.ctx, given, s.wide, fresh);
    matrix::require_same_size({rows(), rows(), s.level[0]->a.nonzeros}, matrix::size_of(a));
    if (!fresh.empty()) s.wide = std::move(fresh);
    s.usable = false;
    update_levels(s.ctx, a, s.options, 0, s.level, s.smoother);
    for (std::size_t n = 0; n < s.level.size(); ++n) s.levels[n] = summary_of(*s.level[n]);
    s.usable = true;
}

template <class V>
void Plan<V>::apply(std::span<const V> r, std::span<V> z) const
{
    State& s = *state_;
    require<ValueError>(s.usable, "the plan has no hierarchy: the last update_values failed",
                        "call update_values with values that can be used");
    require(std::ssize(r) == rows(),
            [&] { return concat("r has ", r.size(), " entries, but the matrix has ", rows(), " rows"); });
    require(std::ssize(z) == rows(),
            [&] { return concat("z has ", z.size(), " entries, but the matrix has ", rows(), " rows"); });
    require<ValueError>(are_apart(r, z), "r and z overlap", "give z memory of its own");
    require_placed(s.ctx, r.data(), r.size(), s.known_r, "r");
    require_placed(s.ctx, z.data(), z.size(), s.known_z, "z");
    if (rows() == 0) return;
    CycleOf<V, LevelData<V>>{s.ctx, s.options, s.level}.run(0, r, z, true);
}

template <class V>
const std::vector<Level>& Plan<V>::levels() const
{
    return state_->levels;
}
template <class V>
const Options& Plan<V>::policy() const
{
    return state_->options;
}
template <class V>
const Features& Plan<V>::features() const
{
    return state_->features;
}
template <class V>
index_t Plan<V>::rows() const
{
    return state_->level[0]->a.rows;
}

template <class V>
double Plan<V>::operator_complexity() const
{
    double sum = 0;
    for (const Level& l : levels()) sum += static_cast<double>(l.nonzeros);
    return levels()[0].nonzeros == 0 ? 1 : sum / static_cast<double>(levels()[0].nonzeros);
}

template <class V>
std::size_t Plan<V>::bytes() const
{
    std::size_t sum = state_->wide.bytes();
    for (const auto& l : state_->level) sum += l->bytes();
    return sum;
}

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    std::string text =
        concat("amg on ", s.ctx.name(), ": ", coarsening_text(s.options, s.features.near_null_cols),
               s.smoother ? "nested smoother" : to_text(s.options.smoother), ", ", to_text(s.options.cycle), "-cycle",
               sizeof(V) == 4 ? ", float" : ", double",
               s.options.storage == Storage::full ? "" : concat(", matrices in ", to_text(s.options.storage)));
    for (std::size_t n = 0; n < s.levels.size(); ++n)
        text +=
            concat("\n  level ", n, ": ", s.levels[n].rows, plural(s.levels[n].rows, " row, ", " rows, "),
                   s.levels[n].nonzeros, plural(s.levels[n].nonzeros, " nonzero", " nonzeros"), ", spectral radius ",
                   fixed(s.levels[n].spectral_radius, 3), s.level[n]->positive ? "" : ", zeros on the diagonal",
                   storage_text(s.options.storage, *s.level[n]));
    text += concat("\n  coarsest: ", s.level.back()->direct ? "solved directly" : "smoothed", given_text(s.level));
    return text + concat("\n  operator complexity: ", fixed(operator_complexity(), 3),
                         "\n  order:    the same bits every time\n  keeps:    ", human_bytes(bytes()),
                         matrix::widened_text(s.wide.bytes()));
}

template class Plan<float>;
template class Plan<double>;
template Plan<float> PlanAccess::make(const Context&, const AnyCsr<float>&, const Options&,
                                      const DenseView<const float>&, MakeSmoother<float>);
template Plan<double> PlanAccess::make(const Context&, const AnyCsr<double>&, const Options&,
                                       const DenseView<const double>&, MakeSmoother<double>);

}  // namespace tulle::inline TULLE_ABI::amg
