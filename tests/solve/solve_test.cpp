// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Every method with every preconditioner on every backend, against a dense solve; bad input by a table; properties.
#include "tulle/solve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "solve/ops/cg.hpp"
#include "solve/steps.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "support/host_matrix.hpp"
#include "tulle/error.hpp"
#include "tulle/generate.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

using namespace tulle::test;

class SolveOn : public OnBackend {};

template <class V>
using Entries = std::vector<std::tuple<index_t, index_t, V>>;

// A five-point Laplacian on an n x n grid, with convection to one side.
template <class V>
HostCsr<V> grid(index_t n, double convection = 0)
{
    Entries<V> e;
    const auto at = [&](index_t i, index_t j) { return i * n + j; };
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j) {
            if (i > 0) e.emplace_back(at(i, j), at(i - 1, j), V(-1));
            if (j > 0) e.emplace_back(at(i, j), at(i, j - 1), static_cast<V>(-1 - convection));
            e.emplace_back(at(i, j), at(i, j), V(4));
            if (j + 1 < n) e.emplace_back(at(i, j), at(i, j + 1), static_cast<V>(-1 + convection));
            if (i + 1 < n) e.emplace_back(at(i, j), at(i + 1, j), V(-1));
        }
    return csr_of<V>(n * n, n * n, e);
}

template <class V>
HostCsr<V> diagonal(const std::vector<V>& d)
{
    Entries<V> e;
    const auto n = static_cast<index_t>(d.size());
    for (index_t i = 0; i < n; ++i) e.emplace_back(i, i, d[static_cast<std::size_t>(i)]);
    return csr_of<V>(n, n, e);
}

template <class V>
std::vector<V> right_side(const HostCsr<V>& a)
{
    std::vector<V> b(static_cast<std::size_t>(a.rows));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<V>(1 + static_cast<double>(i % 7) / 4);
    return b;
}

// Gaussian elimination with pivots, in long double.
template <class V>
std::vector<long double> dense_solve(const HostCsr<V>& a, const std::vector<V>& b)
{
    const auto n = static_cast<std::size_t>(a.rows);
    std::vector<std::vector<long double>> m(n, std::vector<long double>(n + 1, 0));
    for (const auto& [i, j, v] : a.entries()) m[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] += v;
    for (std::size_t i = 0; i < n; ++i) m[i][n] = b[i];
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t pivot = k;
        for (std::size_t i = k + 1; i < n; ++i)
            if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
        std::swap(m[k], m[pivot]);
        for (std::size_t i = k + 1; i < n; ++i) {
            const long double f = m[i][k] / m[k][k];
            for (std::size_t j = k; f != 0 && j <= n; ++j) m[i][j] -= f * m[k][j];
        }
    }
    std::vector<long double> x(n);
    for (std::size_t k = n; k-- > 0;) {
        x[k] = m[k][n];
        for (std::size_t j = k + 1; j < n; ++j) x[k] -= m[k][j] * x[j];
        x[k] /= m[k][k];
    }
    return x;
}

template <class V>
struct Solved {
    Report report;
    std::vector<V> x;
    std::string text;
};

template <class V>
Solved<V> solve_with(const Context& ctx, const HostCsr<V>& a, const std::vector<V>& b, const Recipe& recipe,
                     V start = std::numeric_limits<V>::quiet_NaN())
{
    const Csr<V> there = to_device(ctx, a.view());
    const auto b_there = to_device<V>(ctx, std::span<const V>(b));
    const std::vector<V> first(b.size(), start);
    auto x = to_device<V>(ctx, std::span<const V>(first));
    auto plan = Plan<V>::make(ctx, there.view(), recipe);
    Solved<V> s{plan.solve(b_there.span(), x.span()), {}, plan.describe()};
    s.x = host_vector(ctx, x);
    return s;
}

template <class V>
double residual_of(const HostCsr<V>& a, const std::vector<V>& x, const std::vector<V>& b)
{
    std::vector<long double> r(b.begin(), b.end());
    for (const auto& [i, j, v] : a.entries())
        r[static_cast<std::size_t>(i)] -= static_cast<long double>(v) * x[static_cast<std::size_t>(j)];
    long double sum = 0;
    for (const long double v : r) sum += v * v;
    return static_cast<double>(std::sqrt(sum));
}

template <class V>
double norm_of(const std::vector<V>& b)
{
    return static_cast<double>(std::sqrt(std::inner_product(b.begin(), b.end(), b.begin(), 0.0L)));
}

// The report of a converged solve tells the truth.
template <class V>
void expect_solved(const HostCsr<V>& a, const std::vector<V>& b, const Solved<V>& s, double relative)
{
    EXPECT_TRUE(s.report.converged()) << s.report.text();
    EXPECT_EQ(static_cast<offset_t>(s.report.history.size()), s.report.iterations + 1);
    const double slack = 1e3 * std::numeric_limits<V>::epsilon() * norm_of(b);
    EXPECT_LE(s.report.residual, s.report.target);
    EXPECT_NEAR(residual_of(a, s.x, b), s.report.residual, slack);
    EXPECT_LE(residual_of(a, s.x, b), relative * norm_of(b) + slack);
}

const std::vector<Preconditioner> all_preconditioners{None{},       Jacobi{}, BlockJacobi{3}, Chebyshev{.degree = 2},
                                                      Incomplete{}, Fsai{}};
// By one thread of a CPU.
const std::vector<Preconditioner> cpu_preconditioners{Ssor{}, Ssor{.weight = 1.3, .order = factor::Order::rcm}};

template <class V>
void check_all(const Context& ctx, double relative)
{
    const HostCsr<V> symmetric = grid<V>(6), convective = grid<V>(6, 0.4);
    std::vector<Preconditioner> all = all_preconditioners;
    if (ctx.backend() == Backend::cpu) all.insert(all.end(), cpu_preconditioners.begin(), cpu_preconditioners.end());
    for (const Method m : methods()) {
        const bool general = m == Method::bicgstab || m == Method::gmres || m == Method::fgmres;
        for (const Preconditioner& p : all) {
            if (m == Method::refinement && sizeof(V) == 4) continue;
            if (!is_in_sample(to_text(m) + to_text(p) + std::to_string(sizeof(V)), 5)) continue;
            SCOPED_TRACE(to_text(m) + ", " + to_text(p));
            const HostCsr<V>& a = general ? convective : symmetric;
            const std::vector<V> b = right_side(a);
            const auto s =
                solve_with<V>(ctx, a, b,
                              {.method = m, .preconditioner = p, .stop = {.relative = relative}, .restart = 10});
            expect_solved(a, b, s, relative);
            const auto want = dense_solve(a, b);
            for (std::size_t i = 0; i < want.size(); ++i)
                ASSERT_NEAR(static_cast<double>(s.x[i]), static_cast<double>(want[i]), 100 * relative) << i;
        }
    }
}

TEST_P(SolveOn, EveryMethodWithEveryPreconditioner)
{
    check_all<double>(ctx(), 1e-9);
    check_all<float>(ctx(), 1e-4);
}

// ---- bad input: what is asked, and the reason ----

struct BadCase {
    std::string name;
    HostCsr<double> a;
    std::vector<double> b;
    Recipe recipe;
    Reason reason;
};

