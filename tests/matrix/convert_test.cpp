// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Conversions between the five formats, against plain loops over lists of entries.
#include "tulle/convert.hpp"

#include <cmath>
#include <limits>

#include "matrix/entry_lists.hpp"
#include "support/backends.hpp"

namespace tulle::test {
namespace {

class ConvertOn : public OnBackend {};
TULLE_ON_BACKENDS(ConvertOn);

constexpr index_t blocks[] = {1, 2, 3, 16};
constexpr Layout layouts[] = {Layout::row_major, Layout::col_major};

template <class V>
using List = std::vector<V>;
using Offsets = std::vector<offset_t>;
using Indices = std::vector<index_t>;

//     1 . 2 .
//     . . . .
//     . 3 . 4
template <class V>
HostCsr<V> by_hand()
{
    return csr_of<V>(3, 4, {{0, 0, V(1)}, {0, 2, V(2)}, {2, 1, V(3)}, {2, 3, V(4)}});
}

// Every format of one matrix as a list, in the order the format has it, against the entries of the CSR it came from.
template <class V>
void expect_all_formats(const Context& ctx, const CsrView<V>& a, const Entries<V>& entries)
{
    const Entries<V> ordered = in_order(entries), dense = without_zeros(summed(entries));
    EXPECT_TRUE(same_entries(entries_of(ctx, to_coo(ctx, a)), entries));
    EXPECT_TRUE(same_entries(swapped(entries_of(ctx, to_csc(ctx, a))), in_order(swapped(ordered))));
    for (const Layout layout : layouts) EXPECT_TRUE(same_entries(entries_of(ctx, to_dense(ctx, a, layout)), dense));
    for (const index_t block : blocks)
        EXPECT_TRUE(same_entries(in_order(entries_of(ctx, to_blocked_ell(ctx, a, block))), dense)) << "block " << block;
}

// Any format to every other.
template <class Owner, class V>
void expect_everywhere(const Context& ctx, const Owner& a, const Entries<V>& entries, const Entries<V>& dense)
{
    EXPECT_TRUE(same_entries(entries_of(ctx, to_csr(ctx, a.view())), entries));
    EXPECT_TRUE(same_entries(entries_of(ctx, to_coo(ctx, a.view())), entries));
    EXPECT_TRUE(same_entries(swapped(entries_of(ctx, to_csc(ctx, a.view()))), in_order(swapped(entries))));
    EXPECT_TRUE(same_entries(entries_of(ctx, to_dense(ctx, a.view(), Layout::col_major)), dense));
    EXPECT_TRUE(same_entries(in_order(entries_of(ctx, to_blocked_ell(ctx, a.view(), 3))), dense));
}

TEST_P(ConvertOn, AMatrixByHand)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        const Csr<V> a = to_device(c, by_hand<V>().view());
        const Csc<V> csc = to_csc(c, a.view());
        EXPECT_EQ(vector_of(c, csc.col_begin), (Offsets{0, 1, 2, 3, 4}));
        EXPECT_EQ(vector_of(c, csc.row), (Indices{0, 2, 0, 2}));
        EXPECT_EQ(vector_of(c, csc.value), (List<V>{1, 3, 2, 4}));
        const Coo<V> coo = to_coo(c, a.view());
        EXPECT_EQ(vector_of(c, coo.row), (Indices{0, 0, 2, 2}));
        EXPECT_EQ(vector_of(c, coo.col), (Indices{0, 2, 1, 3}));
        EXPECT_EQ(coo.order, CooOrder::by_row);
        EXPECT_TRUE(coo.unique);
        EXPECT_EQ(vector_of(c, to_dense(c, a.view()).data), (List<V>{1, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0, 4}));
        EXPECT_EQ(vector_of(c, to_dense(c, a.view(), Layout::col_major).data),
                  (List<V>{1, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 4}));
    });
}

TEST_P(ConvertOn, BlockedEllByHand)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        const BlockedEll<V> e = to_blocked_ell(c, view_of(to_device(c, by_hand<V>().view())), 2);
        EXPECT_EQ(e.width, 2);
        EXPECT_EQ(vector_of(c, e.block_col), (Indices{0, 1, 0, 1}));
        EXPECT_EQ(vector_of(c, e.value), (List<V>{1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0}));
        const HostCsr<V> uneven = csr_of<V>(3, 5, {{0, 4, V(1)}, {1, 0, V(2)}, {2, 2, V(3)}});
        const BlockedEll<V> padded = to_blocked_ell(c, view_of(to_device(c, uneven.view())), 2);
        EXPECT_EQ(padded.width, 2);
        EXPECT_EQ(vector_of(c, padded.block_col), (Indices{0, 2, 1, -1}));
        EXPECT_EQ(vector_of(c, padded.value), (List<V>{0, 0, 2, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}));
    });
}

