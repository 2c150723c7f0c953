// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Kernels read in batches: lanes, vectors, several entries ahead. Rows, matrices and vectors a little shorter or longer
// than a batch, in arrays that end where the memory does, show who reads beyond.
#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/exact.hpp"
#include "support/oracle.hpp"
#include "tulle/convert.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvEndsOn : public OnBackend {};

template <class V>
void check_ends(const Context& c, const HostCsr<V>& a, const AnyView<V>& view, const std::string& name, Edge edge,
                unsigned one_in)
{
    const auto x = test_vector<V>(a.cols, Values::integers, 6), y = test_vector<V>(a.rows, Values::integers, 7);
    const auto want = oracle_multiply(a, false, V(2), x, V(-1), y);
    const Features features = Plan<V>::make(c, view).features();
    for (const Policy& policy : candidates(features, {c.backend(), c.host().threads})) {
        const std::string what = name + (sizeof(V) == 4 ? ", f32, " : ", f64, ") + to_text(policy);
        if (!is_drawn(what, one_in)) continue;
        SCOPED_TRACE(what);
        const Exact<V> x_there(c, x, edge, 1), y_there(c, y, edge, 3);
        Plan<V>::make(c, view, {.force = policy}).run(V(2), x_there.span(), V(-1), y_there.span());
        const auto got = y_there.take();
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(static_cast<long double>(got[i]), want.value[i]) << "row " << i;
    }
}

template <class V>
void check_ends_of_rows(const Context& c, const std::vector<index_t>& lengths, Edge edge)
{
    std::string name = edge == Edge::end ? "rows of" : "after the edge, rows of";
    for (const index_t n : lengths) name += " " + std::to_string(n);
    const auto wanted = [&](const std::string& format) {
        return is_drawn(name + format + (sizeof(V) == 4 ? " f32" : " f64"), 8);
    };
    const bool csr = wanted(", csr"), coo = wanted(", coo"), csc = wanted(", csc"), blocks = wanted(", blocks");
    if (!csr && !coo && !csc && !blocks) return;
    const auto a = matrix_of_lengths<V>(lengths, *std::max_element(lengths.begin(), lengths.end()), 5);
    const ExactCsr<V> there(c, a, edge, lengths.size() % 2);
    constexpr unsigned one_in = 12;
    if (csr) check_ends<V>(c, a, there.view(), name, edge, one_in);
    if (coo) check_ends<V>(c, a, view_of(to_coo(c, there.view())), name + ", coo", edge, one_in);
    if (csc) check_ends<V>(c, a, view_of(to_csc(c, there.view())), name + ", csc", edge, one_in);
    if (blocks)
        check_ends<V>(c, a, view_of(to_blocked_ell(c, there.view(), 1 + static_cast<index_t>(lengths.size()))),
                      name + ", blocks", edge, one_in);
}

TEST_P(SpmvEndsOn, RowsAroundEveryBatch)
{
    const auto c = ctx(threads_at_ends);
    for (const index_t n : sizes_around_batches(2048))
        for (const auto& lengths : rows_around(n))
            for (const Edge edge : {Edge::end, Edge::begin}) {
                if (edge == Edge::begin && c.backend() == Backend::cuda) continue;  // red zones are at both ends there
                check_ends_of_rows<double>(c, lengths, edge);
                check_ends_of_rows<float>(c, lengths, edge);
            }
}

// Slices whose columns are diagonals read x in pieces of 32.
TEST_P(SpmvEndsOn, DiagonalsAtTheEndsOfX)
{
    const auto c = ctx(threads_at_ends);
    for (const index_t n : {index_t{31}, index_t{32}, index_t{33}, index_t{63}, index_t{64}, index_t{65}, index_t{100}})
        for (const Edge edge : {Edge::end, Edge::begin}) {
            if (edge == Edge::begin && c.backend() == Backend::cuda) continue;
            const auto a = matrix_where<double>(n, n, Values::integers, 5, [](index_t i, index_t j) {
                return std::abs(i - j) <= 1 && (i + j) % 19 != 5;
            });
            const ExactCsr<double> there(c, a, edge, false);
            check_ends<double>(c, a, there.view(), "three diagonals of " + std::to_string(n), edge, 1);
        }
}

TULLE_ON_BACKENDS(SpmvEndsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
