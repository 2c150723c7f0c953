// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/amg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "amg/classical.hpp"
#include "amg/nodes.hpp"
#include "amg/rows.hpp"
#include "amg/setup.hpp"
#include "factor/matrices.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "tulle/generate.hpp"
#include "tulle/text.hpp"

namespace tulle {
namespace {

using amg::Coarsening;
using amg::Cycle;
using amg::Options;
using amg::Plan;
using amg::Smoother;
using test::csr_of;
using test::host_vector;
using test::HostCsr;
using test::laplacian;
using Vector = std::vector<double>;

template <class V>
std::vector<V> applied(const Context& c, const Plan<V>& plan, const std::vector<V>& r)
{
    const auto there = to_device<V>(c, r);
    auto z = c.run([&](const auto& q) { return Buffer<V>(q, plan.rows()); });
    plan.apply(there.span(), z.span());
    return host_vector(c, z);
}

template <class V>
std::vector<V> product(const HostCsr<V>& a, const std::vector<V>& x)
{
    std::vector<V> y(x.size(), 0);
    for (std::size_t i = 0; i < y.size(); ++i)
        for (auto k = static_cast<std::size_t>(a.row_begin[i]); k < static_cast<std::size_t>(a.row_begin[i + 1]); ++k)
            y[i] += a.value[k] * x[static_cast<std::size_t>(a.col[k])];
    return y;
}

template <class V>
double dot(const std::vector<V>& x, const std::vector<V>& y)
{
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += double(x[i]) * double(y[i]);
    return sum;
}

// Iterations of preconditioned CG until the residual is 1e-8 of that of x = 0, with b = 1.
template <class V>
int iterations_of_cg(const Context& c, const HostCsr<V>& a, const Plan<V>& plan, double tolerance = 1e-8)
{
    const auto n = static_cast<std::size_t>(a.rows);
    std::vector<V> x(n, 0), r(n, 1), z = applied(c, plan, r), p = z;
    double rz = dot(r, z);
    const double goal = tolerance * std::sqrt(dot(r, r));
    for (int iteration = 1; iteration <= 200; ++iteration) {
        const auto q = product(a, p);
        const auto alpha = static_cast<V>(rz / dot(p, q));
        for (std::size_t i = 0; i < n; ++i) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        if (std::sqrt(dot(r, r)) <= goal) return iteration;
        z = applied(c, plan, r);
        const double next = dot(r, z);
        for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + static_cast<V>(next / rz) * p[i];
        rz = next;
    }
    return 1000;
}

template <class V>
int iterations_on(const Context& c, const HostCsr<V>& a, const Options& o = {}, double tolerance = 1e-8)
{
    const auto there = to_device(c, a.view());
    return iterations_of_cg(c, a, Plan<V>::make(c, there.view(), o), tolerance);
}

template <class V>
void expect_symmetric(const Context& c, const Plan<V>& plan, double tolerance = 1e-12)
{
    const auto x = test::test_vector<V>(plan.rows(), test::Values::integers, 1),
               y = test::test_vector<V>(plan.rows(), test::Values::integers, 2);
    const auto mx = applied(c, plan, x), my = applied(c, plan, y);
    EXPECT_NEAR(dot(mx, y), dot(x, my), tolerance * std::sqrt(dot(mx, mx) * dot(y, y)));
    EXPECT_GT(dot(x, mx), 0);
    EXPECT_GT(dot(y, my), 0);
}

const std::vector<Options> all_options{
    {.smoother = Smoother::jacobi, .coarse_rows = 20},
    {.smoother = Smoother::l1_jacobi, .sweeps = 2, .coarse_rows = 20},
    {.smoother = Smoother::chebyshev, .coarse_rows = 20},
    {.smoother = Smoother::gauss_seidel, .coarse_rows = 20},
    {.smoother = Smoother::gauss_seidel, .sweeps = 2, .coarse_rows = 1, .most_levels = 2},
    {.degree = 3, .cycle = Cycle::w, .coarse_rows = 5},
    {.prolongator_damping = 0, .coarse_rows = 20},
    {.coarse_rows = 5, .most_levels = 2},
    {.coarsening = Coarsening::classical, .coarse_rows = 10},
    {.coarsening = Coarsening::classical,
     .interpolation_entries = 2,
     .smoother = Smoother::gauss_seidel,
     .coarse_rows = 10}};

class AmgOn : public test::OnBackend {};
TULLE_ON_BACKENDS(AmgOn);

// Not on simulated GPUs and before sanitizers: too large.
TEST(Amg, NeedsAsManyIterationsOnEveryGrid)
{
    if (build::simulated || simt::under_tsan || simt::under_asan)
        GTEST_SKIP() << "counts iterations on large grids: slow here";
    const Context c = Context::cpu(2);
    const int small = iterations_on(c, laplacian<double>(16, 16, 16)),
              large = iterations_on(c, laplacian<double>(48, 48, 48));
    EXPECT_LE(small, 11);
    EXPECT_LE(large, 13);  // PyAMG: 11 for 64^3
    EXPECT_LE(large, 1.5 * small);
    EXPECT_LE(iterations_on(c, laplacian<double>(48, 48, 48), {.smoother = Smoother::gauss_seidel}), 12);
    EXPECT_LE(iterations_on(c, laplacian<double>(100, 100, 1)), 14);
    EXPECT_LE(iterations_on(c, laplacian<double>(100, 100, 1, 0.001)), 25);
}

TEST_P(AmgOn, PreconditionsCg)
{
    const Context c = ctx();
    const auto a = laplacian<double>(8, 6, 5);
    unsigned number = 0;
    for (const auto& o : all_options) {
        if (!test::has_turn(number++)) continue;
        SCOPED_TRACE(to_text(o.smoother));
        EXPECT_LE(iterations_on(c, a, o), 30);
    }
    EXPECT_LE(iterations_on(c, laplacian<float>(8, 6, 5), {.coarse_rows = 20}, 1e-5), 12);
}

TEST_P(AmgOn, IsSymmetricAndPositiveDefinite)
{
    const Context c = ctx();
    const auto a = laplacian<double>(7, 6, 5, 0.1);
    const auto there = to_device(c, a.view());
    unsigned number = 2;
    for (const auto& o : all_options) {
        if (!test::has_turn(number++)) continue;
        SCOPED_TRACE(to_text(o.smoother));
        const auto plan = Plan<double>::make(c, there.view(), o);
        expect_symmetric(c, plan);
    }
}

TEST_P(AmgOn, GivesTheSameHierarchyAsOneThread)
{
    const Context c = ctx(), one = Context::cpu(1);
    const auto a = laplacian<double>(10, 9, 5);
    const auto here = to_device(one, a.view()), there = to_device(c, a.view());
    const auto p = Plan<double>::make(one, here.view(), {.coarse_rows = 10}),
               q = Plan<double>::make(c, there.view(), {.coarse_rows = 10});
    ASSERT_EQ(p.levels().size(), q.levels().size());
    ASSERT_GE(p.levels().size(), 3u);
    for (std::size_t n = 0; n < p.levels().size(); ++n) {
        EXPECT_EQ(p.levels()[n].rows, q.levels()[n].rows);
        EXPECT_EQ(p.levels()[n].nonzeros, q.levels()[n].nonzeros);
        EXPECT_NEAR(p.levels()[n].spectral_radius, q.levels()[n].spectral_radius, 1e-10);
    }
    const auto r = test::test_vector<double>(a.rows, test::Values::integers, 3);
    const auto x = applied(one, p, r), y = applied(c, q, r);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-10);
}

// Every fine point depends on a coarse one and no two coarse ones depend on each other; rows of P have the entries
// that they may have, and where a row of A sums to zero, P keeps constants.
TEST_P(AmgOn, ClassicalInterpolationKeepsConstants)
{
    const Context c = ctx();
    const auto a = laplacian<double>(9, 8, 7);
    const auto there = to_device(c, a.view());
    amg::LevelData<double> level;
    level.a = there.view();
    level.multiply.emplace(c, level.a, amg::Storage::full);
    amg::inspect(c, level, {}, true);
    level.next.emplace();
    level.next->interpolation = amg::choose_interpolation(c, level, 0.25);
    amg::interpolate(c, level, 4, true);
    const auto number = host_vector(c, level.next->interpolation->number);
    const auto is_coarse = [&](std::size_t i) { return number[i + 1] != number[i]; };
    const auto p = test::host_of(c, level.next->prolongation);
    const Vector sums = product(a, Vector(static_cast<std::size_t>(a.rows), 1));
    ASSERT_EQ(p.cols, number.back());
    ASSERT_LT(p.cols, a.rows / 2);
    std::size_t inside = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        int coarse_neighbours = 0;
        for (auto k = static_cast<std::size_t>(a.row_begin[i]); k < static_cast<std::size_t>(a.row_begin[i + 1]); ++k) {
            const auto j = static_cast<std::size_t>(a.col[k]);
            coarse_neighbours += j != i && is_coarse(j);
        }
        EXPECT_EQ(coarse_neighbours == 0, is_coarse(i)) << i;
        const auto begin = static_cast<std::size_t>(p.row_begin[i]), end = static_cast<std::size_t>(p.row_begin[i + 1]);
        ASSERT_GE(end, begin + 1);
        ASSERT_LE(end, begin + 4);
        double sum = 0;
        for (std::size_t k = begin; k < end; ++k) sum += p.value[k];
        EXPECT_LE(sum, 1 + 1e-12);
        EXPECT_TRUE(!is_coarse(i) || (end == begin + 1 && p.value[begin] == 1)) << i;
        if (sums[i] != 0) continue;
        EXPECT_NEAR(sum, 1, 1e-12) << i;
        ++inside;
    }
    EXPECT_GT(inside, 100u);
}

