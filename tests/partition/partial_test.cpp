// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Partial formats: every line has one owner, every nonzero one part, the parts multiply like the whole and become it
// again bit for bit.
#include "tulle/partition.hpp"

#include <gtest/gtest.h>

#include "partition/cutting.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/faults.hpp"
#include "tulle/convert.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

using namespace tulle::test;

class PartialOn : public OnBackend {};

template <class T>
std::vector<T> host_vector(const Context& ctx, const T* data, offset_t n)
{
    const auto here = to_host<T>(ctx, std::span<const T>(data, static_cast<std::size_t>(n)));
    return {here.span().begin(), here.span().end()};
}

// More parts than rows, than nonzeros, and just as many.
std::vector<int> part_counts(offset_t nonzeros)
{
    std::vector<int> counts{1, 2, 3, 7, 8, 64};
    if (nonzeros > 0 && nonzeros < 200)
        counts.insert(counts.end(), {static_cast<int>(nonzeros), static_cast<int>(nonzeros) + 1});
    return counts;
}

template <class Partial>
void expect_every_line_owned_once(const std::vector<Partial>& parts, index_t lines, offset_t nonzeros)
{
    index_t line = 0;
    offset_t at = 0;
    for (const auto& p : parts) {
        EXPECT_EQ(p.part.begin, at);
        EXPECT_EQ(p.part.first_owned(), line);
        EXPECT_GE(p.part.owned(), 0);
        at = p.part.end;
        line = p.part.last_line;
    }
    EXPECT_EQ(at, nonzeros);
    EXPECT_EQ(line, lines);
}

// The local pointer of a part, entry by entry, from the pointer of the whole.
void expect_pointer(const std::vector<offset_t>& local, const std::vector<offset_t>& whole, const Part& part)
{
    ASSERT_EQ(std::ssize(local), part.lines() + 1);
    for (index_t j = 0; j <= part.lines(); ++j)
        EXPECT_EQ(local[static_cast<std::size_t>(j)],
                  std::clamp(whole[static_cast<std::size_t>(part.first_line + j)], part.begin, part.end) - part.begin)
            << "line " << j;
    EXPECT_EQ(local.back(), part.nonzeros());
    EXPECT_EQ(local.front(), 0);
}

TEST_P(PartialOn, CutsCsrAndMergesItBitForBit)
{
    const auto c = ctx();
    for (const auto& [name, a] : battery<double>(Values::reals)) {
        const auto there = to_device(c, a.view());
        for (const int n : part_counts(there.nonzeros()))
            for (const Rule rule : {Rule::exact, Rule::whole, Rule::tolerant}) {
                if (!is_drawn(name + std::to_string(n), 3)) continue;
                SCOPED_TRACE(concat(name, ", ", n, " parts, ", to_text(rule)));
                const auto parts = partition(c, there.view(), n, {.rule = rule});
                ASSERT_EQ(std::ssize(parts.part), n);
                expect_every_line_owned_once(parts.part, a.rows, there.nonzeros());
                for (const auto& p : parts.part) {
                    expect_pointer(host_vector(c, p.row_begin, offset_t{p.part.lines()} + 1), a.row_begin, p.part);
                    EXPECT_EQ(p.col, there.col.data() + p.part.begin);  // views, not copies
                    EXPECT_EQ(p.value, there.value.data() + p.part.begin);
                    EXPECT_EQ(p.part.head, p.part.nonzeros() > 0 &&
                                               a.row_begin[static_cast<std::size_t>(p.part.first_line)] < p.part.begin);
                }
                const auto again = host_of(c, merge<double>(c, parts.part));
                EXPECT_EQ(again.row_begin, a.row_begin);
                EXPECT_EQ(again.col, a.col);
                EXPECT_TRUE(same_bits(again.value, a.value));
                EXPECT_EQ(again.sorted, a.sorted);
                EXPECT_EQ(again.unique, a.unique);
            }
    }
}

