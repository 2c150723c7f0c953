// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Solvers on teams of every kind: the same bits for any number of members, the reasons of one device, bad input.
#include "tulle/solve_team.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "support/faults.hpp"
#include "support/host_matrix.hpp"
#include "support/teams.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

using namespace tulle::test;

class SolveOnTeam : public OnTeam {};

TULLE_ON_TEAMS(SolveOnTeam);

// -1 beside and `middle` on the diagonal, stretched by the row; `skew` makes it unsymmetric.
template <class V>
HostCsr<V> chain(index_t n, double middle, double skew = 0)
{
    std::vector<std::tuple<index_t, index_t, V>> e;
    for (index_t i = 0; i < n; ++i) {
        if (i > 0) e.emplace_back(i, i - 1, static_cast<V>(-1 - skew));
        e.emplace_back(i, i, static_cast<V>(middle * (1 + 0.01 * (i % 13))));
        if (i + 1 < n) e.emplace_back(i, i + 1, static_cast<V>(-1 + skew));
        if (i + 17 < n) e.emplace_back(i, i + 17, V(-0.25));
        if (i >= 17) e.emplace_back(i, i - 17, V(-0.25));
    }
    return csr_of<V>(n, n, e);
}

template <class V>
std::vector<V> team_right_side(index_t n)
{
    std::vector<V> b(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<V>(0.3 + static_cast<double>(i % 11) / 7);
    return b;
}

template <class V>
struct TeamSolved {
    Report report;
    std::vector<V> x;
};

template <class V>
TeamSolved<V> solve_on(const Team& team, const HostCsr<V>& a, const std::vector<V>& b, const Recipe& recipe,
                       V start = std::numeric_limits<V>::quiet_NaN())
{
    auto plan = TeamPlan<V>::make(team, a.view(), recipe);
    std::vector<V> x(b.size(), start);
    const Report report = plan.solve(b, x);
    return {report, x};
}

template <class V>
bool same_bits(const std::vector<V>& x, const std::vector<V>& y)
{
    using Bits = std::conditional_t<sizeof(V) == 8, std::uint64_t, std::uint32_t>;
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](V p, V q) { return std::bit_cast<Bits>(p) == std::bit_cast<Bits>(q); });
}

const std::vector<Method> team_methods{Method::cg, Method::minres, Method::bicgstab, Method::gmres, Method::fgmres};

// `brief`: a few iterations of some combinations, for a simulated GPU.
template <class V>
void expect_same_bits(const auto& team, double tolerance, bool brief)
{
    const auto b = team_right_side<V>(150);
    for (const Method method : team_methods)
        for (const Preconditioner& m : {Preconditioner(None{}), Preconditioner(Jacobi{})}) {
            if (!is_drawn(concat("bits ", to_text(method), to_text(m), sizeof(V)), 6)) continue;
            SCOPED_TRACE(concat(to_text(method), " with ", to_text(m)));
            const bool symmetric = method == Method::cg || method == Method::minres;
            const auto a = chain<V>(150, 2.8, symmetric ? 0 : 0.4);
            const Stop stop{.relative = tolerance, .iterations = brief ? 9 : 10'000};
            const Recipe recipe{.method = method, .preconditioner = m, .stop = stop, .restart = 7};
            const auto one = solve_on<V>(team(1), a, b, recipe);
            EXPECT_EQ(one.report.converged(), !brief) << one.report.text();
            for (const int members : {2, 3, 7}) {
                const auto some = solve_on<V>(team(members), a, b, recipe);
                EXPECT_TRUE(same_bits(one.x, some.x)) << members << " members";
                EXPECT_TRUE(same_bits(one.report.history, some.report.history)) << members << " members";
                EXPECT_EQ(one.report.text(), some.report.text());
            }
        }
}

TEST_P(SolveOnTeam, GivesTheSameBitsForAnyNumberOfMembers)
{
    if (GetParam() == "mixed") return;  // CPU and GPU add the entries of a row in different orders
    const auto members = [&](int n) { return team(n); };
    const bool brief = !takes_all() && GetParam() != "cpu";
    expect_same_bits<double>(members, 1e-10, brief);
    expect_same_bits<float>(members, 1e-4, brief);
}

// The plan of one device: the same reason, as many iterations, the same x but for rounding.
TEST_P(SolveOnTeam, AgreesWithOneDevice)
{
    for (const Method method : team_methods) {
        if (!is_drawn("one device " + to_text(method), 3)) continue;
        SCOPED_TRACE(to_text(method));
        const bool symmetric = method == Method::cg || method == Method::minres;
        const auto a = chain<double>(120, 6, symmetric ? 0 : 0.3);
        const auto b = team_right_side<double>(120);
        const Recipe recipe{.method = method, .preconditioner = Jacobi{}, .stop = {.relative = 1e-10}};
        const auto some = solve_on<double>(team(3), a, b, recipe);
        auto plan = Plan<double>::make(Context::cpu(1), a.view(), recipe);
        std::vector<double> x(b.size());
        const Report one = plan.solve(b, x);
        EXPECT_EQ(one.reason, some.report.reason);
        EXPECT_NEAR(static_cast<double>(one.iterations), static_cast<double>(some.report.iterations), 1);
        for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], some.x[i], 1e-8);
    }
}