TEST_P(ConvertOn, TransposedByHand)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        Buffer<offset_t> source;
        const Csr<V> t = transpose(c, view_of(to_device(c, by_hand<V>().view())), &source);
        EXPECT_TRUE(is_csr(c, t, 4, 3, {{0, 0, V(1)}, {1, 2, V(3)}, {2, 0, V(2)}, {3, 2, V(4)}}, true, true));
        EXPECT_EQ(vector_of(c, source), (Offsets{0, 2, 1, 3}));
    });
}

TEST_P(ConvertOn, EveryFormatHasTheEntriesOfTheBattery)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        for_battery<V>([&](const HostCsr<V>& host) {
            const Csr<V> a = to_device(c, host.view());
            expect_all_formats(c, a.view(), host.entries());
            EXPECT_TRUE(is_csr(c, to_csr(c, a.view()), host.rows, host.cols, host.entries(), host.sorted, host.unique));
            EXPECT_TRUE(unchanged(c, a, host));
        });
    });
}

TEST_P(ConvertOn, EveryFormatGoesToEveryOther)
{
    const Context c = ctx();
    for_battery<double>([&](const HostCsr<double>& host) {
        const Csr<double> a = to_device(c, host.view());
        const Entries<double> ordered = in_order(host.entries()), dense = without_zeros(summed(host.entries()));
        expect_everywhere(c, to_csc(c, a.view()), ordered, dense);
        expect_everywhere(c, to_coo(c, a.view()), ordered, dense);
        expect_everywhere(c, to_dense(c, a.view(), Layout::col_major), dense, dense);
        expect_everywhere(c, to_blocked_ell(c, a.view(), 3), dense, dense);
    });
}

TEST_P(ConvertOn, FlagsFollowTheMatrix)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        const HostCsr<V> tidy = by_hand<V>();
        const HostCsr<V> untidy = csr_of<V>(2, 3, {{0, 2, V(1)}, {0, 0, V(2)}, {0, 2, V(3)}, {1, 1, V(4)}});
        for (const HostCsr<V>* host : {&tidy, &untidy}) {
            const Csr<V> a = to_device(c, host->view());
            EXPECT_EQ(to_coo(c, a.view()).order, host->sorted ? CooOrder::by_row : CooOrder::none);
            EXPECT_EQ(to_coo(c, a.view()).unique, host->unique);
            EXPECT_TRUE(to_csc(c, a.view()).sorted);
            EXPECT_EQ(to_csc(c, a.view()).unique, host->unique);
            EXPECT_TRUE(is_csr(c, to_csr(c, view_of(to_coo(c, a.view()))), host->rows, host->cols,
                               in_order(host->entries()), true, host->unique));
            EXPECT_TRUE(is_csr(c, to_csr(c, view_of(to_csc(c, a.view()))), host->rows, host->cols,
                               in_order(host->entries()), true, host->unique));
            EXPECT_TRUE(is_csr(c, to_csr(c, view_of(to_dense(c, a.view()))), host->rows, host->cols,
                               summed(host->entries()), true, true));
            EXPECT_TRUE(is_csr(c, to_csr(c, view_of(to_blocked_ell(c, a.view(), 2))), host->rows, host->cols,
                               summed(host->entries()), true, true));
        }
    });
}