std::vector<BadCase> bad_cases()
{
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const HostCsr<double> good = grid<double>(3);
    const std::vector<double> one(9, 1), two{1, 1};
    std::vector<double> with_nan = one, with_infinity = one;
    with_nan[4] = nan;
    with_infinity[8] = inf;
    const auto with = [](std::optional<Method> m, Stop stop = {}) {
        return Recipe{.method = m, .preconditioner = None{}, .stop = stop};
    };
    const HostCsr<double> swap = csr_of<double>(2, 2, {{0, 1, 1.0}, {1, 0, 1.0}});
    const HostCsr<double> skew = csr_of<double>(2, 2, {{0, 1, 1.0}, {1, 0, -1.0}});
    const HostCsr<double> empty_row = diagonal<double>({1, 2, 3});
    HostCsr<double> hole = empty_row;
    hole.value[1] = 0;
    const Stop short_stop{.stagnation = 20};
    std::vector<BadCase> all{
        {"b has NaN", good, with_nan, with(Method::cg), Reason::not_finite},
        {"b has infinity", good, with_infinity, with(Method::gmres), Reason::not_finite},
        {"b is zero", good, std::vector<double>(9, 0), with({}), Reason::converged},
        {"indefinite under cg",
         diagonal<double>({1, -1, 2}),
         {1, 1, 1},
         with(Method::cg),
         Reason::not_positive_definite},
        {"indefinite under pipelined cg",
         diagonal<double>({1, -1}),
         {1, 2},
         with(Method::pipelined_cg),
         Reason::not_positive_definite},
        {"indefinite preconditioner",
         diagonal<double>({1, -1}),
         {1, 2},
         {.method = Method::cg, .preconditioner = Jacobi{}},
         Reason::preconditioner_indefinite},
        {"zero diagonal", swap, two, with({}), Reason::converged},
        {"zero diagonal, not symmetric", skew, {1, 2}, with({}), Reason::converged},
        {"iterations", grid<double>(6), std::vector<double>(36, 1), with(Method::cg, {.iterations = 3}),
         Reason::iterations},
        {"no iterations", good, one, with(Method::gmres, {.iterations = 0}), Reason::iterations},
        {"seconds", good, one, with(Method::cg, {.seconds = 0}), Reason::seconds},
    };
    for (const Method m : {Method::minres, Method::bicgstab, Method::gmres, Method::fgmres}) {
        all.push_back({"singular, " + to_text(m), hole, {1, 1, 1}, with(m, short_stop), Reason::stagnated});
        all.push_back({"unreachable, " + to_text(m), grid<double>(5), std::vector<double>(25, 1),
                       with(m, {.relative = 1e-30, .stagnation = 20}), Reason::stagnated});
    }
    for (const offset_t limit : {3, 39})  // x grows out of all bounds behind the least-squares solution
        all.push_back({concat("singular, minres, ", limit, " iterations"),
                       csr_of<double>(5, 5, {{4, 4, 3.0}}),
                       {3, 0, 0, 2, 1},
                       {.method = Method::minres, .preconditioner = None{}, .stop = {.iterations = limit}},
                       Reason::iterations});
    for (const Method m : {Method::cg, Method::pipelined_cg})
        all.push_back({"unreachable, " + to_text(m), grid<double>(5), std::vector<double>(25, 1),
                       with(m, {.relative = 1e-30, .stagnation = 20}), Reason::stagnated});
    return all;
}

TEST_P(SolveOn, BadInputHasANamedReason)
{
    for (const BadCase& c : bad_cases()) {
        if (!is_in_sample(c.name, 3)) continue;
        SCOPED_TRACE(c.name);
        const auto s = solve_with<double>(ctx(), c.a, c.b, c.recipe);
        if (c.name.starts_with("singular")) EXPECT_FALSE(s.report.converged());  // how it ends depends on rounding
        else EXPECT_EQ(s.report.reason, c.reason) << s.report.text();
        for (const double v : s.x) EXPECT_TRUE(std::isfinite(v));
        if (std::isfinite(norm_of(c.b))) {
            EXPECT_NEAR(s.report.residual, residual_of(c.a, s.x, c.b), 1e-12 * (1 + norm_of(c.b)));
            EXPECT_LE(s.report.residual, norm_of(c.b) * (1 + 1e-12)) << "worse than x = 0";
        }
        EXPECT_FALSE(s.report.text().empty());
    }
}

TEST_P(SolveOn, SingularUnderCgEnds)
{
    HostCsr<double> a = grid<double>(4);
    for (std::size_t k = 0; k < a.col.size(); ++k) a.value[k] = 0;
    const auto s = solve_with<double>(ctx(), a, right_side(a), {.method = Method::cg, .preconditioner = None{}});
    EXPECT_EQ(s.report.reason, Reason::not_positive_definite) << s.report.text();
}

// On every backend, also where bad cases are drawn.
TEST_P(SolveOn, NegativeDefiniteUnderCgIsTold)
{
    const auto check = [&](auto one) {  // CG of doubles and floats differs where there is no preconditioner
        using V = decltype(one);
        HostCsr<V> a = grid<V>(4);
        for (V& v : a.value) v = -v;
        const auto s = solve_with<V>(ctx(), a, right_side(a), {.method = Method::cg, .preconditioner = None{}});
        EXPECT_EQ(s.report.reason, Reason::not_positive_definite) << s.report.text();
        EXPECT_LT(s.report.value, 0);
    };
    check(1.0);
    check(1.0F);
}

// For systems that have no solution: the default, but fewer iterations on a simulated GPU, where the
// default takes half a minute.
Stop stop_of_hopeless(const Context& ctx)
{
    Stop stop;
    if (ctx.backend() == Backend::cuda && !takes_all()) stop.stagnation = 40, stop.iterations = 300;
    return stop;
}

TEST_P(SolveOn, AnEmptyRowHasNoSolutionAndAnEnd)
{
    const HostCsr<double> a = csr_of<double>(3, 3, {{0, 0, 1.0}, {2, 2, 3.0}});
    const Context here = ctx();
    const auto s = solve_with<double>(here, a, {1, 1, 1}, {.stop = stop_of_hopeless(here)});
    EXPECT_FALSE(s.report.converged()) << s.report.text();
    for (const double v : s.x) EXPECT_TRUE(std::isfinite(v));
    const auto there = to_device(here, a.view());
    EXPECT_EQ(Plan<double>::make(here, there.view()).features().empty_rows, 1);
}

TEST_P(SolveOn, RefusesWhatCannotBeSolved)
{
    const Context c = ctx();
    const auto make = [&](const HostCsr<double>& a, const Recipe& recipe) {
        const Csr<double> there = to_device(c, a.view());
        Plan<double>::make(c, there.view(), recipe);
    };
    EXPECT_THROW(make(csr_of<double>(2, 3, {{0, 0, 1.0}}), {}), ShapeError);
    HostCsr<double> nan = grid<double>(3);
    nan.value[20] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(make(nan, {}), ValueError);
    const HostCsr<double> no_diagonal = csr_of<double>(2, 2, {{0, 1, 1.0}, {1, 0, 1.0}});
    EXPECT_THROW(make(no_diagonal, {.preconditioner = Jacobi{}}), ValueError);
    EXPECT_THROW(make(no_diagonal, {.preconditioner = Chebyshev{}}), ValueError);
    const HostCsr<double> singular_block = csr_of<double>(2, 2, {{0, 0, 1.0}, {0, 1, 1.0}, {1, 0, 1.0}, {1, 1, 1.0}});
    EXPECT_THROW(make(singular_block, {.preconditioner = BlockJacobi{2}}), ValueError);
    EXPECT_THROW(make(no_diagonal, {.preconditioner = BlockJacobi{33}}), ValueError);
    EXPECT_THROW(make(no_diagonal, {.stop = {.relative = -1}}), ValueError);
    EXPECT_THROW(make(no_diagonal, {.restart = 0}), ValueError);
    try {
        make(diagonal<double>({1, 0, 3}), {.preconditioner = Jacobi{}});
    } catch (const ValueError& e) {
        EXPECT_NE(std::string(e.what()).find("row 1"), std::string::npos) << e.what();
    }
    const HostCsr<double> good = grid<double>(3);
    const Csr<double> there = to_device(c, good.view());
    auto plan = Plan<double>::make(c, there.view());
    auto v = to_device<double>(c, std::span<const double>(std::vector<double>(9, 1)));
    auto shorter = to_device<double>(c, std::span<const double>(std::vector<double>(8, 1)));
    EXPECT_THROW(plan.solve(v.span(), v.span()), ValueError);
    EXPECT_THROW(plan.solve(shorter.span(), v.span()), ShapeError);
}

// Numbers far outside of what float can hold are scaled before and after.
TEST_P(SolveOn, MultigridInFloatForAnyScaleOfADoubleSystem)
{
    for (const double scale : {1.0, 1e-60, 1e60}) {
        HostCsr<double> a = grid<double>(takes_all() ? 20 : 12);
        for (double& v : a.value) v *= scale;
        std::vector<double> b = right_side(a);
        for (double& v : b) v /= scale;
        Recipe recipe{.method = Method::cg, .preconditioner = Amg{.precision = Precision::in_float}};
        const auto in_float = solve_with(ctx(), a, b, recipe);
        EXPECT_EQ(in_float.report.reason, Reason::converged) << scale;
        recipe.preconditioner = Amg{.precision = Precision::as_matrix};
        EXPECT_LE(in_float.report.iterations, solve_with(ctx(), a, b, recipe).report.iterations + 1) << scale;
    }
}

