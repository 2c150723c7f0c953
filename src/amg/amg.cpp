// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Multigrid by smoothed aggregation (Vanek, Mandel, Brezina 1996, doi:10.1007/BF02238511) or classical interpolation,
// from a matrix to a cycle.
//
//   inspect     diagonal, and the spectral radius of D^-1 A by a few steps of Lanczos
//   aggregate   strong connections, of nodes where these have several unknowns (nodes.hpp), a maximal independent set
//               of distance two, aggregates around it; the near null space on each of them, orthonormal, is the
//               tentative prolongator T (setup.cpp, rows.hpp). Or: coarse points (classical.cpp)
//   coarsen     P = (I - w D^-1 A) T, or interpolation from coarse points; R = P^T, coarse matrix R (A P): products by
//               SpGEMM, whose plans are kept
//   invert      the coarsest matrix, dense (coarse.cpp)
//   cycle       smooth, restrict, recurse, prolong, smooth: SpMV and updates of vectors (K-cycle: krylov.hpp)
#include "tulle/amg.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "amg/checks.hpp"
#include "amg/near_null.hpp"
#include "amg/setup.hpp"
#include "amg/steps.hpp"
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
    index_t vectors = 1;
    std::vector<std::unique_ptr<LevelData<V>>> level;
    std::vector<Level> levels;
    bool usable = false;
    const void* known_r = nullptr;
    const void* known_z = nullptr;
};

namespace {

constexpr double coarsening_stalls = 0.9;  // rows of the next level over those of this one
constexpr index_t most_dense_rows = 3000;  // of a matrix that is inverted where coarsening stalls
constexpr double smoothed_part = 8;        // Chebyshev: largest over smallest eigenvalue that is smoothed
constexpr int coarse_sweeps = 4;           // of the smoother on a coarsest level that is not inverted

void check_options(const Options& o)
{
    require<ValueError>(o.strength >= 0 && o.strength < 1,
                        [&] { return concat("strength is ", o.strength, ", not from 0 to below 1"); });
    require<ValueError>(o.degree >= 1 && o.degree <= 100,
                        [&] { return concat("the degree is ", o.degree, ", not from 1 to 100"); });
    require<ValueError>(o.sweeps >= 1 && o.sweeps <= 100,
                        [&] { return concat("sweeps is ", o.sweeps, ", not from 1 to 100"); });
    require<ValueError>(o.prolongator_damping >= 0 && o.prolongator_damping < 2, [&] {
        return concat("prolongator_damping is ", o.prolongator_damping, ", not from 0 to below 2");
    });
    require<ValueError>(o.coarse_rows >= 1 && o.coarse_rows <= most_dense_rows,
                        [&] { return concat("coarse_rows is ", o.coarse_rows, ", not from 1 to ", most_dense_rows); });
    require<ValueError>(o.most_levels >= 1, [&] { return concat("most_levels is ", o.most_levels, ", below 1"); });
    require<ValueError>(o.classical_strength >= 0 && o.classical_strength < 1, [&] {
        return concat("classical_strength is ", o.classical_strength, ", not from 0 to below 1");
    });
    require<ValueError>(o.interpolation_entries >= 1,
                        [&] { return concat("interpolation_entries is ", o.interpolation_entries, ", below 1"); });
}

// The near null space of the finest level: the given one, scaled, or a constant for each unknown of a node.
template <class V>
Buffer<V> first_near_null(const Context& ctx, index_t rows, index_t unknowns, const DenseView<const V>& given)
{
    if (given.cols == 0)
        return ctx.run([&](const auto& q) {
            Buffer<V> constants(q, offset_t{rows} * unknowns);
            for_each(q, rows, SetTranslations<V>{unknowns, constants.data()});
            return constants;
        });
    check_near_null(ctx, rows, given);
    return unit_columns<V>(ctx, given).data;
}

template <class V>
void make_vectors(const Context& ctx, LevelData<V>& level, const Options& options, bool finest)
{
    ctx.run([&](const auto& q) {
        const index_t n = level.a.rows;
        if (!finest) {
            level.r = Buffer<V>(q, n);
            level.z = Buffer<V>(q, n);
        }
        level.residual = Buffer<V>(q, n);
        if (options.smoother == Smoother::chebyshev || options.smoother == Smoother::gauss_seidel)
            level.direction = Buffer<V>(q, n);
        if (options.cycle == Cycle::k && !finest) level.krylov.emplace(q, n);
    });
}

template <class V>
void make_transfer_plans(const Context& ctx, Transfer<V>& t)
{
    t.down = spmv::Plan<V>::make(ctx, t.restriction.view(), {.checked = false});
    t.up = spmv::Plan<V>::make(ctx, t.prolongation.view(), {.checked = false});
}

bool is_coarsest(index_t rows, std::size_t level, const Options& o)
{
    return rows <= o.coarse_rows || level + 1 >= static_cast<std::size_t>(o.most_levels);
}

// --- The cycle ---

template <class V>
struct CycleOf {
    const Context& ctx;
    const Options& options;
    const std::vector<std::unique_ptr<LevelData<V>>>& level;

