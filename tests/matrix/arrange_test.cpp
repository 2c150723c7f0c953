// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Permuting, sorting and adding up, against plain loops over lists of entries.
#include "tulle/convert.hpp"

#include <numeric>

#include "matrix/entry_lists.hpp"
#include "support/backends.hpp"

namespace tulle::test {
namespace {

class ArrangeOn : public OnBackend {};
TULLE_ON_BACKENDS(ArrangeOn);

using Indices = std::vector<index_t>;

Indices random_permutation(index_t n, std::uint64_t seed)
{
    Indices p(static_cast<std::size_t>(n));
    std::iota(p.begin(), p.end(), 0);
    for (std::size_t k = p.size(); k > 1; --k) std::swap(p[k - 1], p[below(hash_of(seed, k), k)]);
    return p;
}

Indices inverse_of(const Indices& p)
{
    Indices to(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) to[static_cast<std::size_t>(p[i])] = static_cast<index_t>(i);
    return to;
}

// What permute should give; an empty permutation leaves the order.
template <class V>
Entries<V> permuted(Entries<V> entries, const Indices& row_from, const Indices& col_from)
{
    const Indices row_to = inverse_of(row_from), col_to = inverse_of(col_from);
    for (auto& [i, j, v] : entries) {
        if (!row_to.empty()) i = row_to[static_cast<std::size_t>(i)];
        if (!col_to.empty()) j = col_to[static_cast<std::size_t>(j)];
    }
    return in_order(std::move(entries));
}

Buffer<index_t> on(const Context& ctx, const Indices& host) { return to_device(ctx, std::span<const index_t>(host)); }

template <class V>
Csr<V> permute_by(const Context& ctx, const CsrView<V>& a, const Indices& row_from, const Indices& col_from)
{
    const Buffer<index_t> rows = on(ctx, row_from), cols = on(ctx, col_from);
    return permute(ctx, a, rows.span(), cols.span());
}

// Rows whose sum depends on the order of its terms, and neighbours that must not be taken for one position.
template <class V>
HostCsr<V> needs_order()
{
    return csr_of<V>(3, 4,
                     {{0, 3, V(1e17)},
                      {0, 1, V(5)},
                      {0, 3, V(1)},
                      {0, 3, V(-1e17)},
                      {0, 3, V(1)},
                      {1, 3, V(7)},
                      {2, 0, V(2)},
                      {2, 0, V(-2)}});
}

TEST_P(ArrangeOn, PermutedByHand)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        const Csr<V> a = to_device(c, csr_of<V>(2, 3, {{0, 0, V(1)}, {0, 2, V(2)}, {1, 1, V(3)}}).view());
        EXPECT_TRUE(is_csr(c, permute_by(c, a.view(), {1, 0}, {2, 0, 1}), 2, 3,
                           {{0, 2, V(3)}, {1, 0, V(2)}, {1, 1, V(1)}}, true, true));
        EXPECT_TRUE(is_csr(c, permute_by(c, a.view(), {1, 0}, {}), 2, 3, {{0, 1, V(3)}, {1, 0, V(1)}, {1, 2, V(2)}},
                           true, true));
        EXPECT_TRUE(
            is_csr(c, permute_by(c, a.view(), {}, {}), 2, 3, {{0, 0, V(1)}, {0, 2, V(2)}, {1, 1, V(3)}}, true, true));
    });
}

TEST_P(ArrangeOn, PermutationsMatchTheOracle)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        for_battery<V>([&](const HostCsr<V>& host) {
            const Csr<V> a = to_device(c, host.view());
            const Indices rows = random_permutation(host.rows, 1), cols = random_permutation(host.cols, 2);
            for (const auto& [r, s] : {std::pair{rows, cols}, {rows, {}}, {{}, cols}, {{}, {}}})
                EXPECT_TRUE(is_csr(c, permute_by(c, a.view(), r, s), host.rows, host.cols,
                                   permuted(host.entries(), r, s), true, host.unique));
            const Csr<V> there = permute_by(c, a.view(), rows, cols);
            const Csr<V> back = permute_by(c, there.view(), inverse_of(rows), inverse_of(cols));
            EXPECT_TRUE(is_csr(c, back, host.rows, host.cols, in_order(host.entries()), true, host.unique));
            EXPECT_TRUE(unchanged(c, a, host));
        });
    });
}

TEST_P(ArrangeOn, WhatIsNoPermutationIsRefusedWithItsPlace)
{
    const Context c = ctx();
    const Csr<double> a = to_device(c, csr_of<double>(4, 3, {{0, 0, 1.0}}).view());
    const auto message = [&](const Indices& rows, const Indices& cols) {
        try {
            (void)permute_by(c, a.view(), rows, cols);
        } catch (const ValueError& e) {
            return e.message();
        }
        return std::string("accepted");
    };
    EXPECT_EQ(message({0, 1, 4, 9}, {}), "row_from[2] = 4 is outside 0 … 3");
    EXPECT_EQ(message({0, -1, 1, 2}, {}), "row_from[1] = -1 is outside 0 … 3");
    EXPECT_EQ(message({3, 1, 1, 3}, {}), "row_from[2] = 1 stands at 1 already");
    EXPECT_EQ(message({}, {2, 2, 5}), "col_from[1] = 2 stands at 0 already");
    EXPECT_THROW((void)permute_by(c, a.view(), {0, 1, 2}, {}), ShapeError);
    EXPECT_THROW((void)permute_by(c, a.view(), {}, {0, 1, 2, 3}), ShapeError);
}

