// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Options of SpMM in all combinations on one matrix: op, policies with their orders, types, tf32, layouts of B and C
// with room between lines, columns, alpha and beta, plans that have taken new values. Other tests change an option at a
// time.
#include "spmm/dense_case.hpp"

#include <limits>
#include <optional>

#include "support/backends.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;

class SpmmCombinationsOn : public tulle::test::OnBackend {};

// More than a panel of rows, with a dense corner, a long row, empty and equal ones.
HostCsr<double> matrix_of_all_kinds(std::uint64_t seed)
{
    return tulle::test::matrix_of_columns<double>(85, 77, seed, [](index_t i) {
        std::vector<index_t> col;
        for (index_t j = 0; j < 77; ++j)
            if ((i < 34 && j < 33 && (i + j) % 3 != 0) || i == 60 || (i >= 66 && i < 70 && j % 9 == 2) ||
                (i % 13 != 5 && j == (i * 7) % 77))
                col.push_back(j);
        return col;
    });
}

struct DenseForms {
    Form b, c;
    index_t n;
    Scalars s;

    std::string name() const
    {
        return ", B by " + b.name() + ", C by " + c.name() + ", " + std::to_string(n) + " columns, alpha " +
               std::to_string(s.alpha) + ", beta " + std::to_string(s.beta);
    }
};

std::vector<DenseForms> all_dense_forms()
{
    std::vector<DenseForms> all;
    for (const Layout b : {Layout::row_major, Layout::col_major})
        for (const Layout c : {Layout::row_major, Layout::col_major})
            for (const auto& [gap_b, gap_c, margin_b, margin_c] :
                 {std::tuple{0, 0, 64u, 64u}, {3, 1, 61u, 63u}, {8, 4, 64u, 64u}})
                for (const index_t n : {1, 8, 33})
                    for (const Scalars s : {Scalars{1, 0}, {-2, 0}, {1, 1}, {2, -1}})
                        all.push_back({{b, gap_b, margin_b}, {c, gap_c, margin_c}, n, s});
    return all;
}

template <class V, class C>
void check_run(const Context& ctx, const Plan<V, C>& plan, const HostCsr<V>& a, Op op, const DenseForms& o)
{
    const bool t = op == Op::transpose;
    const auto b = dense<V>(t ? a.rows : a.cols, o.n, Values::integers, 3);
    auto before = dense<C>(t ? a.cols : a.rows, o.n, Values::integers, 4);
    if (o.s.beta == 0) before.at.assign(before.at.size(), static_cast<C>(std::numeric_limits<float>::quiet_NaN()));
    Lent<V> b_there(ctx, b, o.b);
    Lent<C> c_there(ctx, before, o.c);
    plan.run(static_cast<Sum<V>>(o.s.alpha), b_there.view(), static_cast<Sum<V>>(o.s.beta), c_there.view());
    ASSERT_TRUE(is_product(a, t, o.s, b, before, c_there.take(), true, false));
}

template <class V, class C>
void check_all(const Context& c, Math math, unsigned one_in)
{
    const auto a = in_type<V>(matrix_of_all_kinds(91)), other = in_type<V>(matrix_of_all_kinds(92));
    const auto before = to_device(c, a.view()), after = to_device(c, other.view());
    const std::string types = name_of<V>() + " to " + name_of<C>() + (math == Math::tf32 ? ", tf32, " : ", ");
    for (const Op op : {Op::none, Op::transpose}) {
        const Features features = Plan<V, C>::make(c, before.view(), {.op = op, .n = 8, .math = math}).features();
        int turn = 0;
        for (const Policy& policy : candidates(features, {c.backend()}))
            for (const bool updated : {false, true}) {
                std::optional<Plan<V, C>> plan;
                for (const DenseForms& o : all_dense_forms()) {
                    const std::string what = types + (op == Op::transpose ? "transposed, " : "") + to_text(policy) +
                                             (updated ? ", updated" : "") + o.name();
                    if (++turn % (build::simulated ? 1 : 11) != 0 || !is_drawn(what, one_in))
                        continue;  // where all are drawn: every eleventh, others for each policy
                    SCOPED_TRACE(what);
                    if (!plan)
                        plan.emplace(Plan<V, C>::make(
                            c, before.view(),
                            {.op = op, .n = 8, .b_layout = o.b.layout, .math = math, .force = policy}));
                    if (updated) plan->update_values(after.view());
                    check_run<V, C>(c, *plan, updated ? other : a, op, o);
                    if (::testing::Test::HasFatalFailure()) return;
                }
            }
    }
}

TEST_P(SpmmCombinationsOn, OfAllOptions)
{
    const auto c = ctx();
    for_each_type([&](auto v, auto to) { check_all<decltype(v), decltype(to)>(c, Math::exact, 700); });
    check_all<float, float>(c, Math::tf32, 700);
}

TULLE_ON_BACKENDS(SpmmCombinationsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
