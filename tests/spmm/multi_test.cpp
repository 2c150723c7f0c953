// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// C = alpha op(A) B + beta C on teams of every kind: CPU queues, GPUs, streams of one GPU, and CPUs and GPUs together.
#include "tulle/spmm_team.hpp"

#include <cmath>

#include "spmm/arguments.hpp"
#include "spmm/dense_case.hpp"
#include "support/faults.hpp"
#include "support/teams.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;

class SpmmOnTeam : public tulle::test::OnTeam {
protected:
    int devices(int members) const
    {
        return GetParam() == "cpu" ? 0 : GetParam() == "mixed" ? (members + 1) / 2 : members;
    }
};

TULLE_ON_TEAMS(SpmmOnTeam);

const Context host = Context::cpu(1);

// Rows of all lengths, many of them empty, one longer than a GPU adds up in one piece.
template <class V>
HostCsr<V> uneven(Values values, double scale = 1)
{
    return in_type<V>(matrix_where<double>(150, 700, values, 7,
                                           [](index_t i, index_t j) {
                                               return i == 31 ||
                                                      (i < 60 ? (i * 31 + j) % 89 == 0 : i > 120 && (i + j) % 200 == 0);
                                           }),
                      scale);
}

// Some policy that multiplies by panels in this order.
Policy panels_in(OrderKind order)
{
    for (const Policy& policy : candidates({.n = 32, .value_bytes = 2, .tensor = true}, {Backend::cuda}))
        if (policy.kernel == Kernel::panels && policy.order == order) return policy;
    return {};
}

// alpha op(A) B + beta C by the plan, everything on the host between guards.
template <class V, class C>
HostDense<C> product(TeamPlan<V, C>& plan, Scalars s, const HostDense<V>& b, const HostDense<C>& before,
                     const Form& form_b, const Form& form_c)
{
    Lent<V> b_there(host, b, form_b);
    Lent<C> c_there(host, before, form_c);
    plan.run(static_cast<Sum<V>>(s.alpha), b_there.view(), static_cast<Sum<V>>(s.beta), c_there.view());
    return c_there.take();
}

template <class V, class C, class MakeTeam>
void check_battery(const MakeTeam& team)
{
    int k = 0;
    for (const auto& [name, in_double] : battery<double>(Values::integers)) {
        const auto a = in_type<V>(in_double);
        for (const SplitBy split : {SplitBy::rows, SplitBy::columns})
            for (const Op op : {Op::none, Op::transpose}) {
                const index_t n = std::array{1, 0, 7, 33}[static_cast<std::size_t>(++k) % 4];
                const int members = std::array{1, 2, 3, 5, 8}[static_cast<std::size_t>(k) % 5];
                const std::string what =
                    concat(name, ", ", name_of<V>(), " to ", name_of<C>(), ", n = ", n, ", ", members, " members by ",
                           to_text(split), op == Op::none ? "" : ", transposed");
                if (!is_drawn(what, 2)) continue;
                SCOPED_TRACE(what);
                const bool t = op == Op::transpose;
                const Form form_b{k % 3 == 0 ? Layout::col_major : Layout::row_major, k % 2 * 3,
                                  k % 4 == 1 ? 61u : 64u};
                const Form form_c{k % 3 == 1 ? Layout::col_major : Layout::row_major, k % 5, k % 4 == 2 ? 63u : 64u};
                const Scalars s = k % 2 ? Scalars{1, 0} : Scalars{-2, 0.5};
                const auto b = dense<V>(t ? a.rows : a.cols, n, Values::integers, 3);
                const auto before = dense<C>(t ? a.cols : a.rows, n, Values::integers, 4);
                auto plan =
                    TeamPlan<V, C>::make(team(members), a.view(),
                                         {.product = {.op = op, .n = n, .b_layout = form_b.layout}, .split = split});
                EXPECT_EQ(plan.choice().split, split);
                EXPECT_TRUE(is_product(a, t, s, b, before, product(plan, s, b, before, form_b, form_c), true, false));
            }
    }
}

TEST_P(SpmmOnTeam, IsExactForIntegers)
{
    for_each_type(
        [&](auto v, auto c) { check_battery<decltype(v), decltype(c)>([&](int members) { return team(members); }); });
}

