// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of A, and columns of B and C, a little shorter or longer than the batches that kernels read and write, in arrays
// that end where the memory does: the last line of B is as long as its entries, not as its leading dimension. See
// support/exact.hpp.
#include "spmm/dense_case.hpp"

#include "support/backends.hpp"
#include "support/exact_dense.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;
using tulle::test::Edge;
using tulle::test::Exact;
using tulle::test::ExactCsr;
using tulle::test::ExactDense;

class SpmmEndsOn : public tulle::test::OnBackend {};

template <class V, class C>
void check_ends(const Context& ctx, const std::string& name, const HostCsr<double>& in_double, index_t n, Math math,
                Edge edge, unsigned one_in)
{
    const auto a = in_type<V>(in_double);
    const ExactCsr<V> there(ctx, a, edge, 1);
    const Features features = Plan<V, C>::make(ctx, there.view(), {.n = n, .math = math}).features();
    const auto b = dense<V>(a.cols, n, Values::integers, 3);
    const auto before = dense<C>(a.rows, n, Values::integers, 4);
    for (const Policy& policy : candidates(features, {ctx.backend()}))
        for (int form = 0; form < 8; ++form) {
            const std::string what = name + ", " + name_of<V>() + " to " + name_of<C>() +
                                     (math == Math::tf32 ? ", tf32" : "") +
                                     (edge == Edge::end ? "" : ", after the edge") + ", " + std::to_string(n) +
                                     " columns, form " + std::to_string(form) + ", " + to_text(policy);
            if (!is_drawn(what, one_in)) continue;
            SCOPED_TRACE(what);
            const Layout layout_b = form & 1 ? Layout::col_major : Layout::row_major,
                         layout_c = form & 2 ? Layout::col_major : Layout::row_major;
            const ExactDense<V> b_there(ctx, b, layout_b, form & 4 ? 3 : 0, edge, form & 4 ? 1 : 0);
            const ExactDense<C> c_there(ctx, before, layout_c, form & 4 ? 1 : 0, edge, form & 4 ? 3 : 0);
            Plan<V, C>::make(ctx, there.view(), {.n = n, .b_layout = layout_b, .math = math, .force = policy})
                .run(Sum<V>(1), b_there.of, Sum<V>(2), c_there.of);
            ASSERT_TRUE(is_product(a, false, {1, 2}, b, before, c_there.take(), true, false));
        }
}

TEST_P(SpmmEndsOn, RowsAndColumnsAroundEveryBatch)
{
    const auto c = ctx(threads_at_ends);
    for (const index_t size : tulle::test::sizes_around_batches(128))
        for (const bool along_rows : {true, false})
            for (const Edge edge : {Edge::end, Edge::begin}) {
                if (edge == Edge::begin && c.backend() == Backend::cuda) continue;
                const index_t length = along_rows ? size : 3, n = along_rows ? 5 : size;
                const auto a = tulle::test::matrix_of_lengths<double>(size % 2 == 0 ? std::vector{1, length, 1}
                                                                                    : std::vector{length},
                                                                      length, 5);
                const std::string name = "rows of " + std::to_string(length);
                for_each_type([&](auto v, auto to) {
                    check_ends<decltype(v), decltype(to)>(c, name, a, n, Math::exact, edge, 250);
                });
                check_ends<float, float>(c, name, a, n, Math::tf32, edge, 250);
            }
}

TULLE_ON_BACKENDS(SpmmEndsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