    template <class Step>
    void update(const LevelData<V>& l, const Step& step) const
    {
        ctx.run([&](const auto& q) { for_each(q, l.a.rows, step); });
    }

    // residual = r - A z.
    void find_residual(LevelData<V>& l, std::span<const V> r, std::span<const V> z) const
    {
        ctx.run([&](const auto& q) { copy(q, r.data(), l.residual.data(), l.a.rows); });
        l.multiply->run(V(-1), z, V(1), l.residual.span());
    }

    // The same after smooth(). The Chebyshev smoother leaves r - A (z - direction) behind, unless it has no products.
    void find_smoothed_residual(LevelData<V>& l, std::span<const V> r, std::span<const V> z, bool from_zero) const
    {
        const bool known = options.smoother == Smoother::chebyshev && (options.degree > 1 || !from_zero);
        if (known) l.multiply->run(V(-1), std::as_const(l.direction).span(), V(1), l.residual.span());
        else find_residual(l, r, z);
    }

    // Improves z; from_zero: z is not read, and taken to be zero.
    void smooth(LevelData<V>& l, std::span<const V> r, std::span<V> z, bool from_zero, int sweeps,
                bool backwards = false) const
    {
        if (l.lower) {
            for (int n = 0; n < sweeps * options.sweeps; ++n)
                smooth_gauss_seidel(l, r, z, from_zero && n == 0, backwards ? *l.upper : *l.lower);
            return;
        }
        if (options.smoother == Smoother::chebyshev) {
            for (int n = 0; n < sweeps; ++n) smooth_chebyshev(l, r, z, from_zero && n == 0);
            return;
        }
        const V factor =
            options.smoother == Smoother::l1_jacobi ? V(1) : static_cast<V>(l.largest > 0 ? 4.0 / 3.0 / l.largest : 1);
        for (int n = 0; n < sweeps * options.sweeps; ++n) {
            if (from_zero && n == 0) {
                update(l, SmoothFirst<V>{l.inverse.data(), r.data(), factor, nullptr, z.data()});
                continue;
            }
            find_residual(l, r, z);
            update(l, SmoothNext<V>{l.inverse.data(), l.residual.data(), V(0), factor, nullptr, z.data()});
        }
    }

    // z += T^-1 (r - A z), T a triangle of A.
    void smooth_gauss_seidel(LevelData<V>& l, std::span<const V> r, std::span<V> z, bool from_zero,
                             const sptrsv::Plan<V>& triangle) const
    {
        if (from_zero) return triangle.solve(r, z);
        find_residual(l, r, z);
        triangle.solve(std::as_const(l.residual).span(), l.direction.span());
        update(l, SmoothNext<V>{l.inverse.data(), l.residual.data(), V(1), V(0), l.direction.data(), z.data()});
    }

    // Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, algorithm 12.1, for D^-1 A.
    void smooth_chebyshev(LevelData<V>& l, std::span<const V> r, std::span<V> z, bool from_zero) const
    {
        const double high = l.largest > 0 ? l.largest : 1, low = high / smoothed_part;
        const double middle = (high + low) / 2, radius = (high - low) / 2, sigma = middle / radius;
        double rho = 1 / sigma;
        const V* residual = r.data();
        if (!from_zero) {
            find_residual(l, r, z);
            residual = l.residual.data();
        }
        const V first = static_cast<V>(1 / middle);
        if (from_zero) update(l, SmoothFirst<V>{l.inverse.data(), residual, first, l.direction.data(), z.data()});
        else update(l, SmoothNext<V>{l.inverse.data(), residual, V(0), first, l.direction.data(), z.data()});
        for (int k = 1; k < options.degree; ++k) {
            if (from_zero && k == 1) ctx.run([&](const auto& q) { copy(q, r.data(), l.residual.data(), l.a.rows); });
            l.multiply->run(V(-1), std::as_const(l.direction).span(), V(1), l.residual.span());
            const double next = 1 / (2 * sigma - rho);
            update(l, SmoothNext<V>{l.inverse.data(), l.residual.data(), static_cast<V>(next * rho),
                                    static_cast<V>(2 * next / radius), l.direction.data(), z.data()});
            rho = next;
        }
    }

