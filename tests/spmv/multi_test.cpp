// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// y = alpha op(A) x + beta y on teams of every kind: CPU queues, GPUs, streams of one GPU, and CPUs and GPUs together.
// The defects of the paper's own code are tests here, by name.
#include "tulle/spmv_team.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "support/battery.hpp"
#include "support/faults.hpp"
#include "support/oracle.hpp"
#include "support/teams.hpp"
#include "tulle/convert.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvOnTeam : public OnTeam {};

TULLE_ON_TEAMS(SpmvOnTeam);

// A matrix of the battery on the host in every format that can be cut.
template <class V>
struct InAllFormats {
    Csr<V> csr;
    Csc<V> csc;
    Coo<V> coo, unsorted;

    explicit InAllFormats(const HostCsr<V>& a)
        : csr(to_csr(host(), a.view())),
          csc(to_csc(host(), a.view())),
          coo(to_coo(host(), a.view())),
          unsorted(to_coo(host(), a.view()))
    {
        unsorted.order = CooOrder::none;
        std::reverse(unsorted.row.span().begin(), unsorted.row.span().end());
        std::reverse(unsorted.col.span().begin(), unsorted.col.span().end());
        std::reverse(unsorted.value.span().begin(), unsorted.value.span().end());
        // CSC in order of columns is what a column-sorted COO holds
        by_col = to_coo(host(), view_of(transposed_again(csc)));
    }

    Coo<V> by_col;  // of A transposed, by row: read the other way it is A by column

    std::vector<std::pair<std::string, PartitionableView<V>>> views() const
    {
        return {{"CSR", csr.view()},
                {"CSC", csc.view()},
                {"COO by row", coo.view()},
                {"COO by column", transposed(by_col.view())},
                {"COO in no order", unsorted.view()}};
    }

private:
    static Context host() { return Context::cpu(1); }
    static Csr<V> transposed_again(const Csc<V>& a) { return to_csr(host(), transposed(a.view())); }
};

// Guard words round y: whoever writes beside it is found.
template <class V>
struct GuardedHost {
    static constexpr std::size_t margin = 11;
    static constexpr V guard = V(-987654.0);
    std::vector<V> all;

    explicit GuardedHost(const std::vector<V>& y) : all(y.size() + 2 * margin, guard)
    {
        std::copy(y.begin(), y.end(), all.begin() + margin);
    }
    std::span<V> span() { return std::span<V>(all).subspan(margin, all.size() - 2 * margin); }
    std::vector<V> take()
    {
        for (std::size_t i = 0; i < margin; ++i) {
            EXPECT_EQ(all[i], guard) << "written before y";
            EXPECT_EQ(all[all.size() - 1 - i], guard) << "written behind y";
        }
        return {span().begin(), span().end()};
    }
};

template <class V>
std::vector<V> run(TeamPlan<V>& plan, V alpha, const std::vector<V>& x, V beta, const std::vector<V>& y)
{
    GuardedHost<V> guarded(y);
    plan.run(alpha, x, beta, guarded.span());
    return guarded.take();
}

