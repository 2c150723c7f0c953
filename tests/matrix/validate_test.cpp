// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/validate.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "support/backends.hpp"
#include "support/battery.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// A matrix of arrays as they are, sound or not; values are 1, 2, 3, …
test::HostCsr<double> csr(index_t rows, index_t cols, std::vector<offset_t> row_begin, std::vector<index_t> col,
                          bool sorted = true, bool unique = true)
{
    std::vector<double> value(col.size());
    for (std::size_t k = 0; k < value.size(); ++k) value[k] = static_cast<double>(k + 1);
    return {rows, cols, std::move(row_begin), std::move(col), std::move(value), sorted, unique};
}

template <class V>
Findings findings(const Context& ctx, const test::HostCsr<V>& a)
{
    return validate(ctx, test::view_of(to_device(ctx, a.view())));
}

class ValidateOn : public test::OnBackend {
protected:
    void expect(const test::HostCsr<double>& a, index_t row, const std::string& sentence)
    {
        const Findings found = findings(ctx(), a);
        EXPECT_EQ(found.problem, row < 0 ? sentence : sentence + " (rows and columns count from 0)");
        EXPECT_EQ(found.row, row) << sentence;
        EXPECT_EQ(found.ok(), sentence.empty());
    }
};

TEST_P(ValidateOn, TheBatteryIsSound)
{
    const Context where = ctx();
    for (const auto& [name, a] : test::battery<float>(test::Values::reals)) {
        SCOPED_TRACE(name);
        const Findings found = findings(where, a);
        EXPECT_EQ(found.problem, "");
        EXPECT_EQ(found.row, -1);
        EXPECT_EQ(found.unique, a.unique);
        EXPECT_EQ(found.not_finite, 0);
        EXPECT_TRUE(found.sorted == a.sorted || !a.unique);
    }
}

TEST_P(ValidateOn, Offsets)
{
    expect(csr(2, 3, {1, 1, 2}, {0, 1}), 0, "row_begin starts at 1, not at 0");
    expect(csr(2, 3, {-4, 1, 2}, {0, 1}), 0, "row_begin starts at -4, not at 0");
    expect(csr(0, 3, {5}, {}), -1, "row_begin starts at 5, not at 0");
    expect(csr(6, 9, {0, 1, 1, 2, 12, 9, 12}, std::vector<index_t>(12, 0), false, false), 4,
           "row_begin falls from 12 to 9 at row 4");
    expect(csr(3, 3, {0, 1, 4, 2}, {0, 1}), 1, "row_begin reaches 4 at row 1, but there are 2 nonzeros");
    expect(csr(2, 3, {0, max_offset, 2}, {0, 1}), 0,
           concat("row_begin reaches ", max_offset, " at row 0, but there are 2 nonzeros"));
    expect(csr(2, 3, {0, std::numeric_limits<offset_t>::min(), 2}, {0, 1}), 0,
           concat("row_begin falls from 0 to ", std::numeric_limits<offset_t>::min(), " at row 0"));
    expect(csr(2, 3, {0, 1, 1}, {0, 1}), -1, "row_begin ends at 1, but there are 2 nonzeros");
    expect(csr(0, 0, {0}, {1}), -1, "row_begin ends at 0, but there is 1 nonzero");
}

TEST_P(ValidateOn, Columns)
{
    expect(csr(3, 50, {0, 2, 2, 4}, {0, 7, 51, 2}, false), 2, "row 2: column 51 at position 2 is outside 0 … 49");
    expect(csr(3, 50, {0, 2, 2, 4}, {0, 50, 51, -2}, false), 0, "row 0: column 50 at position 1 is outside 0 … 49");
    expect(csr(1, 50, {0, 1}, {-1}), 0, "row 0: column -1 at position 0 is outside 0 … 49");
    expect(csr(2, 0, {0, 0, 1}, {0}), 1, "row 1: column 0 at position 0 in a matrix without columns");
    expect(csr(1, 50, {0, 1}, {max_index}), 0, concat("row 0: column ", max_index, " at position 0 is outside 0 … 49"));
}