// Options::row_scale, on the host: every member has the factors of its own rows, also new ones.
TEST_P(SpmmOnTeam, RowsHaveTheirFactors)
{
    const auto a = uneven<Float16>(Values::integers);
    const auto b = dense<Float16>(700, 6, Values::integers, 3);
    const HostDense<float> none{150, 6, std::vector<float>(900, 0)};
    std::vector<float> factor(150);
    for (const SplitBy split : {SplitBy::rows, SplitBy::columns}) {
        SCOPED_TRACE(to_text(split));
        for (std::size_t i = 0; i < factor.size(); ++i) factor[i] = std::ldexp(1.0f, static_cast<int>(i % 50) - 20);
        auto plain = TeamPlan<Float16, float>::make(team(3), a.view(), {.product = {.n = 6}, .split = split});
        auto plan = TeamPlan<Float16, float>::make(team(3), a.view(),
                                                   {.product = {.n = 6, .row_scale = factor}, .split = split});
        EXPECT_NE(plan.describe().find("scale:  147 of 150 rows of C by powers of two, 2^-20 to 2^29"),
                  std::string::npos)
            << plan.describe();
        for (const float more : {1.0f, 8.0f}) {
            for (float& f : factor) f *= more;
            plan.update_values(a.view());
            HostDense<float> want = product(plain, {1, 0}, b, none, {}, {});
            for (std::size_t k = 0; k < want.at.size(); ++k) want.at[k] *= factor[k / 6];
            EXPECT_EQ(product(plan, {1, 0}, b, none, {}, {}).at, want.at);
        }
    }
    factor.pop_back();
    EXPECT_THROW((TeamPlan<Float16, float>::make(team(2), a.view(), {.product = {.row_scale = factor}})), ShapeError);
}

// Every row is computed by one member, by the kernel that one device would use.
template <class V, class C, class MakeTeam>
void check_bits(const MakeTeam& team, Op op, const Form& form_b, const Form& form_c,
                const HostCsr<V>& a = uneven<V>(Values::reals, 0x1p-6))
{
    const bool t = op == Op::transpose;
    const auto b = dense<V>(t ? a.rows : a.cols, 21, Values::reals, 3);
    const auto before = dense<C>(t ? a.cols : a.rows, 21, Values::reals, 4);
    const Context one = team(1)[0];
    const auto there = to_device(one, a.view());
    const Features features = Plan<V, C>::make(one, there.view(), {.op = op, .n = 21, .expected_calls = 1}).features();
    const Policy rows = policy_of(Kernel::rows, features, limits_of(one));
    Lent<V> b_there(one, b, form_b);
    Lent<C> c_there(one, before, form_c);
    Plan<V, C>::make(one, there.view(), {.op = op, .n = 21, .b_layout = form_b.layout, .force = rows})
        .run(Sum<V>(1.5), b_there.view(), Sum<V>(-0.25), c_there.view());
    const auto alone = c_there.take();
    for (const int members : {1, 2, 3, 7, 8}) {
        SCOPED_TRACE(concat(name_of<V>(), " to ", name_of<C>(), ", ", members, " members", t ? ", transposed" : ""));
        auto plan =
            TeamPlan<V, C>::make(team(members), a.view(),
                                 {.product = {.op = op, .n = 21, .b_layout = form_b.layout}, .split = SplitBy::rows});
        EXPECT_NE(plan.describe().find("the bits of one device"), std::string::npos) << plan.describe();
        EXPECT_TRUE(same_bits(product(plan, {1.5, -0.25}, b, before, form_b, form_c).at, alone.at));
    }
}

TEST_P(SpmmOnTeam, HasTheBitsOfOneDevice)
{
    if (GetParam() == "mixed") GTEST_SKIP() << "GPUs fuse multiplication and addition, CPUs need not";
    const auto any = [&](int members) { return team(members); };
    const auto deterministic = [&](int members) { return team(members, true); };
    check_bits<double, double>(any, Op::none, {}, {});
    check_bits<float, float>(any, Op::transpose, {Layout::col_major, 1}, {Layout::row_major, 2});
    check_bits<Float16, float>(deterministic, Op::none, {Layout::row_major, 3, 61}, {Layout::col_major, 1});
    if (!build::simulated) check_bits<Bfloat16, Bfloat16>(deterministic, Op::none, {}, {});
}