// Cycles that read matrices of 16 bits: as few iterations, for systems in double and float, inside refinement, with
// every cycle and coarsening.
TEST_P(SolveOn, MultigridOf16BitsForAnyScaleOfASystem)
{
    const Context here = ctx();
    HostCsr<double> a = grid<double>(takes_all() ? 20 : 12);
    const std::vector<double> b = right_side(a);
    const offset_t usual =
        solve_with(here, a, b, {.method = Method::cg, .preconditioner = parse_preconditioner("amg:double")})
            .report.iterations;
    unsigned number = 0;
    for (const std::string text :
         {"amg:f16", "amg:bf16", "amg:f16+w", "amg:f16+classical", "amg:f16+smoother[chebyshev:2]"})
        for (const double scale : {1.0, 1e60}) {
            if (!has_turn(number++)) continue;
            SCOPED_TRACE(concat(text, ", times ", scale));
            HostCsr<double> scaled = a;
            for (double& v : scaled.value) v *= scale;
            const Recipe recipe{.method = Method::cg, .preconditioner = parse_preconditioner(text)};
            const Report report = solve_with(here, scaled, b, recipe).report;
            EXPECT_TRUE(report.converged()) << report.text();
            EXPECT_LE(report.iterations, usual + 2);
        }
    const HostCsr<float> single = grid<float>(12);
    const Recipe recipe{.method = Method::cg, .preconditioner = Amg{.precision = Precision::in_f16}};
    const auto of_float = solve_with(here, single, right_side(single), recipe);
    EXPECT_TRUE(of_float.report.converged()) << of_float.report.text();
    const Recipe inside{.method = Method::refinement, .preconditioner = Amg{.precision = Precision::in_f16}};
    EXPECT_TRUE(solve_with(here, a, b, inside).report.converged());
    const Csr<float> there = to_device(here, single.view());
    EXPECT_NE(Plan<float>::make(here, there.view(), recipe).describe().find("float, matrices in f16"),
              std::string::npos);
}

TEST_P(SolveOn, MultigridInFloatTakesNewValuesOfAnotherScale)
{
    const Context here = ctx();
    HostCsr<double> a = grid<double>(takes_all() ? 20 : 12);
    const std::vector<double> b = right_side(a);
    const Csr<double> small = to_device(here, a.view());
    for (double& v : a.value) v *= 1e60;
    const Csr<double> large = to_device(here, a.view());
    const auto b_there = to_device<double>(here, std::span<const double>(b));
    auto x = to_device<double>(here, std::span<const double>(b));
    const Recipe recipe{.method = Method::cg, .preconditioner = Amg{.precision = Precision::in_float}};
    auto plan = Plan<double>::make(here, small.view(), recipe);
    const offset_t before = plan.solve(b_there.span(), x.span()).iterations;
    plan.update_values(large.view());
    const Report report = plan.solve(b_there.span(), x.span());
    EXPECT_TRUE(report.converged()) << report.text();
    EXPECT_LE(report.iterations, before + 1);
}

TEST_P(SolveOn, MultigridInFloatWhereTheDiagonalAllowsIt)
{
    const Context here = ctx();
    const auto describe = [&](double last) {
        HostCsr<double> a = grid<double>(8);
        for (std::size_t k = 0; k < a.value.size(); ++k)
            if (a.col[k] == a.rows - 1 || static_cast<offset_t>(k) >= a.row_begin[static_cast<std::size_t>(a.rows - 1)])
                a.value[k] *= last;
        const Csr<double> there = to_device(here, a.view());
        const Recipe recipe{.method = Method::cg, .preconditioner = Amg{}};
        return Plan<double>::make(here, there.view(), recipe).describe();
    };
    EXPECT_NE(describe(1).find("V-cycle, float"), std::string::npos);
    EXPECT_NE(describe(1e-13).find("V-cycle, double"), std::string::npos);
}

// The K-cycle is not a linear operator: fgmres is chosen, and methods that rely on one refuse it.
TEST_P(SolveOn, TheKCycleIsForFlexibleMethods)
{
    const Context c = ctx();
    const HostCsr<double> a = grid<double>(20);
    const std::vector<double> b = right_side(a);
    const Preconditioner k = parse_preconditioner("amg+k"), classical = parse_preconditioner("amg+classical+k");
    unsigned number = 0;
    for (const Recipe& recipe : {Recipe{.preconditioner = k}, Recipe{.preconditioner = classical},
                                 Recipe{.method = Method::refinement, .preconditioner = k}}) {
        if (!has_turn(number++)) continue;
        const auto s = solve_with<double>(c, a, b, recipe);
        EXPECT_TRUE(s.report.converged()) << s.report.text();
        EXPECT_LE(residual_of(a, s.x, b), 1.01e-8 * norm_of(b));
        EXPECT_LE(s.report.iterations + s.report.inner_iterations, 16);
    }
    EXPECT_EQ(choose({.rows = 2000, .symmetric = true}, {.preconditioner = k}).method, Method::fgmres);
    const auto there = to_device(c, a.view());
    for (const Method m : {Method::cg, Method::minres, Method::bicgstab, Method::gmres, Method::chebyshev})
        EXPECT_THROW(Plan<double>::make(c, there.view(), {.method = m, .preconditioner = k}), ValueError);
    const Recipe inside{.method = Method::refinement, .preconditioner = k, .inner = {.method = Method::cg}};
    EXPECT_THROW(Plan<double>::make(c, there.view(), inside), ValueError);
}

// Multigrid in float and double, and inside refinement, gets the near null space; later plans of other values too.
TEST_P(SolveOn, MultigridTakesANearNullSpace)
{
    const Context c = ctx(), host = Context::cpu(1);
    const auto a = io::generate<double>(host, "elasticity2d:14,8"), at = io::generate<double>(host, "coordinates:14,8");
    const auto there = to_device(c, a.view());
    const auto modes = amg::rigid_body_modes<double>(c, {at.rows, 2, 2, Layout::row_major, at.value.data()});
    const auto b = to_device<double>(c, std::vector<double>(static_cast<std::size_t>(a.rows), 1.0));
    auto x = c.run([&](const auto& q) { return Buffer<double>(q, a.rows); });
    for (const auto& [method, precision] : std::vector<std::pair<Method, Precision>>{{Method::cg, Precision::in_float},
                                                                                     {Method::cg, Precision::as_matrix},
                                                                                     {Method::refinement, {}}}) {
        SCOPED_TRACE(to_text(method));
        const Recipe recipe{.method = method, .preconditioner = Amg{.precision = precision}, .unknowns_per_node = 2};
        auto plan = Plan<double>::make(c, there.view(), recipe, modes.view());
        const Report report = plan.solve(b.span(), x.span());
        EXPECT_TRUE(report.converged()) << report.text();
        EXPECT_LE(report.iterations + report.inner_iterations, 24);
        const std::string told = plan.describe();
        EXPECT_TRUE(method != Method::cg ||
                    told.find("3 vectors of the near null space, 2 unknowns") != std::string::npos)
            << told;
    }
    auto scaled = to_host<double>(c, std::as_const(modes.data).span());
    for (offset_t k = 2; k < scaled.size(); k += 3) scaled.data()[k] *= 1e30;  // rotations, with squares beyond float
    const auto scaled_there = to_device<double>(c, std::as_const(scaled).span());
    for (const Method method : {Method::cg, Method::refinement}) {
        const Recipe recipe{.method = method,
                            .preconditioner = Amg{.precision = Precision::in_float},
                            .unknowns_per_node = 2};
        auto plan = Plan<double>::make(c, there.view(), recipe, {a.rows, 3, 3, Layout::row_major, scaled_there.data()});
        const Report report = plan.solve(b.span(), x.span());
        EXPECT_TRUE(report.converged()) << report.text();
        EXPECT_LE(report.iterations + report.inner_iterations, 24);
    }
    const DenseView<const double> few{a.rows - 1, 3, 3, Layout::row_major, modes.data.data()},
        apart{a.rows, 2, 3, Layout::row_major, modes.data.data()};
    EXPECT_THROW(Plan<double>::make(c, there.view(), {}, few), ShapeError);
    EXPECT_THROW(Plan<double>::make(c, there.view(), {}, apart), ValueError);
    EXPECT_THROW(Plan<double>::make(c, there.view(), {.unknowns_per_node = 5}), ValueError);
}