TEST_P(PartialOn, CutsCscAndMergesItBitForBit)
{
    const auto c = ctx();
    for (const auto& [name, a] : battery<float>(Values::reals)) {
        const auto there = to_csc(c, view_of(to_device(c, a.view())));
        const auto col_begin = host_vector(c, there.col_begin.data(), there.col_begin.size());
        for (const int n : {1, 3, 8}) {
            SCOPED_TRACE(concat(name, ", ", n, " parts"));
            const auto parts = partition(c, there.view(), n, {.rule = Rule::exact});
            expect_every_line_owned_once(parts.part, a.cols, there.nonzeros());
            for (const auto& p : parts.part)
                expect_pointer(host_vector(c, p.col_begin, offset_t{p.part.lines()} + 1), col_begin, p.part);
            for (const auto& p : parts.part) EXPECT_EQ(p.view().rows, a.rows);
            const auto again = merge<float>(c, parts.part);
            EXPECT_EQ(host_vector(c, again.col_begin.data(), again.col_begin.size()), col_begin);
            EXPECT_EQ(host_vector(c, again.row.data(), again.row.size()),
                      host_vector(c, there.row.data(), there.row.size()));
            EXPECT_EQ(host_vector(c, again.value.data(), again.value.size()),
                      host_vector(c, there.value.data(), there.value.size()));
        }
    }
}

TEST_P(PartialOn, CutsCoordinatesInEveryOrder)
{
    const auto c = ctx();
    for (const auto& [name, a] : battery<double>(Values::integers)) {
        if (!a.sorted) continue;
        const auto there = to_device(c, a.view());
        const auto by_row = to_coo(c, there.view());
        const auto flipped = transposed(by_row.view());
        for (const CooView<double>& coo : {by_row.view(), flipped,
                                           CooView<double>{a.rows, a.cols, flipped.nonzeros, by_row.row.data(),
                                                           by_row.col.data(), by_row.value.data()}})
            for (const int n : {1, 3, 8}) {
                SCOPED_TRACE(concat(name, ", ", n, " parts, order ", static_cast<int>(coo.order)));
                const auto parts = partition(c, coo, n, {.rule = Rule::exact});
                if (coo.order != CooOrder::none) {
                    expect_every_line_owned_once(parts.part, coo.order == CooOrder::by_row ? coo.rows : coo.cols,
                                                 coo.nonzeros);
                    const auto csr =
                        partition(c, there.view(), n, {.rule = Rule::exact});  // the same lines, the same cuts
                    for (std::size_t p = 0; p < csr.part.size(); ++p) EXPECT_EQ(parts.part[p].part, csr.part[p].part);
                }
                const auto again = merge<double>(c, parts.part);
                EXPECT_EQ(again.order, coo.order);
                EXPECT_EQ(host_vector(c, again.row.data(), again.row.size()), host_vector(c, coo.row, coo.nonzeros));
                EXPECT_EQ(host_vector(c, again.col.data(), again.col.size()), host_vector(c, coo.col, coo.nonzeros));
                EXPECT_EQ(host_vector(c, again.value.data(), again.value.size()),
                          host_vector(c, coo.value, coo.nonzeros));
            }
    }
}

// The pointer of a row-sorted pCOO, found from its row numbers, is the one its pCSR has.
TEST_P(PartialOn, FindsPointersOfCoordinates)
{
    const auto c = ctx();
    const auto a = matrix_where<double>(70, 90, Values::integers, 4, [](index_t i, index_t j) {
        return i == 20 || (i % 3 != 0 && (i + j) % 17 == 0);
    });
    const auto coo = to_coo(c, view_of(to_device(c, a.view())));
    for (const auto& p : partition(c, coo.view(), 7, {.rule = Rule::exact}).part)
        c.run([&](const auto& q) {
            Buffer<offset_t> local(q, offset_t{p.part.lines()} + 1);
            find_pointer(q, p.row, p.part, local.data());
            expect_pointer(host_vector(c, local.data(), local.size()), a.row_begin, p.part);
        });
}

