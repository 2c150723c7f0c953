// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The levels of a hierarchy, made one after the other.
#include <algorithm>
#include <cmath>
#include <utility>

#include "amg/checks.hpp"
#include "amg/near_null.hpp"
#include "amg/setup.hpp"
#include "amg/steps.hpp"
#include "base/enumerators.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "vector/power.hpp"

namespace tulle::inline TULLE_ABI::amg {
namespace {

constexpr index_t most_dense_rows = 3000;  // of a matrix that is inverted where coarsening stalls

// R is the transpose of P in a cycle only where both are read in the same type.
template <class V>
void match_types(Transfer<V>& t)
{
    if ((t.down->full() == nullptr) == (t.up->full() == nullptr)) return;
    t.down->use_full(t.restriction.view());
    t.up->use_full(t.prolongation.view());
}

template <class V>
void make_transfer_plans(const Context& ctx, Transfer<V>& t, Storage storage)
{
    t.down.emplace(ctx, t.restriction.view(), storage);
    t.up.emplace(ctx, t.prolongation.view(), storage);
    match_types(t);
}

// The coarsest matrix of all, where it is small enough; one that was coarsened before, or whose coarsening stalled, may
// be larger.
template <class V>
void invert_coarsest(const Context& ctx, LevelData<V>& last, const Options& options, bool coarsened)
{
    if (last.a.rows > std::max(options.coarse_rows, coarsened ? most_dense_rows : 0)) return;
    const trace::Phase phase{"invert"};
    last.solution = invert_dense(ctx, last.a);
    last.direct = spmv::Plan<V>::make(ctx, last.solution.view(), {.checked = false});
}

constexpr int power_steps = 15;

// 4/3 over the largest eigenvalue of M A, as for Jacobi: below two over it, so that a cycle is positive definite.
template <class V>
double damping_of(const Context& ctx, LevelData<V>& l, const spmv::Plan<V>& product)
{
    const double largest = ctx.run([&](const auto& q) {
        return vector::largest_by_power(q, l.direction, power_steps, [&](double factor) {
            product.run(static_cast<V>(factor), std::as_const(l.direction).span(), V(0), l.residual.span());
            l.given->apply(std::as_const(l.residual).span(), l.direction.span());
        });
    });
    return 4.0 / 3.0 / (radius_safety * largest);
}

// The product in the type of the vectors, while a smoother is made and as long as one keeps it. What `multiply` holds
// may change with the values, unless it is to be full.
template <class V>
const spmv::Plan<V>& full_product(const Context& ctx, Storage storage, LevelData<V>& l)
{
    if (storage == Storage::full) return *l.multiply->full();
    if (l.full) l.full->update_values(l.a);
    else l.full = spmv::Plan<V>::make(ctx, l.a, {.checked = false});
    return *l.full;
}

// Smoothers of all levels that are not solved directly; a level whose diagonal has zeros gets none.
template <class V>
void prepare_given(const Context& ctx, Levels<V>& level, Storage storage, const MakeSmoother<V>& make)
{
    if (!make) return;
    const trace::Phase phase{"smoothers"};
    for (auto& l : level) {
        if (l->direct || l->a.rows == 0) continue;
        if (!l->positive) {
            l->given.reset();
            l->full.reset();
            continue;
        }
        const spmv::Plan<V>& product = full_product(ctx, storage, *l);
        if (l->given) l->given->update_values(l->a);
        else l->given = make(ctx, l->a, product);
        if (l->direction.empty()) l->direction = ctx.run([&](const auto& q) { return Buffer<V>(q, l->rows()); });
        l->damping = damping_of(ctx, *l, product);
        if (!l->given->keeps_product()) l->full.reset();
    }
}

}  // namespace

template <class V>
void make_vectors(const Context& ctx, LevelRows<V>& level, const Options& options, bool finest)
{
    ctx.run([&](const auto& q) {
        const index_t n = level.rows();
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

void check_options(const Options& o)
{
    require_enumerator(o.coarsening, Coarsening::classical, "coarsening");
    require_enumerator(o.smoother, Smoother::gauss_seidel, "smoother");
    require_enumerator(o.cycle, Cycle::k, "cycle");
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
    require_enumerator(o.storage, Storage::bf16, "storage");
    require<ValueError>(o.interpolation_entries >= 1,
                        [&] { return concat("interpolation_entries is ", o.interpolation_entries, ", below 1"); });
}

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
Levels<V> make_levels(const Context& ctx, const CsrView<V>& a, const Options& options, int first, index_t vectors,
                      Buffer<V> near_null, const MakeSmoother<V>& smoother)
{
    Levels<V> level;
    level.push_back(std::make_unique<LevelData<V>>());
    level[0]->a = a;
    if (a.rows == 0) return level;
    for (int n = first;; ++n) {
        LevelData<V>& l = *level.back();
        l.multiply.emplace(ctx, l.a, options.storage);
        inspect(ctx, l, options, n == 0);
        if (options.smoother == Smoother::gauss_seidel) prepare_triangles(ctx, l);
        make_vectors(ctx, l, options, n == 0);
        if (is_coarsest(l.a.rows, n, options)) break;
        Transfer<V> next;
        if (options.coarsening == Coarsening::classical)
            next.interpolation = choose_interpolation(ctx, l, options.classical_strength);
        else
            next.tentative = aggregate(ctx, l, strength_of(options, n), n == 0 ? options.unknowns_per_node : vectors,
                                       vectors, near_null);
        if (is_stalled(next.interpolation ? next.interpolation->direct.cols : next.tentative.cols, l.a.rows)) break;
        l.next = std::move(next);
        auto coarse = std::make_unique<LevelData<V>>();
        coarsen(ctx, l, options, true, coarse->own);
        make_transfer_plans(ctx, *l.next, options.storage);
        coarse->a = coarse->own.view();
        level.push_back(std::move(coarse));
    }
    invert_coarsest(ctx, *level.back(), options, first > 0 || level.size() > 1);
    prepare_given(ctx, level, options.storage, smoother);
    return level;
}

template <class V>
void update_levels(const Context& ctx, const CsrView<V>& a, const Options& options, int first, Levels<V>& level,
                   const MakeSmoother<V>& smoother)
{
    level[0]->a = a;
    for (std::size_t n = 0; a.rows > 0 && n < level.size(); ++n) {
        LevelData<V>& l = *level[n];
        l.multiply->update_values(l.a);
        inspect(ctx, l, options, first == 0 && n == 0);
        if (options.smoother == Smoother::gauss_seidel) prepare_triangles(ctx, l);
        if (!l.next) break;
        coarsen(ctx, l, options, false, level[n + 1]->own);
        l.next->down->update_values(l.next->restriction.view());
        l.next->up->update_values(l.next->prolongation.view());
        match_types(*l.next);
    }
    LevelData<V>& last = *level.back();
    if (last.direct) {
        last.solution = invert_dense(ctx, last.a);
        last.direct->update_values(last.solution.view());
    }
    prepare_given(ctx, level, options.storage, smoother);
}

#define TULLE_LEVELS(V)                                                                                        \
    template Buffer<V> first_near_null(const Context&, index_t, index_t, const DenseView<const V>&);           \
    template void make_vectors(const Context&, LevelRows<V>&, const Options&, bool);                           \
    template Levels<V> make_levels(const Context&, const CsrView<V>&, const Options&, int, index_t, Buffer<V>, \
                                   const MakeSmoother<V>&);                                                    \
    template void update_levels(const Context&, const CsrView<V>&, const Options&, int, Levels<V>&,            \
                                const MakeSmoother<V>&);
TULLE_LEVELS(float)
TULLE_LEVELS(double)
#undef TULLE_LEVELS

}  // namespace tulle::inline TULLE_ABI::amg
