// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/merge_path.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "prim/arrays.hpp"

#ifdef TULLE_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace tulle::inline TULLE_ABI {

// Where the walk stands after every number of steps: a row is finished as soon as all its nonzeros are taken.
static std::vector<prim::MergePoint> plain_walk(const std::vector<offset_t>& row_begin)
{
    const offset_t rows = std::ssize(row_begin) - 1;
    std::vector<prim::MergePoint> stand{{0, 0}};
    while (stand.back().row + stand.back().nonzero < rows + row_begin.back()) {
        prim::MergePoint next = stand.back();
        if (next.row < rows && row_begin[static_cast<std::size_t>(next.row) + 1] <= next.nonzero) ++next.row;
        else ++next.nonzero;
        stand.push_back(next);
    }
    return stand;
}

namespace prim {
static bool operator==(const MergePoint& a, const MergePoint& b) { return a.row == b.row && a.nonzero == b.nonzero; }
static std::ostream& operator<<(std::ostream& out, const MergePoint& p)
{
    return out << "(" << p.row << ", " << p.nonzero << ")";
}
}  // namespace prim

namespace {

std::vector<offset_t> begins(const std::vector<offset_t>& length)
{
    std::vector<offset_t> begin(length.size() + 1, 0);
    std::partial_sum(length.begin(), length.end(), begin.begin() + 1);
    return begin;
}

std::vector<prim::MergePoint> points_on(const Context& ctx, const std::vector<offset_t>& row_begin, offset_t parts)
{
    return ctx.run([&](const auto& q) {
        const auto begin = to_queue(q, row_begin.data(), std::ssize(row_begin));
        Buffer<prim::MergePoint> point(q, parts + 1);
        prim::merge_path(q, begin.data(), std::ssize(row_begin) - 1, row_begin.back(), parts, point.data());
        std::vector<prim::MergePoint> here(static_cast<std::size_t>(parts) + 1);
        download(q, point.data(), here.data(), parts + 1);
        return here;
    });
}

std::vector<prim::MergePoint> plain_points(const std::vector<offset_t>& row_begin, offset_t parts)
{
    const auto walk = plain_walk(row_begin);
    const offset_t steps = std::ssize(walk) - 1, each = (steps + parts - 1) / parts;
    std::vector<prim::MergePoint> point;
    for (offset_t p = 0; p <= parts; ++p) point.push_back(walk[static_cast<std::size_t>(std::min(steps, p * each))]);
    return point;
}

TEST(MergeRow, IsThatOfTheWalk)
{
    const auto begin = begins({3, 0, 0, 7, 1, 0, 12});
    const auto walk = plain_walk(begin);
    for (offset_t steps = 0; steps < std::ssize(walk); ++steps)
        EXPECT_EQ(prim::merge_row(begin.data(), 7, begin.back(), steps), walk[static_cast<std::size_t>(steps)].row);
}

// Offsets of a matrix that nobody has checked.
TEST(MergeRow, AnyOffsetsGiveARowOfTheMatrix)
{
    constexpr offset_t largest = std::numeric_limits<offset_t>::max(), least = std::numeric_limits<offset_t>::min();
    for (const offset_t wrong : {least, offset_t{-1}, offset_t{1000}, largest}) {
        const std::vector<offset_t> begin{0, wrong, wrong, 5};
        for (offset_t steps = 0; steps <= 8; ++steps) {
            const offset_t row = prim::merge_row(begin.data(), 3, 5, steps);
            EXPECT_GE(row, 0);
            EXPECT_LE(row, 3);
        }
    }
}

class MergePathOn : public test::OnBackend {};

TEST_P(MergePathOn, CutsTheWalkIntoEqualPieces)
{
    std::mt19937_64 random(14);
    for (const offset_t rows : {0, 1, 2, 33, 1024, 5000}) {
        auto length = test::random_integers<offset_t>(rows, 0, 12, random);
        if (rows > 30) length[7] = 4000;                                       // one long row
        if (rows > 30) std::fill(length.begin() + 9, length.begin() + 30, 0);  // and many empty ones
        const auto begin = begins(length);
        for (const offset_t parts : {1, 2, 3, 64, 1000, 70000})
            EXPECT_EQ(points_on(ctx(), begin, parts), plain_points(begin, parts)) << rows << " rows in " << parts;
    }
}

TEST_P(MergePathOn, NoNonzeros)
{
    EXPECT_EQ(points_on(ctx(), std::vector<offset_t>(101, 0), 4).back(), (prim::MergePoint{100, 0}));
}

TEST_P(MergePathOn, RefusesNoParts) { EXPECT_THROW(points_on(ctx(), {0, 1}, 0), ValueError); }

TULLE_ON_BACKENDS(MergePathOn);

#ifdef TULLE_HAVE_RAPIDCHECK
TEST_P(MergePathOn, AnyRowLengths)
{
    const Context where = ctx();
    EXPECT_TRUE(rc::check("every piece starts where the walk stands", [&] {
        std::vector<offset_t> length;
        for (const auto n : *rc::gen::arbitrary<std::vector<std::uint8_t>>()) length.push_back(n % 20);
        const offset_t parts = *rc::gen::inRange(1, 40);
        RC_ASSERT(points_on(where, begins(length), parts) == plain_points(begins(length), parts));
    }));
}
#endif

}  // namespace
}  // namespace tulle::inline TULLE_ABI
