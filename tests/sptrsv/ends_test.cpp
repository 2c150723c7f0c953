// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of a triangle, and right-hand sides, a little shorter or longer than the batches that kernels read and write, in
// arrays that end where the memory does. See support/exact.hpp.
#include <gtest/gtest.h>

#include <limits>

#include "sptrsv/schemes.hpp"
#include "sptrsv/triangles.hpp"
#include "support/backends.hpp"
#include "support/exact.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

class SptrsvEndsOn : public OnBackend {};

template <class V>
void check_triangle(const Context& c, const std::string& name, const HostCsr<V>& lower, bool upper, Edge edge,
                    unsigned one_in)
{
    const HostCsr<V> a = upper ? turned(lower) : lower;
    const ExactCsr<V> there(c, a, edge, 1);
    for (const Policy& scheme : schemes_for(c))
        for (const index_t columns : {1, 2, 31, 33}) {
            const std::string what = name + (upper ? ", upper" : "") +
                                     (edge == Edge::end ? ", " : ", after the edge, ") + std::to_string(columns) +
                                     " sides, " + to_text(scheme);
            if (!is_drawn(what, one_in)) continue;
            SCOPED_TRACE(what);
            std::vector<V> b;
            for (index_t k = 0; k < a.rows * columns; ++k) b.push_back(static_cast<V>(2.0 * unit(hash_of(8, k)) - 1.0));
            const Exact<V> b_there(c, b, edge, 3),
                x_there(c, std::vector<V>(b.size(), std::numeric_limits<V>::quiet_NaN()), edge, 1);
            const auto plan = Plan<V>::make(c, there.view(),
                                            {.uplo = upper ? Uplo::upper : Uplo::lower,
                                             .right_hand_sides = columns,
                                             .force = scheme});
            const bool by_rows = (a.rows + columns) % 2 == 0;
            const DenseView<V> at{a.rows, columns, by_rows ? columns : a.rows,
                                  by_rows ? Layout::row_major : Layout::col_major, b_there.data()};
            plan.solve(V(1), at, DenseView<V>{at.rows, at.cols, at.leading, at.layout, x_there.data()});
            plan.wait();
            const auto got = x_there.take();
            for (const index_t j : {0, columns - 1}) {
                std::vector<V> right, column;
                for (index_t i = 0; i < a.rows; ++i) {
                    right.push_back(b[static_cast<std::size_t>(at.at(upper ? a.rows - 1 - i : i, j))]);
                    column.push_back(got[static_cast<std::size_t>(at.at(upper ? a.rows - 1 - i : i, j))]);
                }
                ASSERT_TRUE(within_bound(column, oracle_solve(lower, V(1), right, 2))) << "column " << j;
            }
        }
}

TEST_P(SptrsvEndsOn, RowsAroundEveryBatch)
{
    const auto c = ctx(threads_at_ends);
    for (const index_t n : sizes_around_batches(256))
        for (const Edge edge : {Edge::end, Edge::begin}) {
            if (edge == Edge::begin && c.backend() == Backend::cuda) continue;
            for (const bool upper : {false, true}) {
                check_triangle<double>(c, "last row of " + std::to_string(n),
                                       triangle_where<double>(n, 5, [n](index_t i, index_t) { return i == n - 1; }),
                                       upper, edge, 150);
                check_triangle<double>(c, "chain of " + std::to_string(n),
                                       triangle_where<double>(n, 6, [](index_t i, index_t j) { return j == i - 1; }),
                                       upper, edge, 150);
                check_triangle<float>(c, "first of " + std::to_string(n),
                                      triangle_where<float>(n, 7, [](index_t, index_t j) { return j == 0; }), upper,
                                      edge, 150);
            }
        }
}

TULLE_ON_BACKENDS(SptrsvEndsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