// Rows by their number, by the products of A A, and by weights of one's own.
TEST_P(PartialOn, CutsByWhateverIsCounted)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(60, 60, 0.1, Values::integers, 3);
    const auto there = to_device(c, a.view());
    std::vector<offset_t> products{0};
    for (index_t i = 0; i < a.rows; ++i) {
        offset_t sum = 0;
        for (offset_t k = a.row_begin[static_cast<std::size_t>(i)]; k < a.row_begin[static_cast<std::size_t>(i) + 1];
             ++k) {
            const auto j = static_cast<std::size_t>(a.col[static_cast<std::size_t>(k)]);
            sum += a.row_begin[j + 1] - a.row_begin[j];
        }
        products.push_back(products.back() + sum);
    }
    const auto prefix = to_device<offset_t>(c, std::span<const offset_t>(products));
    for (const auto& cuts : {split_evenly(a.rows, 4), split(c, prefix.data(), a.rows, 4)}) {
        const auto at = map_cuts(c, std::span<const Cut>(cuts), there.row_begin.data());
        const auto parts = partition(c, there.view(), at);
        expect_every_line_owned_once(parts.part, a.rows, there.nonzeros());
        for (std::size_t p = 0; p < 4; ++p) EXPECT_EQ(parts.part[p].part.last_line, cuts[p + 1].item);
        EXPECT_EQ(host_of(c, merge<double>(c, parts.part)).col, a.col);
    }
    const std::vector<Cut> short_cuts{{0, 0, false}, {3, 1, false}};
    EXPECT_THROW(partition(c, there.view(), short_cuts), ShapeError);
}

TEST_P(PartialOn, MergesOnlyAllPartsInOrder)
{
    const auto c = ctx();
    const auto there = to_device(c, random_matrix<double>(30, 30, 0.2, Values::integers, 3).view());
    auto parts = partition(c, there.view(), 3);
    std::vector<PartialCsr<double>> some(parts.part.begin(), parts.part.begin() + 2);
    EXPECT_THROW(merge<double>(c, some), ValueError);
    EXPECT_THROW(merge<double>(c, std::span<const PartialCsr<double>>{}), ValueError);
    std::swap(parts.part[0], parts.part[1]);
    EXPECT_THROW(merge<double>(c, parts.part), ValueError);
}

TEST_P(PartialOn, SurvivesFailedAllocations)
{
    const auto c = ctx();
    const auto there = to_device(c, random_matrix<double>(30, 30, 0.2, Values::integers, 3).view());
    expect_clean_failures(c, [&] { merge<double>(c, partition(c, there.view(), 3).part); });
}

TULLE_ON_BACKENDS(PartialOn);

// The example by hand: rows of 3, 0, 4, 1 nonzeros in three parts of 2, 3 and 3: the first row and the third go on in
// the next part.
// Several cuts at one place inside a row: the parts between them are empty and begin behind that row.
TEST(Partial, AnEmptyPartInsideARowHasNoHead)
{
    const std::vector<Cut> cuts{{.at = 0},
                                {.at = 3, .item = 1, .inside = true},
                                {.at = 3, .item = 1, .inside = true},
                                {.at = 6, .item = 1}};
    const std::vector<Part> parts = parts_of(cuts);
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_FALSE(parts[0].head);
    EXPECT_FALSE(parts[1].head);
    EXPECT_EQ(parts[1].nonzeros(), 0);
    EXPECT_EQ(parts[1].first_line, 1);
    EXPECT_TRUE(parts[2].head);
    EXPECT_EQ(parts[2].first_line, 0);
}

TEST(Partial, CutsAsThePaperSays)
{
    const std::vector<offset_t> row_begin{0, 3, 3, 7, 8};
    const std::vector<index_t> col{0, 1, 2, 0, 1, 2, 3, 3};
    const std::vector<float> value(8, 1.0f);
    const auto parts = partition(Context::cpu(1), CsrView<float>{4, 4, 8, row_begin.data(), col.data(), value.data()},
                                 3, {.rule = Rule::exact});
    EXPECT_EQ(parts.part[0].part, (Part{0, 2, 0, 1, false}));
    EXPECT_EQ(parts.part[1].part, (Part{2, 5, 0, 3, true}));
    EXPECT_EQ(parts.part[2].part, (Part{5, 8, 2, 4, true}));
    const auto pointer = [&](std::size_t p) {
        return std::vector<offset_t>(parts.part[p].row_begin, parts.part[p].row_begin + parts.part[p].part.lines() + 1);
    };
    EXPECT_EQ(pointer(0), (std::vector<offset_t>{0, 2}));
    EXPECT_EQ(pointer(1), (std::vector<offset_t>{0, 1, 1, 3}));
    EXPECT_EQ(pointer(2), (std::vector<offset_t>{0, 2, 3}));
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::partition