// Nodes of several unknowns reach the solver inside of refinement: without them elasticity takes more iterations.
TEST(Solve, RefinementTakesNodesOfSeveralUnknowns)
{
    const Context c = Context::cpu(2);
    const auto generated = io::generate<double>(Context::cpu(1), "elasticity2d:16,16");
    const auto a = to_device(c, generated.view());
    const auto b = to_device<double>(c, std::vector<double>(static_cast<std::size_t>(generated.rows), 1.0));
    auto x = c.run([&](const auto& q) { return Buffer<double>(q, generated.rows); });
    const auto iterations = [&](Method method, index_t unknowns) {
        const Recipe recipe{.method = method,
                            .preconditioner = Amg{.precision = Precision::in_float},
                            .inner = {.method = Method::cg},
                            .unknowns_per_node = unknowns};
        const Report report = Plan<double>::make(c, a.view(), recipe).solve(b.span(), x.span());
        EXPECT_TRUE(report.converged()) << report.text();
        return method == Method::refinement ? report.inner_iterations : report.iterations;
    };
    const offset_t inside = iterations(Method::refinement, 2);
    EXPECT_LT(inside, iterations(Method::refinement, 1));
}

TEST_P(SolveOn, BlocksThatSwapRowsAreInverted)
{
    const HostCsr<double> a =
        csr_of<double>(3, 3, {{0, 1, 2.0}, {1, 0, 1.0}, {1, 1, 1.0}, {2, 2, 5.0}});  // a pivot below, a block cut short
    const auto s = solve_with<double>(ctx(), a, {2, 3, 5}, {.method = Method::gmres, .preconditioner = BlockJacobi{2}});
    EXPECT_EQ(s.report.iterations, 1) << s.report.text();
    EXPECT_NEAR(s.x[0], 2, 1e-14);
    EXPECT_NEAR(s.x[1], 1, 1e-14);
    EXPECT_NEAR(s.x[2], 1, 1e-14);
}

TEST_P(SolveOn, NewValuesAndAFirstGuess)
{
    const Context c = ctx();
    HostCsr<double> a = grid<double>(6);
    const Csr<double> first = to_device(c, a.view());
    auto plan = Plan<double>::make(c, first.view(), {.stop = {.relative = 1e-10}, .guess = true});
    for (double& v : a.value) v *= 4;
    const Csr<double> second = to_device(c, a.view());
    plan.update_values(second.view());
    const std::vector<double> b = right_side(a);
    const auto b_there = to_device<double>(c, std::span<const double>(b));
    auto x = to_device<double>(c, std::span<const double>(std::vector<double>(36, 1)));
    const Report r = plan.solve(b_there.span(), x.span());
    EXPECT_TRUE(r.converged()) << r.text();
    EXPECT_LE(residual_of(a, host_vector(c, x), b), 1e-9 * norm_of(b));
    const Report again = plan.solve(b_there.span(), x.span());
    EXPECT_EQ(again.iterations, 0);
    const Csr<double> other = to_device(c, grid<double>(5).view());
    EXPECT_THROW(plan.update_values(other.view()), PlanMismatch);
}

// New values that a preconditioner refuses leave no plan of old and new parts: it solves again after values it accepts.
// Values refused before anything was changed leave the plan as it was.
TEST_P(SolveOn, AFailedUpdateOfValuesLeavesNoMixture)
{
    const Context c = ctx();
    const HostCsr<double> a = grid<double>(4);
    HostCsr<double> singular = a, infinite = a;
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[static_cast<std::size_t>(i)]; k < a.row_begin[static_cast<std::size_t>(i) + 1];
             ++k)
            if (a.col[static_cast<std::size_t>(k)] == i) singular.value[static_cast<std::size_t>(k)] = 0;
    infinite.value[3] = std::numeric_limits<double>::infinity();
    const Csr<double> good = to_device(c, a.view()), bad = to_device(c, singular.view()),
                      worse = to_device(c, infinite.view());
    const std::vector<double> b = right_side(a);
    const auto b_there = to_device<double>(c, std::span<const double>(b));
    auto x = to_device<double>(c, std::span<const double>(b));
    auto plan = Plan<double>::make(c, good.view(), {.method = Method::cg, .preconditioner = Jacobi{}});
    EXPECT_THROW(plan.update_values(worse.view()), ValueError);
    EXPECT_TRUE(plan.solve(b_there.span(), x.span()).converged());
    EXPECT_THROW(plan.update_values(bad.view()), ValueError);
    EXPECT_THROW(plan.solve(b_there.span(), x.span()), ValueError) << "solved with old and new values";
    auto both = to_device<double>(c, std::span<const double>(std::vector<double>(64, 1)));
    EXPECT_THROW(plan.solve(DenseView<const double>{16, 2, 2, Layout::row_major, both.data()},
                            DenseView<double>{16, 2, 2, Layout::row_major, both.data() + 32}),
                 ValueError)
        << "several right-hand sides";
    plan.update_values(good.view());
    const Report r = plan.solve(b_there.span(), x.span());
    EXPECT_TRUE(r.converged()) << r.text();
    EXPECT_LE(residual_of(a, host_vector(c, x), b), 1e-5 * norm_of(b));
}

// The host may look every time or seldom: the iterations are the same.
TEST_P(SolveOn, LooksOfTheHostDoNotMatter)
{
    const HostCsr<double> a = grid<double>(6, 0.3);
    for (const Method m : {Method::bicgstab, Method::gmres}) {
        const auto often = solve_with<double>(ctx(), a, right_side(a), {.method = m, .check_every = 1});
        const auto seldom = solve_with<double>(ctx(), a, right_side(a), {.method = m, .check_every = 50});
        EXPECT_EQ(often.report.iterations, seldom.report.iterations);
        EXPECT_EQ(often.report.history, seldom.report.history);
        EXPECT_EQ(often.x, seldom.x);
    }
}

// A diagonal matrix that takes about as many iterations as it has rows.
HostCsr<double> many_eigenvalues(index_t n)
{
    std::vector<double> d(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = 1 + static_cast<double>(i * i);
    return diagonal(d);
}

// As many iterations between two looks as a status has room for, one less, and more than that.
TEST_P(SolveOn, LooksAroundTheRoomForNorms)
{
    const HostCsr<double> a = many_eigenvalues(70);
    unsigned number = 0;
    for (const Method m : {Method::cg, Method::gmres}) {
        const Recipe recipe{.method = m, .preconditioner = None{}, .restart = 100, .check_every = 1};
        const auto often = solve_with<double>(ctx(), a, right_side(a), recipe);
        EXPECT_GT(often.report.iterations, most_unseen) << "the case is too easy";
        expect_solved(a, right_side(a), often, recipe.stop.relative.value_or(1e-8));
        for (const int every : {most_unseen - 1, most_unseen, most_unseen + 1, 1000}) {
            if (!has_turn(number++)) continue;
            Recipe other = recipe;
            other.check_every = every;
            const auto seldom = solve_with<double>(ctx(), a, right_side(a), other);
            EXPECT_EQ(often.report.history, seldom.report.history) << to_text(m) << ", every " << every;
            EXPECT_EQ(often.x, seldom.x) << to_text(m) << ", every " << every;
        }
    }
}

// Restarts of every number of vectors around the dot products that one pass makes: without a restart GMRES solves a
// system of n eigenvalues in n steps, however many passes those take.
TEST_P(SolveOn, GmresWithMoreVectorsThanAPassHasSums)
{
    for (const int n : {7, 8, 9, 16, 17, 25}) {
        const HostCsr<double> a = many_eigenvalues(n);
        const auto s = solve_with<double>(ctx(), a, right_side(a),
                                          {.method = Method::gmres, .preconditioner = None{}, .restart = n});
        expect_solved(a, right_side(a), s, 1e-8);
        EXPECT_LE(s.report.iterations, n);
        EXPECT_EQ(s.report.restarts, 0) << n;
    }
}

// The inverse of a block diagonal matrix is its block Jacobi preconditioner, whatever is left for the last block.
TEST_P(SolveOn, BlocksOfEverySize)
{
    for (const int rows : {1, 2, 5, 31, 32}) {
        const index_t n = 41;
        Entries<double> e;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = i / rows * rows; j < std::min<index_t>(n, (i / rows + 1) * rows); ++j)
                e.emplace_back(i, j, i == j ? 8.0 : 1.0 / (2 + i + j));
        const HostCsr<double> a = csr_of<double>(n, n, e);
        const auto s =
            solve_with<double>(ctx(), a, right_side(a), {.method = Method::gmres, .preconditioner = BlockJacobi{rows}});
        expect_solved(a, right_side(a), s, 1e-8);
        EXPECT_EQ(s.report.iterations, 1) << rows;
    }
    EXPECT_THROW(solve_with<double>(ctx(), grid<double>(3), std::vector<double>(9, 1),
                                    {.preconditioner = BlockJacobi{33}}),
                 ValueError);
}