// Of entries whose magnitudes differ by rounding alone, the first are kept.
// Three nodes of two unknowns in a row, whose unknowns are connected with each other too.
TEST(Amg, NeighboursOfANodeAreOthersWithTheStrongestWeight)
{
    const std::vector<offset_t> begin{0, 2, 4, 6, 9, 10, 12};
    const std::vector<index_t> col{1, 2, 0, 3, 0, 3, 1, 2, 5, 5, 3, 4};
    const std::vector<double> weight{9, 1, 9, 2, 1, 9, 2, 9, 3, 9, 3, 9};
    std::vector<offset_t> at(6), count(3), to{0, 1, 3};
    const amg::UnknownGraph<double> graph{{begin.data(), col.data()}, weight.data(), 2, at.data()};
    std::vector<index_t> neighbour(4, -1);
    Vector strongest(4);
    for (offset_t node = 0; node < 3; ++node) amg::CountNodeNeighbours<double>{graph, count.data()}(node);
    ASSERT_EQ(count, (std::vector<offset_t>{1, 2, 1}));
    for (offset_t node = 0; node < 3; ++node)
        amg::FillNodeNeighbours<double>{graph, to.data(), neighbour.data(), strongest.data()}(node);
    EXPECT_EQ(neighbour, (std::vector<index_t>{1, 0, 2, 1}));
    EXPECT_EQ(strongest, (Vector{2, 2, 3, 3}));
}

TEST(Amg, TruncationTakesTheFirstOfEqualEntries)
{
    const std::vector<offset_t> begin{0, 5}, kept_begin{0, 3};
    const std::vector<index_t> col{2, 4, 6, 8, 9};
    const auto kept = [&](const Vector& value) {
        std::vector<index_t> chosen(3);
        std::vector<offset_t> source(3);
        amg::ChooseKept<double>{
            {begin.data(), value.data(), 3}, col.data(), kept_begin.data(), chosen.data(), source.data()}(0);
        return chosen;
    };
    EXPECT_EQ(kept({1, 5, 3, 4, 2}), (std::vector<index_t>{4, 6, 8}));
    EXPECT_EQ(kept({0.25, 0.25 + 1e-16, 0.25, -0.25, 0.25 + 1e-15}), (std::vector<index_t>{2, 4, 6}));
    EXPECT_EQ(kept({0.1, 0.2, -0.1, 0.3, 0.1 + 1e-15}), (std::vector<index_t>{2, 4, 8}));
}