TEST_P(ValidateOn, OrderAsTheViewClaims)
{
    const std::vector<offset_t> begin{0, 4, 4, 4, 8};
    expect(csr(4, 20, begin, {1, 2, 3, 4, 0, 9, 7, 8}), 3,
           "row 3: columns 9, 7 at positions 5, 6 are not ascending, but the view says sorted");
    expect(csr(4, 20, begin, {1, 2, 3, 4, 0, 9, 9, 10}), 3,
           "row 3: column 9 stands at positions 5 and 6, but the view says unique");
    expect(csr(4, 20, begin, {4, 3, 2, 1, 9, 0, 9, 10}, false), 3,
           "row 3: column 9 stands at positions 4 and 6, but the view says unique");
    expect(csr(4, 20, begin, {4, 3, 2, 1, 9, 0, 9, 10}, false, false), -1, "");
    expect(csr(4, 20, begin, {1, 2, 3, 4, 0, 9, 9, 10}, true, false), -1, "");
    expect(csr(3, 20, {0, 4, 4, 8}, {1, 2, 3, 4, 0, 9, 7, 8}), 2,  // as many empty rows as descents inside of rows
           "row 2: columns 9, 7 at positions 5, 6 are not ascending, but the view says sorted");
    expect(csr(4, 20, begin, {1, 2, 3, 4, 1, 2, 3, 4}), -1, "");  // falls between rows, over empty ones
    expect(csr(4, 20, begin, {1, 2, 3, 4, 4, 5, 6, 7}), -1, "");  // the same column where a row starts is no repeat
}

TEST_P(ValidateOn, OrderAsFound)
{
    const auto order = [&](std::vector<index_t> col, bool claim) {
        const Findings found = findings(ctx(), csr(2, 9, {0, 3, 6}, std::move(col), claim, claim));
        return std::pair{found.sorted, found.unique};
    };
    for (const bool claim : {true, false}) {
        EXPECT_EQ(order({1, 2, 3, 1, 2, 3}, claim), std::pair(true, true));
        EXPECT_EQ(order({1, 2, 3, 1, 1, 3}, claim), std::pair(true, false));
        EXPECT_EQ(order({3, 2, 1, 1, 2, 3}, claim), std::pair(false, true));
        EXPECT_EQ(order({1, 2, 1, 1, 2, 3}, claim), std::pair(false, false));
    }
}

TEST_P(ValidateOn, CountsWhatIsNotFinite)
{
    auto a = csr(2, 3, {0, 2, 4}, {0, 1, 0, 2});
    a.value = {nan, 1e308, infinity, -infinity};
    const Findings found = findings(ctx(), a);
    EXPECT_TRUE(found.ok());
    EXPECT_EQ(found.not_finite, 3);
}

TEST_P(ValidateOn, SizesAndPointers)
{
    const auto sentence = [&](const auto& view) { return validate(ctx(), view).problem; };
    EXPECT_EQ(sentence(CsrView<double>{.rows = -1}), "a matrix cannot have -1 rows");
    EXPECT_EQ(sentence(CsrView<double>{.cols = -2}), "a matrix cannot have -2 columns");
    EXPECT_EQ(sentence(CsrView<float>{.nonzeros = -3}), "a matrix cannot have -3 nonzeros");
    EXPECT_EQ(sentence(CsrView<float>{}), "row_begin is null, but must have 1 entry");
    EXPECT_EQ(sentence(CscView<float>{.cols = 6}), "col_begin is null, but must have 7 entries");
    EXPECT_EQ(sentence(CscView<float>{.cols = -6}), "a matrix cannot have -6 columns");
    EXPECT_EQ(sentence(CooView<float>{.rows = 1, .cols = 1, .nonzeros = 2}), "row is null, but must have 2 entries");
    EXPECT_EQ(sentence(CooView<float>{}), "");
    EXPECT_EQ(sentence(BlockedEllView<double>{.rows = 5, .cols = 5, .block = 0}), "blocks of 0 x 0 entries cannot be");
    EXPECT_EQ(sentence(BlockedEllView<double>{.rows = 5, .cols = 5, .block = 2, .width = 1}),
              "block_col is null, but must have 3 entries");
    EXPECT_EQ(sentence(BlockedEllView<double>{.rows = 5, .cols = 5, .block = 2, .width = -1}),
              "a matrix cannot have -1 blocks in a block row");

    const Context where = ctx();
    const auto begin = to_device(where, std::span<const offset_t>(std::vector<offset_t>{0, 2}));
    EXPECT_EQ(validate(where, CsrView<double>{.rows = 1, .cols = 4, .nonzeros = 2, .row_begin = begin.data()}).problem,
              "col is null, but must have 2 entries");
}