// Values count up with the position, so that a change of order among equal positions shows.
TEST_P(ConvertOn, CoordinatesInAnyOrderKeepDuplicatesInTheirOrder)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        for (const auto& [rows, cols, n] : {std::tuple{1, 1, 40},
                                            {40, 30, 500},
                                            {3, 900, 700},
                                            {900, 3, 700},
                                            {200, 200, 30},
                                            {1 << 17, max_index, 20}}) {
            Entries<V> entries;
            for (int k = 0; k < n; ++k)
                entries.emplace_back(static_cast<index_t>(below(hash_of(1, k), static_cast<std::uint64_t>(rows))),
                                     static_cast<index_t>(below(hash_of(2, k), static_cast<std::uint64_t>(cols))),
                                     static_cast<V>(k));
            const Entries<V> by_row = in_order(entries), by_col = swapped(in_order(swapped(entries)));
            EXPECT_TRUE(is_csr(c, to_csr(c, view_of(coo_of(c, rows, cols, entries, CooOrder::none, false))), rows, cols,
                               by_row, true, false));
            EXPECT_TRUE(is_csr(c, to_csr(c, view_of(coo_of(c, rows, cols, by_row, CooOrder::by_row, false))), rows,
                               cols, by_row, true, false));
            EXPECT_TRUE(is_csr(c, to_csr(c, view_of(coo_of(c, rows, cols, by_col, CooOrder::by_col, false))), rows,
                               cols, by_row, true, false));
        }
    });
}

TEST_P(ConvertOn, SourceTellsWhereEveryValueCameFrom)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        for_battery<V>([&](const HostCsr<V>& host) {
            const Csr<V> a = to_device(c, host.view());
            Buffer<offset_t> source;
            const Csr<V> t = transpose(c, a.view(), &source);
            EXPECT_TRUE(is_csr(c, t, host.cols, host.rows, in_order(swapped(host.entries())), true, host.unique));
            const Offsets from = vector_of(c, source);
            ASSERT_EQ(from.size(), host.value.size());
            const Entries<V> before = swapped(host.entries()), after = entries_of(c, t);
            std::vector<int> taken(from.size(), 0);
            for (std::size_t k = 0; k < from.size(); ++k) {
                EXPECT_EQ(after[k], before[static_cast<std::size_t>(from[k])]);
                ++taken[static_cast<std::size_t>(from[k])];
            }
            EXPECT_EQ(taken, std::vector<int>(from.size(), 1));
        });
    });
}

// A block of a GPU finds the rows of 2048 nonzeros; behind so many empty rows that their offsets do not fit its shared
// memory, each thread looks for its own.
TEST_P(ConvertOn, RowsOfNonzerosAroundTheBlocksThatFindThem)
{
    const Context c = ctx();
    for (const offset_t nonzeros : {2047, 2048, 2049, 4096, 4100})
        for (const index_t empty : {0, 1, 5000}) {
            Offsets begin{0};
            Indices row;
            while (std::ssize(row) < nonzeros) {
                const auto i = static_cast<index_t>(begin.size()) - 1;
                const bool gap = i >= 40 && i < 40 + empty;
                const offset_t length = gap ? 0 : std::min<offset_t>(i % 50, nonzeros - std::ssize(row));
                row.insert(row.end(), static_cast<std::size_t>(length), i);
                begin.push_back(std::ssize(row));
            }
            const Indices col(row.size(), 0);
            const List<double> value(row.size(), 1.0);
            const CsrView<double> a{.rows = static_cast<index_t>(begin.size()) - 1,
                                    .cols = 1,
                                    .nonzeros = nonzeros,
                                    .row_begin = begin.data(),
                                    .col = col.data(),
                                    .value = value.data(),
                                    .unique = false};
            EXPECT_EQ(vector_of(c, to_coo(c, view_of(to_device(c, a))).row), row) << nonzeros << ", " << empty;
        }
}

TEST_P(ConvertOn, TransposedTwiceIsSorted)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        for_battery<V>([&](const HostCsr<V>& host) {
            const Csr<V> twice = transpose(c, view_of(transpose(c, view_of(to_device(c, host.view())))));
            EXPECT_TRUE(is_csr(c, twice, host.rows, host.cols, in_order(host.entries()), true, host.unique));
        });
    });
}

// Blocks ascend, padding comes last, as narrow as can be, and zero wherever the matrix has nothing.
TEST_P(ConvertOn, BlockedEllKeepsItsInvariants)
{
    const Context c = ctx();
    for_battery<double>([&](const HostCsr<double>& host) {
        for (const index_t block : blocks) {
            const BlockedEll<double> e = to_blocked_ell(c, view_of(to_device(c, host.view())), block);
            const Indices col = vector_of(c, e.block_col);
            EXPECT_EQ(std::ssize(col), e.view().slots());
            EXPECT_EQ(e.value.size(), e.view().slots() * block * block);
            index_t widest = 0;
            for (index_t p = 0; p < e.view().block_rows(); ++p) {
                index_t used = 0;
                for (index_t s = 0; s < e.width; ++s) {
                    const index_t here = col[static_cast<std::size_t>(offset_t{p} * e.width + s)];
                    EXPECT_GE(here, -1);
                    EXPECT_LT(here, e.view().block_cols());
                    if (here < 0) continue;
                    EXPECT_EQ(used, s) << "padding before a block";
                    const index_t before = s == 0 ? -1 : col[static_cast<std::size_t>(offset_t{p} * e.width + s - 1)];
                    EXPECT_GT(here, before);
                    ++used;
                }
                widest = std::max(widest, used);
            }
            EXPECT_EQ(widest, e.width);
        }
    });
}