TEST_P(AmgOn, ClassicalCoarseningIsTheSameAsOnOneThread)
{
    const Context c = ctx(), one = Context::cpu(1);
    const auto a = laplacian<double>(10, 9, 5);
    const auto here = to_device(one, a.view()), there = to_device(c, a.view());
    const Options o{.coarsening = Coarsening::classical, .coarse_rows = 10};
    const auto p = Plan<double>::make(one, here.view(), o), q = Plan<double>::make(c, there.view(), o);
    ASSERT_EQ(p.levels().size(), q.levels().size());
    ASSERT_GE(p.levels().size(), 3u);
    for (std::size_t n = 0; n < p.levels().size(); ++n) EXPECT_EQ(p.levels()[n].nonzeros, q.levels()[n].nonzeros);
    EXPECT_NE(p.describe().find("classical coarsening"), std::string::npos);
    const auto r = test::test_vector<double>(a.rows, test::Values::integers, 3);
    const auto x = applied(one, p, r), y = applied(c, q, r);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-10);
    const auto vectors = to_device<double>(c, Vector(static_cast<std::size_t>(a.rows), 1));
    EXPECT_THROW(Plan<double>::make(c, there.view(), o, {a.rows, 1, 1, Layout::row_major, vectors.data()}), ValueError);
    EXPECT_THROW(Plan<double>::make(c, there.view(), {.classical_strength = 1}), ValueError);
    EXPECT_THROW(Plan<double>::make(c, there.view(), {.interpolation_entries = 0}), ValueError);
}

// Not on simulated GPUs and before sanitizers: too large.
TEST(Amg, ClassicalCoarseningNeedsFewIterations)
{
    if (build::simulated || simt::under_tsan || simt::under_asan)
        GTEST_SKIP() << "counts iterations on large grids: slow here";
    const Context c = Context::cpu(2);
    const Options o{.coarsening = Coarsening::classical};
    EXPECT_LE(iterations_on(c, laplacian<double>(32, 32, 32), o), 14);
    EXPECT_LE(iterations_on(c, laplacian<double>(100, 100, 1), o), 14);
    EXPECT_LE(iterations_on(c, laplacian<double>(100, 100, 1, 0.001), o), 14);
}

// Two steps of CG on coarser levels leave less of the residual than one cycle, the same on every backend; a right-hand
// side of zero gives zero.
TEST_P(AmgOn, KCycleReducesTheErrorMoreThanTheVCycle)
{
    const Context c = ctx(), one = Context::cpu(1);
    const auto a = laplacian<double>(14, 12, 3, 0.1);
    const auto here = to_device(one, a.view()), there = to_device(c, a.view());
    const auto make = [](const Context& on, const CsrView<double>& m, Cycle cycle) {
        return Plan<double>::make(on, m, {.degree = 1, .cycle = cycle, .prolongator_damping = 0, .coarse_rows = 4});
    };
    const auto v = make(c, there.view(), Cycle::v), k = make(c, there.view(), Cycle::k),
               reference = make(one, here.view(), Cycle::k);
    ASSERT_GE(k.levels().size(), 3u);
    EXPECT_NE(k.describe().find("K-cycle"), std::string::npos) << k.describe();
    const auto n = static_cast<std::size_t>(a.rows);
    Vector x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(0.01 * double(i)) + 1;
    const Vector r = product(a, x);
    const auto error_of = [&](const Plan<double>& plan) {
        Vector e = applied(c, plan, r);
        for (std::size_t i = 0; i < n; ++i) e[i] -= x[i];
        return std::sqrt(dot(e, product(a, e)));  // in the energy norm
    };
    EXPECT_LT(error_of(k), 0.9 * error_of(v));
    const Vector z = applied(c, k, r), want = applied(one, reference, r);
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(z[i], want[i], 1e-10);
    EXPECT_EQ(applied(c, k, Vector(n, 0)), Vector(n, 0));
}

// Two steps of CG on every coarser level, not on the first alone: a K-cycle of many levels leaves hardly more of the
// error than two levels do, of which the second is solved exactly. W-cycles leave more.
TEST(Amg, KCyclesOfManyLevelsAreAsGoodAsTwoLevels)
{
    const Context c = Context::cpu(2);
    const auto a = laplacian<double>(700, 1, 1);
    const auto there = to_device(c, a.view());
    const auto n = static_cast<std::size_t>(a.rows);
    Vector x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(0.004 * double(i)) + 0.3 * std::sin(0.05 * double(i));
    const Vector r = product(a, x);
    const auto error_of = [&](Cycle cycle, int levels) {
        const auto plan = Plan<double>::make(
            c, there.view(),
            {.degree = 2, .cycle = cycle, .prolongator_damping = 0, .coarse_rows = 4, .most_levels = levels});
        EXPECT_GE(std::ssize(plan.levels()), std::min(levels, 5));
        Vector e = applied(c, plan, r);
        for (std::size_t i = 0; i < n; ++i) e[i] -= x[i];
        return std::sqrt(dot(e, product(a, e)) / dot(x, r));
    };
    const double two = error_of(Cycle::k, 2);
    EXPECT_LT(error_of(Cycle::k, 20), 1.02 * two);
    EXPECT_GT(error_of(Cycle::w, 20), 1.1 * two);
}

TEST_P(AmgOn, UpdatesValuesAsANewPlanWould)
{
    const Context c = ctx();
    const auto a = laplacian<double>(8, 7, 6);
    unsigned number = 0;
    auto scaled = a, other = a;
    for (double& v : scaled.value) v *= 4;
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
        for (auto k = static_cast<std::size_t>(a.row_begin[i]); k < static_cast<std::size_t>(a.row_begin[i + 1]); ++k)
            if (a.col[k] == static_cast<index_t>(i)) other.value[k] += double(i % 5);
    const auto first = to_device(c, a.view()), second = to_device(c, scaled.view()), third = to_device(c, other.view());
    for (const auto& [coarsening, smoother] :
         std::vector<std::pair<Coarsening, Smoother>>{{Coarsening::aggregation, Smoother::chebyshev},
                                                      {Coarsening::aggregation, Smoother::gauss_seidel},
                                                      {Coarsening::classical, Smoother::chebyshev}}) {
        if (!test::has_turn(number++)) continue;
        const Options o{.coarsening = coarsening, .smoother = smoother, .coarse_rows = 20};
        auto plan = Plan<double>::make(c, first.view(), o);
        const auto r = test::test_vector<double>(a.rows, test::Values::integers, 3);
        const auto before = applied(c, plan, r);
        plan.update_values(second.view());  // as strong as before: the same aggregates
        EXPECT_TRUE(test::same_bits(applied(c, plan, r), applied(c, Plan<double>::make(c, second.view(), o), r)));
        plan.update_values(third.view());
        expect_symmetric(c, plan);
        EXPECT_LE(iterations_of_cg(c, other, plan), 8);
        plan.update_values(first.view());
        EXPECT_TRUE(test::same_bits(applied(c, plan, r), before));
        EXPECT_GT(plan.bytes(), 0u);
        EXPECT_NE(plan.describe().find("operator complexity"), std::string::npos);
    }
}