// Rows that all lanes of a block share; and a long row, for whose sake one device cuts all of them, which the members
// that do not have it would not do.
TEST_P(SpmmOnTeam, CutsRowsAsOneDeviceWould)
{
    if (GetParam() == "mixed") GTEST_SKIP() << "GPUs fuse multiplication and addition, CPUs need not";
    const auto any = [&](int members) { return team(members); };
    const auto shape = [&](index_t rows, offset_t nonzeros, offset_t longest) {
        const Policy p =
            policy_of(Kernel::rows,
                      {.rows = rows, .cols = 3000, .nonzeros = nonzeros, .longest = longest, .n = 21, .value_bytes = 4},
                      limits_of(team(1)[0]));
        return std::pair{p.lanes, p.piece};
    };
    const auto shared = in_type<float>(matrix_where<double>(62, 700, Values::reals, 7, [](index_t i, index_t j) {
        return (i * 13 + j * 7) % 5 != 0;
    }));
    const auto hub = in_type<float>(matrix_where<double>(40, 3000, Values::reals, 7, [](index_t i, index_t j) {
        return i == 3 || (i + j) % 60 == 0;
    }));
    if (build::simulated && team(1)[0].backend() == Backend::cuda) {
        EXPECT_EQ(shape(62, 62 * 560, 560), (std::pair{128, 0})) << "nothing is tested";
        EXPECT_GT(shape(40, 3000 + 39 * 50, 3000).second, 0) << "nothing is tested";
        EXPECT_EQ(shape(6, 6 * 50, 50).second, 0) << "nothing is tested";
    }
    check_bits<float, float>(any, Op::none, {}, {}, shared);
    check_bits<float, float>(any, Op::none, {}, {}, hub);
}

// More members than rows, nothing at all, all of it in one row, rows at the end that are empty; no column, one, and
// fewer than members.
TEST_P(SpmmOnTeam, WorksWithMoreMembersThanThereIsWork)
{
    const auto one_row = matrix_where<double>(40, 60, Values::integers, 3, [](index_t i, index_t) { return i == 17; });
    const auto empty_end = matrix_where<double>(50, 60, Values::integers, 4,
                                                [](index_t i, index_t j) { return i < 9 && (i * j) % 5 == 1; });
    for (const auto& a : {csr_of<double>(2, 60, {{0, 3, 2.0}, {1, 7, 1.0}}), csr_of<double>(0, 60, {}),
                          csr_of<double>(9, 60, {}), csr_of<double>(5, 0, {}), one_row, empty_end})
        for (const index_t n : {0, 1, 3})
            for (const SplitBy split : {SplitBy::rows, SplitBy::columns}) {
                SCOPED_TRACE(concat(a.rows, " x ", a.cols, " with ", a.col.size(), " nonzeros, ", n, " columns by ",
                                    to_text(split)));
                auto plan = TeamPlan<double>::make(team(7), a.view(), {.product = {.n = n}, .split = split});
                const auto b = dense<double>(a.cols, n, Values::integers, 1),
                           before = dense<double>(a.rows, n, Values::integers, 2);
                EXPECT_TRUE(
                    is_product(a, false, {2, -1}, b, before, product(plan, {2, -1}, b, before, {}, {}), true, false));
                index_t rows = 0, columns = 0;
                offset_t nonzeros = 0;
                for (const TeamPart& part : plan.parts()) {
                    EXPECT_EQ(part.policy.empty(), part.rows == 0);
                    EXPECT_TRUE(split == SplitBy::columns || part.first_row == rows);
                    rows += part.rows;
                    nonzeros += part.nonzeros;
                    columns += part.columns;
                }
                EXPECT_EQ(rows,
                          split == SplitBy::rows ? a.rows : 7 * a.rows);  // every row has one owner, or all have all
                EXPECT_EQ(nonzeros, split == SplitBy::rows ? a.view().nonzeros : 7 * a.view().nonzeros);
                EXPECT_EQ(columns, split == SplitBy::rows ? 7 * n : n);
            }
}

