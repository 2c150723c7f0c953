// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Offsets of 32 bits are accepted by every operation, give the results of those of 64, and are widened once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/host_matrix.hpp"
#include "support/teams.hpp"
#include "tulle/tulle.hpp"

namespace tulle::test {
namespace {

// The same matrix with offsets of both kinds, where a context works.
template <class V>
struct Both {
    Both(const Context& c, const HostCsr<V>& a)
        : wide(to_device(c, a.view())),
          columns(to_csc(c, wide.view())),
          narrow(narrowed(c, wide.row_begin)),
          narrow_columns(narrowed(c, columns.col_begin))
    {}

    static Buffer<std::int32_t> narrowed(const Context& c, const Buffer<offset_t>& offsets)
    {
        const Buffer<offset_t> here = to_host<offset_t>(c, offsets.span());
        const std::vector<std::int32_t> all(here.data(), here.data() + here.size());
        return to_device<std::int32_t>(c, all);
    }

    Csr32View<V> csr() const
    {
        return {wide.rows,       wide.cols,         wide.nonzeros(), narrow.data(),
                wide.col.data(), wide.value.data(), wide.sorted,     wide.unique};
    }
    Csc32View<V> csc() const
    {
        return {wide.rows,          wide.cols,
                wide.nonzeros(),    narrow_columns.data(),
                columns.row.data(), columns.value.data(),
                columns.sorted,     columns.unique};
    }