template <class V>
void expect_exact(const std::vector<V>& got, const Product<V>& want)
{
    ASSERT_EQ(got.size(), want.value.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(static_cast<long double>(got[i]), want.value[i]) << "entry " << i;
}

const std::vector<std::pair<std::string, TeamOptions>>& ways()
{
    static const std::vector<std::pair<std::string, TeamOptions>> all{
        {"default", {}},
        {"halo", {.exchange = Exchange::halo, .overlap = Overlap::always}},
        {"gather", {.exchange = Exchange::gather}},
        {"paper", {.paper = true}}};
    return all;
}

template <class V>
void check_battery(const std::function<Team(int)>& team, V alpha, V beta)
{
    for (const auto& [name, a] : battery<V>(Values::integers)) {
        const InAllFormats<V> formats(a);
        for (const Op op : {Op::none, Op::transpose}) {
            const bool t = op == Op::transpose;
            const auto x = test_vector<V>(t ? a.rows : a.cols, Values::integers, 21);
            auto y = test_vector<V>(t ? a.cols : a.rows, Values::integers, 22);
            if (beta == V(0)) y.assign(y.size(), std::numeric_limits<V>::quiet_NaN());
            const auto want = oracle_multiply(a, t, alpha, x, beta, y);
            for (const auto& [format, view] : formats.views()) {
                const std::array<int, 4> sizes{1, 2, 3, 8};  // one size and one way each time: a team costs its threads
                const std::size_t draw = hash_of(7, a.rows, a.cols, view.index(), t, format.size(), sizeof(V));
                const int members = sizes[draw % 4];
                const auto& [way, wishes] = ways()[draw / 4 % 4];
                const std::string which =
                    concat(name, ", ", format, t ? " transposed, " : ", ", way, ", ", members, " members");
                if (!is_drawn(which, 2)) continue;
                SCOPED_TRACE(which);
                TeamOptions options = wishes;
                options.op = op;
                auto plan = TeamPlan<V>::make(team(members), view, options);
                expect_exact(run(plan, alpha, x, beta, y), want);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

TEST_P(SpmvOnTeam, IsExactOnIntegers)
{
    check_battery<double>([&](int n) { return team(n); }, 1.0, 0.0);
    check_battery<float>([&](int n) { return team(n); }, -2.0f, 3.0f);
}

TEST_P(SpmvOnTeam, KeepsTheErrorBound)
{
    for (const auto& [name, a] : battery<float>(Values::reals)) {
        SCOPED_TRACE(name);
        const auto x = test_vector<float>(a.cols, Values::reals, 3), y = test_vector<float>(a.rows, Values::reals, 4);
        auto plan = TeamPlan<float>::make(team(3), a.view());
        EXPECT_TRUE(within_bound(run(plan, 0.75f, x, -1.5f, y), oracle_multiply(a, false, 0.75f, x, -1.5f, y)));
    }
}

// ---- the defects of the paper's code ----

// b: an empty row between two parts belongs to one of them and gets beta y.
TEST_P(SpmvOnTeam, GivesEmptyRowsAtCutsTheirShareOfY)
{
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        if (!is_drawn("empty rows " + std::to_string(seed), 4)) continue;
        const auto a = matrix_where<double>(40, 12, Values::integers, seed, [&](index_t i, index_t j) {
            return hash_of(seed, i) % 3 == 0 && (i + j) % 2 == 0;
        });
        const auto x = test_vector<double>(a.cols, Values::integers, 1),
                   y = test_vector<double>(a.rows, Values::integers, 2);
        for (int members = 1; members <= 8; ++members)
            for (const bool paper : {false, true}) {
                SCOPED_TRACE(concat("seed ", seed, ", ", members, " members", paper ? ", paper" : ""));
                auto plan = TeamPlan<double>::make(team(members), a.view(), {.paper = paper});
                expect_exact(run(plan, 1.0, x, -0.5, y), oracle_multiply(a, false, 1.0, x, -0.5, y));
            }
    }
}

// c and d: beta on rows that are cut, also at the border of two NUMA nodes, and once only where parts are columns.
TEST_P(SpmvOnTeam, AppliesBetaOnceToCutRows)
{
    const auto a = matrix_where<double>(6, 200, Values::integers, 3,
                                        [](index_t i, index_t j) { return i == 1 || i == 4 || j == i; });
    const InAllFormats<double> formats(a);
    const auto x = test_vector<double>(a.cols, Values::integers, 1),
               y = test_vector<double>(a.rows, Values::integers, 2);
    for (const double beta : {0.0, 1.0, -0.5})
        for (const auto& [format, view] : formats.views())
            for (const bool paper : {false, true}) {
                if (!is_drawn(concat("beta ", format, beta, paper ? "p" : ""), 2)) continue;
                SCOPED_TRACE(concat(format, ", beta ", beta, paper ? ", paper" : ""));
                auto plan = TeamPlan<double>::make(team(5), view, {.paper = paper, .nodes = {0, 0, 1, 1, 1}});
                expect_exact(run(plan, 2.0, x, beta, y), oracle_multiply(a, false, 2.0, x, beta, y));
            }
}

// i: more members than rows, than nonzeros, and nothing at all.
TEST_P(SpmvOnTeam, WorksWithMoreMembersThanThereIsWork)
{
    const std::vector<HostCsr<double>> matrices{csr_of<double>(3, 4, {{0, 1, 2.0}, {2, 3, 5.0}}),
                                                csr_of<double>(0, 0, {}),
                                                csr_of<double>(5, 0, {}),
                                                csr_of<double>(0, 5, {}),
                                                csr_of<double>(9, 9, {}),
                                                csr_of<double>(1, 1, {{0, 0, 3.0}})};
    for (const auto& a : matrices) {
        const auto x = test_vector<double>(a.cols, Values::integers, 1),
                   y = test_vector<double>(a.rows, Values::integers, 2);
        for (const int members : {2, 3, 9})
            for (const auto& [way, options] : ways()) {
                if (!is_drawn(concat("little work ", a.rows, a.cols, members, way), 3)) continue;
                SCOPED_TRACE(concat(a.rows, " x ", a.cols, ", ", members, " members, ", way));
                auto plan = TeamPlan<double>::make(team(members), a.view(), options);
                expect_exact(run(plan, 3.0, x, 2.0, y), oracle_multiply(a, false, 3.0, x, 2.0, y));
                index_t rows = 0;
                for (const auto& part : plan.parts()) rows += part.rows;
                EXPECT_EQ(rows, a.rows);  // every row has one owner
            }
    }
}

// One dense row that spans every member, the last row cut, and a column that does.
TEST_P(SpmvOnTeam, SplitsGiants)
{
    const auto giant =
        matrix_where<double>(20, 4000, Values::integers, 4, [](index_t i, index_t j) { return i == 7 || j == i; });
    const auto last =
        matrix_where<double>(3, 3000, Values::integers, 4, [](index_t i, index_t j) { return i == 2 || j == 7; });
    for (const auto& a : {giant, last})
        for (const bool paper : {false, true}) {
            const auto x = test_vector<double>(a.cols, Values::integers, 1),
                       y = test_vector<double>(a.rows, Values::integers, 2);
            auto plan = TeamPlan<double>::make(team(7), a.view(), {.paper = paper});
            EXPECT_LE(plan.imbalance(), 1.011);
            expect_exact(run(plan, -1.0, x, 2.0, y), oracle_multiply(a, false, -1.0, x, 2.0, y));
            const auto transposed_x = test_vector<double>(a.rows, Values::integers, 1),
                       long_y = test_vector<double>(a.cols, Values::integers, 2);
            auto other = TeamPlan<double>::make(team(7), a.view(), {.op = Op::transpose, .paper = paper});
            expect_exact(run(other, -1.0, transposed_x, 2.0, long_y),
                         oracle_multiply(a, true, -1.0, transposed_x, 2.0, long_y));
        }
}

// f: run allocates nothing, in any member's memory.
TEST_P(SpmvOnTeam, RunAllocatesNothing)
{
    const InAllFormats<double> formats(matrix_where<double>(60, 60, Values::integers, 3, [](index_t i, index_t j) {
        return i == 20 || std::abs(i - j) < 3;
    }));
    const std::vector<double> x(60, 1.0);
    std::vector<double> y(60, 0.0);
    for (const bool deterministic : {false, true})
        for (const auto& [format, view] : formats.views())
            for (const auto& [way, options] : ways()) {
                if ((deterministic && options.paper) ||
                    !is_drawn(concat("allocates ", format, way, deterministic ? "d" : ""), 3))
                    continue;
                const Team members = team(3, deterministic);
                auto plan = TeamPlan<double>::make(members, view, options);
                const auto allocations = [&] {
                    return members[0].memory().allocations() + members[1].memory().allocations() +
                           members[2].memory().allocations();
                };
                const auto before = allocations();
                plan.run(1.0, x, 1.0, y);
                plan.run(1.0, 0.0);
                plan.synchronize();
                EXPECT_EQ(allocations(), before) << format << ", " << way;
            }
}

// g and h: only the halo travels, and what travels is counted.
TEST_P(SpmvOnTeam, MovesOnlyWhatIsNeeded)
{
    const index_t n = 64;
    const auto a =
        matrix_where<double>(n, n, Values::integers, 3, [](index_t i, index_t j) { return std::abs(i - j) <= 1; });
    const auto x = test_vector<double>(n, Values::integers, 1), y = test_vector<double>(n, Values::integers, 2);
    auto halo = TeamPlan<double>::make(team(4), a.view(), {.overlap = Overlap::always, .tolerance = 0.2}),
         gather = TeamPlan<double>::make(team(4), a.view(), {.exchange = Exchange::gather, .tolerance = 0.2}),
         paper = TeamPlan<double>::make(team(4), a.view(), {.paper = true}),
         alone = TeamPlan<double>::make(team(1), a.view());
    for (auto* plan : {&halo, &gather, &paper, &alone}) {
        plan->reset_traffic();
        run(*plan, 1.0, x, 1.0, y);
    }
    EXPECT_FALSE(halo.gathers());
    EXPECT_EQ(halo.traffic().device_to_device, 6 * sizeof(double));    // three borders, an entry each way
    EXPECT_EQ(halo.traffic().host_to_device, 2 * n * sizeof(double));  // x and y, once each
    EXPECT_EQ(halo.traffic().device_to_host, n * sizeof(double));
    EXPECT_EQ(gather.traffic().device_to_device, 3 * n * sizeof(double));
    EXPECT_GE(paper.traffic().host_to_device, 5 * n * sizeof(double));  // x for each of four, y
    EXPECT_LE(paper.traffic().device_to_device, 3 * sizeof(double));    // rows that are cut
    EXPECT_EQ(alone.traffic().device_to_device, 0u);
    offset_t interior = 0;
    for (const auto& part : halo.parts()) {
        EXPECT_LE(part.halo, 2);
        interior += part.interior;
    }
    EXPECT_EQ(interior, a.view().nonzeros - 6 * 3);  // all but two rows at each border
}

// More than half of x: everybody gets all of it.
TEST_P(SpmvOnTeam, GathersWhereTheHaloIsMostOfX)
{
    const auto full = matrix_where<double>(24, 24, Values::integers, 3, [](index_t, index_t) { return true; });
    const auto band =
        matrix_where<double>(60, 60, Values::integers, 3, [](index_t i, index_t j) { return std::abs(i - j) <= 2; });
    EXPECT_TRUE(TeamPlan<double>::make(team(3), full.view()).gathers());
    EXPECT_FALSE(TeamPlan<double>::make(team(3), full.view(), {.exchange = Exchange::halo}).gathers());
    EXPECT_FALSE(TeamPlan<double>::make(team(3), band.view()).gathers());
}

// ---- promises ----

// The same bits for any number of members; "mixed" teams have another order on CPUs than on GPUs, so there the promise
// is per kind.
TEST_P(SpmvOnTeam, GivesTheSameBitsForAnyNumberOfMembers)
{
    if (GetParam() == "mixed") GTEST_SKIP() << "CPUs and GPUs add a row in different orders";
    const std::vector<std::pair<std::string, HostCsr<float>>> matrices{
        {"giant rows",
         matrix_where<float>(40, 1500, Values::reals, 3,
                             [](index_t i, index_t j) { return i == 11 || i == 30 || (i * 37 + j) % 61 == 0; })},
        {"a giant alone", matrix_where<float>(1, 3000, Values::reals, 3, [](index_t, index_t) { return true; })},
        {"the last row",
         matrix_where<float>(9, 900, Values::reals, 3, [](index_t i, index_t j) { return i == 8 || j < 3; })},
        {"square", random_matrix<float>(200, 200, 0.05, Values::reals, 5)}};
    for (const auto& [name, a] : matrices) {
        const InAllFormats<float> formats(a);
        const auto x = test_vector<float>(a.cols, Values::reals, 5), y = test_vector<float>(a.rows, Values::reals, 6);
        for (const auto& [format, view] : formats.views()) {
            if (!is_drawn(name + format, 3)) continue;
            std::vector<float> first;
            for (const int members : {1, 2, 3, 7, 8})
                for (const Exchange exchange : {Exchange::halo, Exchange::gather}) {
                    SCOPED_TRACE(concat(name, ", ", format, ", ", members, " members"));
                    auto plan = TeamPlan<float>::make(team(members, true), view, {.exchange = exchange});
                    const auto got = run(plan, 0.75f, x, -1.5f, y);
                    if (first.empty()) {
                        EXPECT_TRUE(within_bound(got, oracle_multiply(a, false, 0.75f, x, -1.5f, y)));
                        first = got;
                    }
                    EXPECT_TRUE(same_bits(first, got));
                }
        }
    }
    EXPECT_THROW(TeamPlan<float>::make(team(2, true), matrices[3].second.view(), {.paper = true}), ValueError);
}

// x and y stay with the members: A applied three times, y to x by each member for itself.
TEST_P(SpmvOnTeam, KeepsVectorsWithTheMembers)
{
    const auto a = matrix_where<double>(50, 50, Values::integers, 3, [](index_t i, index_t j) {
        return i == j || j == i + 1 || (i == 25 && j % 2 == 0);
    });
    for (const auto& [way, options] : ways())
        for (const int members : {1, 4}) {
            SCOPED_TRACE(concat(way, ", ", members, " members"));
            std::vector<double> want = test_vector<double>(50, Values::integers, 1);
            const Team all = team(members);
            auto plan = TeamPlan<double>::make(all, a.view(), options);
            for (int m = 0; m < members; ++m)
                all[m].run([&](const auto& q) {
                    upload(q, want.data() + plan.x_begin(m), plan.x(m).data(), std::ssize(plan.x(m)));
                });
            for (int step = 0; step < 3; ++step) {
                plan.run(1.0, 0.0);
                for (int m = 0; m < members; ++m) {
                    ASSERT_EQ(plan.x_begin(m), plan.y_begin(m));
                    all[m].run([&](const auto& q) {
                        copy(q, static_cast<const double*>(plan.y(m).data()), plan.x(m).data(), std::ssize(plan.y(m)));
                    });
                }
                const auto next = oracle_multiply(a, false, 1.0, want, 0.0, want);
                want.assign(next.value.begin(), next.value.end());
            }
            std::vector<double> got(50);
            for (int m = 0; m < members; ++m)
                all[m].run([&](const auto& q) {
                    download(q, static_cast<const double*>(plan.y(m).data()), got.data() + plan.y_begin(m),
                             std::ssize(plan.y(m)));
                });
            EXPECT_EQ(got, want);
        }
}

TEST_P(SpmvOnTeam, UpdatesValues)
{
    const auto a = matrix_where<double>(40, 300, Values::integers, 31,
                                        [](index_t i, index_t j) { return i == 3 || (i + j) % 11 == 0; });
    auto b = a;
    for (auto& v : b.value) v = 3 * v + 1;
    const InAllFormats<double> before(a), after(b);
    const auto x = test_vector<double>(300, Values::integers, 5), y = test_vector<double>(40, Values::integers, 6);
    for (const bool deterministic : {false, true})
        for (std::size_t f = 0; f < 5; ++f)
            for (const auto& [way, options] : ways()) {
                if ((deterministic && options.paper) ||
                    !is_drawn(concat("update ", f, way, deterministic ? "d" : ""), 3))
                    continue;
                SCOPED_TRACE(concat(before.views()[f].first, ", ", way));
                auto plan = TeamPlan<double>::make(team(3, deterministic), before.views()[f].second, options);
                run(plan, 1.0, x, 0.0, y);
                plan.update_values(after.views()[f].second);
                expect_exact(run(plan, 1.0, x, 1.0, y), oracle_multiply(b, false, 1.0, x, 1.0, y));
            }
    auto plan = TeamPlan<double>::make(team(2), before.csr.view());
    EXPECT_THROW(plan.update_values(before.csc.view()), PlanMismatch);
    EXPECT_THROW(plan.update_values(random_matrix<double>(40, 300, 0.01, Values::integers, 1).view()), PlanMismatch);
}

TEST_P(SpmvOnTeam, SurvivesFailedAllocations)
{
    const auto a = matrix_where<double>(30, 30, Values::integers, 3,
                                        [](index_t i, index_t j) { return i == 20 || std::abs(i - j) < 2; });
    for (const auto& [way, options] : ways()) {
        if (!is_drawn("faults " + way, 3)) continue;
        const Team members = team(2);
        const TeamOptions how = options;  // clang 14 takes no structured binding into a lambda
        expect_clean_failures(members[1], [&] { TeamPlan<double>::make(members, a.view(), how); });
    }
}

TEST_P(SpmvOnTeam, SaysWhatIsWrong)
{
    auto a = random_matrix<double>(20, 30, 0.2, Values::integers, 1);
    auto plan = TeamPlan<double>::make(team(2), a.view());
    std::vector<double> x(30), y(20);
    EXPECT_THROW(plan.run(std::span<const double>(x).first(29), y), ShapeError);
    EXPECT_THROW(plan.run(x, std::span<double>(y).first(19)), ShapeError);
    EXPECT_THROW(plan.run(x, std::span<double>(x).subspan(5, 20)), ValueError);
    EXPECT_THROW(plan.x(2), ValueError);
    EXPECT_THROW(plan.run_on(-1, 1.0, 0.0), ValueError);
    EXPECT_THROW(TeamPlan<double>::make(team(2), a.view(), {.tolerance = 3}), ValueError);
    EXPECT_THROW(TeamPlan<double>::make(team(2), a.view(), {.nodes = {0}}), ShapeError);
    a.col[7] = 30;
    EXPECT_THROW(TeamPlan<double>::make(team(2), a.view()), ValueError);
}

TEST_P(SpmvOnTeam, DescribesItsParts)
{
    const auto a =
        matrix_where<double>(60, 60, Values::integers, 3, [](index_t i, index_t j) { return std::abs(i - j) <= 2; });
    const Team members = team(3);
    const std::size_t before =
        members[0].memory().live(members[0].backend() == Backend::cpu ? Space::host : Space::device);
    const auto plan = TeamPlan<double>::make(members, a.view());
    EXPECT_EQ(members[0].memory().live(members[0].backend() == Backend::cpu ? Space::host : Space::device) - before,
              plan.parts()[0].bytes);
    const std::string text = plan.describe();
    for (const char* part : {"team of 3", "60 x 60", "only what a part needs", "entries of x from others"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
    offset_t nonzeros = 0;
    for (const auto& part : plan.parts()) nonzeros += part.nonzeros;
    EXPECT_EQ(nonzeros, a.view().nonzeros);
}

// The slowest member counts, and a halo only as far as it outlasts the rows that need none.
TEST(SpmvOnTeams, PredictsByTheSlowestMember)
{
    const Interconnect wire{.bytes_per_second = 1e9, .seconds_per_message = 1e-6};
    std::vector<TeamPart> parts(2);
    parts[0] = {.nonzeros = 100,
                .halo = 1000,
                .senders = 2,
                .interior = 50};  // 8 + 2 microseconds of halo, 20 of rows meanwhile
    parts[1] = {.nonzeros = 100, .halo = 5000, .senders = 0, .interior = 0};  // 40 of halo, all of it waited for
    const std::vector<double> seconds{40e-6, 30e-6};
    EXPECT_NEAR(predict_seconds(parts, seconds, 8, wire), 70e-6, 1e-12);
    EXPECT_NEAR(predict_seconds(std::span(parts).first(1), std::span(seconds).first(1), 8, wire), 40e-6, 1e-12);
    EXPECT_THROW(predict_seconds(parts, std::span(seconds).first(1), 8, wire), ShapeError);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