TEST_P(SpmmOnTeam, CutsByNonzerosAndRows)
{
    // 100 rows of 20 nonzeros and 2000 empty ones: neither may be with one member.
    const auto a =
        matrix_where<double>(2100, 40, Values::integers, 3, [](index_t i, index_t j) { return i < 100 && j % 2 == 0; });
    const auto plan = TeamPlan<double>::make(team(4), a.view(), {.split = SplitBy::rows});
    EXPECT_LT(plan.imbalance(), 1.05);
    for (const TeamPart& part : plan.parts())
        EXPECT_NEAR(static_cast<double>(part.rows + part.nonzeros), 4100 / 4.0, 25);
    const auto uneven_team = TeamPlan<double>::make(team(2), a.view(), {.split = SplitBy::rows, .shares = {1, 3}});
    EXPECT_NEAR(static_cast<double>(uneven_team.parts()[0].rows + uneven_team.parts()[0].nonzeros), 4100 / 4.0, 25);
    EXPECT_EQ(TeamPlan<double>::make(team(2), a.view(),
                                     {.product = {.n = 40}, .split = SplitBy::columns, .shares = {1, 3}})
                  .parts()[0]
                  .columns,
              10);
}

// The column count and the layout that a plan expects are no promise: members with room for few multiply one slice
// after the other.
TEST_P(SpmmOnTeam, TakesAnyColumnsAndLayout)
{
    const auto a = uneven<float>(Values::integers);
    for (const SplitBy split : {SplitBy::rows, SplitBy::columns}) {
        auto plan = TeamPlan<float>::make(team(3), a.view(), {.product = {.n = 5}, .split = split});
        for (const Layout layout : {Layout::row_major, Layout::col_major})
            for (const index_t n : {2, 5, 13}) {
                SCOPED_TRACE(concat(n, " columns by ", to_text(split)));
                const auto b = dense<float>(700, n, Values::integers, 1),
                           before = dense<float>(150, n, Values::integers, 2);
                EXPECT_TRUE(is_product(a, false, {1, 1}, b, before,
                                       product(plan, {1, 1}, b, before, {layout, 1}, {layout, 2}), true, false));
            }
    }
}

TEST_P(SpmmOnTeam, ReadsCOnlyWhereBetaAsksForIt)
{
    const auto a = uneven<float>(Values::integers);
    auto plan = TeamPlan<float>::make(team(3), a.view(), {.product = {.n = 4}, .split = SplitBy::rows});
    const auto b = dense<float>(700, 4, Values::integers, 1);
    const HostDense<float> nan{150, 4, std::vector<float>(600, std::nanf(""))};
    plan.reset_traffic();
    EXPECT_TRUE(
        is_product(a, false, {2, 0}, b, nan, product(plan, {2, 0}, b, nan, {}, {Layout::col_major, 2}), true, false));
    const std::size_t b_bytes = 700 * 4 * sizeof(float);
    EXPECT_EQ(plan.traffic().host_to_device, static_cast<std::size_t>(devices(3)) * b_bytes);
    std::size_t rows = 0;  // of C with members that have memory of their own
    for (int m = 0; m < 3; ++m)
        rows += GetParam() == "cpu" || (GetParam() == "mixed" && m == 1)
                    ? 0
                    : static_cast<std::size_t>(plan.parts()[static_cast<std::size_t>(m)].rows);
    EXPECT_EQ(plan.traffic().device_to_host, rows * 4 * sizeof(float));
    plan.reset_traffic();
    product(plan, {2, 1}, b, nan, {}, {});
    EXPECT_EQ(plan.traffic().host_to_device, static_cast<std::size_t>(devices(3)) * b_bytes + rows * 4 * sizeof(float));
}