// A vector of the near null space given twice makes rows of zeros: such a level cannot have triangular solves.
TEST_P(AmgOn, GaussSeidelWhereACoarseDiagonalHasZeros)
{
    const Context c = ctx();
    const auto a = laplacian<double>(7, 6, 5);
    const auto there = to_device(c, a.view());
    const auto twice = to_device<double>(c, std::span<const double>(Vector(static_cast<std::size_t>(2 * a.rows), 1)));
    const auto plan = Plan<double>::make(c, there.view(), {.smoother = Smoother::gauss_seidel, .coarse_rows = 5},
                                         {a.rows, 2, 2, Layout::row_major, twice.data()});
    ASSERT_GE(plan.levels().size(), 3u);
    EXPECT_NE(plan.describe().find("zeros on the diagonal"), std::string::npos) << plan.describe();
    expect_symmetric(c, plan);
}

// Every row with a connection is in an aggregate; T^T T = I and T times the coarse vectors gives the fine ones.
TEST_P(AmgOn, TentativeProlongatorKeepsTheNearNullSpace)
{
    const Context c = ctx();
    const auto a = laplacian<double>(9, 8, 3);
    const auto there = to_device(c, a.view());
    const index_t vectors = 2;
    Vector b;
    for (index_t i = 0; i < a.rows; ++i) b.insert(b.end(), {1.0, double(i % 9)});
    amg::LevelData<double> level;
    level.a = there.view();
    level.multiply.emplace(c, level.a, amg::Storage::full);
    amg::inspect(c, level, {}, true);
    auto near_null = to_device<double>(c, b);
    const auto t = amg::aggregate(c, level, 0.08, 1, vectors, near_null);
    const auto host = test::host_of(c, t);
    const auto coarse = host_vector(c, near_null);
    ASSERT_LT(t.cols, a.rows / 2);
    std::vector<Vector> gram(static_cast<std::size_t>(t.cols), Vector(static_cast<std::size_t>(t.cols), 0));
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
        ASSERT_EQ(host.row_begin[i + 1] - host.row_begin[i], vectors);
        for (std::size_t v = 0; v < 2; ++v) {
            double sum = 0;
            for (auto k = static_cast<std::size_t>(host.row_begin[i]);
                 k < static_cast<std::size_t>(host.row_begin[i + 1]); ++k) {
                sum += host.value[k] * coarse[static_cast<std::size_t>(host.col[k]) * 2 + v];
                for (auto l = static_cast<std::size_t>(host.row_begin[i]);
                     l < static_cast<std::size_t>(host.row_begin[i + 1]); ++l)
                    gram[static_cast<std::size_t>(host.col[k])][static_cast<std::size_t>(host.col[l])] +=
                        v == 0 ? host.value[k] * host.value[l] : 0;
            }
            ASSERT_NEAR(sum, b[i * 2 + v], 1e-12);
        }
    }
    for (std::size_t i = 0; i < gram.size(); ++i)
        for (std::size_t j = 0; j < gram.size(); ++j) ASSERT_NEAR(gram[i][j], i == j ? 1 : 0, 1e-12);
    const auto plan = Plan<double>::make(c, there.view(), {.coarse_rows = 10},
                                         {a.rows, vectors, vectors, Layout::row_major, to_device<double>(c, b).data()});
    EXPECT_LE(iterations_of_cg(c, a, plan), 30);
}

struct Elasticity {
    Csr<double> a;              // in the memory of the context
    Dense<double> modes;        // likewise
    HostCsr<double> host;       // a
    std::vector<double> rigid;  // modes
    index_t dimensions;
};

Elasticity elasticity(const Context& c, const std::string& sizes)
{
    const Context host = Context::cpu(1);
    const auto dimensions = static_cast<index_t>(std::count(sizes.begin(), sizes.end(), ',') + 1);
    const auto a = io::generate<double>(host, concat("elasticity", dimensions, "d:", sizes)),
               at = io::generate<double>(host, "coordinates:" + sizes);
    const DenseView<const double> places{at.rows, dimensions, dimensions, Layout::row_major, at.value.data()};
    auto modes = amg::rigid_body_modes<double>(c, places);
    auto rigid = host_vector(c, modes.data);
    return {to_device(c, a.view()), std::move(modes), test::host_of(host, a), std::move(rigid), dimensions};
}

// A body that is not held resists no rigid motion: rows of points that are no neighbours of clamped ones give zero.
TEST(Amg, RigidBodyModesCostNoEnergy)
{
    for (const std::string sizes : {"6,5", "5,4,3"}) {
        SCOPED_TRACE(sizes);
        const auto e = elasticity(Context::cpu(1), sizes);
        const index_t nx = sizes[0] - '0', vectors = e.modes.cols;
        ASSERT_EQ(vectors, e.dimensions == 2 ? 3 : 6);
        ASSERT_EQ(e.modes.rows, e.a.rows);
        for (index_t v = 0; v < vectors; ++v) {
            Vector mode;
            for (index_t i = 0; i < e.a.rows; ++i) mode.push_back(e.rigid[static_cast<std::size_t>(i * vectors + v)]);
            EXPECT_LE(*std::max_element(mode.begin(), mode.end()), 1);
            EXPECT_GT(dot(mode, mode), 1);
            const Vector force = product(e.host, mode);
            for (index_t i = 0; i < e.a.rows; ++i) {
                const bool beside_clamp = i / e.dimensions % nx == 0;
                ASSERT_NEAR(beside_clamp ? 0 : force[static_cast<std::size_t>(i)], 0, 1e-12) << i;
            }
        }
    }
}

TEST(Amg, RigidBodyModesRefuseOtherCoordinates)
{
    const Context c = Context::cpu(1);
    Vector at{1, 2, 3, 4};
    const auto modes = [&](index_t rows, index_t cols) {
        return amg::rigid_body_modes<double>(c, {rows, cols, cols, Layout::row_major, at.data()});
    };
    EXPECT_EQ(modes(2, 2).rows, 4);
    EXPECT_EQ(modes(0, 3).cols, 6);
    EXPECT_THROW(modes(1, 4), ShapeError);
    EXPECT_THROW(modes(4, 1), ShapeError);
    at[3] = std::numeric_limits<double>::infinity();
    EXPECT_THROW(modes(2, 2), ValueError);
}