    void solve_coarsest(LevelData<V>& l, std::span<const V> r, std::span<V> z, bool from_zero) const
    {
        if (l.direct) return l.direct->run(r, z);
        smooth(l, r, z, from_zero, coarse_sweeps);
        if (l.lower) smooth(l, r, z, false, coarse_sweeps, true);
    }

    // Two steps of flexible CG for A z = r, whose preconditioner is a cycle; r is overwritten (krylov.hpp).
    void run_krylov(std::size_t n) const
    {
        LevelData<V>& l = *level[n];
        Krylov<V>& k = *l.krylov;
        const auto dot = [&](const Buffer<V>& x, const Buffer<V>& y, int to) {
            ctx.run([&](const auto& q) {
                vector::dot(q, l.a.rows, x.data(), y.data(), k.dots.data() + to, k.sums.space());
            });
        };
        run(n, std::as_const(l.r).span(), k.c.span(), true);
        l.multiply->run(std::as_const(k.c).span(), k.v.span());
        dot(l.r, k.c, KrylovDots::r_c);
        dot(k.v, k.c, KrylovDots::c_v);
        update(l, KrylovResidual<V>{{k.dots.data()}, k.v.data(), l.r.data()});
        run(n, std::as_const(l.r).span(), l.z.span(), true);
        l.multiply->run(std::as_const(l.z).span(), k.w.span());
        dot(k.v, l.z, KrylovDots::v_d);
        dot(k.w, l.z, KrylovDots::w_d);
        dot(l.r, l.z, KrylovDots::s_d);
        update(l, KrylovSum<V>{{k.dots.data()}, k.c.data(), l.z.data()});
    }

    // z: a cycle from z, or from zero.
    void run(std::size_t n, std::span<const V> r, std::span<V> z, bool from_zero) const
    {
        LevelData<V>& l = *level[n];
        if (!l.next) return solve_coarsest(l, r, z, from_zero);
        smooth(l, r, z, from_zero, 1);
        find_smoothed_residual(l, r, z, from_zero);
        LevelData<V>& coarse = *level[n + 1];
        l.next->down->run(std::as_const(l.residual).span(), coarse.r.span());
        if (options.cycle == Cycle::k && coarse.next) run_krylov(n + 1);
        else run(n + 1, std::as_const(coarse.r).span(), coarse.z.span(), true);
        if (options.cycle == Cycle::w && coarse.next)
            run(n + 1, std::as_const(coarse.r).span(), coarse.z.span(), false);
        l.next->up->run(V(1), std::as_const(coarse.z).span(), V(1), z);
        smooth(l, r, z, false, 1, true);
    }
};

std::string coarsening_text(const Options& o, index_t vectors)
{
    if (o.coarsening == Coarsening::classical) return "classical coarsening (PMIS), extended+i interpolation, ";
    return concat("smoothed aggregation, ", vectors, plural(vectors, " vector", " vectors"),
                  " of the near null space, ",
                  o.unknowns_per_node > 1 ? concat(o.unknowns_per_node, " unknowns per node, ") : "");
}

}  // namespace