TEST_P(ArrangeOn, RowsAreSortedStably)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        for_battery<V>([&](const HostCsr<V>& host) {
            const Csr<V> a = to_device(c, host.view());
            EXPECT_TRUE(
                is_csr(c, sort_rows(c, a.view()), host.rows, host.cols, in_order(host.entries()), true, host.unique));
            EXPECT_TRUE(unchanged(c, a, host));
        });
        const HostCsr<V> host = needs_order<V>();
        EXPECT_TRUE(
            is_csr(c, sort_rows(c, view_of(to_device(c, host.view()))), 3, 4, in_order(host.entries()), true, false));
    });
}

TEST_P(ArrangeOn, DuplicatesAreAddedInTheOrderFound)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        const Csr<V> sum = sum_duplicates(c, view_of(to_device(c, needs_order<V>().view())));
        const V in_turn = ((V(1e17) + V(1)) + V(-1e17)) + V(1);
        EXPECT_TRUE(is_csr(c, sum, 3, 4, {{0, 1, V(5)}, {0, 3, in_turn}, {1, 3, V(7)}, {2, 0, V(0)}}, true, true));
    });
}

TEST_P(ArrangeOn, SumsMatchTheOracle)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        for_battery<V>([&](const HostCsr<V>& host) {
            const Csr<V> a = to_device(c, host.view());
            EXPECT_TRUE(
                is_csr(c, sum_duplicates(c, a.view()), host.rows, host.cols, summed(host.entries()), true, true));
            EXPECT_TRUE(unchanged(c, a, host));
        });
        Entries<V> crowded;  // long runs of the same position
        for (int k = 0; k < 900; ++k)
            crowded.emplace_back(static_cast<index_t>(k % 3), static_cast<index_t>(below(hash_of(9, k), 2)),
                                 static_cast<V>(unit(hash_of(8, k))));
        const HostCsr<V> host = csr_of<V>(4, 2, crowded);
        EXPECT_TRUE(
            is_csr(c, sum_duplicates(c, view_of(to_device(c, host.view()))), 4, 2, summed(host.entries()), true, true));
    });
}

TEST_P(ArrangeOn, WrongMatricesAreRefused)
{
    const Context c = ctx();
    HostCsr<float> host = csr_of<float>(2, 2, {{0, 0, 1.0f}, {1, 1, 1.0f}});
    host.col[1] = 2;
    const Csr<float> a = to_device(c, host.view());
    EXPECT_THROW((void)sort_rows(c, a.view()), ValueError);
    EXPECT_THROW((void)sum_duplicates(c, a.view()), ValueError);
    EXPECT_THROW((void)permute(c, a.view(), {}, {}), ValueError);
}

TEST_P(ArrangeOn, FailedAllocationsLeaveNothingBehind)
{
    const Context c = ctx();
    const HostCsr<double> host = shuffled_with_duplicates(random_matrix<double>(30, 20, 0.2, Values::integers, 5), 7);
    const Csr<double> a = to_device(c, host.view());
    const Buffer<index_t> rows = on(c, random_permutation(30, 1)), cols = on(c, random_permutation(20, 2)),
                          wrong = on(c, Indices(30, 0));
    expect_clean_failures(c, [&] { (void)permute(c, a.view(), rows.span(), cols.span()); });
    expect_clean_failures(c, [&] { (void)sort_rows(c, a.view()); });
    expect_clean_failures(c, [&] { (void)sum_duplicates(c, a.view()); });
    const auto blocks = c.memory().live_blocks();
    EXPECT_THROW((void)permute(c, a.view(), wrong.span(), cols.span()), ValueError);
    EXPECT_EQ(c.memory().live_blocks(), blocks);
    EXPECT_TRUE(unchanged(c, a, host));
}

// Large enough that every thread has a piece.
TEST(Arrange, SameBitsForAnyNumberOfThreads)
{
    constexpr index_t rows = build::simulated ? 20000 : 40000, cols = 700;
    constexpr int count = build::simulated ? 50000 : 150000;  // more than three pieces of the smallest size, or nine
    Entries<float> entries;
    for (int k = 0; k < count; ++k)
        entries.emplace_back(static_cast<index_t>(below(hash_of(1, k), rows)),
                             static_cast<index_t>(below(hash_of(2, k), k % 2 == 0 ? 3 : cols)),
                             static_cast<float>(unit(hash_of(3, k))));
    const HostCsr<float> host = csr_of<float>(rows, cols, entries);
    const Indices by_row = random_permutation(rows, 4), by_col = random_permutation(cols, 5);
    const Entries<float> sorted = in_order(host.entries()), sums = summed(host.entries()),
                         moved = permuted(host.entries(), by_row, by_col);
    for (const int threads :
         build::simulated ? std::vector{4} : std::vector{1, 2, 4, 7}) {  // no GPU here: elsewhere is time for all
        SCOPED_TRACE(threads);
        const Context c = Context::cpu(threads);
        const Csr<float> a = to_device(c, host.view());
        EXPECT_TRUE(is_csr(c, sort_rows(c, a.view()), rows, cols, sorted, true, false));
        EXPECT_TRUE(is_csr(c, sum_duplicates(c, a.view()), rows, cols, sums, true, true));
        EXPECT_TRUE(is_csr(c, permute_by(c, a.view(), by_row, by_col), rows, cols, moved, true, false));
        Indices twice = by_row;
        twice[rows - 1000] = twice[100];
        EXPECT_THROW((void)permute_by(c, a.view(), twice, {}), ValueError);
    }
}

}  // namespace
}  // namespace tulle::test