TEST_P(SpmmOnTeam, ByColumnsEveryColumnOfBTravelsOnce)
{
    const auto a = uneven<float>(Values::integers);
    auto plan = TeamPlan<float>::make(team(4), a.view(), {.product = {.n = 8}, .split = SplitBy::columns});
    const auto b = dense<float>(700, 8, Values::integers, 1), before = dense<float>(150, 8, Values::integers, 2);
    plan.reset_traffic();
    EXPECT_TRUE(is_product(a, false, {1, 0}, b, before, product(plan, {1, 0}, b, before, {}, {}), true, false));
    EXPECT_EQ(plan.traffic().host_to_device, static_cast<std::size_t>(devices(4)) * 700 * 2 * sizeof(float));
    EXPECT_EQ(plan.traffic().device_to_host, static_cast<std::size_t>(devices(4)) * 150 * 2 * sizeof(float));
}

TEST_P(SpmmOnTeam, ChoosesColumnsWhereTheyMoveLess)
{
    const auto a = uneven<float>(Values::integers);
    const TeamOptions wide{.product = {.n = 512}};
    EXPECT_EQ(TeamPlan<float>::make(team(2), a.view(), wide).choice().split,
              GetParam() == "cpu" ? SplitBy::rows : SplitBy::columns);
    EXPECT_EQ(TeamPlan<float>::make(team(2, true), a.view(), wide).choice().split, SplitBy::rows);
    EXPECT_EQ(TeamPlan<float>::make(team(2), a.view(), {.product = {.n = 4}}).choice().split, SplitBy::rows);
}

TEST_P(SpmmOnTeam, TakesNewValues)
{
    const auto a = random_matrix<double>(60, 45, 0.1, Values::integers, 31);
    auto b = a;
    for (auto& v : b.value) v = 3 * v + 1;
    for (const Op op : {Op::none, Op::transpose})
        for (const SplitBy split : {SplitBy::rows, SplitBy::columns}) {
            SCOPED_TRACE(to_text(split));
            const bool t = op == Op::transpose;
            auto plan = TeamPlan<double>::make(team(3), a.view(), {.product = {.op = op, .n = 6}, .split = split});
            plan.update_values(b.view());
            const auto x = dense<double>(t ? 60 : 45, 6, Values::integers, 1),
                       y = dense<double>(t ? 45 : 60, 6, Values::integers, 2);
            EXPECT_TRUE(is_product(b, t, {1, 1}, x, y, product(plan, {1, 1}, x, y, {}, {}), true, false));
            const auto other = random_matrix<double>(60, 46, 0.1, Values::integers, 31);
            EXPECT_THROW(plan.update_values(other.view()), PlanMismatch);
        }
}

// B and C with one member: twice without waiting between, so that the second product must not overtake what the first
// still reads.
TEST_P(SpmmOnTeam, WorksWhereBAndCLie)
{
    const auto a = uneven<float>(Values::integers);
    const Team all = team(3);
    for (const SplitBy split : {SplitBy::rows, SplitBy::columns}) {
        auto plan = TeamPlan<float>::make(all, a.view(), {.product = {.n = 5}, .split = split});
        for (int home = 0; home < 3; ++home)
            for (const Form& form : {Form{}, Form{Layout::row_major, 3}, Form{Layout::col_major, 2}}) {
                SCOPED_TRACE(concat("member ", home, ", ", form.name(), ", by ", to_text(split)));
                const auto b = dense<float>(700, 13, Values::integers, 1),
                           other = dense<float>(700, 13, Values::integers, 5);
                const auto before = dense<float>(150, 13, Values::integers, 2);
                Lent<float> b_there(all[home], b, form), other_there(all[home], other, form),
                    c_there(all[home], before, form), d_there(all[home], before, form);
                plan.run_on(home, 2, b_there.view(), 1, c_there.view());
                plan.run_on(home, -1, other_there.view(), 0, d_there.view());
                EXPECT_TRUE(is_product(a, false, {2, 1}, b, before, c_there.take(), true, false));
                EXPECT_TRUE(is_product(a, false, {-1, 0}, other, before, d_there.take(), true, false));
            }
    }
    auto plan = TeamPlan<float>::make(all, a.view());
    EXPECT_THROW(plan.run_on(3, 1, {}, 0, {}), ValueError);
    EXPECT_THROW(plan.run_on(-1, 1, {}, 0, {}), ValueError);
    if (GetParam() == "cpu") return;
    std::vector<float> b(700), c(150);
    EXPECT_THROW(plan.run_on(0, 1, {700, 1, 1, Layout::row_major, b.data()}, 0,
                             {150, 1, 1, Layout::row_major, c.data()}),
                 DeviceError);
}