// Preconditioners of diagonal blocks: other bits, the same solution.
TEST_P(SolveOnTeam, TakesAnyPreconditionerOfBlocks)
{
    const auto a = chain<double>(140, 6);
    const auto b = team_right_side<double>(140);
    const auto expected = solve_on<double>(Team::cpu(1, 1), a, b, {.method = Method::cg, .stop = {.relative = 1e-12}});
    for (const char* name : {"block-jacobi:4", "chebyshev:3", "ic0", "ilu0", "fsai", "amg"}) {
        if (!is_drawn(concat("blocks ", name), 4)) continue;
        SCOPED_TRACE(name);
        const auto found = solve_on<double>(team(3), a, b,
                                            {.method = Method::fgmres,
                                             .preconditioner = parse_preconditioner(name),
                                             .stop = {.relative = 1e-11}});
        EXPECT_TRUE(found.report.converged()) << found.report.text();
        for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(expected.x[i], found.x[i], 1e-8);
    }
}

TEST_P(SolveOnTeam, CountsTheIterationsOfInnerSolvers)
{
    const auto a = chain<double>(150, 3);
    const auto solved =
        solve_on(team(2), a, team_right_side<double>(150),
                 {.method = Method::fgmres, .preconditioner = parse_preconditioner("solve[cg,jacobi]")});
    EXPECT_EQ(solved.report.reason, Reason::converged);
    EXPECT_GE(solved.report.inner_iterations, solved.report.iterations);
}