// Entries stored twice count as their sum for every choice and preconditioner.
TEST_P(SolveOn, EntriesStoredTwiceAreAdded)
{
    const HostCsr<double> a = grid<double>(5);
    Entries<double> e;
    for (const auto& [i, j, v] : a.entries())
        for (const double part : {0.25, 0.75}) e.emplace_back(i, j, part * v);
    const HostCsr<double> twice = csr_of<double>(a.rows, a.cols, e);
    ASSERT_FALSE(twice.unique);
    for (const Preconditioner& p : {Preconditioner(Jacobi{}), Preconditioner(BlockJacobi{4})}) {
        const Recipe recipe{.method = Method::cg, .preconditioner = p};
        const auto want = solve_with<double>(ctx(), a, right_side(a), recipe),
                   got = solve_with<double>(ctx(), twice, right_side(a), recipe);
        expect_solved(a, right_side(a), got, 1e-8);
        EXPECT_EQ(got.report.iterations, want.report.iterations) << to_text(p);
    }
    EXPECT_EQ(solve_with<double>(ctx(), twice, right_side(a), {.preconditioner = Jacobi{}}).report.method, Method::cg)
        << "the matrix is symmetric";
}

// More entries than all threads of a grid fetch at once: the loop over entries goes round a second time.
TEST_P(SolveOn, PassesOfMoreEntriesThanAGridTakesAtOnce)
{
    const Context c = ctx();
    const auto n = offset_t{4} * tulle::vector::most_blocks * tulle::vector::threads_of_block + 257;
    const std::vector<double> ones(static_cast<std::size_t>(n), 1);
    auto x = to_device<double>(c, std::span<const double>(ones)),
         p = to_device<double>(c, std::span<const double>(ones)),
         r = to_device<double>(c, std::span<const double>(ones));
    const auto z = to_device<double>(c, std::span<const double>(ones));
    std::vector<double> got_x, got_r;
    c.run([&](const auto& q) {
        const std::vector<CgScalars> scalars{{.rho = 2, .alpha = 3, .beta = 4, .owed = 0}};
        const std::vector<Status> status{{.halt = Halt::none,
                                          .performed = 1,
                                          .iterations = 0,
                                          .norm = 1,
                                          .target = 0,
                                          .limit = 1e300,
                                          .value = 0,
                                          .history = {}}};
        auto s = to_queue(q, scalars.data(), 1);
        auto now = to_queue(q, status.data(), 1);
        const std::vector<double> curvature{4, 0};
        const auto dots = to_queue(q, curvature.data(), 2);
        tulle::vector::PassBuffer room(q, n);
        run_pass(q, n, CgDirection<double>{x.data(), z.data(), p.data(), s.data(), now.data()}, room.space());
        run_pass(q, n,
                 CgResidual<double>{
                     z.data(), r.data(), nullptr, r.data(), true, {nullptr, dots.data()}, s.data(), now.data()},
                 room.space());
        EXPECT_DOUBLE_EQ(read_value(q, now.data()).norm, std::sqrt(static_cast<double>(n)) / 2);
    });
    got_x = host_vector(c, x);
    got_r = host_vector(c, r);
    const auto wrong = [](const std::vector<double>& v, double want) {
        return std::count_if(v.begin(), v.end(), [=](double e) { return e != want; });
    };
    EXPECT_EQ(wrong(got_x, 4), 0) << "x = 1 + 3 * 1";
    EXPECT_EQ(wrong(host_vector(c, p), 5), 0) << "p = 1 + 4 * 1";
    EXPECT_EQ(wrong(got_r, 0.5), 0) << "r = 1 - 2 / 4 * 1";
}

// The one pass of CG without a preconditioner: beta is predicted, x is owed a step of the pass before.
TEST_P(SolveOn, StepsOfMoreEntriesThanAGridTakesAtOnce)
{
    const Context c = ctx();
    const auto n = offset_t{4} * tulle::vector::most_blocks * tulle::vector::threads_of_block + 257;
    const std::vector<double> ones(static_cast<std::size_t>(n), 1);
    const auto p = to_device<double>(c, std::span<const double>(ones));
    auto r = to_device<double>(c, std::span<const double>(ones)),
         next = to_device<double>(c, std::span<const double>(ones)),
         x = to_device<double>(c, std::span<const double>(ones));
    const auto expect_all = [&](const Buffer<double>& v, double want) {
        const auto found = host_vector(c, v);
        EXPECT_EQ(std::count(found.begin(), found.end(), want), n) << want;
    };
    c.run([&](const auto& q) {
        const std::vector<CgScalars> scalars{{.rho = 2, .alpha = 0, .beta = 0, .owed = 5}};
        Status status{};
        status.limit = 1e300;
        auto s = to_queue(q, scalars.data(), 1);
        auto now = to_queue(q, &status, 1);
        const std::vector<double> products{4, 32};  // p · q and q · q
        const auto dots = to_queue(q, products.data(), 2);
        tulle::vector::PassBuffer room(q, n);
        const auto step = [&](double* to) {
            run_pass(q, n,
                     CgStep<double>{p.data(), r.data(), p.data(), next.data(), to, dots.data(), s.data(), now.data()},
                     room.space());
            return read_value(q, s.data());
        };
        EXPECT_EQ(step(x.data()).owed, 0);
        EXPECT_DOUBLE_EQ(read_value(q, now.data()).norm, std::sqrt(static_cast<double>(n)) / 2);
        expect_all(r, 0.5);     // 1 - 2 / 4 * 1
        expect_all(next, 3.5);  // 0.5 + (0.25 * 32 - 2) / 2 * 1
        expect_all(x, 6.5);     // 1 + 5 * 1 + 0.5 * 1
        const double owed = step(nullptr).owed;
        EXPECT_DOUBLE_EQ(owed, static_cast<double>(n) / 16) << "alpha from the sum of the pass, not the prediction";
        expect_all(x, 6.5);
        run_pass(q, n, CgSettle<double>{x.data(), p.data(), s.data()}, room.space());
        run_pass(q, n, CgSettle<double>{x.data(), p.data(), s.data()}, room.space());
        expect_all(x, 6.5 + owed);
    });
}

// CG minimises the energy norm of the error over growing spaces.
TEST_P(SolveOn, EnergyNormOfTheErrorFallsInCg)
{
    const HostCsr<double> a = grid<double>(5);
    const std::vector<double> b = right_side(a);
    const auto want = dense_solve(a, b);
    for (const Preconditioner& p : {Preconditioner(None{}), Preconditioner(Jacobi{}), Preconditioner(Incomplete{})}) {
        long double before = std::numeric_limits<long double>::infinity();
        for (offset_t k = 0; k < 8; ++k) {
            const Recipe recipe{.method = Method::cg, .preconditioner = p, .stop = {.iterations = k}};
            const auto s = solve_with<double>(ctx(), a, b, recipe);
            long double energy = 0;
            const auto error = [&](index_t i) {
                return want[static_cast<std::size_t>(i)] - s.x[static_cast<std::size_t>(i)];
            };
            for (const auto& [i, j, v] : a.entries()) energy += error(i) * v * error(j);
            EXPECT_LT(energy, before) << k << ", " << to_text(p);
            before = energy;
        }
    }
}

// A p · A p leaves the range of double long before r · r and p · A p do, at the first step or later. Powers of two lose
// no digits.
TEST_P(SolveOn, CgForMatricesFarFromOne)
{
    const HostCsr<double> plain = grid<double>(6);
    const std::vector<double> b = right_side(plain);
    const Recipe recipe{.method = Method::cg, .preconditioner = None{}};
    const offset_t usual = solve_with(ctx(), plain, b, recipe).report.iterations;
    struct Scales {
        int matrix, right;
    };
    for (const auto [matrix, right] : {Scales{530, 0}, Scales{-530, 0}, Scales{-330, -140}, Scales{400, 120}}) {
        SCOPED_TRACE(matrix);
        HostCsr<double> a = plain;
        std::vector<double> scaled = b;
        for (double& v : a.value) v = std::ldexp(v, matrix);
        for (double& v : scaled) v = std::ldexp(v, right);
        const auto s = solve_with(ctx(), a, scaled, recipe);
        EXPECT_TRUE(s.report.converged()) << s.report.text();
        EXPECT_LE(s.report.relative, 1e-8);
        EXPECT_LE(s.report.iterations, 2 * usual);
        const auto want = dense_solve(plain, b);
        for (std::size_t i = 0; i < want.size(); ++i)
            ASSERT_NEAR(std::ldexp(s.x[i], matrix - right), static_cast<double>(want[i]), 1e-6) << i;
    }
}