// The unknowns of a node have the same columns, and the coarse vectors give the rigid motions back; whatever the order
// of columns in the rows of the matrix.
TEST_P(AmgOn, NodesAreAggregatedAsAWhole)
{
    const Context c = ctx();
    auto e = elasticity(c, "7,6");
    std::vector<Vector> prolongators;
    for (const bool sorted : {true, false}) {
        auto h = e.host;
        if (!sorted)
            for (std::size_t i = 0; i < static_cast<std::size_t>(h.rows); ++i) {
                std::reverse(h.col.begin() + h.row_begin[i], h.col.begin() + h.row_begin[i + 1]);
                std::reverse(h.value.begin() + h.row_begin[i], h.value.begin() + h.row_begin[i + 1]);
            }
        auto view = h.view();
        view.sorted = sorted;
        const auto there = to_device(c, view);
        amg::LevelData<double> level;
        level.a = there.view();
        level.multiply.emplace(c, level.a, amg::Storage::full);
        amg::inspect(c, level, {}, true);
        auto near_null = to_device<double>(c, e.rigid);
        const auto t = test::host_of(c, amg::aggregate(c, level, 0.08, 2, 3, near_null));
        const auto coarse = host_vector(c, near_null);
        ASSERT_EQ(t.cols % 3, 0);
        ASSERT_GE(t.cols, 6);
        std::set<index_t> aggregates;
        for (const index_t j : t.col) aggregates.insert(j / 3);
        EXPECT_EQ(3 * std::ssize(aggregates), t.cols) << "an aggregate without unknowns";
        for (std::size_t i = 0; i < static_cast<std::size_t>(t.rows); ++i) {
            ASSERT_EQ(t.row_begin[i + 1] - t.row_begin[i], 3);
            ASSERT_EQ(t.col[3 * i] / 3, t.col[3 * (i / 2 * 2)] / 3);
            for (std::size_t v = 0; v < 3; ++v) {
                double sum = 0;
                for (std::size_t k = 3 * i; k < 3 * i + 3; ++k)
                    sum += t.value[k] * coarse[static_cast<std::size_t>(t.col[k]) * 3 + v];
                ASSERT_NEAR(sum, e.rigid[3 * i + v], 1e-12);
            }
        }
        prolongators.push_back(t.value);
    }
    EXPECT_TRUE(test::same_bits(prolongators[0], prolongators[1]));
}

TEST_P(AmgOn, RigidBodyModesPreconditionElasticity)
{
    const Context c = ctx();
    for (const std::string sizes : {"12,5", "5,3,3"}) {
        SCOPED_TRACE(sizes);
        const auto e = elasticity(c, sizes);
        const Options nodes{.coarse_rows = 12, .unknowns_per_node = e.dimensions};
        const auto plan = Plan<double>::make(c, e.a.view(), nodes, e.modes.view());
        ASSERT_GE(plan.levels().size(), 2u);
        EXPECT_EQ(plan.levels()[1].rows % e.modes.cols, 0);
        EXPECT_LE(iterations_of_cg(c, e.host, plan), 16);
        expect_symmetric(c, plan);
        const auto one = Plan<double>::make(Context::cpu(1), e.host.view(), nodes,
                                            {e.a.rows, e.modes.cols, e.modes.cols, Layout::row_major, e.rigid.data()});
        ASSERT_EQ(one.levels().size(), plan.levels().size());
        for (std::size_t n = 0; n < one.levels().size(); ++n)
            EXPECT_EQ(one.levels()[n].nonzeros, plan.levels()[n].nonzeros);
    }
}

// Without vectors: a constant for each unknown of a node.
// Only the directions of the near null space matter: columns of any scale that the type has give the same hierarchy,
// although their squares would be infinite or zero. What is not finite is refused.
template <class V>
void expect_any_scale(const Context& c, const std::vector<int>& exponents)
{
    const auto a = laplacian<V>(9, 8, 1);
    const auto there = to_device(c, a.view());
    const auto n = static_cast<std::size_t>(a.rows);
    const auto r = test::test_vector<V>(a.rows, test::Values::integers, 3);
    const auto result = [&](int first, int second, V extra = 0) {
        std::vector<V> vectors(2 * n);
        for (std::size_t i = 0; i < n; ++i) {
            vectors[2 * i] = std::ldexp(V(1), first);
            vectors[2 * i + 1] = std::ldexp(V(1) + V(i % 9) / 8, second);
        }
        vectors[n] += extra;
        const auto on_device = to_device<V>(c, vectors);
        const DenseView<const V> view{a.rows, 2, 2, Layout::row_major, on_device.data()};
        return applied(c, Plan<V>::make(c, there.view(), {.coarse_rows = 8}, view), r);
    };
    const auto want = result(0, 0);
    for (const V v : want) ASSERT_TRUE(std::isfinite(v));
    for (const int e : exponents) {
        EXPECT_TRUE(test::same_bits(result(e, -e), want)) << e;
        EXPECT_TRUE(test::same_bits(result(-e, e), want)) << e;
    }
    for (const V bad : {std::numeric_limits<V>::infinity(), std::numeric_limits<V>::quiet_NaN()})
        EXPECT_THROW(result(0, 0, bad), ValueError);
}

TEST_P(AmgOn, NearNullSpacesOfAnyScale)
{
    expect_any_scale<float>(ctx(), {10, 63, 64, 120});
    expect_any_scale<double>(ctx(), {200, 511, 512, 1000});
}

TEST_P(AmgOn, TranslationsAreTheUsualNearNullSpace)
{
    const Context c = ctx();
    const auto e = elasticity(c, "8,6");
    Vector two;
    for (index_t i = 0; i < e.a.rows; ++i) two.insert(two.end(), {i % 2 == 0 ? 1.0 : 0.0, i % 2 == 0 ? 0.0 : 1.0});
    const Options nodes{.coarse_rows = 8, .unknowns_per_node = 2};
    const auto usual = Plan<double>::make(c, e.a.view(), nodes),
               given = Plan<double>::make(c, e.a.view(), nodes,
                                          {e.a.rows, 2, 2, Layout::row_major, to_device<double>(c, two).data()});
    const Vector r = test::test_vector<double>(e.a.rows, test::Values::integers, 5);
    EXPECT_TRUE(test::same_bits(applied(c, usual, r), applied(c, given, r)));
    EXPECT_NE(usual.describe().find("2 vectors of the near null space, 2 unknowns per node"), std::string::npos);
    EXPECT_THROW(Plan<double>::make(c, e.a.view(), {.unknowns_per_node = 5}), ValueError);
    EXPECT_THROW(Plan<double>::make(c, e.a.view(), {.unknowns_per_node = 0}), ValueError);
}