TEST_P(SpmmOnTeam, SurvivesFailedAllocationsAndRunsWithoutAny)
{
    const auto a = uneven<Float16>(Values::integers);
    const Team all = team(3);
    const auto b = dense<Float16>(700, 3, Values::integers, 1), before = dense<Float16>(150, 3, Values::integers, 2);
    for (const SplitBy split : {SplitBy::rows, SplitBy::columns}) {
        const TeamOptions options{.product = {.n = 3, .b_layout = Layout::col_major}, .split = split};
        tulle::test::expect_clean_failures(all[1], [&] { TeamPlan<Float16>::make(all, a.view(), options); });
        auto plan = TeamPlan<Float16>::make(all, a.view(), options);
        for (int m = 0; m < 3; ++m) all[m].memory().fail_at(0, Memory::Fail::for_ever);
        EXPECT_TRUE(is_product(a, false, {1, 0}, b, before, product(plan, {1, 0}, b, before, {Layout::col_major}, {}),
                               true, false));
        for (int m = 0; m < 3; ++m) all[m].memory().fail_at(-1);
    }
}

TEST_P(SpmmOnTeam, TellsItsBytes)
{
    const auto a = uneven<float>(Values::integers);
    const Team all = team(3);
    const auto live = [&](int m) {
        return all[m].memory().live(all[m].backend() == Backend::cpu ? Space::host : Space::device);
    };
    const auto plan = TeamPlan<float>::make(all, a.view(), {.product = {.n = 9, .b_layout = Layout::col_major}});
    std::size_t sum = 0;
    for (int m = 0; m < 3; ++m) {
        const std::size_t told = plan.parts()[static_cast<std::size_t>(m)].bytes;
        EXPECT_GE(live(m), told) << m;
        EXPECT_LE(live(m), told + 8) << m;  // memory counts a byte for an empty array
        sum += told;
    }
    EXPECT_EQ(plan.bytes(), sum);
    const std::size_t copy =
        700 * sizeof(offset_t) + a.col.size() * (sizeof(index_t) + sizeof(float) + sizeof(offset_t));
    EXPECT_GE(TeamPlan<float>::make(all, a.view(), {.product = {.op = Op::transpose}}).bytes(), copy);
}

TEST_P(SpmmOnTeam, SaysWhatIsWrongAndWhatItDoes)
{
    auto a = uneven<float>(Values::integers);
    auto plan = TeamPlan<float>::make(team(2), a.view(), {.product = {.n = 6}, .split = SplitBy::rows});
    const std::string text = plan.describe();
    for (const std::string word :
         {"spmm on a team of 2: 150 x 700", "6 columns expected, f32", "by rows, asked for by the caller",
          "times the mean of nonzeros and rows", "rows from 0 on", GetParam() == "cpu" ? "cpu:2" : "cuda:0"})
        EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
    EXPECT_NE(TeamPlan<Float16>::make(team(9), in_type<Float16>(csr_of<double>(2, 3, {})).view())
                  .describe()
                  .find("nothing to do"),
              std::string::npos);
    std::vector<float> data(9000);
    float *b = data.data(), *c = data.data() + 6000;
    const auto run = [&](const DenseView<const float>& from, const DenseView<float>& to) { plan.run(from, to); };
    EXPECT_THROW(run({701, 6, 6, Layout::row_major, b}, {150, 6, 6, Layout::row_major, c}), ShapeError);
    EXPECT_THROW(run({700, 6, 6, Layout::row_major, b}, {150, 5, 5, Layout::row_major, c}), ShapeError);
    EXPECT_THROW(run({700, 6, 6, Layout::row_major, b}, {150, 6, 6, Layout::row_major, b + 4199}), ValueError);
    EXPECT_THROW((TeamPlan<float>::make(team(2), a.view(), {.product = {.n = -1}})), ValueError);
    EXPECT_THROW((TeamPlan<float>::make(team(2), a.view(), {.split = SplitBy::rows, .shares = {1, 2, 3}})), ShapeError);
    EXPECT_THROW((TeamPlan<float>::make(team(2), a.view(), {.product = {.force = Policy{Kernel::rows, 5}}})),
                 ValueError);
    EXPECT_THROW((TeamPlan<float>::make(team(2, true), a.view(),
                                        {.product = {.force = panels_in(OrderKind::natural)}})),
                 ValueError);
    EXPECT_THROW((TeamPlan<double>::make(team(2), uneven<double>(Values::integers).view(),
                                         {.product = {.math = Math::tf32}})),
                 ValueError);
    a.col[7] = 700;
    EXPECT_THROW(TeamPlan<float>::make(team(2), a.view()), ValueError);
}

