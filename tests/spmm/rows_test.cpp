// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The row kernel: rows of any length in any number of lanes, each for itself or in lines of work; how lines are cut.
#include "spmm/dense_case.hpp"

#include <limits>
#include <set>

#include "spmm/steps.hpp"
#include "support/backends.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;

class SpmmRowsOn : public tulle::test::OnBackend {};

// Rows around the lengths at which they are cut or taken together, empty ones among them and at both ends.
HostCsr<double> uneven_rows(Values values)
{
    const std::vector<index_t> length{0, 0, 1, 5,  31, 32, 33, 0,   3, 3,   3,   3, 3,   3, 3, 3, 3,
                                      3, 3, 3, 63, 64, 65, 0,  600, 1, 129, 128, 2, 257, 7, 0, 0};
    return matrix_where<double>(static_cast<index_t>(length.size()), 601, values, 5, [&](index_t i, index_t j) {
        return (j * 7 + i) % 601 < length[static_cast<std::size_t>(i)];
    });
}

// Rows of so many pieces that groups of them are added up first: 65 of 32 nonzeros, 66 of 64, in doubles 35 of 32,
// beside short ones.
HostCsr<double> long_rows(Values values)
{
    const std::vector<index_t> length{3, 2080, 0, 4200, 40, 1100};
    return matrix_where<double>(static_cast<index_t>(length.size()), 4201, values, 5, [&](index_t i, index_t j) {
        return (j * 5 + i) % 4201 < length[static_cast<std::size_t>(i)];
    });
}

// Every candidate by rows, twice: the counters of pieces are ready again, and the bits the same.
template <class V, class C>
void check_rows(const Context& c, const HostCsr<double>& in_double, index_t n, Form form_b, Form form_c, Scalars s)
{
    const auto a = in_type<V>(in_double);
    const auto there = to_device(c, a.view());
    const auto b = dense<V>(a.cols, n, Values::integers, 3);
    const auto before = dense<C>(a.rows, n, Values::integers, 4);
    const Features features = Plan<V, C>::make(c, there.view(), {.n = n, .expected_calls = 1}).features();
    for (const Policy& policy : candidates(features, {c.backend()})) {
        if (policy.kernel != Kernel::rows) continue;
        SCOPED_TRACE(name_of<V>() + " to " + name_of<C>() + ", " + std::to_string(n) + " columns, " + to_text(policy));
        const auto plan = Plan<V, C>::make(c, there.view(), {.n = n, .force = policy});
        Lent<V> b_there(c, b, form_b);
        Lent<C> first(c, before, form_c), second(c, before, form_c);
        plan.run(static_cast<Sum<V>>(s.alpha), b_there.view(), static_cast<Sum<V>>(s.beta), first.view());
        plan.run(static_cast<Sum<V>>(s.alpha), b_there.view(), static_cast<Sum<V>>(s.beta), second.view());
        const auto x = first.take(), y = second.take();
        EXPECT_TRUE(is_product(a, false, s, b, before, x, true, false));
        EXPECT_TRUE(same_bits(x.at, y.at));
    }
}

TEST_P(SpmmRowsOn, InAnyLanesAndLines)
{
    const auto uneven = uneven_rows(Values::integers);
    for_each_type([&](auto v, auto c) {
        using V = decltype(v);
        using C = decltype(c);
        check_rows<V, C>(ctx(), uneven, 16, {}, {}, {2, 0});
        if (build::simulated && !std::is_same_v<V, float> && !std::is_same_v<C, Float16>) return;
        check_rows<V, C>(ctx(), uneven, 5, {Layout::row_major, 1, 61}, {Layout::row_major, 2, 63}, {2, -1});
        check_rows<V, C>(ctx(), uneven, 36, {Layout::row_major, 4}, {Layout::col_major, 1}, {-1, 0});
        check_rows<V, C>(ctx(), uneven, 8, {}, {}, {1, 1});
        if (std::is_same_v<V, float>) check_rows<V, C>(ctx(), uneven, 132, {}, {}, {1, 0});
    });
}

TEST_P(SpmmRowsOn, OfManyPieces)
{
    const auto a = long_rows(Values::integers);
    check_rows<float, float>(ctx(), a, 12, {}, {}, {2, -1});
    check_rows<double, double>(ctx(), a, 5, {Layout::row_major, 1}, {}, {1, 0});
}