std::string to_text(Cycle cycle) { return cycle == Cycle::v ? "V" : cycle == Cycle::w ? "W" : "K"; }

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
    check_options(options);
    auto state = std::make_unique<State>(State{.ctx = ctx, .options = options, .wide = {}, .level = {}, .levels = {}});
    State& s = *state;
    const auto a = std::visit([&](const auto& m) { return matrix::widened<CsrView<V>>(ctx, m, s.wide); }, given);
    require(a.rows == a.cols, [&] { return concat("a matrix of ", a.rows, " x ", a.cols, " is not square"); });
    if (options.checked) check(ctx, a);
    check_nodes(a.rows, options.unknowns_per_node);
    require<ValueError>(options.coarsening != Coarsening::classical ||
                            (near_null_space.cols == 0 && options.unknowns_per_node == 1),
                        "classical coarsening takes no near null space and no nodes of several unknowns",
                        "use Coarsening::aggregation");
    s.vectors = near_null_space.cols > 0 ? near_null_space.cols : options.unknowns_per_node;
    Buffer<V> near_null = first_near_null(ctx, a.rows, options.unknowns_per_node, near_null_space);
    s.level.push_back(std::make_unique<LevelData<V>>());
    s.level[0]->a = a;
    for (std::size_t n = 0; a.rows > 0; ++n) {
        LevelData<V>& l = *s.level[n];
        l.multiply = spmv::Plan<V>::make(ctx, l.a, {.checked = false});
        inspect(ctx, l, options, n == 0);
        if (options.smoother == Smoother::gauss_seidel) prepare_triangles(ctx, l);
        make_vectors(ctx, l, options, n == 0);
        if (is_coarsest(l.a.rows, n, options)) break;
        Transfer<V> next;
        if (options.coarsening == Coarsening::classical)
            next.interpolation = choose_interpolation(ctx, l, options.classical_strength);
        else
            next.tentative = aggregate(ctx, l, options.strength / std::pow(2.0, static_cast<double>(n)),
                                       n == 0 ? options.unknowns_per_node : s.vectors, s.vectors, near_null);
        const index_t coarse_rows = next.interpolation ? next.interpolation->direct.cols : next.tentative.cols;
        if (coarse_rows == 0 || coarse_rows > coarsening_stalls * l.a.rows) break;
        l.next = std::move(next);
        auto coarse = std::make_unique<LevelData<V>>();
        coarsen(ctx, l, options, true, coarse->own);
        make_transfer_plans(ctx, *l.next);
        coarse->a = coarse->own.view();
        s.level.push_back(std::move(coarse));
    }
    LevelData<V>& last = *s.level.back();
    if (a.rows > 0 && last.a.rows <= std::max(options.coarse_rows, std::min(most_dense_rows, a.rows - 1))) {
        const trace::Phase phase{"invert"};
        last.solution = invert_dense(ctx, last.a);
        last.direct = spmv::Plan<V>::make(ctx, last.solution.view(), {.checked = false});
    }
    for (const auto& l : s.level) s.levels.push_back({l->a.rows, l->a.nonzeros, l->spectral_radius});
    s.usable = true;
    return Plan(std::move(state));
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
    s.level[0]->a = a;
    for (std::size_t n = 0; a.rows > 0 && n < s.level.size(); ++n) {
        LevelData<V>& l = *s.level[n];
        l.multiply->update_values(l.a);
        inspect(s.ctx, l, s.options, n == 0);
        if (s.options.smoother == Smoother::gauss_seidel) prepare_triangles(s.ctx, l);
        s.levels[n].spectral_radius = l.spectral_radius;
        if (!l.next) break;
        coarsen(s.ctx, l, s.options, false, s.level[n + 1]->own);
        l.next->down->update_values(l.next->restriction.view());
        l.next->up->update_values(l.next->prolongation.view());
    }
    LevelData<V>& last = *s.level.back();
    if (last.direct) {
        last.solution = invert_dense(s.ctx, last.a);
        last.direct->update_values(last.solution.view());
    }
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
    CycleOf<V>{s.ctx, s.options, s.level}.run(0, r, z, true);
}

template <class V>
const std::vector<Level>& Plan<V>::levels() const
{
    return state_->levels;
}
template <class V>
const Options& Plan<V>::options() const
{
    return state_->options;
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
        concat("amg on ", s.ctx.name(), ": ", coarsening_text(s.options, s.vectors), to_text(s.options.smoother), ", ",
               to_text(s.options.cycle), "-cycle", sizeof(V) == 4 ? ", float" : ", double");
    for (std::size_t n = 0; n < s.levels.size(); ++n)
        text +=
            concat("\n  level ", n, ": ", s.levels[n].rows, plural(s.levels[n].rows, " row, ", " rows, "),
                   s.levels[n].nonzeros, plural(s.levels[n].nonzeros, " nonzero", " nonzeros"), ", spectral radius ",
                   fixed(s.levels[n].spectral_radius, 3), s.level[n]->positive ? "" : ", zeros on the diagonal");
    text += concat("\n  coarsest: ", s.level.back()->direct ? "solved directly" : "smoothed");
    return text + concat("\n  operator complexity: ", fixed(operator_complexity(), 3),
                         "\n  order:    the same bits every time\n  keeps:    ", human_bytes(bytes()),
                         matrix::widened_text(s.wide.bytes()));
}

template class Plan<float>;
template class Plan<double>;

}  // namespace tulle::inline TULLE_ABI::amg