TEST_P(ConvertOn, BlocksInAnyOrderAndTwiceAreKept)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        // One block row of a 2 x 5 matrix: block columns 2 (ragged), 0, 0, padding.
        const Indices col{2, 0, 0, -1};
        const List<V> value{1, 0, 2, 0, 3, 4, 0, 0, 5, 0, 6, 7, 0, 0, 0, 0};
        const BlockedEll<V> e = to_device(c, BlockedEllView<V>{2, 5, 2, 4, col.data(), value.data()});
        const Entries<V> want{{0, 0, V(3)}, {0, 0, V(5)}, {0, 1, V(4)}, {0, 4, V(1)},
                              {1, 0, V(6)}, {1, 1, V(7)}, {1, 4, V(2)}};
        EXPECT_TRUE(is_csr(c, to_csr(c, e.view()), 2, 5, want, true, false));
        EXPECT_TRUE(same_entries(entries_of(c, to_dense(c, e.view())), summed(want)));
    });
}

// What lies between the lines of a dense matrix is not read: it holds NaN here.
TEST_P(ConvertOn, DenseMatricesWithPaddingInBothLayouts)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        for_battery<V>([&](const HostCsr<V>& host) {
            for (const Layout layout : layouts) {
                const bool by_row = layout == Layout::row_major;
                const offset_t leading = (by_row ? host.cols : host.rows) + 3, lines = by_row ? host.rows : host.cols;
                List<V> data(static_cast<std::size_t>(leading * lines), std::numeric_limits<V>::quiet_NaN());
                const DenseView<V> view{host.rows, host.cols, leading, layout, data.data()};
                for (index_t i = 0; i < host.rows; ++i)
                    for (index_t j = 0; j < host.cols; ++j) view(i, j) = V(0);
                for (const auto& [i, j, v] : host.entries()) view(i, j) += v;
                const Buffer<V> there = to_device(c, std::span<const V>(data));
                const DenseView<const V> a{host.rows, host.cols, leading, layout, there.data()};
                EXPECT_TRUE(
                    is_csr(c, to_csr(c, a), host.rows, host.cols, without_zeros(summed(host.entries())), true, true));
            }
        });
    });
}

TEST_P(ConvertOn, ZerosOfDenseMatricesAreDroppedAndNothingElse)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        constexpr V nan = std::numeric_limits<V>::quiet_NaN(), tiny = std::numeric_limits<V>::denorm_min(),
                    huge = std::numeric_limits<V>::infinity();
        const List<V> data{V(0), V(-0.0), nan, tiny, -huge, V(1)};
        const Buffer<V> there = to_device(c, std::span<const V>(data));
        const Entries<V> want{{0, 2, nan}, {1, 0, tiny}, {1, 1, -huge}, {1, 2, V(1)}};
        EXPECT_TRUE(
            is_csr(c, to_csr(c, DenseView<const V>{2, 3, 3, Layout::row_major, there.data()}), 2, 3, want, true, true));
        const HostCsr<V> zeros = csr_of<V>(2, 2, {{0, 1, V(0)}, {1, 0, V(-0.0)}});
        const Csr<V> a = to_device(c, zeros.view());
        EXPECT_TRUE(
            same_entries(entries_of(c, to_csr(c, view_of(to_csc(c, view_of(to_coo(c, a.view())))))), zeros.entries()));
    });
}

