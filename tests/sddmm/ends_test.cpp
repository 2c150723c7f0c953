// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Numbers of nonzeros and of columns a little smaller or larger than the batches that kernels read and write, in arrays
// that end where the memory does. See support/exact.hpp.
#include "sddmm/sampled_case.hpp"

#include "support/backends.hpp"
#include "support/exact_dense.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

using namespace test;

class SddmmEndsOn : public tulle::test::OnBackend {};

template <class V, class C>
void check_ends(const Context& ctx, const HostCsr<double>& in_double, index_t k, Edge edge, unsigned one_in)
{
    const auto a = in_type<V>(in_double);
    const auto x = dense<V>(a.rows, k, Values::integers, 3), y = dense<V>(a.cols, k, Values::integers, 4);
    for (const Policy& policy : candidates(ctx.backend()))
        for (int form = 0; form < 4; ++form) {
            const std::string what = std::to_string(a.col.size()) + " nonzeros, k = " + std::to_string(k) + ", " +
                                     name_of<V>() + " to " + name_of<C>() + ", " + to_text(policy) + ", form " +
                                     std::to_string(form) + (edge == Edge::end ? "" : ", after the edge");
            if (!is_drawn(what, one_in)) continue;
            SCOPED_TRACE(what);
            const Layout layout = form & 1 ? Layout::col_major : Layout::row_major;
            const index_t gap = form & 2 ? 8 + gap_to_aligned(k) : 0;
            const ExactCsr<V> there(ctx, a, edge, 1);
            const ExactDense<V> x_there(ctx, x, layout, gap, edge, 0), y_there(ctx, y, Layout::row_major, gap, edge, 0);
            const Exact<C> c(ctx, std::vector<C>(a.col.size(), static_cast<C>(3.0)), edge, 1);
            multiply(ctx, there.view(), Sum<V>(1), x_there.of, y_there.of, Sum<V>(2), c.span(),
                     {.scaled = true, .force = policy});
            ASSERT_TRUE(
                is_sampled(a, true, {1, 2}, x, y, std::vector<C>(a.col.size(), static_cast<C>(3.0)), c.take(), true));
        }
}

TEST_P(SddmmEndsOn, NonzerosAndColumnsAroundEveryBatch)
{
    const auto c = ctx(threads_at_ends);
    for (const index_t size : sizes_around_batches(128))
        for (const bool along_rows : {true, false})
            for (const Edge edge : {Edge::end, Edge::begin}) {
                if (edge == Edge::begin && c.backend() == Backend::cuda) continue;
                const index_t length = along_rows ? size : 3, k = along_rows ? 5 : size;
                const auto a =
                    matrix_of_lengths<double>(size % 2 == 0 ? std::vector{1, length, 1} : std::vector{length}, length,
                                              5);
                for_each_type([&](auto v, auto to) { check_ends<decltype(v), decltype(to)>(c, a, k, edge, 60); });
            }
}

// Attention: rows of V, Q and K around the runs and packs that lanes load, and rows of A around the scores at once.
template <class V, class C>
void check_attention_ends(const Context& ctx, const Policy& policy, index_t length, index_t depth, index_t width,
                          Edge edge)
{
    const auto a = in_type<V>(matrix_of_lengths<double>({1, length, 0, length}, length, 5));
    const auto q = dense<V>(a.rows, depth, Values::reals, 1), k = dense<V>(a.cols, depth, Values::reals, 2),
               v = dense<V>(a.cols, width, Values::reals, 3);
    const HostDense<C> none{a.rows, width, std::vector<C>(q.at.size() / std::size_t(depth) * std::size_t(width))};
    for (int form = 0; form < 2; ++form) {
        const auto gap = [&](index_t row) { return form * (8 + gap_to_aligned(row)); };
        const ExactCsr<V> there(ctx, a, edge, 1);
        const ExactDense<V> q_there(ctx, q, Layout::row_major, gap(depth), edge, 0),
            k_there(ctx, k, Layout::row_major, gap(depth), edge, 0),
            v_there(ctx, v, Layout::row_major, gap(width), edge, 0);
        const ExactDense<C> h_there(ctx, none, Layout::row_major, gap(width), edge, 0);
        Plan<V, C>::make(ctx, there.view(), {.k = depth, .attended = width, .scaled = true, .force = policy})
            .attend(Sum<V>(0x1p-15), q_there.of, k_there.of, v_there.of, h_there.of);
        ASSERT_TRUE(is_attended(a, true, 0x1p-15, q, k, v, h_there.take()));
    }
}

TEST_P(SddmmEndsOn, AttentionAroundEveryBatch)
{
    const auto c = ctx(threads_at_ends);
    for (const index_t size : sizes_around_batches(128))
        for (int along = 0; along < 3; ++along)
            for (const Edge edge : {Edge::end, Edge::begin}) {
                if (edge == Edge::begin && c.backend() == Backend::cuda) continue;
                const index_t length = along == 0 ? size : 3, depth = along == 1 ? size : 5,
                              width = along == 2 ? size : 6;
                const auto ways = ways_to_attend(c.backend());
                for_each_type([&](auto v, auto to) {
                    using V = decltype(v);
                    using C = decltype(to);
                    const std::string what = "attention, " + std::to_string(length) + " nonzeros, " +
                                             std::to_string(depth) + " and " + std::to_string(width) + " columns, " +
                                             name_of<V>() + " to " + name_of<C>();
                    for (const Policy& way : ways) {
                        if (!is_drawn(what + ", " + to_text(way), 20)) continue;
                        SCOPED_TRACE(what + ", " + to_text(way));
                        check_attention_ends<V, C>(c, way, length, depth, width, edge);
                    }
                });
            }
}

TULLE_ON_BACKENDS(SddmmEndsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sddmm