// Not on simulated GPUs and before sanitizers: too large. PyAMG with the same modes: docs/design/amg.md.
TEST(Amg, RigidBodyModesKeepIterationsOfElasticityFew)
{
    if (build::simulated || simt::under_tsan || simt::under_asan)
        GTEST_SKIP() << "counts iterations on large grids: slow here";
    const Context c = Context::cpu(2);
    const auto e = elasticity(c, "40,40");
    const auto with = Plan<double>::make(c, e.a.view(), {.unknowns_per_node = 2}, e.modes.view()),
               without = Plan<double>::make(c, e.a.view());
    const int rigid = iterations_of_cg(c, e.host, with), constants = iterations_of_cg(c, e.host, without);
    EXPECT_LE(rigid, 25);
    EXPECT_GE(constants, 2 * rigid);
}

// Values of a matrix that 16 bits do not hold exactly.
template <class V>
HostCsr<V> uneven_laplacian(index_t nx, index_t ny, index_t nz)
{
    auto a = laplacian<V>(nx, ny, nz, 0.3);
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
        for (auto k = static_cast<std::size_t>(a.row_begin[i]); k < static_cast<std::size_t>(a.row_begin[i + 1]); ++k) {
            const double at_both = 1 + std::sin(double(i)) * std::sin(double(a.col[k])) / 3;
            a.value[k] *= static_cast<V>(a.col[k] == static_cast<index_t>(i) ? 4.0 / 3.0 : at_both);
        }
    return a;
}

TEST_P(AmgOn, CyclesMayReadMatricesOf16Bits)
{
    const Context c = ctx();
    const auto a = uneven_laplacian<float>(12, 9, 5);
    const auto there = to_device(c, a.view());
    const Options full{.coarse_rows = 20};
    const int usual = iterations_on(c, a, full, 1e-5);
    const auto exact = Plan<float>::make(c, there.view(), full);
    const auto r = test::test_vector<float>(a.rows, test::Values::integers, 3);
    for (const auto& [storage, roundoff] :
         {std::pair{amg::Storage::f16, 0x1p-11}, std::pair{amg::Storage::bf16, 0x1p-8}}) {
        SCOPED_TRACE(to_text(storage));
        Options o = full;
        o.storage = storage;
        EXPECT_LE(iterations_on(c, a, o, 1e-5), usual + 1);
        const auto plan = Plan<float>::make(c, there.view(), o);
        ASSERT_EQ(plan.levels().size(), exact.levels().size());
        for (std::size_t n = 0; n < plan.levels().size(); ++n) {
            EXPECT_EQ(plan.levels()[n].in_16_bits, n + 1 < plan.levels().size());  // the last is solved directly
            EXPECT_EQ(plan.levels()[n].spectral_radius, exact.levels()[n].spectral_radius) << "set up in float";
        }
        EXPECT_NE(plan.describe().find(", " + to_text(storage) + "\n"), std::string::npos) << plan.describe();
        EXPECT_EQ(plan.describe().find("in float: "), std::string::npos) << plan.describe();
        expect_symmetric(c, plan, 1e-5);
        const auto x = applied(c, plan, r), y = applied(c, exact, r);
        double apart = 0;
        for (std::size_t i = 0; i < x.size(); ++i) apart = std::max(apart, std::abs(double(x[i]) - double(y[i])));
        const double size = std::sqrt(dot(y, y) / double(y.size()));
        EXPECT_LE(apart, 40 * roundoff * size);
        EXPECT_GE(apart, roundoff * size / 40);  // it is not float
    }
}

// Of matrices that no cycle reads nothing is said.
TEST_P(AmgOn, StorageIsToldOfLevelsThatACycleReads)
{
    const Context c = ctx();
    const auto a = laplacian<float>(9, 7, 1), none = csr_of<float>(0, 0, {});
    const auto there = to_device(c, a.view()), empty = to_device(c, none.view());
    Options o{.storage = amg::Storage::f16};
    for (const auto& plan : {Plan<float>::make(c, empty.view(), o), Plan<float>::make(c, there.view(), o)}) {
        EXPECT_FALSE(plan.levels()[0].in_16_bits);
        EXPECT_EQ(plan.describe().find("in float: "), std::string::npos) << plan.describe();
        EXPECT_EQ(plan.describe().find(", f16\n"), std::string::npos) << plan.describe();
    }
    o.coarse_rows = 4;
    o.most_levels = 1;
    EXPECT_TRUE(Plan<float>::make(c, there.view(), o).levels()[0].in_16_bits) << "smoothed alone";
}

// D A D with D = 2^10 and 2^-10 by turns: rows of P are of very different size, those of R are not. Both are read in
// the same type.
TEST_P(AmgOn, CyclesOf16BitsAreSymmetricWherePAndRFitDifferently)
{
    const Context c = ctx();
    const index_t side = build::simulated ? 20 : 60;
    auto a = laplacian<float>(side, side, 1);
    const auto scale = [&](index_t i) { return (i / side + i % side) % 2 == 0 ? 0x1p10f : 0x1p-10f; };
    for (index_t i = 0; i < a.rows; ++i)
        for (auto k = static_cast<std::size_t>(a.row_begin[static_cast<std::size_t>(i)]);
             k < static_cast<std::size_t>(a.row_begin[static_cast<std::size_t>(i) + 1]); ++k)
            a.value[k] *= scale(i) * scale(a.col[k]);
    const auto there = to_device(c, a.view());
    const Options o{.coarse_rows = 20, .storage = amg::Storage::f16};
    auto plan = Plan<float>::make(c, there.view(), o);
    expect_symmetric(c, plan, 3e-8);
    plan.update_values(there.view());
    expect_symmetric(c, plan, 3e-8);
}

// M = I.
struct Copying final : amg::LevelSmoother<float> {
    Copying(const Context& c, bool keeps_product) : ctx(c), keeps(keeps_product) {}
    void apply(std::span<const float> r, std::span<float> z) override
    {
        ctx.run([&](const auto& q) { copy(q, r.data(), z.data(), std::ssize(r)); });
    }
    void update_values(const CsrView<float>&) override {}
    std::size_t bytes() const override { return 0; }
    std::string describe() const override { return "a copy"; }
    bool keeps_product() const override { return keeps; }

    Context ctx;
    bool keeps;
};