TEST_P(ConvertOn, WideRowsOfDenseMatricesKeepTheirOrder)
{
    const Context c = ctx();
    for_both([&]<class V>(V) {
        for (const index_t cols : {1, 31, 32, 33, 64, 1025}) {
            List<V> data(static_cast<std::size_t>(2 * cols));
            Entries<V> want;
            for (index_t i = 0; i < 2; ++i)
                for (index_t j = 0; j < cols; ++j)
                    if (below(hash_of(3, i, j), 3) != 0)
                        want.emplace_back(i, j, data[static_cast<std::size_t>(i * cols + j)] = static_cast<V>(1 + j));
            const Buffer<V> there = to_device(c, std::span<const V>(data));
            EXPECT_TRUE(is_csr(c, to_csr(c, DenseView<const V>{2, cols, cols, Layout::row_major, there.data()}), 2,
                               cols, want, true, true));
        }
    });
}

TEST_P(ConvertOn, WrongInputsAreRefused)
{
    const Context c = ctx();
    const auto refuse = [&](HostCsr<double> host, auto&& spoil) {
        spoil(host);
        const CsrView<double> claimed = host.view();
        const Csr<double> a = to_device(c, claimed);
        EXPECT_THROW((void)to_csr(c, a.view()), ValueError);
        EXPECT_THROW((void)to_csc(c, a.view()), ValueError);
        EXPECT_THROW((void)to_coo(c, a.view()), ValueError);
        EXPECT_THROW((void)to_dense(c, a.view()), ValueError);
        EXPECT_THROW((void)to_blocked_ell(c, a.view(), 2), ValueError);
        EXPECT_THROW((void)transpose(c, a.view()), ValueError);
        EXPECT_THROW((void)to_csr(c, transposed(a.view())), ValueError);
    };
    refuse(by_hand<double>(), [](auto& a) { a.col[2] = 4; });
    refuse(by_hand<double>(), [](auto& a) { a.col[0] = -1; });
    refuse(by_hand<double>(), [](auto& a) { a.row_begin[1] = 5; });
    refuse(by_hand<double>(), [](auto& a) { a.row_begin[0] = 1; });
    refuse(by_hand<double>(), [](auto& a) { a.row_begin[3] = 3; });
    refuse(by_hand<double>(), [](auto& a) { std::swap(a.col[0], a.col[1]); });
    refuse(by_hand<double>(), [](auto& a) { a.col[1] = a.col[0]; });
    const Coo<double> outside = coo_of<double>(c, 2, 2, {{0, 0, 1.0}, {2, 0, 1.0}}, CooOrder::none, true);
    EXPECT_THROW((void)to_csr(c, outside.view()), ValueError);
    const Coo<double> not_by_row = coo_of<double>(c, 3, 2, {{1, 0, 1.0}, {0, 0, 1.0}}, CooOrder::by_row, true);
    EXPECT_THROW((void)to_csr(c, not_by_row.view()), ValueError);
}

TEST_P(ConvertOn, ImpossibleShapesAreRefused)
{
    Context c = ctx();
    const Csr<double> a = to_device(c, by_hand<double>().view());
    EXPECT_THROW((void)to_blocked_ell(c, a.view(), 0), ValueError);
    EXPECT_THROW((void)to_blocked_ell(c, a.view(), -2), ValueError);
    EXPECT_THROW((void)to_blocked_ell(c, a.view(), max_index), ValueError);  // one block of 2^62 numbers
    const Buffer<double> data = to_device(c, std::span<const double>(std::vector<double>(12, 1.0)));
    EXPECT_THROW((void)to_csr(c, DenseView<const double>{3, 4, 3, Layout::row_major, data.data()}), ShapeError);
    EXPECT_THROW((void)to_csr(c, DenseView<const double>{3, 4, 2, Layout::col_major, data.data()}), ShapeError);
    EXPECT_THROW((void)to_csr(c, DenseView<const double>{-1, 4, 4, Layout::row_major, data.data()}), ShapeError);
    EXPECT_THROW((void)to_csr(c, DenseView<const double>{3, 4, 4, Layout::row_major, nullptr}), ValueError);
}

TEST_P(ConvertOn, ResultsThatDoNotFitAreOutOfMemory)
{
    if (simt::under_tsan) GTEST_SKIP() << "nothing is done here that could race";
    Context c = ctx();
    c.budget(1_GiB);  // sanitizers stop programs that ask the system for 2^54 bytes
    const Csr<double> huge = to_device(c, csr_of<double>(1 << 20, max_index, {{5, 5, 1.0}}).view());
    EXPECT_THROW((void)to_dense(c, huge.view()), OutOfMemory);  // 2^54 bytes
    const Csr<double> large = to_device(c, csr_of<double>(1000, 1000, {{5, 5, 1.0}}).view());
    const auto blocks_before = c.memory().live_blocks();
    c.budget(c.memory().live(c.backend() == Backend::cpu ? Space::host : Space::device) + 1_MiB);
    EXPECT_THROW((void)to_dense(c, large.view()), OutOfMemory);
    EXPECT_THROW((void)to_blocked_ell(c, large.view(), 500), OutOfMemory);
    EXPECT_EQ(c.memory().live_blocks(), blocks_before);
    EXPECT_TRUE(same_entries(entries_of(c, to_csr(c, large.view())), {{5, 5, 1.0}}));
}