// Products of a GPU make p · A p in float: its range ends where that of r · r, in double, does not.
TEST_P(SolveOn, CgInFloatForLargeNumbers)
{
    HostCsr<float> a = grid<float>(6);
    for (float& v : a.value) v = std::ldexp(v, 40);
    std::vector<float> b = right_side(a);
    for (float& v : b) v = std::ldexp(v, 60);
    for (const Preconditioner& p : {Preconditioner(None{}), Preconditioner(Jacobi{})}) {
        const auto s =
            solve_with<float>(ctx(), a, b, {.method = Method::cg, .preconditioner = p, .stop = {.relative = 1e-5}});
        EXPECT_TRUE(s.report.converged()) << s.report.text();
        EXPECT_LE(s.report.iterations, 40);
    }
}

// Methods that have no wider form end with a reason, and do not say that they converged.
TEST_P(SolveOn, OtherMethodsForMatricesFarFromOneEnd)
{
    for (const Method m : {Method::pipelined_cg, Method::minres, Method::bicgstab, Method::gmres})
        for (const int exponent : {530, -530}) {
            if (build::simulated && !is_in_sample(to_text(m) + std::to_string(exponent), 4)) continue;
            SCOPED_TRACE(to_text(m) + std::to_string(exponent));
            HostCsr<double> a = grid<double>(6);
            for (double& v : a.value) v = std::ldexp(v, exponent);
            const std::vector<double> b = right_side(a);
            const auto s = solve_with<double>(ctx(), a, b, {.method = m, .preconditioner = None{}});
            for (const double v : s.x) EXPECT_TRUE(std::isfinite(v));
            const bool solved = residual_of(a, s.x, b) <= 1.01e-8 * norm_of(b);
            EXPECT_TRUE(solved || !s.report.converged()) << s.report.text();
            EXPECT_EQ(s.report.note.find("least-squares"), std::string::npos) << s.report.text();
        }
}

TEST_P(SolveOn, AllocationsThatFailLeaveNothing)
{
    const Context c = ctx();
    const HostCsr<double> a = grid<double>(3);
    const Csr<double> there = to_device(c, a.view());
    const auto b = to_device<double>(c, std::span<const double>(right_side(a)));
    auto x = to_device<double>(c, std::span<const double>(right_side(a)));
    expect_clean_failures(c, [&] {
        Plan<double>::make(c, there.view(), {.preconditioner = BlockJacobi{2}}).solve(b.span(), x.span());
    });
}

TEST(Solve, SameBitsForAnyNumberOfThreads)
{
    const HostCsr<double> a = grid<double>(40);
    const auto one = solve_with<double>(Context::cpu(1).deterministic(), a, right_side(a), {});
    for (const int threads : {2, 3}) {
        const auto more = solve_with<double>(Context::cpu(threads).deterministic(), a, right_side(a), {});
        EXPECT_EQ(more.x, one.x);
        EXPECT_EQ(more.report.history, one.report.history);
    }
}

// Iterations to 1e-8 for b = 1 beside SciPy's cg, which needs 79; the others are bounds that ours has met.
TEST(Solve, IterationsAsOthers)
{
    if (build::simulated) GTEST_SKIP() << "counts iterations of the CPU: other builds do";
    const Context c = Context::cpu(2);
    const Csr<double> a = io::generate<double>(c, "stencil7:32");
    auto plan = Plan<double>::make(c, a.view(), {.preconditioner = Jacobi{}});
    std::vector<double> b(static_cast<std::size_t>(a.rows), 1), x(b.size());
    const Report r = plan.solve(b, x);
    EXPECT_TRUE(r.converged());
    EXPECT_EQ(r.method, Method::cg);
    EXPECT_NEAR(static_cast<double>(r.iterations), 79, 2);
    auto multigrid = Plan<double>::make(c, a.view(), {.method = Method::cg});
    EXPECT_EQ(to_text(*multigrid.policy().preconditioner), "amg") << multigrid.describe();
    EXPECT_LE(multigrid.solve(b, x).iterations, 16);
    auto cholesky = Plan<double>::make(c, a.view(), {.preconditioner = Incomplete{.kind = factor::Kind::ic0}});
    EXPECT_LE(cholesky.solve(b, x).iterations, 42);
    auto inverse = Plan<double>::make(c, a.view(), {.preconditioner = Fsai{}});
    EXPECT_LE(inverse.solve(b, x).iterations, 55) << inverse.describe();
}

TEST(Solve, ChoosesFromSymmetryAndDiagonal)
{
    const Features spd{.rows = 4, .nonzeros = 4, .symmetric = true};
    EXPECT_EQ(choose(spd, {}).method, Method::cg);
    Features indefinite = spd;
    indefinite.negative_diagonal = 1;
    EXPECT_EQ(choose(indefinite, {}).method, Method::minres);
    EXPECT_EQ(choose(indefinite, {}).preconditioner, Preconditioner(None{}));
    Features general = spd;
    general.symmetric = false;
    EXPECT_EQ(choose(general, {}).method, Method::bicgstab);
    general.missing_diagonal = 1;
    EXPECT_EQ(to_text(choose(general, {}).preconditioner), "ilut:1e-04:10+match+rcm");
    for (const Features& f : {spd, indefinite, general}) {
        const auto all = candidates(f, {.preconditioner = Jacobi{}});
        for (const Choice& c : all) EXPECT_EQ(c.preconditioner, Preconditioner(Jacobi{}));
        for (std::size_t k = 1; k < all.size(); ++k) EXPECT_NE(all[k].method, all[k - 1].method);
        EXPECT_EQ(candidates(f, {.method = Method::cg, .preconditioner = None{}}).size(), 1u);
        for (const Choice& c : candidates(f, {})) EXPECT_FALSE(c.why.empty());
    }
}

