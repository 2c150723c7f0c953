// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Options of SpMV in all combinations on one matrix: formats, op, policies, types of matrix and vectors, dots,
// determinism, alpha and beta, plans that have taken new values. Other tests change an option at a time.
#include <gtest/gtest.h>

#include <limits>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/guarded.hpp"
#include "support/oracle.hpp"
#include "tulle/convert.hpp"
#include "tulle/spmv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvCombinationsOn : public OnBackend {};

// Square, so that dots can be made; rows are short, long, empty and equal to the one before.
template <class M>
HostCsr<M> matrix_of_all_kinds()
{
    return matrix_of_columns<M>(75, 75, 91, [](index_t i) {
        std::vector<index_t> col;
        for (index_t j = 0; j < 75; ++j)
            if (i == 40 || (i >= 10 && i < 20 && j % 9 == 2) ||
                (i % 13 != 5 && i < 70 && (j == i || j == (i * 7) % 75)))
                col.push_back(j);
        return col;
    });
}

template <class M>
struct Formats {
    Csr<M> csr;
    Csc<M> csc;
    Coo<M> coo;
    BlockedEll<M> blocks;

    Formats(const Context& c, const HostCsr<M>& a)
        : csr(to_device(c, a.view())),
          csc(to_csc(c, csr.view())),
          coo(to_coo(c, csr.view())),
          blocks(to_blocked_ell(c, csr.view(), 4))
    {}
    std::vector<std::pair<std::string, AnyView<M>>> views() const
    {
        CooView<M> unordered = coo.view();
        unordered.order = CooOrder::none;
        unordered.unique = false;
        return {{"csr", csr.view()},
                {"csc", csc.view()},
                {"coo", coo.view()},
                {"coo in no order", unordered},
                {"blocks", blocks.view()}};
    }
};

struct Scalars {
    double alpha, beta;
};
constexpr Scalars all_scalars[] = {{1, 0}, {-2, 0}, {1, 1}, {3, -1}, {0, 2}, {0, 0}};

template <class V>
std::string text_of(const std::string& format, Op op, const Policy& policy, bool dots, bool deterministic, bool updated,
                    Scalars s)
{
    return format + (op == Op::transpose ? ", transposed, " : ", ") + to_text(policy) + (dots ? ", dots" : "") +
           (deterministic ? ", deterministic" : "") + (updated ? ", updated" : "") + ", alpha " +
           std::to_string(s.alpha) + ", beta " + std::to_string(s.beta);
}

template <class V, class M>
void check_run(const Context& c, const Plan<V, M>& plan, const HostCsr<V>& a, Op op, Scalars s, bool dots)
{
    const auto x = test_vector<V>(75, Values::integers, 6);
    const std::vector<V> y =
        s.beta == 0 ? std::vector<V>(75, std::numeric_limits<V>::quiet_NaN()) : test_vector<V>(75, Values::integers, 7);
    const auto want = oracle_multiply(a, op == Op::transpose, static_cast<V>(s.alpha), x, static_cast<V>(s.beta), y);
    const auto x_there = to_device<V>(c, std::span<const V>(x));
    Guarded<V> out(c, y), sums(c, std::vector<V>(2, std::numeric_limits<V>::quiet_NaN()));
    if (dots) plan.run(static_cast<V>(s.alpha), x_there.span(), static_cast<V>(s.beta), out.span(), sums.span());
    else plan.run(static_cast<V>(s.alpha), x_there.span(), static_cast<V>(s.beta), out.span());
    const auto got = out.take();
    long double with_x = 0, with_itself = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(static_cast<long double>(got[i]), want.value[i]) << "entry " << i;
        with_x += want.value[i] * static_cast<long double>(x[i]);
        with_itself += want.value[i] * want.value[i];
    }
    if (dots) {
        ASSERT_EQ(sums.take(), (std::vector<V>{static_cast<V>(with_x), static_cast<V>(with_itself)}));
    }
}

template <class V, class M>
void check_all(const Context& ctx, const std::string& types, unsigned one_in)
{
    const HostCsr<M> a = matrix_of_all_kinds<M>();
    HostCsr<M> other = a;
    for (M& v : other.value) v = M(2) - v;
    for (M& v : other.value) v = v == M(0) ? M(3) : v;  // dense blocks drop zeros
    HostCsr<V> in_v{.rows = a.rows,
                    .cols = a.cols,
                    .row_begin = a.row_begin,
                    .col = a.col,
                    .value = {a.value.begin(), a.value.end()}};
    HostCsr<V> other_in_v = in_v;
    other_in_v.value.assign(other.value.begin(), other.value.end());
    const Formats<M> before(ctx, a), after(ctx, other);
    for (const bool deterministic : {false, true}) {
        Context c = ctx;
        c.deterministic(deterministic);
        const auto views = before.views(), views_after = after.views();
        for (std::size_t f = 0; f < views.size(); ++f)
            for (const Op op : {Op::none, Op::transpose}) {
                const auto& [format, view] = views[f];
                const Features features = Plan<V, M>::make(c, view, {.op = op}).features();
                for (const Policy& policy : candidates(features, {c.backend(), c.host().threads}))
                    for (const bool dots : {false, true})
                        for (const bool updated : {false, true}) {
                            std::optional<Plan<V, M>> plan;
                            for (const Scalars s : all_scalars) {
                                const std::string what =
                                    types + text_of<V>(format, op, policy, dots, deterministic, updated, s);
                                if (!is_drawn(what, one_in)) continue;
                                SCOPED_TRACE(what);
                                if (!plan)
                                    plan.emplace(Plan<V, M>::make(c, view, {.op = op, .force = policy, .dots = dots}));
                                if (updated) plan->update_values(views_after[f].second);
                                check_run<V, M>(c, *plan, updated ? other_in_v : in_v, op, s, dots);
                                if (::testing::Test::HasFatalFailure()) return;
                            }
                        }
            }
    }
}

TEST_P(SpmvCombinationsOn, OfAllOptions)
{
    check_all<double, double>(ctx(), "f64, ", 150);
    check_all<float, float>(ctx(), "f32, ", 150);
    check_all<double, float>(ctx(), "f32 in f64, ", 200);
}

TULLE_ON_BACKENDS(SpmvCombinationsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