// Arrays are there or not; what stands in them is not looked at.
TEST_P(ValidateOn, ArraysAlone)
{
    const Context where = ctx();
    const auto there = to_device(where, csr(2, 3, {0, 9, 2}, {7, -1}).view());
    CsrView<double> view = there.view();
    EXPECT_NO_THROW(check_arrays(where, view));
    EXPECT_THROW(check(where, view), ValueError);
    view.col = nullptr;
    EXPECT_THROW(check_arrays(where, view), ValueError);
    view = there.view();
    view.rows = -1;
    EXPECT_THROW(check_arrays(where, view), ValueError);
}

TEST_P(ValidateOn, ArraysOfTheWrongMemory)
{
    const Context where = ctx();
    if (where.backend() == Backend::cpu) GTEST_SKIP() << "the CPU reads what the host reads";
    const auto a = csr(1, 1, {0, 1}, {0});
    EXPECT_EQ(validate(where, a.view()).problem, "row_begin is not in the memory of GPU 0");
}

TEST_P(ValidateOn, CompressedColumns)
{
    const Context where = ctx();
    const auto sentence = [&](const test::HostCsr<double>& transposed_matrix) {
        const Findings found = validate(where, test::view_of(to_device(where, transposed(transposed_matrix.view()))));
        return std::pair{found.row, found.problem};
    };
    EXPECT_EQ(sentence(csr(3, 50, {0, 2, 2, 4}, {0, 7, 2, 51})),
              std::pair(2, std::string(
                               "column 2: row 51 at position 3 is outside 0 … 49 (rows and columns count from 0)")));
    EXPECT_EQ(
        sentence(csr(2, 3, {0, 2, 1}, {0})),
        std::pair(0, std::string(
                         "col_begin reaches 2 at column 0, but there is 1 nonzero (rows and columns count from 0)")));
    EXPECT_EQ(sentence(csr(2, 9, {0, 2, 4}, {0, 1, 5, 3})),
              std::pair(1, std::string("column 1: rows 5, 3 at positions 2, 3 are not ascending, but the view says "
                                       "sorted (rows and columns count from 0)")));
    EXPECT_EQ(sentence(csr(2, 3, {0, 1, 2}, {0, 2})), std::pair(-1, std::string()));
}

TEST_P(ValidateOn, Coordinates)
{
    const Context where = ctx();
    using Triple = std::tuple<index_t, index_t, double>;
    const auto look = [&](const std::vector<Triple>& entries, CooOrder order, bool unique) {
        std::vector<index_t> row, col;
        std::vector<double> value;
        for (const auto& [i, j, v] : entries) row.push_back(i), col.push_back(j), value.push_back(v);
        const CooView<double> a{4, 5, std::ssize(entries), row.data(), col.data(), value.data(), order, unique};
        return validate(where, test::view_of(to_device(where, a)));
    };
    EXPECT_EQ(look({{0, 1, 1}, {4, 9, 1}}, CooOrder::none, false).problem,
              "entry 1: row 4 is outside 0 … 3 (rows and columns count from 0)");
    EXPECT_EQ(look({{0, -1, 1}, {9, 1, 1}}, CooOrder::none, false).problem,
              "entry 0: column -1 is outside 0 … 4 (rows and columns count from 0)");
    EXPECT_EQ(look({{3, 1, 1}, {2, 4, 1}}, CooOrder::by_row, false).problem,
              "entry 1: (2, 4) comes after (3, 1), but the view says by_row (rows and columns count from 0)");
    EXPECT_EQ(look({{3, 1, 1}, {2, 4, 1}}, CooOrder::by_row, false).row, 2);
    EXPECT_EQ(look({{3, 1, 1}, {2, 4, 1}}, CooOrder::by_col, true).problem, "");
    EXPECT_EQ(look({{1, 4, 1}, {2, 1, 1}}, CooOrder::by_col, true).problem,
              "entry 1: (2, 1) comes after (1, 4), but the view says by_col (rows and columns count from 0)");
    EXPECT_EQ(look({{1, 4, 1}, {2, 1, 1}, {1, 4, 7}}, CooOrder::none, true).problem,
              "entries 0 and 2 both stand at (1, 4), but the view says unique (rows and columns count from 0)");
    const Findings found = look({{1, 4, 1}, {2, 1, nan}, {1, 4, 7}}, CooOrder::none, false);
    EXPECT_TRUE(found.ok() && !found.sorted && !found.unique && found.not_finite == 1);
    EXPECT_TRUE(look({{1, 1, 1}, {1, 2, 1}, {2, 0, 7}}, CooOrder::none, false).sorted);
}