// The product in float is kept for smoothers that multiply with it; not on levels whose diagonal has zeros, which have
// none: here all but the first.
TEST_P(AmgOn, ASmootherKeepsTheProductThatItReads)
{
    const Context c = ctx();
    const auto a = laplacian<float>(7, 6, 5);
    const auto there = to_device(c, a.view());
    const auto twice = to_device<float>(c, std::vector<float>(static_cast<std::size_t>(2 * a.rows), 1));
    const auto bytes_with = [&](const amg::MakeSmoother<float>& make) {
        auto plan = amg::PlanAccess::make<float>(c, there.view(), {.coarse_rows = 5, .storage = amg::Storage::f16},
                                                 {a.rows, 2, 2, Layout::row_major, twice.data()}, make);
        EXPECT_NE(plan.describe().find("zeros on the diagonal"), std::string::npos) << plan.describe();
        const std::size_t bytes = plan.bytes();
        plan.update_values(there.view());
        EXPECT_EQ(plan.bytes(), bytes);
        return bytes;
    };
    const auto copying = [](bool keeps) -> amg::MakeSmoother<float> {
        return [keeps](const Context& of, const CsrView<float>&, const spmv::Plan<float>&) {
            return std::make_unique<Copying>(of, keeps);
        };
    };
    const std::size_t product = spmv::Plan<float>::make(c, there.view(), {.checked = false}).bytes();
    EXPECT_EQ(bytes_with(copying(false)), bytes_with({}));
    EXPECT_EQ(bytes_with(copying(true)), bytes_with({}) + product);
}

TEST_P(AmgOn, MatricesOf16BitsGetNewValuesAsANewPlanWould)
{
    const Context c = ctx();
    const auto a = uneven_laplacian<float>(8, 7, 6);
    auto scaled = a, wild = a;
    for (float& v : scaled.value) v *= 0x1p20f;
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)  // congruent: still positive definite
        for (auto k = static_cast<std::size_t>(a.row_begin[i]); k < static_cast<std::size_t>(a.row_begin[i + 1]); ++k)
            wild.value[k] *= (i == 5 ? 0x1p12f : 1.0f) * (a.col[k] == 5 ? 0x1p12f : 1.0f);
    const auto first = to_device(c, a.view()), second = to_device(c, scaled.view()), third = to_device(c, wild.view());
    const auto r = test::test_vector<float>(a.rows, test::Values::integers, 3);
    const Options o{.coarse_rows = 20, .storage = amg::Storage::f16};
    auto plan = Plan<float>::make(c, first.view(), o);
    const auto before = applied(c, plan, r);
    plan.update_values(second.view());
    EXPECT_TRUE(test::same_bits(applied(c, plan, r), applied(c, Plan<float>::make(c, second.view(), o), r)));
    plan.update_values(third.view());  // rows of very different size: in float
    EXPECT_FALSE(plan.levels()[0].in_16_bits);
    EXPECT_NE(plan.describe().find("in float: rows of too different size"), std::string::npos) << plan.describe();
    applied(c, plan, r);
    plan.update_values(first.view());
    EXPECT_TRUE(plan.levels()[0].in_16_bits);
    EXPECT_TRUE(test::same_bits(applied(c, plan, r), before));
}

// All options together: whatever the cycle, the preconditioner is symmetric, positive definite, and forgets what was
// applied before.
TEST_P(AmgOn, EveryCombinationIsSymmetric)
{
    const Context c = ctx();
    const auto a = laplacian<double>(9, 7, 1);
    const auto there = to_device(c, a.view());
    for (const Smoother smoother : {Smoother::jacobi, Smoother::l1_jacobi, Smoother::chebyshev})
        for (const int work : {1, 2, 3})
            for (const Cycle cycle : {Cycle::v, Cycle::w})
                for (const double damping : {0.0, 4.0 / 3.0})
                    for (const int levels : {2, 3, 20}) {
                        const Options o{.smoother = smoother,
                                        .degree = work,
                                        .sweeps = work,
                                        .cycle = cycle,
                                        .prolongator_damping = damping,
                                        .coarse_rows = 4,
                                        .most_levels = levels};
                        const std::string what =
                            concat(to_text(smoother), ", ", work, cycle == Cycle::w ? ", W" : ", V", ", damping ",
                                   damping, ", levels ", levels);
                        if (!test::is_drawn(what, 9)) continue;
                        SCOPED_TRACE(what);
                        const auto plan = Plan<double>::make(c, there.view(), o);
                        EXPECT_EQ(std::ssize(plan.levels()) <= levels, true);
                        applied(c, plan, Vector(static_cast<std::size_t>(a.rows), 1e6));
                        expect_symmetric(c, plan);
                    }
}

// A level that is smoothed instead of solved, here the only one: symmetric with every smoother, so that Gauss-Seidel
// goes forwards and back.
TEST_P(AmgOn, ALevelThatIsSmoothedAloneIsSymmetric)
{
    const Context c = ctx();
    const auto a = laplacian<double>(9, 7, 1);
    const auto there = to_device(c, a.view());
    for (const Smoother smoother :
         {Smoother::jacobi, Smoother::l1_jacobi, Smoother::chebyshev, Smoother::gauss_seidel}) {
        SCOPED_TRACE(to_text(smoother));
        const auto plan =
            Plan<double>::make(c, there.view(), {.smoother = smoother, .coarse_rows = 4, .most_levels = 1});
        EXPECT_NE(plan.describe().find("coarsest: smoothed"), std::string::npos) << plan.describe();
        expect_symmetric(c, plan);
    }
}

// A row without a root beside it joins the aggregate of its strongest neighbour that has one; of equal ones the first.
TEST(Amg, TheFirstOfEqualNeighboursIsJoined)
{
    const std::vector<offset_t> begin{0, 4};
    const std::vector<index_t> col{1, 2, 3, 4}, first{-1, -1, 7, 5, 6};
    const auto joined = [&](const std::vector<double>& weight) {
        index_t aggregate = -2;
        amg::JoinNeighbour<double>{{begin.data(), col.data()}, weight.data(), first.data(), &aggregate}(0);
        return aggregate;
    };
    EXPECT_EQ(joined({9, 1, 1, 1}), 7);
    EXPECT_EQ(joined({1, 1, 2, 2}), 5);
    EXPECT_EQ(joined({1, 1, 2, 3}), 6);
}