    Csr<V> wide;
    Csc<V> columns;
    Buffer<std::int32_t> narrow, narrow_columns;
};

bool says_widened(const std::string& text) { return text.find("given in 32 bits, widened to 64") != std::string::npos; }

void expect_same(const HostCsr<double>& a, const HostCsr<double>& b)
{
    EXPECT_EQ(a.row_begin, b.row_begin);
    EXPECT_EQ(a.col, b.col);
    EXPECT_EQ(a.value, b.value);
}

HostCsr<double> sample() { return random_matrix<double>(70, 50, 0.1, Values::integers, 3); }

HostCsr<double> triangle()
{
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < 60; ++i) {
        if (i > 0) entries.emplace_back(i, i / 2, 1.0);
        entries.emplace_back(i, i, 2.0);
    }
    return csr_of<double>(60, 60, entries);
}

class Offsets32On : public OnBackend {};

TEST_P(Offsets32On, Spmv)
{
    const Context c = ctx();
    const Both<double> a(c, sample());
    for (const auto op : {tulle::Op::none, tulle::Op::transpose}) {
        const std::size_t rows = op == tulle::Op::none ? 70 : 50, cols = 120 - rows;
        std::vector<double> numbers(cols);
        for (std::size_t i = 0; i < cols; ++i) numbers[i] = static_cast<double>(i % 7);
        const auto x = to_device<double>(c, numbers);
        auto want = to_device<double>(c, std::vector<double>(rows)),
             got = to_device<double>(c, std::vector<double>(rows));
        spmv::multiply(c, a.wide.view(), x.span(), want.span(), {.op = op});
        for (const spmv::AnyView<double>& view : {spmv::AnyView<double>(a.csr()), spmv::AnyView<double>(a.csc())}) {
            auto plan = spmv::Plan<double>::make(c, view, {.op = op});
            plan.run(x.span(), got.span());
            EXPECT_EQ(host_vector(c, got), host_vector(c, want)) << "integers: exact";
            EXPECT_TRUE(says_widened(plan.describe())) << plan.describe();
            const std::size_t offsets = view.index() == 4 ? 71 : 51;
            EXPECT_GE(plan.bytes(), offsets * sizeof(offset_t));
            const auto allocations = c.memory().allocations();
            plan.update_values(view);
            EXPECT_EQ(c.memory().allocations(), allocations) << "widened once";
            plan.run(x.span(), got.span());
            EXPECT_EQ(host_vector(c, got), host_vector(c, want));
        }
        got = to_device<double>(c, std::vector<double>(rows));
        spmv::multiply(c, a.csr(), x.span(), got.span(), {.op = op});
        EXPECT_EQ(host_vector(c, got), host_vector(c, want));
    }
    EXPECT_FALSE(says_widened(spmv::Plan<double>::make(c, a.wide.view()).describe()));
}

TEST_P(Offsets32On, NewValuesMayHaveTheOtherOffsets)
{
    const Context c = ctx();
    const Both<double> a(c, sample());
    const auto x = to_device<double>(c, std::vector<double>(50, 1.0));
    auto want = to_device<double>(c, std::vector<double>(70)), got = to_device<double>(c, std::vector<double>(70));
    spmv::multiply(c, a.wide.view(), x.span(), want.span());
    auto plan = spmv::Plan<double>::make(c, a.wide.view());
    auto other = a.csr();
    --other.rows;
    EXPECT_THROW(plan.update_values(other), Error);
    plan.update_values(a.csr());
    plan.run(x.span(), got.span());
    EXPECT_EQ(host_vector(c, got), host_vector(c, want));
    plan.update_values(a.wide.view());
    plan.run(x.span(), got.span());
    EXPECT_EQ(host_vector(c, got), host_vector(c, want));
    EXPECT_THROW(plan.update_values(a.csc()), PlanMismatch);
}

TEST_P(Offsets32On, Spmm)
{
    const Context c = ctx();
    const Both<double> a(c, sample());
    const auto b = to_device<double>(c, std::vector<double>(50 * 4, 3.0));
    auto want = to_device<double>(c, std::vector<double>(70 * 4)),
         got = to_device<double>(c, std::vector<double>(70 * 4));
    const DenseView<const double> bv{50, 4, 4, Layout::row_major, b.data()};
    spmm::multiply(c, a.wide.view(), bv, DenseView<double>{70, 4, 4, Layout::row_major, want.data()});
    const DenseView<double> cv{70, 4, 4, Layout::row_major, got.data()};
    auto plan = spmm::Plan<double>::make(c, a.csr(), {.n = 4});
    plan.run(bv, cv);
    EXPECT_EQ(host_vector(c, got), host_vector(c, want));
    EXPECT_TRUE(says_widened(plan.describe()));
    EXPECT_GE(plan.bytes(), 71 * sizeof(offset_t));
    plan.update_values(a.csr());
    plan.run(1, bv, 1, cv);
    got = to_device<double>(c, std::vector<double>(70 * 4));
    spmm::multiply(c, a.csr(), bv, DenseView<double>{70, 4, 4, Layout::row_major, got.data()});
    EXPECT_EQ(host_vector(c, got), host_vector(c, want));
}

TEST_P(Offsets32On, Spgemm)
{
    const Context c = ctx();
    const Both<double> a(c, sample()), b(c, random_matrix<double>(50, 40, 0.1, Values::integers, 4));
    const auto want = host_of(c, spgemm::multiply(c, a.wide.view(), b.wide.view()));
    expect_same(host_of(c, spgemm::multiply(c, a.csr(), b.csr())), want);
    expect_same(host_of(c, spgemm::multiply(c, a.csr(), b.wide.view())), want);
    expect_same(host_of(c, spgemm::multiply(c, a.wide.view(), b.csr())), want);
    auto plan = spgemm::Plan<double>::make(c, a.csr(), b.csr());
    EXPECT_TRUE(says_widened(plan.describe()));
    EXPECT_GE(plan.bytes(), (71 + 51) * sizeof(offset_t));
    expect_same(host_of(c, plan.run()), want);
    plan.update_values(a.csr(), b.wide.view());
    expect_same(host_of(c, plan.run()), want);

    const Both<double> square(c, random_matrix<double>(40, 40, 0.1, Values::integers,
                                                       5));  // one matrix twice is widened once
    const auto twice = host_of(c, spgemm::multiply(c, square.wide.view(), square.wide.view()));
    auto same = spgemm::Plan<double>::make(c, square.csr(), square.csr());
    expect_same(host_of(c, same.run()), twice);
    same.update_values(square.csr(), square.csr());
    expect_same(host_of(c, same.run()), twice);
    offset_t rows = 0;
    spgemm::for_each_chunk(c, square.csr(), square.csr(), [&](index_t, Csr<double> part) { rows += part.rows; });
    EXPECT_EQ(rows, 40);
}

TEST_P(Offsets32On, Sptrsv)
{
    const Context c = ctx();
    const Both<double> a(c, triangle());
    const auto b = to_device<double>(c, std::vector<double>(60, 1.0));
    auto want = to_device<double>(c, std::vector<double>(60)), got = to_device<double>(c, std::vector<double>(60));
    sptrsv::solve(c, a.wide.view(), b.span(), want.span());
    for (const sptrsv::AnyView<double>& view : {sptrsv::AnyView<double>(a.csr()), sptrsv::AnyView<double>(a.csc())}) {
        auto plan = sptrsv::Plan<double>::make(c, view);
        plan.solve(b.span(), got.span());
        plan.wait();
        EXPECT_EQ(host_vector(c, got), host_vector(c, want));
        EXPECT_TRUE(says_widened(plan.describe())) << plan.describe();
        plan.update_values(view);
        plan.solve(b.span(), got.span());
        plan.wait();
        EXPECT_EQ(host_vector(c, got), host_vector(c, want));
    }
    EXPECT_EQ(sptrsv::level_widths<double>(c, a.csr()).unmerged,
              sptrsv::level_widths<double>(c, a.wide.view()).unmerged);
}

TEST_P(Offsets32On, Sddmm)
{
    const Context c = ctx();
    const Both<double> a(c, sample());
    const auto x = to_device<double>(c, std::vector<double>(70 * 3, 2.0)),
               y = to_device<double>(c, std::vector<double>(50 * 3, 3.0));
    const DenseView<const double> xv{70, 3, 3, Layout::row_major, x.data()}, yv{50, 3, 3, Layout::row_major, y.data()};
    const std::vector<double> want(static_cast<std::size_t>(a.wide.nonzeros()), 18.0);
    auto got = to_device<double>(c, std::vector<double>(want.size()));
    auto plan = sddmm::Plan<double>::make(c, a.csr());
    plan.run(xv, yv, got.span());
    EXPECT_EQ(host_vector(c, got), want);
    EXPECT_TRUE(says_widened(plan.describe())) << plan.describe();
    const auto allocations = c.memory().allocations();
    plan.update_values(a.csr());
    EXPECT_EQ(c.memory().allocations(), allocations) << "widened once";
    got = to_device<double>(c, std::vector<double>(want.size()));
    sddmm::multiply(c, a.csr(), xv, yv, got.span());
    EXPECT_EQ(host_vector(c, got), want);
}

// What apply(b) of a plan, or a solve with it, gives for ones.
template <class Apply>
std::vector<double> applied(const Context& c, const Apply& apply)
{
    const auto b = to_device<double>(c, std::vector<double>(60, 1.0));
    auto x = to_device<double>(c, std::vector<double>(60));
    apply(b.span(), x.span());
    return host_vector(c, x);
}

// apply(plan, b, x) with offsets of both kinds, before and after new values, and after an update that is refused.
template <class Make, class Apply>
void expect_same_plan(const Context& c, const Make& make, const Apply& apply)
{
    const Both<double> a(c, triangle()), other(c, random_matrix<double>(64, 64, 0.1, Values::integers, 8));
    const auto of = [&](auto& plan) { return applied(c, [&](auto b, auto x) { apply(plan, b, x); }); };
    auto wide = make(AnyCsr<double>(a.wide.view())), narrow = make(AnyCsr<double>(a.csr()));
    const auto want = of(wide);
    EXPECT_EQ(of(narrow), want);
    for (auto* plan : {&wide, &narrow}) {
        plan->update_values(a.csr());
        EXPECT_EQ(of(*plan), want);
        plan->update_values(a.wide.view());
        EXPECT_EQ(of(*plan), want);
    }
    auto fresh = make(AnyCsr<double>(a.wide.view()));
    EXPECT_THROW(fresh.update_values(other.csr()), PlanMismatch);
    EXPECT_EQ(of(fresh), want);
    fresh.update_values(a.csr());
    EXPECT_EQ(of(fresh), want) << "offsets of the matrix that was refused";
}

TEST_P(Offsets32On, PlansThatSolve)
{
    const Context c = ctx();
    expect_same_plan(
        c, [&](const AnyCsr<double>& a) { return factor::Plan<double>::make(c, a); },
        [](auto& plan, auto b, auto x) { plan.apply(b, x); });
    expect_same_plan(
        c, [&](const AnyCsr<double>& a) { return amg::Plan<double>::make(c, a); },
        [](auto& plan, auto b, auto x) { plan.apply(b, x); });
    expect_same_plan(
        c, [&](const AnyCsr<double>& a) { return solve::Plan<double>::make(c, a); },
        [](auto& plan, auto b, auto x) { plan.solve(b, x); });
    expect_same_plan(
        c,
        [&](const AnyCsr<double>& a) { return std::visit([&](auto m) { return spmv::Plan<double>::make(c, m); }, a); },
        [](auto& plan, auto b, auto x) { plan.run(b, x); });
    const Both<double> a(c, triangle());
    for (const std::string& text :
         {factor::Plan<double>::make(c, a.csr()).describe(), amg::Plan<double>::make(c, a.csr()).describe(),
          solve::Plan<double>::make(c, a.csr()).describe()})
        EXPECT_TRUE(says_widened(text)) << text;
}

TEST_P(Offsets32On, Graphs)
{
    using graph::Semiring;
    const Context c = ctx();
    const Both<double> a(c, sample()), b(c, random_matrix<double>(50, 40, 0.1, Values::integers, 4)),
        mask(c, random_matrix<double>(70, 40, 0.3, Values::integers, 5));
    const auto x = to_device<double>(c, std::vector<double>(50, 2.0));
    auto want = to_device<double>(c, std::vector<double>(70)), got = to_device<double>(c, std::vector<double>(70));
    graph::multiply(c, Semiring::max_plus, a.wide.view(), x.span(), want.span());
    graph::multiply(c, Semiring::max_plus, a.csr(), x.span(), got.span());
    EXPECT_EQ(host_vector(c, got), host_vector(c, want));
    const DenseView<const double> two{50, 1, 1, Layout::row_major, x.data()};
    graph::multiply(c, Semiring::min_plus, a.wide.view(), two, {70, 1, 1, Layout::row_major, want.data()});
    graph::multiply(c, Semiring::min_plus, a.csr(), two, {70, 1, 1, Layout::row_major, got.data()});
    EXPECT_EQ(host_vector(c, got), host_vector(c, want));
    const auto masked =
        host_of(c, graph::multiply_masked(c, Semiring::plus_times, a.wide.view(), b.wide.view(), mask.wide.view()));
    expect_same(host_of(c, graph::multiply_masked(c, Semiring::plus_times, a.csr(), b.csr(), mask.csr())), masked);
    expect_same(host_of(c, graph::multiply_masked(c, Semiring::plus_times, a.wide.view(), b.wide.view(), mask.csr())),
                masked);
    const graph::Select few{.most_per_row = 2};
    expect_same(host_of(c, graph::select(c, a.csr(), few)), host_of(c, graph::select(c, a.wide.view(), few)));
    const std::size_t budget = std::size_t{1} << 20;
    const auto selected =
        host_of(c, graph::multiply_select(c, Semiring::plus_times, a.wide.view(), b.wide.view(), few, budget));
    expect_same(host_of(c, graph::multiply_select(c, Semiring::plus_times, a.csr(), b.csr(), few, budget)), selected);
    expect_same(host_of(c, graph::multiply_select(c, Semiring::plus_times, a.wide.view(), b.csr(), few, budget)),
                selected);
}

TEST_P(Offsets32On, GraphAlgorithms)
{
    const Context c = ctx();
    std::vector<std::tuple<index_t, index_t, double>> edges;
    for (index_t i = 0; i < 60; ++i)
        for (const index_t j : {(i + 1) % 60, (i + 2) % 60, (i * 7) % 60})
            if (i != j) edges.emplace_back(i, j, 1.0 + i % 3), edges.emplace_back(j, i, 1.0 + i % 3);
    HostCsr<double> host = csr_of<double>(60, 60, edges);
    host.unique = false;
    const Both<double> a(c, host);
    const auto wide = a.wide.view();
    EXPECT_EQ(graph::count_triangles(c, a.csr()), graph::count_triangles(c, wide));
    EXPECT_EQ(graph::pagerank(c, a.csr()).value, graph::pagerank(c, wide).value);
    EXPECT_EQ(graph::hits(c, a.csr()).hub, graph::hits(c, wide).hub);
    EXPECT_EQ(graph::breadth_first(c, a.csr(), 3).parent, graph::breadth_first(c, wide, 3).parent);
    EXPECT_EQ(graph::shortest_paths(c, a.csr(), 3).distance, graph::shortest_paths(c, wide, 3).distance);
    EXPECT_EQ(graph::components(c, a.csr()), graph::components(c, wide));
    EXPECT_EQ(graph::core_numbers(c, a.csr()), graph::core_numbers(c, wide));
    const graph::ClusterOptions short_of_memory{.budget = std::size_t{1} << 20};
    EXPECT_EQ(graph::cluster(c, a.csr(), short_of_memory).cluster, graph::cluster(c, wide, short_of_memory).cluster);
}

TEST_P(Offsets32On, Conversions)
{
    const Context c = ctx();
    for (const auto& [name, host] : battery<double>(Values::integers)) {
        SCOPED_TRACE(name);
        const Both<double> a(c, host);
        const auto csr = to_csr(c, a.csr()), back = to_csr(c, a.csc());
        expect_same(host_of(c, csr), host_of(c, a.wide));
        EXPECT_EQ(csr.sorted, host.sorted);
        EXPECT_EQ(csr.unique, host.unique);
        expect_same(host_of(c, back), host_of(c, to_csr(c, a.columns.view())));
        expect_same(host_of(c, to_csr(c, view_of(to_coo(c, a.csr())))),
                    host_of(c, to_csr(c, view_of(to_coo(c, a.wide.view())))));
        EXPECT_TRUE(validate(c, a.csr()).ok());
        EXPECT_TRUE(validate(c, a.csc()).ok());
        const std::vector<std::int32_t> offsets(host.row_begin.begin(), host.row_begin.end());
        const Csr32View<double> here{host.rows,      host.cols,       static_cast<offset_t>(host.col.size()),
                                     offsets.data(), host.col.data(), host.value.data(),
                                     host.sorted,    host.unique};
        expect_same(host_of(c, to_device(c, here)), host);
        const auto down = to_host(c, a.csr());
        EXPECT_EQ(std::vector<offset_t>(down.row_begin.data(), down.row_begin.data() + down.row_begin.size()),
                  host.row_begin);
    }
}

// The sentences are those for offsets of 64 bits.
TEST_P(Offsets32On, FindsBadOffsets)
{
    const Context c = ctx();
    const std::vector<index_t> col{0, 1};
    const std::vector<double> value{1, 2};
    const auto there_col = to_device<index_t>(c, col);
    const auto there_value = to_device<double>(c, value);
    const auto found = [&](const std::vector<std::int32_t>& offsets) {
        const auto begin = to_device<std::int32_t>(c, offsets);
        return validate(c, Csr32View<double>{2, 3, 2, begin.data(), there_col.data(), there_value.data()}).problem;
    };
    EXPECT_EQ(found({0, 1, 2}), "");
    EXPECT_TRUE(found({1, 1, 2}).starts_with("row_begin starts at 1, not at 0"));
    EXPECT_TRUE(found({0, -1, 2}).starts_with("row_begin falls from 0 to -1 at row 0"));
    EXPECT_EQ(found({0, 1, 1}), "row_begin ends at 1, but there are 2 nonzeros");
}

TULLE_ON_BACKENDS(Offsets32On);

class Offsets32OnTeam : public OnTeam {};

TEST_P(Offsets32OnTeam, Products)
{
    const Context host = Context::cpu(1);
    const Both<double> a(host, sample()), square(host, random_matrix<double>(50, 50, 0.1, Values::integers, 6));
    const std::vector<double> x(50, 2.0);
    std::vector<double> want(70), got(70);
    spmv::multiply(host, a.wide.view(), x, want);
    for (const spmv::PartitionableView<double>& view :
         {spmv::PartitionableView<double>(a.csr()), spmv::PartitionableView<double>(a.csc())}) {
        auto plan = spmv::TeamPlan<double>::make(team(2), view);
        plan.run(x, got);
        EXPECT_EQ(got, want);
        EXPECT_TRUE(says_widened(plan.describe()));
        plan.update_values(view);
        plan.run(x, got);
        EXPECT_EQ(got, want);
    }
    auto spmm_plan = spmm::TeamPlan<double>::make(team(2), a.csr(), {.product = {.n = 1}});
    spmm_plan.run({50, 1, 1, Layout::row_major, x.data()}, {70, 1, 1, Layout::row_major, got.data()});
    EXPECT_EQ(got, want);
    EXPECT_TRUE(says_widened(spmm_plan.describe()));
    auto spgemm_plan = spgemm::TeamPlan<double>::make(team(2), a.csr(), square.csr());
    expect_same(host_of(host, spgemm_plan.run()),
                host_of(host, spgemm::multiply(host, a.wide.view(), square.wide.view())));
    EXPECT_TRUE(says_widened(spgemm_plan.describe()));
    spgemm_plan.update_values(a.csr(), square.csr());
    expect_same(host_of(host, spgemm::multiply(team(2), a.csr(), square.csr())), host_of(host, spgemm_plan.run()));
}

TULLE_ON_TEAMS(Offsets32OnTeam);

}  // namespace
}  // namespace tulle::test