// Blocks of columns of every size, and more of B than a cache holds, with columns that nobody foresees: then rows of B
// are asked for ahead, but none for nonzeros behind the last.
TEST_P(SpmmRowsOn, TakeColumnsInBlocks)
{
    if (ctx().backend() != Backend::cpu) GTEST_SKIP() << "blocks are of the CPU";
    constexpr index_t rows = 1500, cols = 9000, in_row = 25;
    HostCsr<double> a;
    a.rows = rows;
    a.cols = cols;
    a.row_begin = {0};
    for (index_t i = 0; i < rows; ++i) {
        std::set<index_t> col;
        for (index_t k = 0; k < i % in_row + 1; ++k)
            col.insert(static_cast<index_t>(hash_of(1, i, k) % (i < 700 ? cols : 40)));
        for (const index_t j : col) {
            a.col.push_back(j);
            a.value.push_back(1 + (i + j) % 5);
        }
        a.row_begin.push_back(static_cast<offset_t>(a.col.size()));
    }
    for (const index_t n : {1, 2, 3, 8, 15, 32, 47, 101}) {
        const auto b = dense<double>(cols, n, Values::integers, 3);
        const auto before = dense<double>(rows, n, Values::integers, 4);
        for (const Scalars s : {Scalars{2, 0}, Scalars{1, -1}}) {
            const Form apart{Layout::row_major, 3};
            Lent<double> b_there(ctx(), b, apart), c_there(ctx(), before, apart);
            Plan<double>::make(ctx(), a.view(), {.n = n, .force = policy_of(Kernel::rows, {.n = n}, {Backend::cpu})})
                .run(s.alpha, b_there.view(), s.beta, c_there.view());
            EXPECT_TRUE(is_product(a, false, s, b, before, c_there.take(), true, false)) << n << " columns";
        }
    }
}

// Runs of 1 to 7 rows with the same columns, empty rows and rows as long with other columns after the first between
// them; the last run ends with the matrix.
template <class V>
HostCsr<V> runs_of_rows()
{
    HostCsr<V> a;
    a.cols = 90;
    for (index_t run = 0; run < 60; ++run) {
        const index_t length = run % 11 == 5 ? 0 : 1 + run * 7 % 40;
        for (index_t i = 0; i < 1 + (run + 3) % 7; ++i) {
            for (index_t k = 0; k < length; ++k) {
                a.col.push_back(k == 0 ? 1 : (run % 2 == 0 || i % 4 < 3 ? 3 : 4) + 2 * k);
                a.value.push_back(static_cast<V>(0.5 + static_cast<double>(below(hash_of(7, run, i, k), 99)) / 97));
            }
            a.row_begin.push_back(std::ssize(a.col));
            ++a.rows;
        }
    }
    return a;
}

// All columns of B at once, where such rows are multiplied together, and a few at a time, where none are: the same
// bits.
template <class V>
void check_runs_of_rows(const Context& c, index_t n, V beta)
{
    constexpr index_t few = 32 / sizeof(V);  // half of a cache line
    const auto a = runs_of_rows<V>();
    std::vector<V> b(static_cast<std::size_t>(a.cols * n)), together(static_cast<std::size_t>(a.rows * n), V(3));
    for (std::size_t k = 0; k < b.size(); ++k) b[k] = static_cast<V>(static_cast<double>(k % 1009) / 1013 - 0.4);
    auto apart = together;
    const auto run = [&](std::vector<V>& to, index_t first, index_t columns) {
        const DenseView<const V> from{a.cols, columns, n, Layout::row_major, b.data() + first};
        Plan<V>::make(c, a.view(), {.n = columns, .force = policy_of(Kernel::rows, {.n = columns}, {Backend::cpu})})
            .run(V(2), from, beta, {a.rows, columns, n, Layout::row_major, to.data() + first});
    };
    run(together, 0, n);
    for (index_t j = 0; j < n; j += few) run(apart, j, std::min(few, n - j));
    EXPECT_TRUE(same_bits(together, apart)) << n << " columns, beta " << beta;
}

TEST_P(SpmmRowsOn, WithTheSameColumnsHaveTheBitsOfRowsApart)
{
    if (ctx().backend() != Backend::cpu) GTEST_SKIP() << "rows are multiplied together on the CPU";
    for (const int threads : {1, 3})
        for (const index_t n : {1, 7, 8, 9, 16, 24, 32, 37, 64, 100}) {
            const Context c = Context::cpu(threads);
            check_runs_of_rows<double>(c, n, 0);
            check_runs_of_rows<double>(c, n, -1);
            check_runs_of_rows<float>(c, n, 0);
        }
}

// A row of C depends on the rows of B that its nonzeros name, and on no other that its line reads.
TEST_P(SpmmRowsOn, KeepWhatIsNotFiniteToThemselves)
{
    if (simt::under_tsan) GTEST_SKIP() << "what numbers do is no race, and others run the same kernels";
    const auto c = ctx();
    const auto a = in_type<float>(uneven_rows(Values::integers));
    const auto there = to_device(c, a.view());
    auto b = dense<float>(a.cols, 8, Values::integers, 3);
    for (const index_t i : {0, 33, 300, 600})
        for (index_t j = 0; j < 8; ++j) b(i, j) = j % 2 ? std::numeric_limits<float>::infinity() : std::nanf("");
    const Features features = Plan<float>::make(c, there.view(), {.n = 8}).features();
    for (const Policy& policy : candidates(features, {c.backend()})) {
        if (policy.kernel != Kernel::rows) continue;
        Lent<float> b_there(c, b, {}), c_there(c, dense<float>(a.rows, 8, Values::integers, 4), {});
        Plan<float>::make(c, there.view(), {.n = 8, .force = policy}).run(b_there.view(), c_there.view());
        EXPECT_TRUE(is_product_entry_by_entry(a, b, c_there.take())) << to_text(policy);
    }
}