// No two roots of an aggregate are within distance two, and every row is within distance two of one.
TEST(Amg, RootsAreAMaximalIndependentSetOfDistanceTwo)
{
    const auto a = laplacian<double>(13, 11, 1);
    const auto n = static_cast<std::size_t>(a.rows);
    const amg::Graph g{a.row_begin.data(), a.col.data()};
    std::vector<amg::Word> word(n), around(n);
    std::vector<index_t> open(n);
    const auto all = [&](const auto& step) {
        for (offset_t i = 0; i < a.rows; ++i) step(i);
    };
    all(amg::StartSet{g, word.data()});
    do {
        all(amg::LargestAround{g, word.data(), around.data()});
        all(amg::DecideSet{g, around.data(), word.data(), open.data()});
    } while (*std::max_element(open.begin(), open.end()) > 0);
    for (std::size_t i = 0; i < n; ++i) {
        std::set<index_t> within;
        for (auto k = static_cast<std::size_t>(a.row_begin[i]); k < static_cast<std::size_t>(a.row_begin[i + 1]); ++k) {
            const auto j = static_cast<std::size_t>(a.col[k]);
            within.insert(a.col.begin() + a.row_begin[j], a.col.begin() + a.row_begin[j + 1]);
        }
        const auto roots = std::count_if(within.begin(), within.end(), [&](index_t j) {
            return amg::state_of(word[static_cast<std::size_t>(j)]) == amg::in;
        });
        if (amg::state_of(word[i]) == amg::in) EXPECT_EQ(roots, 1);
        else EXPECT_GE(roots, 1);
    }
}

TEST_P(AmgOn, TakesEmptyDiagonalAndSingularMatrices)
{
    const Context c = ctx();
    const auto none = to_device(c, csr_of<double>(0, 0, {}).view());
    EXPECT_TRUE(applied(c, Plan<double>::make(c, none.view()), {}).empty());
    const auto one = to_device(c, csr_of<double>(1, 1, {{0, 0, 4.0}}).view());
    EXPECT_EQ(applied(c, Plan<double>::make(c, one.view()), {2.0}), Vector{0.5});
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < 300; ++i) entries.emplace_back(i, i, 2.0);
    const auto diagonal = to_device(c, csr_of<double>(300, 300, entries).view());
    const auto alone = Plan<double>::make(c, diagonal.view());
    EXPECT_EQ(alone.levels().size(), 1u);
    EXPECT_GT(applied(c, alone, Vector(300, 1.0))[0], 0.2);
    auto neumann = laplacian<double>(40, 1, 1);  // rows sum to zero
    neumann.value.front() = neumann.value.back() = 1;
    const auto singular = to_device(c, neumann.view());
    Vector r(40, 0);
    r.front() = 1;
    r.back() = -1;
    const auto z = applied(c, Plan<double>::make(c, singular.view()), r), back = product(neumann, z);
    for (std::size_t i = 0; i < 40; ++i) EXPECT_NEAR(back[i], r[i], 1e-9);
}

TEST_P(AmgOn, RefusesWhatItCannotUse)
{
    const Context c = ctx();
    using Entries = std::vector<std::tuple<index_t, index_t, double>>;
    const auto message = [&](index_t rows, index_t cols, const Entries& entries, const Options& o = {}) -> std::string {
        const auto a = to_device(c, csr_of<double>(rows, cols, entries).view());
        try {
            Plan<double>::make(c, a.view(), o);
        } catch (const Error& e) {
            return e.what();
        }
        return "nothing was thrown";
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_NE(message(2, 3, {{0, 0, 1}, {1, 1, 1}}).find("not square"), std::string::npos);
    EXPECT_NE(message(2, 2, {{0, 0, 1}, {1, 0, 1}}).find("row 1 has no diagonal"), std::string::npos);
    EXPECT_NE(message(2, 2, {{0, 0, 1}, {1, 1, 0}}).find("row 1 has a diagonal entry that is not positive"),
              std::string::npos);
    EXPECT_NE(message(2, 2, {{0, 0, 1}, {1, 1, nan}}).find("row 1 has an entry that is not finite"), std::string::npos);
    EXPECT_NE(message(2, 2, {{0, 0, 1}, {1, 1, 1}, {1, 1, 1}}).find("row 1"), std::string::npos);
    EXPECT_NE(message(1, 1, {{0, 0, 1}}, {.strength = 2}).find("strength"), std::string::npos);
    EXPECT_NE(message(1, 1, {{0, 0, 1}}, {.degree = 0}).find("degree"), std::string::npos);
    EXPECT_NE(message(1, 1, {{0, 0, 1}}, {.storage = amg::Storage::f16}).find("16 bits are multiplied in float"),
              std::string::npos);
    EXPECT_NE(message(1, 1, {{0, 0, 1}}, {.storage = static_cast<amg::Storage>(3)}).find("storage has no enumerator 3"),
              std::string::npos);

    auto a = laplacian<double>(30, 1, 1);
    const auto there = to_device(c, a.view());
    auto plan = Plan<double>::make(c, there.view(), {.coarse_rows = 4});
    auto good = to_device<double>(c, Vector(30, 1.0)), other = to_device<double>(c, Vector(30, 1.0));
    EXPECT_THROW(plan.apply(good.span().first(29), other.span()), ShapeError);
    EXPECT_THROW(plan.apply(good.span(), good.span()), ValueError);
    const auto larger = to_device(c, laplacian<double>(31, 1, 1).view());
    EXPECT_THROW(plan.update_values(larger.view()), PlanMismatch);
    a.value[0] = -1;
    const auto bad = to_device(c, a.view());
    EXPECT_THROW(plan.update_values(bad.view()), ValueError);
    EXPECT_THROW(plan.apply(good.span(), other.span()), ValueError);
    plan.update_values(there.view());
    plan.apply(good.span(), other.span());
    EXPECT_THROW(Plan<double>::make(c, there.view(), {}, {29, 1, 1, Layout::row_major, good.data()}), ShapeError);
}

TEST_P(AmgOn, FailedAllocationsLeaveNothingBehind)
{
    const Context c = ctx();
    const auto a = to_device(c, laplacian<double>(12, 1, 1).view());
    test::expect_clean_failures(c, [&] { Plan<double>::make(c, a.view(), {.coarse_rows = 5}); });
    const auto f = to_device(c, laplacian<float>(12, 1, 1).view());
    test::expect_clean_failures(c, [&] {
        Plan<float>::make(c, f.view(), {.coarse_rows = 5, .storage = amg::Storage::f16});
    });
}

}  // namespace
}  // namespace tulle