TEST_P(ConvertOn, FailedAllocationsLeaveNothingBehind)
{
    const Context c = ctx();
    const HostCsr<double> host = shuffled_with_duplicates(random_matrix<double>(30, 20, 0.2, Values::integers, 5), 7);
    const Csr<double> a = to_device(c, host.view());
    const Csc<double> csc = to_csc(c, a.view());
    const Coo<double> coo = to_coo(c, a.view());
    const BlockedEll<double> ell = to_blocked_ell(c, a.view(), 3);
    const Dense<double> dense = to_dense(c, a.view(), Layout::col_major);
    expect_clean_failures(c, [&] { (void)to_csr(c, a.view()); });
    expect_clean_failures(c, [&] { (void)to_csr(c, csc.view()); });
    expect_clean_failures(c, [&] { (void)to_csr(c, coo.view()); });
    expect_clean_failures(c, [&] { (void)to_csr(c, ell.view()); });
    expect_clean_failures(c, [&] { (void)to_csr(c, dense.view()); });
    expect_clean_failures(c, [&] { (void)to_csc(c, a.view()); });
    expect_clean_failures(c, [&] { (void)to_coo(c, a.view()); });
    expect_clean_failures(c, [&] { (void)to_blocked_ell(c, a.view(), 3); });
    expect_clean_failures(c, [&] { (void)to_dense(c, a.view()); });
    Buffer<offset_t> source;
    try {
        c.memory().fail_at(2);
        (void)transpose(c, a.view(), &source);
        FAIL() << "nothing failed";
    } catch (const OutOfMemory&) {
        EXPECT_EQ(source.size(), 0);
    }
    c.memory().fail_at(-1);
    EXPECT_TRUE(unchanged(c, a, host));
}

// Large enough that every thread has a piece.
TEST(Convert, SameBitsForAnyNumberOfThreads)
{
    constexpr index_t rows = 5000,
                      cols = build::simulated ? 150
                                              : 500;  // as dense matrices: little work for threads, much for the oracle
    constexpr int count = build::simulated ? 40000 : 120000;  // more than two pieces of the smallest size, or seven
    Entries<double> entries;
    for (int k = 0; k < count; ++k)
        entries.emplace_back(static_cast<index_t>(below(hash_of(1, k), rows)),
                             static_cast<index_t>(below(hash_of(2, k), cols)), unit(hash_of(3, k)));
    const HostCsr<double> host = csr_of<double>(rows, cols, entries);
    const Entries<double> sorted = in_order(entries), turned = in_order(swapped(host.entries())),
                          sums = summed(host.entries());
    for (const int threads :
         build::simulated ? std::vector{4} : std::vector{1, 2, 4, 7}) {  // no GPU here: elsewhere is time for all
        SCOPED_TRACE(threads);
        const Context c = Context::cpu(threads);
        const Csr<double> a = to_device(c, host.view());
        EXPECT_TRUE(is_csr(c, to_csr(c, view_of(coo_of(c, rows, cols, entries, CooOrder::none, false))), rows, cols,
                           sorted, true, false));
        EXPECT_TRUE(is_csr(c, transpose(c, a.view()), cols, rows, turned, true, false));
        EXPECT_TRUE(same_entries(in_order(entries_of(c, to_blocked_ell(c, a.view(), 16))), sums));
        EXPECT_TRUE(same_entries(entries_of(c, to_dense(c, a.view(), Layout::col_major)), sums));
        EXPECT_TRUE(same_entries(entries_of(c, to_csr(c, view_of(to_dense(c, a.view(), Layout::col_major)))), sums));
        EXPECT_TRUE(same_entries(entries_of(c, to_csr(c, view_of(to_csc(c, a.view())))), sorted));
    }
}

}  // namespace
}  // namespace tulle::test