TEST_P(ValidateOn, BlockedEll)
{
    const Context where = ctx();
    // 3 x 5 in blocks of 2: two block rows, three block columns; the last row and column of blocks reach beyond the
    // matrix.
    const auto look = [&](const std::vector<index_t>& block_col, std::vector<double> value) {
        value.resize(block_col.size() * 4, 0.0);
        return validate(where, test::view_of(to_device(where, BlockedEllView<double>{3, 5, 2, 2, block_col.data(),
                                                                                     value.data()})));
    };
    EXPECT_EQ(look({0, 2, 1, -1}, {}).problem, "");
    EXPECT_EQ(look({0, 3, 1, -1}, {}).problem,
              "block row 0: slot 1 has block column 3, outside -1 … 2 (rows and columns count from 0)");
    EXPECT_EQ(look({0, 2, -2, -1}, {}).problem,
              "block row 1: slot 0 has block column -2, outside -1 … 2 (rows and columns count from 0)");
    EXPECT_EQ(look({0, 2, -1, 1}, {}).problem,
              "block row 1: slot 1 has block column 1 behind padding (rows and columns count from 0)");
    EXPECT_EQ(look({0, 2, -1, 1}, {}).row, 2);
    EXPECT_EQ(look({0, 2, 1, -1}, {1, 2, 3, 4, 5, 6, 0, 0}).problem,
              "block row 0: the value at position 5 stands at (0, 5), outside the matrix, and is not zero (rows and "
              "columns count from 0)");
    EXPECT_EQ(look({0, 1, 1, -1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 0, 9}).problem,
              "block row 1: the value at position 11 stands at (3, 3), outside the matrix, and is not zero (rows and "
              "columns count from 0)");
    EXPECT_EQ(look({0, 1, 1, -1}, {1, nan, 3, 4, 5, 6, 7, 8, 9, 9, 0, 0, nan, nan}).not_finite, 1)
        << "padding has no values";
    EXPECT_FALSE(look({1, 0, 1, -1}, {}).sorted);
    EXPECT_TRUE(look({1, 0, 1, -1}, {}).unique);
    EXPECT_FALSE(look({1, 1, 1, -1}, {}).unique);
    EXPECT_TRUE(look({1, 1, -1, -1}, {}).sorted);
}

TEST_P(ValidateOn, CheckThrowsTheSentence)
{
    const Context where = ctx();
    const auto a = to_device(where, csr(1, 50, {0, 1}, {50}).view());
    EXPECT_NO_THROW(check(where, test::view_of(to_device(where, csr(1, 50, {0, 1}, {49}).view()))));
    try {
        check(where, a.view());
        FAIL();
    } catch (const ValueError& error) {
        EXPECT_EQ(error.message(), "row 0: column 50 at position 0 is outside 0 … 49 (rows and columns count from 0)");
    }
}

// The same verdict as a slow reader of single numbers, on arrays that are garbage more or less often.
struct Verdict {
    bool sound = true, sorted = true, unique = true;
    index_t row = -1;
    bool operator==(const Verdict&) const = default;
};