// On a CPU the cheaper setup comes first, unless multigrid is sure to be worth its own.
TEST(Solve, PricesTheSetupOfMultigrid)
{
    const auto name = [](const Choice& c) { return to_text(c.preconditioner); };
    Features f{.rows = 10'000, .nonzeros = 50'000, .symmetric = true, .positive_values = 10'000};
    EXPECT_EQ(name(choose(f, {})), "ic0");
    EXPECT_EQ(name(candidates(f, {}).at(1)), "iluk:1+rcm");
    EXPECT_EQ(name(candidates(f, {}).at(2)), "amg");
    EXPECT_EQ(choose(f, {}).next_cost, 100);
    EXPECT_EQ(candidates(f, {}).at(1).next_cost, 800);
    EXPECT_EQ(choose(f, {.preconditioner = Jacobi{}}).next_cost, 0);
    f.positive_values = f.rows = 30'000;
    f.nonzeros = 150'000;
    EXPECT_EQ(choose(f, {}).next_cost, 160);
    EXPECT_NE(choose(f, {}).why.find("multigrid where more than 160 iterations are expected"), std::string::npos);
    Features other = f;
    other.positive_values += 60'000;  // half of the values beside the diagonal: multigrid after a failure only
    EXPECT_EQ(name(choose(other, {})), "ic0");
    EXPECT_EQ(choose(other, {}).next_cost, 0);
    other = f;
    other.near_null_space = true;
    EXPECT_EQ(name(choose(other, {})), "amg");
    other = f;
    other.backend = Backend::cuda;
    EXPECT_EQ(name(choose(other, {})), "amg");
    EXPECT_EQ(name(choose(f, {.unknowns_per_node = 3})), "amg");
    f.positive_values = f.rows = 400'000;
    f.nonzeros = 2'000'000;
    EXPECT_EQ(name(choose(f, {})), "amg");
    f.positive_values = 1'200'000;
    EXPECT_EQ(name(choose(f, {})), "ic0");
}

// A grid whose points are numbered at random, and in order: the factors of the first are those of another order, on a
// CPU and where nothing else is asked for.
TEST(Solve, FactorsOfScatteredUnknownsAreOrdered)
{
    const auto name = [](const Choice& c) { return to_text(c.preconditioner); };
    Features f{.rows = 2000, .nonzeros = 10'000, .symmetric = true, .positive_values = 2000, .spread = 0.6};
    EXPECT_EQ(name(choose(f, {})), "ic0+rcm");
    f.symmetric = false;
    EXPECT_EQ(name(choose(f, {})), "ilu0+rcm");
    EXPECT_EQ(choose(f, {}).next_cost, 64);
    EXPECT_EQ(name(candidates(f, {}).at(1)), "iluk:1+rcm");
    EXPECT_EQ(candidates(f, {}).at(1).next_cost, 0);
    EXPECT_EQ(name(choose(f, {.method = Method::gmres})), "ilu0");
    f.spread = 0.3;
    f.symmetric = true;
    EXPECT_EQ(name(choose(f, {})), "ic0+rcm");
    EXPECT_EQ(name(candidates(f, {}).at(1)), "amg");  // no fill-in after an order
    f.nonzeros = 20'000;                              // no short rows
    EXPECT_EQ(name(choose(f, {})), "ic0");
    for (const Features& other : {Features{.rows = 300, .nonzeros = 2000, .spread = 0.6},
                                  Features{.rows = 2000, .nonzeros = 10'000, .spread = 0.4},
                                  Features{.rows = 2000, .nonzeros = 10'000, .spread = 0.6, .backend = Backend::cuda}})
        EXPECT_EQ(name(choose(other, {})), "ilu0");

    const Context c = Context::cpu(1);
    const HostCsr<double> regular = grid<double>(40, 0.4);
    Entries<double> e;
    const auto at = [](index_t i) { return i * 617 % 1600; };
    for (const auto& [i, j, v] : regular.entries()) e.emplace_back(at(i), at(j), v);
    const HostCsr<double> a = csr_of<double>(1600, 1600, e);
    auto plan = Plan<double>::make(c, a.view()),
         given = Plan<double>::make(c, a.view(), {.preconditioner = Incomplete{}});
    EXPECT_EQ(plan.features().spread, 1);
    EXPECT_EQ(Plan<double>::make(c, regular.view()).features().spread, 0);
    std::vector<double> x(1600);
    const Report ordered = plan.solve(right_side(a), x), scattered = given.solve(right_side(a), x);
    EXPECT_TRUE(ordered.converged() && scattered.converged());
    EXPECT_LT(ordered.iterations, scattered.iterations);
}

// Many iterations are expected after the first twenty: multigrid goes on from the x that was reached, and later solves
// begin with it.
TEST(Solve, FillInHasALimit)
{
    const Context c = Context::cpu(1);
    const HostCsr<double> a = grid<double>(8);
    Incomplete p{.kind = factor::Kind::iluk, .most_fill = 1.1};
    EXPECT_THROW(Plan<double>::make(c, a.view(), {.preconditioner = p}), ValueError);
    p.most_fill = 2;
    EXPECT_TRUE(solve_with<double>(c, a, right_side(a), {.preconditioner = p}).report.converged());
    p.most_fill = -1;
    EXPECT_THROW(Plan<double>::make(c, a.view(), {.preconditioner = p}), ValueError);
}

// A stencil whose rows are nearly dominant: its factors are not relaxed.
Csr<double> weak_stencil(const Context& c, std::string_view name, double part)
{
    Csr<double> a = io::generate<double>(c, name);
    for (offset_t k = 0; k < a.nonzeros(); ++k)
        if (a.value.data()[k] > 0) a.value.data()[k] *= 1 - part;
    return a;
}

// Factors of rows that are dominant are relaxed on a CPU, and take fewer iterations.
TEST(Solve, RelaxesTheFactorsOfDominantRows)
{
    const auto name = [](const Choice& c) { return to_text(c.preconditioner); };
    Features f{.rows = 10'000, .nonzeros = 50'000, .symmetric = true, .positive_values = 10'000};
    f.dominant_rows = f.rows;
    EXPECT_EQ(name(choose(f, {})), "ilu0+relax:0.97");
    EXPECT_EQ(name(candidates(f, {}).at(1)), "amg");  // no fill-in beside it
    EXPECT_EQ(choose(f, {}).next_cost, 800);
    Features other = f;
    other.dominant_rows -= 1;
    EXPECT_EQ(name(choose(other, {})), "ic0");
    other = f;
    other.spread = 0.6;
    EXPECT_EQ(name(choose(other, {})), "ic0+rcm");
    other = f;
    other.positive_values += 2;
    EXPECT_EQ(name(choose(other, {})), "ic0");
    other = f;
    other.backend = Backend::cuda;
    EXPECT_EQ(name(choose(other, {})), "amg");

    const Context c = Context::cpu(1);
    const Csr<double> a = io::generate<double>(c, "stencil7:20"), weak = weak_stencil(c, "stencil7:20", 1e-5);
    const std::vector<double> b(static_cast<std::size_t>(a.rows), 1);
    std::vector<double> x(b.size());
    auto plan = Plan<double>::make(c, a.view()),
         with_ic0 = Plan<double>::make(c, weak.view(), {.preconditioner = Incomplete{.kind = factor::Kind::ic0}});
    EXPECT_EQ(plan.features().dominant_rows, a.rows);
    EXPECT_LT(with_ic0.features().dominant_rows, a.rows);
    const Report r = plan.solve(b, x), s = with_ic0.solve(b, x);
    EXPECT_TRUE(r.converged() && s.converged());
    EXPECT_LT(r.iterations, s.iterations);
}

// Couplings along rows are much stronger than others, so that IC(0) leaves out little; nearly dominant.
Csr<double> flat_stencil(const Context& c, index_t n, double weak)
{
    Csr<double> a = weak_stencil(c, concat("stencil5:", n), 1e-4);
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin.data()[i]; k < a.row_begin.data()[i + 1]; ++k)
            if (a.col.data()[k] == i) a.value.data()[k] *= (1 + weak) / 2;
            else if (std::abs(a.col.data()[k] - i) > 1) a.value.data()[k] *= weak;
    return a;
}

// Weak factors of short rows: after 40 iterations those with fill-in go on.
TEST(Solve, FillInTakesOverWhereManyIterationsAreExpected)
{
    const Context c = Context::cpu(1);
    const Csr<double> a = flat_stencil(c, 140, 0.1);
    const std::vector<double> b(static_cast<std::size_t>(a.rows), 1);
    std::vector<double> x(b.size());
    auto plan = Plan<double>::make(c, a.view(), {.stop = {.relative = 1e-12}});
    const Report r = plan.solve(b, x);
    EXPECT_TRUE(r.converged()) << r.text();
    EXPECT_NE(r.note.find("cg with ic0: too slow after 40 iterations, went on with cg and iluk:1+rcm"),
              std::string::npos)
        << r.text();
}

TEST(Solve, MultigridTakesOverWhereManyIterationsAreExpected)
{
    const Context c = Context::cpu(1);
    const Csr<double> a = weak_stencil(c, "stencil5:200", 2e-5);
    const std::vector<double> b(static_cast<std::size_t>(a.rows), 1);
    std::vector<double> x(b.size()), again(b.size());
    auto plan = Plan<double>::make(c, a.view());
    const Report r = plan.solve(b, x);
    EXPECT_TRUE(r.converged()) << r.text();
    EXPECT_NE(r.note.find("cg with ic0: too slow after 20 iterations, went on with cg and amg"), std::string::npos)
        << r.text();
    EXPECT_EQ(r.history.size(), static_cast<std::size_t>(r.iterations) + 1);
    EXPECT_LE(plan.solve(b, again).iterations, r.iterations - 20);
    auto twice = Plan<double>::make(c, a.view());
    EXPECT_EQ(twice.solve(b, again).history, r.history);
    EXPECT_EQ(again, x);
    EXPECT_EQ(plan.features().positive_values, a.rows);
}

// Sorted rows are looked at in one pass without searches, others by searches: the same is found.
TEST(Solve, FeaturesDoNotDependOnTheOrderOfEntries)
{
    const Context c = Context::cpu(1);
    const std::vector<HostCsr<double>> all{
        grid<double>(5),
        grid<double>(5, 0.4),
        csr_of<double>(3, 3, {{0, 0, 2.0}, {0, 2, 1.0}, {1, 1, 2.0}, {2, 2, 2.0}}),                // right alone
        csr_of<double>(3, 3, {{0, 0, 2.0}, {1, 1, 2.0}, {2, 0, 1.0}, {2, 2, 2.0}}),                // left alone
        csr_of<double>(3, 3, {{0, 0, 2.0}, {0, 1, 0.0}, {1, 1, 2.0}, {2, 1, 0.0}, {2, 2, 2.0}}),   // zeros alone
        csr_of<double>(3, 3, {{0, 0, 2.0}, {0, 1, 1.0}, {0, 2, 3.0}, {2, 0, 3.0}, {2, 2, -2.0}}),  // one of two
        csr_of<double>(3, 3, {{0, 1, 1.0}, {1, 0, 1.0}, {2, 2, 0.0}}),                             // no diagonal
        csr_of<double>(2, 2, {{0, 0, 1.0}, {0, 1, 1.0}, {1, 0, 1.0 + 1e-12}, {1, 1, -1.0}})};      // rounding
    for (const HostCsr<double>& a : all) {
        CsrView<double> any = a.view();
        any.sorted = false;
        const Recipe none{.method = Method::gmres, .preconditioner = None{}};
        auto plan = Plan<double>::make(c, a.view(), none), searched = Plan<double>::make(c, any, none);
        const Features f = plan.features(), g = searched.features();
        EXPECT_EQ(f.symmetric, g.symmetric);
        EXPECT_EQ(f.empty_rows, g.empty_rows);
        EXPECT_EQ(f.missing_diagonal, g.missing_diagonal);
        EXPECT_EQ(f.negative_diagonal, g.negative_diagonal);
        EXPECT_EQ(f.positive_values, g.positive_values);
    }
}

// Rows of a convection-diffusion matrix in another order, with scales of many magnitudes: no product is easy.
HostCsr<double> disordered(index_t n)
{
    Entries<double> e;
    const index_t rows = n * n;
    for (const auto& [i, j, v] : grid<double>(n, 0.4).entries())
        e.emplace_back((i * 7 + 3) % rows, j, v * std::pow(10.0, i % 7 - 3));
    return csr_of<double>(rows, rows, e);
}

TEST_P(SolveOn, RowsInAnyOrderAndScaleAreSolvedByDefault)
{
    const HostCsr<double> a = disordered(8);
    const auto s = solve_with<double>(ctx(), a, right_side(a), {});
    EXPECT_TRUE(s.report.converged()) << s.report.text();
    EXPECT_LE(residual_of(a, s.x, right_side(a)), 2e-8 * norm_of(right_side(a)));
    EXPECT_NE(s.text.find("+match"), std::string::npos) << s.text;
}

// The first candidate fails, a later one converges, and the next solve begins with that one.
TEST_P(SolveOn, GoesOnWithTheNextCandidateAndKeepsIt)
{
    const Context c = ctx();
    HostCsr<double> a = grid<double>(6);
    for (std::size_t k = 0; k < a.value.size(); ++k)
        if (a.value[k] == 4) a.value[k] = 0.5;  // indefinite, with a positive diagonal
    const Csr<double> there = to_device(c, a.view());
    auto plan = Plan<double>::make(c, there.view());
    const auto b = to_device<double>(c, std::span<const double>(right_side(a)));
    auto x = to_device<double>(c, std::span<const double>(right_side(a)));
    const Report first = plan.solve(b.span(), x.span());
    EXPECT_TRUE(first.converged()) << first.text();
    EXPECT_NE(first.note.find(": not positive definite"), std::string::npos) << first.note;
    EXPECT_NE(first.method, Method::cg);
    const Report second = plan.solve(b.span(), x.span());
    EXPECT_TRUE(second.converged()) << second.text();
    EXPECT_EQ(second.method, first.method);
    EXPECT_TRUE(second.note.empty()) << second.note;
    EXPECT_NE(first.advice.find(to_text(first.method)), std::string::npos) << first.advice;
    EXPECT_TRUE(second.advice.empty()) << second.advice;
    EXPECT_LE(second.iterations, first.iterations);
}

// The cheapest candidate that fits is better than none.
TEST(Solve, TakesACandidateThatFitsTheBudget)
{
    if (build::simulated) GTEST_SKIP() << "a budget of the host";
    const Csr<double> a = io::generate<double>(Context::cpu(1), "stencil5:50");
    const Recipe first = Plan<double>::make(Context::cpu(1), a.view()).policy();
    for (std::size_t budget = 100'000; budget < 10'000'000; budget += budget / 8) {
        Context c = Context::cpu(1);
        c.budget(budget);
        try {
            const auto plan = Plan<double>::make(c, a.view());
            EXPECT_NE(*plan.policy().preconditioner, *first.preconditioner) << budget;
            EXPECT_NE(plan.describe().find("does not fit"), std::string::npos) << plan.describe();
            return;
        } catch (const OutOfMemory&) {
            EXPECT_EQ(c.memory().live_blocks(), 0);
        }
    }
    FAIL() << "no budget was enough";
}

// Values that a kept setup no longer fits: the report advises a new plan.
TEST_P(SolveOn, AdvisesANewSetup)
{
    const Context c = ctx();
    HostCsr<double> a = grid<double>(10);
    const auto with_diagonal = [&](double d) {
        for (std::size_t k = 0; k < a.value.size(); ++k)
            if (a.value[k] > 0) a.value[k] = d;
        return to_device(c, a.view());
    };
    const Csr<double> easy = with_diagonal(40), hard = with_diagonal(4);
    auto plan = Plan<double>::make(c, easy.view(), {.method = Method::cg, .preconditioner = Jacobi{}});
    const auto b = to_device<double>(c, std::span<const double>(right_side(a)));
    auto x = to_device<double>(c, std::span<const double>(right_side(a)));
    for (int k = 0; k < 2; ++k) EXPECT_TRUE(plan.solve(b.span(), x.span()).advice.empty());
    plan.update_values(hard.view());
    const Report r = plan.solve(b.span(), x.span());
    EXPECT_TRUE(r.converged()) << r.text();
    EXPECT_NE(r.advice.find("a new plan"), std::string::npos) << r.iterations << " iterations";
}

// No candidate can help: the reason and the note say what is known, and the plan stays usable.
TEST_P(SolveOn, SaysWhyThereIsNoSolution)
{
    const Context c = ctx();
    const HostCsr<double> a = csr_of<double>(2, 2, {{0, 0, 1.0}, {0, 1, -1.0}, {1, 0, -1.0}, {1, 1, 1.0}});
    const Csr<double> there = to_device(c, a.view());
    auto plan = Plan<double>::make(c, there.view(), {.stop = stop_of_hopeless(c)});
    auto x = to_device<double>(c, std::span<const double>(std::vector<double>{0, 0}));
    for (int round = 0; round < 2; ++round) {
        const auto b = to_device<double>(c, std::span<const double>(std::vector<double>{1, 1}));
        const Report r = plan.solve(b.span(), x.span());
        EXPECT_FALSE(r.converged());
        EXPECT_NE(r.note.find("least-squares"), std::string::npos) << r.text();
        EXPECT_FALSE(plan.describe().empty());
    }
    const auto b = to_device<double>(c, std::span<const double>(std::vector<double>{1, -1}));
    EXPECT_TRUE(plan.solve(b.span(), x.span()).converged());
}

TEST(Solve, NamesReadBack)
{
    for (const Method m : methods()) EXPECT_EQ(parse_method(to_text(m)), m);
    for (const Preconditioner& p : all_preconditioners) EXPECT_EQ(parse_preconditioner(to_text(p)), p);
    for (const std::string text : {"ic0",
                                   "ilut",
                                   "iluk:2",
                                   "amg",
                                   "amg:float",
                                   "amg:double",
                                   "amg:f16",
                                   "amg:bf16+classical+w+smoother[ic0]",
                                   "amg+w",
                                   "amg+gauss-seidel",
                                   "amg:double+w+l1-jacobi",
                                   "amg+jacobi",
                                   "amg+classical",
                                   "amg:float+classical+k+gauss-seidel",
                                   "amg+k",
                                   "ilu0+match",
                                   "ic0+rcm",
                                   "ilut:0.01:5+match+rcm",
                                   "ic0+colour",
                                   "iluk:2+nd",
                                   "ilu0+match+auto",
                                   "ilu0+relax:0.97",
                                   "iluk:2+relax:0.5+match+rcm"})
        EXPECT_EQ(to_text(parse_preconditioner(text)), text);
    EXPECT_THROW(parse_method("sor"), ValueError);
    EXPECT_THROW(parse_preconditioner("jacobi:2"), ValueError);
    EXPECT_THROW(parse_preconditioner("chebyshev:x"), ValueError);
    EXPECT_THROW(parse_preconditioner("ilut:x"), ValueError);
    EXPECT_THROW(parse_preconditioner("ilu0+relax:x"), ValueError);
    for (const std::string text : {"jacobi+rcm", "ilu0+colour+rcm", "ilu0+natural", "ic0+nd+nd", "ilu0+", "amg+colour"})
        EXPECT_THROW(parse_preconditioner(text), ValueError) << text;
    EXPECT_THROW(parse_preconditioner("amg+k+w"), ValueError);
    EXPECT_THROW(parse_preconditioner("amg:half"), ValueError);
    EXPECT_THROW(parse_preconditioner("amg+w:f16"), ValueError);
    EXPECT_THROW(parse_preconditioner("amg+w+classical"), ValueError);
    EXPECT_THROW(parse_preconditioner("jacobi+w"), ValueError);
}

TULLE_ON_BACKENDS(SolveOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::solve