TEST_P(SolveOnTeam, ChoosesAndGoesOnAsOneDevice)
{
    const auto a = chain<double>(90, 2.7, 0.3);
    const auto b = team_right_side<double>(90);
    auto plan = TeamPlan<double>::make(team(2), a.view());
    std::vector<double> x(b.size());
    EXPECT_TRUE(plan.solve(b, x).converged());
    ASSERT_TRUE(plan.policy().method && plan.policy().preconditioner);
    EXPECT_EQ(*plan.policy().method, choose(plan.features(), {}).method);
    EXPECT_FALSE(plan.features().symmetric);
    const std::string text = plan.describe();
    for (const char* part : {"solve on a team of 2", "90 unknowns", "diagonal block of each member", "spmv on a team"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST_P(SolveOnTeam, KeepsDistributedVectors)
{
    const auto a = chain<double>(100, 6);
    const auto b = team_right_side<double>(100);
    const Team members = team(3);
    const Recipe recipe{.method = Method::cg, .preconditioner = None{}};
    auto plan = TeamPlan<double>::make(members, a.view(), recipe);
    std::vector<double> expected(b.size()), x(b.size());
    plan.solve(b, expected);
    EXPECT_EQ(plan.begin(0), 0);
    for (int m = 0; m < plan.members(); ++m) {
        const auto n = std::ssize(plan.b(m));
        members[m].run([&](const auto& q) { upload(q, b.data() + plan.begin(m), plan.b(m).data(), n); });
    }
    offset_t seen = 0;
    EXPECT_TRUE(plan.solve([&](const SolveProgress& s) { seen = s.iterations; }).converged());
    EXPECT_GT(seen, 0);
    for (int m = 0; m < plan.members(); ++m) {
        const std::span<const double> part = plan.x(m);
        members[m].run([&](const auto& q) { download(q, part.data(), x.data() + plan.begin(m), std::ssize(part)); });
        members[m].synchronize();
    }
    EXPECT_TRUE(same_bits(expected, x));
}

TEST_P(SolveOnTeam, TakesAFirstGuessAndNewValues)
{
    const auto a = chain<double>(80, 6), other = chain<double>(80, 9);
    const auto b = team_right_side<double>(80);
    for (const Preconditioner& m : {Preconditioner(Jacobi{}), Preconditioner(Incomplete{})}) {
        const Recipe recipe{.method = Method::cg, .preconditioner = m, .stop = {.relative = 1e-9}, .guess = true};
        auto plan = TeamPlan<double>::make(team(3), a.view(), recipe),
             fresh = TeamPlan<double>::make(team(3), other.view(), recipe);
        std::vector<double> x(b.size()), y(b.size());
        EXPECT_GT(plan.solve(b, x).iterations, 0);
        EXPECT_EQ(plan.solve(b, x).iterations, 0);
        plan.update_values(other.view());
        std::fill(x.begin(), x.end(), 0.0);
        EXPECT_EQ(plan.solve(b, x).text(), fresh.solve(b, y).text());
        EXPECT_TRUE(same_bits(x, y));
    }
}

TEST_P(SolveOnTeam, BadNumbersAreReasons)
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto a = chain<double>(60, 6);
    auto b = team_right_side<double>(60);
    const Recipe cg{.method = Method::cg, .preconditioner = None{}};
    EXPECT_EQ(solve_on<double>(team(3), a, std::vector<double>(60, 0.0), cg).report.reason, Reason::converged);
    b[50] = nan;
    const auto not_finite = solve_on<double>(team(3), a, b, cg);
    EXPECT_EQ(not_finite.report.reason, Reason::not_finite);
    EXPECT_EQ(not_finite.report.where, "b");
    b[50] = 1;
    EXPECT_EQ(solve_on<double>(team(3), chain<double>(60, -2.8), b, cg).report.reason, Reason::not_positive_definite);
    EXPECT_EQ(solve_on<double>(team(3), a, b, {.method = Method::cg, .preconditioner = None{}, .stop = {.relative = 0}})
                  .report.reason,
              Reason::stagnated);
    const Recipe few{.method = Method::gmres, .preconditioner = None{}, .stop = {.iterations = 2}};
    EXPECT_EQ(solve_on<double>(team(3), a, b, few).report.reason, Reason::iterations);
    EXPECT_EQ(solve_on<double>(team(2), a, b, {.method = Method::cg, .preconditioner = None{}, .stop = {.seconds = 0}})
                  .report.reason,
              Reason::seconds);
}

// A b = 0, and a row is empty: no x is better than 0, which the report says.
TEST_P(SolveOnTeam, SingularSystemsAreExplained)
{
    std::vector<std::tuple<index_t, index_t, double>> e;
    for (index_t i = 0; i < 40; ++i) {
        e.emplace_back(i, i, 1.0);
        e.emplace_back(i, i ^ 1, -1.0);
    }
    const auto a = csr_of<double>(41, 41, e);
    const auto found =
        solve_on<double>(team(3), a, std::vector<double>(41, 1.0), {.method = Method::gmres, .preconditioner = None{}});
    EXPECT_FALSE(found.report.converged());
    EXPECT_NE(found.report.note.find("1 row has no entries"), std::string::npos) << found.report.text();
    EXPECT_NE(found.report.note.find("least-squares"), std::string::npos) << found.report.text();
}

TEST_P(SolveOnTeam, SaysWhatIsWrong)
{
    auto a = chain<double>(40, 3);
    const auto wide = csr_of<double>(3, 4, {{0, 0, 1.0}});
    EXPECT_THROW(TeamPlan<double>::make(team(2), wide.view()), ShapeError);
    EXPECT_THROW(TeamPlan<double>::make(team(2), a.view(), {.method = Method::chebyshev}), ValueError);
    EXPECT_THROW(TeamPlan<double>::make(team(2), a.view(), {.unknowns_per_node = 2}), ValueError);
    EXPECT_THROW(TeamPlan<double>::make(team(2), a.view(), {.stop = {.relative = -1}}), ValueError);
    auto plan = TeamPlan<double>::make(team(2), a.view(), {.method = Method::cg, .preconditioner = Jacobi{}});
    std::vector<double> b(40), x(40);
    EXPECT_THROW(plan.solve(std::span<const double>(b).first(39), x), ShapeError);
    EXPECT_THROW(plan.solve(b, std::span<double>(x).first(39)), ShapeError);
    EXPECT_THROW(plan.solve(x, x), ValueError);
    EXPECT_THROW(plan.b(2), ValueError);
    EXPECT_THROW(plan.x(-1), ValueError);
    EXPECT_THROW(plan.begin(2), ValueError);
    EXPECT_THROW(plan.update_values(chain<double>(41, 3).view()), PlanMismatch);
    a.value[90] = std::numeric_limits<double>::infinity();
    EXPECT_THROW(plan.update_values(a.view()), ValueError);
    EXPECT_NO_THROW(plan.solve(b, x));
    EXPECT_THROW(TeamPlan<double>::make(team(2), a.view()), ValueError);
}

// A zero on the diagonal of the last member: it is named, and the plan refuses to solve until it has good values.
TEST_P(SolveOnTeam, NamesTheMemberWithoutAPreconditioner)
{
    const auto a = chain<double>(40, 3);
    auto zero = a;
    for (offset_t k = zero.row_begin[38]; k < zero.row_begin[39]; ++k)
        if (zero.col[static_cast<std::size_t>(k)] == 38) zero.value[static_cast<std::size_t>(k)] = 0;
    const Recipe recipe{.method = Method::cg, .preconditioner = Jacobi{}};
    try {
        TeamPlan<double>::make(team(2), zero.view(), recipe);
        FAIL() << "a zero on the diagonal was taken";
    } catch (const ValueError& e) {
        EXPECT_NE(std::string(e.what()).find("the block of member 1"), std::string::npos) << e.what();
    }
    auto plan = TeamPlan<double>::make(team(2), a.view(), recipe);
    const auto b = team_right_side<double>(40);
    std::vector<double> x(40);
    EXPECT_THROW(plan.update_values(zero.view()), ValueError);
    EXPECT_THROW(plan.solve(b, x), ValueError);
    plan.update_values(a.view());
    EXPECT_TRUE(plan.solve(b, x).converged());
}

TEST_P(SolveOnTeam, TakesMoreMembersThanRowsAndEmptyMatrices)
{
    const auto a = chain<double>(3, 3);
    const Recipe recipe{.method = Method::cg, .preconditioner = Incomplete{.kind = factor::Kind::ic0}};
    EXPECT_TRUE(solve_on<double>(team(5), a, {1, 2, 3}, recipe).report.converged());
    const auto nothing = csr_of<double>(0, 0, {});
    EXPECT_TRUE(solve_on<double>(team(2), nothing, {}, recipe).report.converged());
}

TEST_P(SolveOnTeam, RefusesWhatDoesNotFit)
{
    const auto a = chain<double>(4000, 3);
    const Team members = team(2);
    Context(members[1]).budget(8_KiB);
    EXPECT_THROW(TeamPlan<double>::make(members, a.view()), OutOfMemory);
}

TEST_P(SolveOnTeam, SurvivesFailedAllocations)
{
    const auto a = chain<double>(12, 3);
    const auto b = team_right_side<double>(12);
    for (const Method method : {Method::cg, Method::gmres}) {
        if (!is_drawn(concat("team faults ", to_text(method), GetParam()), 8)) continue;
        const Team members = team(2);
        expect_clean_failures(members[1], [&] {
            auto plan = TeamPlan<double>::make(
                members, a.view(),
                {.method = method, .preconditioner = Jacobi{}, .stop = {.iterations = 1}, .restart = 2});
            std::vector<double> x(b.size());
            plan.solve(b, x);
        });
    }
}

TEST_P(SolveOnTeam, CountsItsBytes)
{
    const auto a = chain<double>(2000, 3);
    const Team members = team(2);
    const auto held = [&] {
        std::size_t all = 0;
        for (int m = 0; m < 2; ++m)
            all += members[m].memory().live(members[m].backend() == Backend::cpu ? Space::host : Space::device);
        return all;
    };
    const std::size_t before = held();
    auto plan = TeamPlan<double>::make(members, a.view(), {.method = Method::cg, .preconditioner = Jacobi{}});
    EXPECT_NEAR(static_cast<double>(held() - before), static_cast<double>(plan.bytes()), 8192);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::solve