Verdict plain_verdict(const test::HostCsr<double>& a)
{
    const auto begin = [&](index_t i) { return a.row_begin[static_cast<std::size_t>(i)]; };
    const auto col = [&](offset_t k) { return a.col[static_cast<std::size_t>(k)]; };
    const offset_t n = std::ssize(a.col);
    if (begin(0) != 0) return {.sound = false, .row = a.rows > 0 ? 0 : -1};
    for (index_t i = 0; i < a.rows; ++i)
        if (begin(i + 1) < begin(i) || begin(i + 1) > n) return {.sound = false, .row = i};
    if (begin(a.rows) != n) return {.sound = false};
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = begin(i); k < begin(i + 1); ++k)
            if (col(k) < 0 || col(k) >= a.cols) return {.sound = false, .row = i};
    Verdict all;
    for (index_t i = 0; i < a.rows; ++i) {
        std::set<index_t> seen;
        for (offset_t k = begin(i); k < begin(i + 1); ++k) {
            if (k > begin(i) && col(k) < col(k - 1)) all.sorted = false;
            if (!seen.insert(col(k)).second) all.unique = false;
        }
    }
    return all;
}

test::HostCsr<double> garbage(std::mt19937_64& random)
{
    const auto below = [&](std::uint64_t n) { return static_cast<index_t>(random() % n); };
    const index_t rows = below(60), cols = 1 + below(40);
    std::vector<offset_t> begin{0};
    for (index_t i = 0; i < rows; ++i) begin.push_back(begin.back() + below(8));
    std::vector<index_t> col;
    for (offset_t k = 0; k < begin.back(); ++k) col.push_back(below(static_cast<std::uint64_t>(cols)));
    const int kind = below(4);
    if (kind == 1) begin[random() % begin.size()] += below(9) - 4;
    if (kind == 2 && !col.empty()) col[random() % col.size()] = static_cast<index_t>(random());
    if (kind == 3)
        for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
            std::sort(col.begin() + begin[i], col.begin() + begin[i + 1]);
    return csr(rows, cols, begin, col, false, false);
}

TEST_P(ValidateOn, AgreesWithAPlainReaderOnGarbage)
{
    const Context where = ctx();
    std::mt19937_64 random(21);
    int unsound = 0, repeated = 0;
    for (int round = 0; round < 300; ++round) {
        const auto a = garbage(random);
        const Verdict expected = plain_verdict(a);
        const Findings found = findings(where, a);
        const Verdict verdict{found.ok(), found.sorted, found.unique, found.row};
        EXPECT_TRUE(verdict == expected) << "round " << round << ": " << found.problem;
        unsound += !expected.sound;
        repeated += !expected.unique;
    }
    EXPECT_GT(unsound, 50);
    EXPECT_GT(repeated, 50);
}

TEST_P(ValidateOn, TheFirstOfManyProblems)
{
    std::vector<offset_t> begin;
    for (offset_t i = 0; i <= 1000; ++i) begin.push_back(3 * i);
    auto a = csr(1000, 10, begin, std::vector<index_t>(3000, 3), false, false);
    for (std::size_t k = 1501; k < a.col.size(); ++k) a.col[k] = 10;
    expect(a, 500, "row 500: column 10 at position 1501 is outside 0 … 9");
    for (std::size_t i = 701; i < 1000; ++i) a.row_begin[i] = 3;
    expect(a, 700, "row_begin falls from 2100 to 3 at row 700");
}

TULLE_ON_BACKENDS(ValidateOn);

TEST(Validate, TheFirstProblemForAnyNumberOfThreads)
{
    std::vector<offset_t> begin;
    for (offset_t i = 0; i <= 50000; ++i) begin.push_back(2 * i);
    auto a = csr(50000, 10, begin, std::vector<index_t>(100000, 3), false, false);
    for (std::size_t k = 70001; k < a.col.size(); k += 3) a.col[k] = 10;
    for (const int threads : {1, 2, 3, 8})
        EXPECT_EQ(findings(Context::cpu(threads), a).problem,
                  "row 35000: column 10 at position 70001 is outside 0 … 9 (rows and columns count from 0)");
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
