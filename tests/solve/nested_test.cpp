// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Recipes inside recipes: smoothers of multigrid, inner solvers, what is refused, and their text.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "factor/matrices.hpp"
#include "solve/preconditioner.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "tulle/error.hpp"
#include "tulle/solve.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

using namespace tulle::test;

class NestedOn : public OnBackend {};

struct NestedSolve {
    Report report;
    std::vector<double> x;
    std::string text;
};

// A x = 1.
NestedSolve solve_ones(const Context& c, const HostCsr<double>& a, const Recipe& recipe)
{
    const Csr<double> there = to_device(c, a.view());
    const std::vector<double> ones(static_cast<std::size_t>(a.rows), 1);
    const auto b = to_device<double>(c, std::span<const double>(ones));
    auto x = to_device<double>(c, std::span<const double>(ones));
    auto plan = Plan<double>::make(c, there.view(), recipe);
    const Report report = plan.solve(b.span(), x.span());
    return {report, host_vector(c, x), plan.describe()};
}

Recipe with(const std::string& preconditioner, std::optional<Method> method = {})
{
    return {.method = method, .preconditioner = parse_preconditioner(preconditioner)};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<std::string> smoothers{"ic0",
                                         "ilu0",
                                         "iluk:1",
                                         "ic0+rcm",
                                         "ic0+colour",
                                         "fsai",
                                         "block-jacobi:4",
                                         "jacobi",
                                         "chebyshev:2",
                                         "amg+smoother[jacobi]",
                                         "amg+w",
                                         "solve[chebyshev,jacobi,0,3]"};

// Beside the smoother that multigrid has by itself: as good, and stronger ones better.
TEST_P(NestedOn, PreconditionersSmoothMultigrid)
{
    const Context c = ctx();
    const HostCsr<double> a = laplacian<double>(24, 20, 1, 0.5);
    const offset_t plain = solve_ones(c, a, with("amg+jacobi", Method::cg)).report.iterations;
    for (const std::string& s : smoothers) {
        if (build::simulated && !is_drawn(s, s.starts_with("amg") ? 9 : 3)) continue;  // slow there
        SCOPED_TRACE(s);
        const NestedSolve made = solve_ones(c, a, with("amg+smoother[" + s + "]", Method::cg));
        EXPECT_TRUE(made.report.converged()) << made.report.text();
        const bool is_solver = s.starts_with("solve");  // aims at all eigenvalues, not at those that need smoothing
        EXPECT_LE(made.report.iterations, is_solver ? 2 * plain : plain + (s.starts_with("i") ? -1 : 1));
        EXPECT_TRUE(contains(made.text, "amg+smoother[" + s + "]")) << made.text;
        EXPECT_TRUE(contains(made.text, "smoother of level 0, times ")) << made.text;
    }
    for (const std::string kind :
         {"amg:double+w+smoother[ic0]", "amg+classical+smoother[ic0]", "amg+k+smoother[fsai]"}) {
        if (build::simulated && !is_drawn(kind, 3)) continue;
        const NestedSolve made = solve_ones(c, a, with(kind));
        EXPECT_TRUE(made.report.converged()) << made.report.text();
        EXPECT_LE(made.report.iterations, plain) << kind;
    }
}

// A cycle that is not symmetric, for methods that do not mind; chosen where the method is open.
TEST_P(NestedOn, UnsymmetricFactorsSmoothMultigrid)
{
    const Context c = ctx();
    const HostCsr<double> a = laplacian<double>(24, 20, 1, 0.5);
    const offset_t plain = solve_ones(c, a, with("amg+jacobi", Method::gmres)).report.iterations;
    unsigned number = 0;
    for (const std::string s : {"ilut", "ilu0+match", "ilut:0.01:4+match+rcm", "solve[chebyshev,ilut,0,4]"})
        for (const std::optional<Method>& m :
             {std::optional<Method>(), std::optional(Method::gmres), std::optional(Method::fgmres)}) {
            if (!has_turn(number++)) continue;
            SCOPED_TRACE(s + " for " + (m ? to_text(*m) : "any method"));
            const NestedSolve made = solve_ones(c, a, with("amg+smoother[" + s + "]", m));
            EXPECT_TRUE(made.report.converged()) << made.report.text();
            EXPECT_LT(made.report.iterations, plain);
            EXPECT_EQ(made.report.method, m.value_or(Method::bicgstab));
        }
}

std::vector<double> applied(const Context& c, PreconditionerPlan<double>& m, const std::vector<double>& r)
{
    const auto there = to_device<double>(c, std::span<const double>(r));
    auto z = to_device<double>(c, std::span<const double>(r));
    m.apply(there.span(), z.span());
    return host_vector(c, z);
}

// CG relies on it.
TEST_P(NestedOn, CyclesWithNestedSmoothersAreSymmetricAndPositiveDefinite)
{
    const Context c = ctx();
    const HostCsr<double> a = laplacian<double>(24, 20, 1, 0.5);
    const Csr<double> there = to_device(c, a.view());
    const auto product = spmv::Plan<double>::make(c, there.view());
    const auto dot = [](const auto& x, const auto& y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    const auto x = test_vector<double>(a.rows, Values::integers, 1),
               y = test_vector<double>(a.rows, Values::integers, 2);
    for (const std::string& s : smoothers) {
        if (build::simulated && !is_drawn(s, s.starts_with("amg") ? 9 : 3)) continue;  // slow there
        SCOPED_TRACE(s);
        const auto m = make_preconditioner<double>(c, there.view(), product,
                                                   parse_preconditioner("amg:double+w+smoother[" + s + "]"));
        const auto mx = applied(c, *m, x), my = applied(c, *m, y);
        EXPECT_NEAR(dot(mx, y), dot(x, my), 1e-12 * std::sqrt(dot(mx, mx) * dot(y, y)));
        EXPECT_GT(dot(x, mx), 0);
        EXPECT_GT(dot(y, my), 0);
    }
}

TEST_P(NestedOn, InnerSolversPreconditionFgmres)
{
    const Context c = ctx();
    const HostCsr<double> symmetric = laplacian<double>(18, 12, 1), general = dominant<double>(60, 0.1, false, 3);
    struct Nest {
        std::string text;
        bool general = false;
    };
    for (const Nest& n :
         {Nest{"solve[cg,jacobi,0.01,30]"}, Nest{"solve[bicgstab,ilu0]", true}, Nest{"solve[gmres,none,0.1,5]", true},
          Nest{"solve[cg,amg+smoother[ic0],0.01,20]"}, Nest{"solve[fgmres,solve[minres,jacobi,0.1,10],0.01,10]"},
          Nest{"solve[auto,auto]"}, Nest{"solve[refinement,jacobi,1e-6,3]"}}) {
        if (build::simulated && !is_drawn(n.text, 3)) continue;
        SCOPED_TRACE(n.text);
        const NestedSolve made = solve_ones(c, n.general ? general : symmetric, with(n.text));
        EXPECT_TRUE(made.report.converged()) << made.report.text();
        EXPECT_EQ(made.report.method, Method::fgmres);
        EXPECT_LT(made.report.iterations, 20);
        EXPECT_GE(made.report.inner_iterations, made.report.iterations);
        EXPECT_TRUE(contains(made.text, "inner solver:\n  solve on ")) << made.text;
        EXPECT_TRUE(c.backend() == Backend::cpu || contains(made.text, "the inner solver waits")) << made.text;
    }
}

// The same polynomial every time: a linear operator, for methods that rely on one.
TEST_P(NestedOn, FixedStepsPreconditionEveryMethod)
{
    const Context c = ctx();
    const HostCsr<double> a = laplacian<double>(18, 12, 1);
    for (const Method m : {Method::cg, Method::pipelined_cg, Method::minres, Method::bicgstab, Method::gmres}) {
        if (build::simulated && !is_drawn(to_text(m), 2)) continue;
        SCOPED_TRACE(to_text(m));
        const offset_t plain = solve_ones(c, a, with("jacobi", m)).report.iterations;
        const NestedSolve made = solve_ones(c, a, with("solve[chebyshev,jacobi,0,6]", m));
        EXPECT_TRUE(made.report.converged()) << made.report.text();
        EXPECT_LE(2 * made.report.iterations, plain);
        EXPECT_GE(made.report.inner_iterations, 6 * made.report.iterations);
    }
}

// D A D with D over three decades, where residuals grow on the way: neither how much they do nor the limits of the
// inner recipe decide what comes back.
TEST_P(NestedOn, FixedStepsAreALinearOperatorForEveryScale)
{
    const Context c = ctx();
    HostCsr<double> a = laplacian<double>(build::simulated ? 12 : 40, build::simulated ? 10 : 40, 1);
    const auto n = static_cast<std::size_t>(a.rows);
    std::vector<double> d = test_vector<double>(a.rows, Values::integers, 7);  // from -4 to 4
    for (double& v : d) v = std::pow(10, 1.5 / 4 * v);
    for (std::size_t i = 0; i < n; ++i)
        for (auto k = static_cast<std::size_t>(a.row_begin[i]); k < static_cast<std::size_t>(a.row_begin[i + 1]); ++k)
            a.value[k] *= d[i] * d[static_cast<std::size_t>(a.col[k])];
    const Csr<double> there = to_device(c, a.view());
    const auto product = spmv::Plan<double>::make(c, there.view());
    const auto x = test_vector<double>(a.rows, Values::integers, 1);
    auto y = test_vector<double>(a.rows, Values::integers, 2), both = x;
    for (std::size_t i = 0; i < n; ++i) y[i] *= d[i];
    for (std::size_t i = 0; i < n; ++i) both[i] += 3 * y[i];
    const Stop strict{.relative = 0, .iterations = 3, .stagnation = 1, .divergence = 2};
    unsigned number = 0;
    for (const Preconditioner& p :
         {parse_preconditioner("solve[chebyshev,jacobi,0,3]"), parse_preconditioner("solve[chebyshev,ic0,0,4]"),
          Preconditioner(Nested({.method = Method::chebyshev, .preconditioner = Jacobi{}, .stop = strict}))}) {
        if (!has_turn(number++)) continue;
        SCOPED_TRACE(to_text(p));
        const auto m = make_preconditioner<double>(c, there.view(), product, p);
        const auto mx = applied(c, *m, x), my = applied(c, *m, y), together = applied(c, *m, both);
        double apart = 0, size = 0;
        for (std::size_t i = 0; i < n; ++i) {
            apart = std::max(apart, std::abs(together[i] - (mx[i] + 3 * my[i])));
            size = std::max(size, std::abs(mx[i]));
        }
        EXPECT_GT(size, 0);
        EXPECT_LE(apart, 1e-12 * size);
    }
}

TEST_P(NestedOn, RefinementTakesANest)
{
    if (!has_turn(1)) return;
    const HostCsr<double> a = laplacian<double>(18, 12, 1);
    for (const std::string text : {"amg+smoother[ic0]", "solve[cg,jacobi,0.01,30]"}) {
        const NestedSolve made = solve_ones(ctx(), a, with(text, Method::refinement));
        EXPECT_TRUE(made.report.converged()) << made.report.text();
        EXPECT_GT(made.report.inner_iterations, made.report.iterations) << text;
    }
}

TEST_P(NestedOn, NewValuesGoThroughTheNest)
{
    const Context c = ctx();
    const HostCsr<double> a = laplacian<double>(24, 12, 1);
    HostCsr<double> other = a;
    for (double& v : other.value) v *= 16;  // the same aggregates
    const Csr<double> first = to_device(c, a.view()), second = to_device(c, other.view());
    const std::vector<double> ones(static_cast<std::size_t>(a.rows), 1);
    const auto b = to_device<double>(c, std::span<const double>(ones));
    auto x = to_device<double>(c, std::span<const double>(ones));
    unsigned number = 0;
    for (const std::string text : {"amg+smoother[ic0]", "amg:double+smoother[chebyshev:2]",
                                   "solve[cg,amg+smoother[fsai],0.01,20]", "amg:f16+smoother[chebyshev:2]"}) {
        if (!has_turn(number++)) continue;
        SCOPED_TRACE(text);
        auto plan = Plan<double>::make(c, first.view(), with(text)),
             fresh = Plan<double>::make(c, second.view(), with(text));
        const std::size_t bytes = plan.bytes();
        plan.solve(b.span(), x.span());
        plan.update_values(second.view());
        const Report renewed = plan.solve(b.span(), x.span());
        EXPECT_EQ(renewed.history, fresh.solve(b.span(), x.span()).history);
        EXPECT_EQ(plan.bytes(), bytes);
    }
}

TEST_P(NestedOn, BytesCountTheNest)
{
    const Context c = ctx();
    const HostCsr<double> a = laplacian<double>(24, 12, 1);
    const Csr<double> there = to_device(c, a.view());
    const auto bytes = [&](const std::string& text) { return Plan<double>::make(c, there.view(), with(text)).bytes(); };
    EXPECT_GT(bytes("amg:double+smoother[ic0]"), bytes("amg:double+jacobi") + 8 * a.value.size() / 2);
    EXPECT_GT(bytes("solve[cg,amg:double]"), bytes("amg:double"));
    const auto of_smoother = [&](const std::string& hierarchy, const std::string& smoother) {
        return bytes(hierarchy + "+smoother[" + smoother + "]") - bytes(hierarchy + "+jacobi");
    };
    EXPECT_EQ(of_smoother("amg:f16", "ic0"), of_smoother("amg:float", "ic0")) << "a product that nobody reads";
}

TEST_P(NestedOn, FailedAllocationsLeaveNothingBehind)
{
    if (!has_turn(0)) return;
    const Context c = ctx();
    const HostCsr<double> a = laplacian<double>(build::simulated ? 5 : 16, build::simulated ? 4 : 14, 1);
    const Csr<double> there = to_device(c, a.view());
    const std::vector<double> ones(static_cast<std::size_t>(a.rows), 1);
    const auto b = to_device<double>(c, std::span<const double>(ones));
    auto x = to_device<double>(c, std::span<const double>(ones));
    Recipe recipe = with("solve[cg,amg+smoother[fsai],0.1,5]", Method::fgmres);
    recipe.restart = 5;
    expect_clean_failures(c, [&] { Plan<double>::make(c, there.view(), recipe).solve(b.span(), x.span()); });
}

TEST_P(NestedOn, BadNestsAreRefused)
{
    const Context c = ctx();
    const HostCsr<double> a = laplacian<double>(5, 4, 1);
    const Csr<double> there = to_device(c, a.view());
    const auto refused = [&](const Recipe& r, const std::string& why) {
        try {
            Plan<double>::make(c, there.view(), r);
            ADD_FAILURE() << "not refused: " << why;
        } catch (const ValueError& e) {
            EXPECT_TRUE(contains(e.what(), why)) << e.what();
        }
    };
    for (const Method m : {Method::cg, Method::minres, Method::bicgstab, Method::gmres, Method::chebyshev})
        refused(with("solve[cg,jacobi]", m), "changes from step to step");
    refused({.method = Method::refinement,
             .preconditioner = parse_preconditioner("solve[cg,jacobi]"),
             .inner = {.method = Method::cg}},
            "changes from step to step");
    for (const char* text : {"solve[cg,jacobi,1,5]", "solve[fgmres,solve[cg,none,2]]"})
        refused(with(text, Method::fgmres), "must make a step");
    refused({.method = Method::fgmres, .preconditioner = Nested({.method = Method::cg, .stop = {.iterations = 0}})},
            "must make a step");
    for (const char* text : {"none", "amg+k", "solve[cg,jacobi]", "solve[chebyshev,jacobi,0.1,3]"})
        refused(with("amg+smoother[" + std::string(text) + "]"), "cannot smooth");
    refused(with("amg+smoother[amg+smoother[none]]"), "cannot smooth");
    refused(with("amg+smoother[solve[chebyshev,none,2]]"), "must make a step");
    for (const Method m : {Method::cg, Method::minres, Method::chebyshev}) {
        refused(with("amg+smoother[ilut]", m), "is not symmetric");
        refused(with("amg+smoother[amg+smoother[ilu0+match]]", m), "is not symmetric");
        refused(with("amg+smoother[solve[chebyshev,ilut,0,4]]", m), "is not symmetric");
        refused(with("amg+smoother[solve[chebyshev,solve[chebyshev,ilu0+match,0,4],0,4]]", m), "is not symmetric");
    }
    refused(with("solve[chebyshev,amg+smoother[ilut],0,3]"), "is not symmetric");
    refused({.method = Method::refinement,
             .preconditioner = parse_preconditioner("amg+smoother[ilut]"),
             .inner = {.method = Method::cg}},
            "is not symmetric");
    refused({.preconditioner = Amg{.smooth_by = Nested({.method = Method::cg, .preconditioner = Jacobi{}})}},
            "without a method");
    refused({.preconditioner = Amg{.smooth_by = Nested(Recipe{})}}, "without a method");
    refused({.preconditioner = Amg{.smooth_by = Nested({.preconditioner = BlockJacobi{40}})}}, "1 to 32 rows");
    refused({.preconditioner = Nested()}, "no recipe");
    refused({.preconditioner = Nested({.guess = true})}, "first guess");
    refused({.preconditioner = Nested({.method = Method::cg, .preconditioner = Nested(Recipe{})})}, "changes");
    refused({.preconditioner = Nested({.restart = 0})}, "restart");
    Recipe deep{.method = Method::fgmres, .preconditioner = Jacobi{}};
    for (int n = 0; n < most_nested; ++n) deep = {.method = Method::fgmres, .preconditioner = Nested(deep)};
    EXPECT_NO_THROW(Plan<double>::make(c, there.view(), deep));
    refused({.preconditioner = Nested(deep)}, "nested more than 4 deep");
    std::string smoother = "jacobi";
    for (int n = 0; n < most_nested; ++n) smoother = "amg+smoother[" + smoother + "]";
    EXPECT_NO_THROW(Plan<double>::make(c, there.view(), with(smoother)));
    refused(with("amg+smoother[" + smoother + "]"), "nested more than 4 deep");
    for (const std::string precision : {"float", "f16", "bf16"}) {
        refused(with("amg:double+smoother[amg:" + precision + "]"), "inside a hierarchy in double");
        EXPECT_NO_THROW(Plan<double>::make(c, there.view(), with("amg:float+smoother[amg:" + precision + "]")));
    }
    for (const char* inner : {"amg", "amg:double"})
        EXPECT_NO_THROW(Plan<double>::make(c, there.view(), with("amg:double+smoother[" + std::string(inner) + "]")));
    const HostCsr<float> single = laplacian<float>(5, 4, 1);
    const Csr<float> single_there = to_device(c, single.view());
    EXPECT_THROW(Plan<float>::make(c, single_there.view(), with("solve[refinement,jacobi]")), ValueError);
}

TEST(NestedText, ReadsBack)
{
    for (const std::string text :
         {"amg+smoother[ic0]", "amg:float+classical+w+smoother[block-jacobi:4]", "solve[cg,amg,0.01,20]",
          "amg+smoother[solve[chebyshev,amg+smoother[jacobi],0,4]]", "amg:f16+k+smoother[amg+w]",
          "solve[auto,auto,0.5,3]", "solve[fgmres,solve[cg,amg+smoother[ilu0+rcm],0.1,5],0.01,10]"}) {
        EXPECT_EQ(to_text(parse_preconditioner(text)), text);
        EXPECT_EQ(parse_preconditioner(text), parse_preconditioner(text));
    }
    EXPECT_EQ(to_text(parse_preconditioner("solve[cg,amg]")), "solve[cg,amg,0.01,100]");
    EXPECT_NE(parse_preconditioner("solve[cg,amg]"), parse_preconditioner("solve[cg,ic0]"));
    EXPECT_NE(parse_preconditioner("amg"), parse_preconditioner("amg+smoother[ic0]"));
    for (const std::string text : {"solve[]", "solve[cg]", "solve[cg,amg", "solve[cg,amg,x]", "solve[cg,amg,0.1,-3]",
                                   "solve[cg,amg,0.1,3,4]", "solve[sor,amg]", "solve[cg,amg]]", "amg+smoother[]",
                                   "amg+smoother[ic0", "amg+jacobi+smoother[ic0]x", "ic0+smoother[jacobi]"})
        EXPECT_THROW(parse_preconditioner(text), ValueError) << text;
    std::string deep = "jacobi";
    for (int n = 0; n < 1000; ++n) deep = "solve[cg," + deep + "]";
    EXPECT_THROW(parse_preconditioner(deep), ValueError);
}

TULLE_ON_BACKENDS(NestedOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::solve