// What a plan is asked for, unless it is no length that a line can have, or nothing is multiplied by rows on a GPU.
TEST_P(SpmmRowsOn, TakeTheCallersLines)
{
    const auto c = ctx();
    const auto a = in_type<float>(uneven_rows(Values::integers));
    const auto there = to_device(c, a.view());
    const bool gpu = c.backend() == Backend::cuda;
    for (const int piece : {0, 32, 64})
        EXPECT_EQ(Plan<float>::make(c, there.view(), {.piece = piece}).policy().piece, gpu ? piece : 0);
    EXPECT_EQ(Plan<float>::make(c, there.view(),
                                {.piece = 64, .force = policy_of(Kernel::rows, {.n = 32}, {c.backend()})})
                  .policy()
                  .piece,
              0)
        << "a forced policy is taken as it is";
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.lanes = 32}), ValueError) << "lanes without a piece";
    if (!gpu) return;
    EXPECT_EQ(Plan<float>::make(c, there.view(), {.piece = 0}).policy().lanes, 8) << "as any other rows in a team";
    EXPECT_EQ(Plan<float>::make(c, there.view(), {.piece = 0, .lanes = 128}).policy().lanes, 128);
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.piece = 0, .lanes = 7}), ValueError);
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.piece = 32, .lanes = 128}), ValueError) << "no lines of a block";
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.piece = 40}), ValueError);
}

// Lines follow each other without gaps; whole rows fill them as far as they fit; rows over the length are cut into
// equal pieces, which own slots of their own.
[[maybe_unused]] void check_lines(const std::vector<offset_t>& row_begin, const std::vector<RowLine>& lines,
                                  std::int32_t slots, offset_t piece)
{
    constexpr offset_t most = 4096;
    const auto begin_of = [&](offset_t row) { return row_begin[static_cast<std::size_t>(row)]; };
    offset_t at = 0, row = 0, slot = 0;
    for (const RowLine& l : lines) {
        ASSERT_EQ(l.begin, at);
        ASSERT_EQ(l.row, row);
        at = l.end;
        if (l.first_slot < 0) {
            row += l.count;
            ASSERT_EQ(l.end, begin_of(row));
            ASSERT_LT(l.end - l.begin + l.count, 2 * piece + 2);
            for (offset_t i = row - l.count; i < row; ++i) ASSERT_LE(begin_of(i + 1) - begin_of(i), piece);
            continue;
        }
        const offset_t length = begin_of(row + 1) - begin_of(row);
        ASSERT_GT(length, piece);
        ASSERT_EQ(l.count, std::min(most, (length + piece - 1) / piece));
        ASSERT_EQ(l.first_slot + l.piece, slot++);
        ASSERT_LE(std::abs((l.end - l.begin) * l.count - length), offset_t{l.count});
        row += l.piece + 1 == l.count;
        ASSERT_EQ(l.end == begin_of(row), l.piece + 1 == l.count);
    }
    EXPECT_EQ(at, row_begin.back());
    EXPECT_EQ(row, std::ssize(row_begin) - 1);
    EXPECT_EQ(slot, slots);
}

void check_cut(const Context& c, const std::vector<offset_t>& begin, int piece)
{
    const auto there = to_device<offset_t>(c, std::span<const offset_t>(begin));
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            const RowLines made =
                cut_rows(q, static_cast<index_t>(std::ssize(begin) - 1), there.data(), begin.back(), piece);
            const auto here = to_host<RowLine>(c, std::span<const RowLine>(made.line.span()));
            check_lines(begin, {here.data(), here.data() + here.size()}, made.slots, piece);
        }
    });
}

TEST_P(SpmmRowsOn, LinesHoldEveryNonzeroOnce)
{
    const auto c = ctx();
    if (c.backend() != Backend::cuda) GTEST_SKIP() << "lines are for GPUs";
    std::vector<std::vector<offset_t>> all{{0},
                                           {0, 0},
                                           {0, 140'000},
                                           {0, 32, 32, 64, 97},
                                           uneven_rows(Values::integers).row_begin,
                                           std::vector<offset_t>(1000, 0)};
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        std::vector<offset_t> begin{0};
        for (index_t i = 0; i < 700; ++i)
            begin.push_back(begin.back() +
                            static_cast<offset_t>(
                                below(hash_of(seed, i), below(hash_of(seed, i, 1), 9) == 0 ? 300 : 2 + 9 * seed)));
        all.push_back(begin);
    }
    for (const auto& begin : all)
        for (const int piece : {32, 48, 64}) {
            SCOPED_TRACE(std::to_string(begin.size()) + " offsets, " + std::to_string(piece));
            check_cut(c, begin, piece);
        }
}

TULLE_ON_BACKENDS(SpmmRowsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