// With panels rows stand together by member, so that numbers are within the bound, not the bits of one device.
TEST_P(SpmmOnTeam, MembersMayUsePanels)
{
    if (GetParam() != "cuda" && GetParam() != "cuda_sim") GTEST_SKIP() << "for GPUs";
    const auto a = in_type<Float16>(random_matrix<double>(300, 90, 0.1, Values::reals, 3));
    const auto b = dense<Float16>(90, 32, Values::reals, 1);
    const auto before = dense<float>(300, 32, Values::reals, 2);
    for (const SplitBy split : {SplitBy::rows, SplitBy::columns}) {
        auto plan = TeamPlan<Float16, float>::make(team(2), a.view(),
                                                   {.product = {.n = 32, .force = panels_in(OrderKind::minhash)},
                                                    .split = split});
        EXPECT_NE(plan.describe().find("tensor cores take rows together by member"), std::string::npos);
        EXPECT_TRUE(is_product(a, false, {1, 0.5}, b, before, product(plan, {1, 0.5}, b, before, {}, {}), false, true));
    }
    // By themselves where rows share columns, unless the same bits are asked for.
    const auto blocks = in_type<Float16>(
        matrix_where<double>(256, 256, Values::integers, 5, [](index_t i, index_t j) { return i / 64 == j / 64; }));
    const auto policy_of_first = [&](const Team& members) {
        return TeamPlan<Float16, float>::make(members, blocks.view(), {.product = {.n = 64}, .split = SplitBy::rows})
            .parts()
            .front()
            .policy;
    };
    EXPECT_EQ(policy_of_first(team(2)).rfind("panels", 0), 0u);
    EXPECT_EQ(policy_of_first(team(2, true)).rfind("rows", 0), 0u);
}

TEST(SpmmSplit, TakesWhatMovesFewerBytes)
{
    const SplitFeatures wide{.rows = 1000,
                             .cols = 1000,
                             .nonzeros = 5000,
                             .n = 512,
                             .value_bytes = 4,
                             .members = 4,
                             .devices = 4,
                             .expected_calls = 1000};
    const SplitChoice columns = choose_split(wide);
    EXPECT_EQ(columns.split, SplitBy::columns);
    const double dense_bytes = 1000.0 * 512 * 4, matrix = 5000.0 * 8 + 1001 * 8;
    EXPECT_DOUBLE_EQ(columns.by_rows, 4 * dense_bytes + matrix / 1000);
    EXPECT_DOUBLE_EQ(columns.by_columns, dense_bytes + 4 * matrix / 1000);
    SplitFeatures x = wide;
    x.n = 31;  // a quarter of a row of B is less than 32 bytes
    EXPECT_EQ(choose_split(x).split, SplitBy::rows);
    x.n = 32;
    EXPECT_EQ(choose_split(x).split, SplitBy::columns);
    x.nonzeros = 100'000'000;
    EXPECT_EQ(choose_split(x).split, SplitBy::rows);
    x.expected_calls = 1e9;  // then A hardly counts
    EXPECT_EQ(choose_split(x).split, SplitBy::columns);
    x = wide;
    x.devices = 0;
    EXPECT_EQ(choose_split(x).split, SplitBy::rows);
    x = wide;
    x.members = x.devices = 1;
    EXPECT_EQ(choose_split(x).split, SplitBy::rows);
    for (const SplitBy split : {SplitBy::automatic, SplitBy::rows, SplitBy::columns})
        EXPECT_EQ(parse_split(to_text(split)), split);
    EXPECT_THROW(parse_split("halves"), ValueError);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
