// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// All options together, on a matrix that factorises without fill-in, so that every kind gives the exact inverse; and
// what only rows longer than a warp, several breakdowns or equal magnitudes show.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/factor.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle {
namespace {

using factor::Kind;
using factor::MissingDiagonal;
using factor::Options;
using factor::Order;
using factor::Plan;
using test::csr_of;
using test::host_of;
using test::host_vector;
using test::HostCsr;

class FactorCombinationsOn : public test::OnBackend {};

struct Chain {
    bool symmetric, unsorted, holes;
};

// A chain: one neighbour to each side, rows in any order of their entries, some without a diagonal entry.
template <class V>
HostCsr<V> chain(index_t n, const Chain& form, double scale)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (index_t i = 0; i < n; ++i) {
        const double left = form.symmetric ? -1 - (i - 1) % 3 : -2 + i % 2, right = -1 - i % 3;
        const auto add = [&](index_t j, double v) { entries.emplace_back(i, j, static_cast<V>(scale * v)); };
        if (form.unsorted && i + 1 < n) add(i + 1, right);
        if (i > 0) add(i - 1, left);
        if (!form.holes || i % 11 != 5) add(i, 9 + i % 4);
        if (!form.unsorted && i + 1 < n) add(i + 1, right);
    }
    return csr_of<V>(n, n, entries);
}

template <class V>
std::vector<V> multiplied(const HostCsr<V>& a, const std::vector<V>& x)
{
    std::vector<V> y(x.size(), V(0));
    for (const auto& [i, j, v] : a.entries()) y[static_cast<std::size_t>(i)] += v * x[static_cast<std::size_t>(j)];
    return y;
}

// apply(A x) is x, for the values of make() and for new ones.
template <class V>
void check_options(const Context& c, const Chain& form, const Options& options)
{
    const auto a = chain<V>(70, form, 1), other = chain<V>(70, form, 0.5);
    const auto there = to_device(c, a.view()), other_there = to_device(c, other.view());
    auto plan = Plan<V>::make(c, there.view(), options);
    EXPECT_EQ(plan.report().attempts, 1);
    const auto x = test::test_vector<V>(a.rows, test::Values::integers, 3);
    for (const HostCsr<V>* now : {&a, &other}) {
        if (now == &other) plan.update_values(other_there.view());
        const auto r = to_device<V>(c, std::span<const V>(multiplied(*now, x)));
        auto z = to_device<V>(c, std::span<const V>(x));
        plan.apply(r.span(), z.span());
        const auto got = host_vector(c, z);
        for (std::size_t i = 0; i < x.size(); ++i)
            ASSERT_NEAR(got[i], x[i], 200 * std::numeric_limits<V>::epsilon() * 9) << i;
    }
}

TEST_P(FactorCombinationsOn, EveryKindOrderMatchAndPattern)
{
    const Context c = ctx();
    const std::vector<Options> kinds{{.kind = Kind::ilu0},
                                     {.kind = Kind::ic0},
                                     {.kind = Kind::iluk, .level = 2},
                                     {.kind = Kind::ilut, .drop = 0, .fill = 100}};
    for (const Options& kind : kinds)
        for (const Order order : {Order::natural, Order::rcm})
            for (const bool match : {false, true})
                for (const Chain form :
                     {Chain{true, false, false}, Chain{true, true, false}, Chain{false, false, false},
                      Chain{false, true, false}, Chain{false, false, true}, Chain{false, true, true}}) {
                    if (kind.kind == Kind::ic0 && (match || !form.symmetric)) continue;
                    if (form.holes && order != Order::natural && !match) continue;  // may need a shift
                    // Rows that change places make it no chain: fill-in would be left out.
                    if (form.holes && match && kind.kind == Kind::ilu0) continue;
                    Options o = kind;
                    o.order = order;
                    o.match = match;
                    o.missing_diagonal = form.holes ? MissingDiagonal::add : MissingDiagonal::refuse;
                    const std::string what = concat(to_text(o.kind), ", ", to_text(order), match ? ", match" : "",
                                                    form.symmetric ? ", symmetric" : "",
                                                    form.unsorted ? ", unsorted" : "", form.holes ? ", holes" : "");
                    if (!test::is_drawn(what, 3)) continue;
                    SCOPED_TRACE(what);
                    check_options<double>(c, form, o);
                    check_options<float>(c, form, o);
                }
}

// An entry that is not finite beyond the first round of a warp, in a row whose pivot it does not reach.
TEST_P(FactorCombinationsOn, EntriesThatAreNotFiniteBeyondAWarp)
{
    const Context c = ctx();
    for (const Kind kind : {Kind::ilu0, Kind::iluk})
        for (const index_t at : {1, 31, 32, 33, 65}) {
            std::vector<std::tuple<index_t, index_t, double>> entries;
            for (index_t j = 0; j < 70; ++j) entries.emplace_back(0, j, j == at ? INFINITY : 1.0);
            for (index_t i = 1; i < 70; ++i) entries.emplace_back(i, i, 1.0);
            const auto there = to_device(c, csr_of<double>(70, 70, entries).view());
            try {
                Plan<double>::make(c, there.view(), {.kind = kind});
                ADD_FAILURE() << "accepted at " << at;
            } catch (const ValueError& e) {
                EXPECT_NE(std::string(e.what()).find(concat("column ", at)), std::string::npos) << e.what();
            }
        }
}

// A zero on the diagonal is shifted by the largest magnitude of its row, wherever that stands.
TEST_P(FactorCombinationsOn, ShiftsByTheLargestOfALongRow)
{
    const Context c = ctx();
    for (const index_t at : {1, 20, 31, 32, 63, 69}) {
        std::vector<std::tuple<index_t, index_t, double>> entries;
        for (index_t j = 0; j < 70; ++j) entries.emplace_back(0, j, j == 0 ? 0.0 : j == at ? -8.0 : 1.0);
        for (index_t i = 1; i < 70; ++i) entries.emplace_back(i, i, 2.0);
        const auto there = to_device(c, csr_of<double>(70, 70, entries).view());
        const auto plan = Plan<double>::make(c, there.view(), {.shift = 0.5});
        const auto factors = host_of(c, plan.factors());
        EXPECT_EQ(factors.value[0], 4.0) << at;
        EXPECT_EQ(factors.value.back(), 3.0) << at;
    }
}

// Of several rows that break down, the first is named, however many there are.
TEST_P(FactorCombinationsOn, TheFirstOfSeveralBreakdownsIsNamed)
{
    const Context c = ctx();
    for (const Kind kind : {Kind::ilu0, Kind::ic0, Kind::iluk}) {
        std::vector<std::tuple<index_t, index_t, double>> entries;
        for (index_t i = 0; i < 200; ++i) entries.emplace_back(i, i, i >= 37 && i % 2 == 1 ? 0.0 : 1.0);
        const auto there = to_device(c, csr_of<double>(200, 200, entries).view());
        try {
            Plan<double>::make(c, there.view(), {.kind = kind, .shift_attempts = 0});
            ADD_FAILURE() << "accepted";
        } catch (const ValueError& e) {
            EXPECT_NE(std::string(e.what()).find("row 37:"), std::string::npos) << e.what();
        }
    }
}

TULLE_ON_BACKENDS(FactorCombinationsOn);

// Where fewer entries stay than have the same magnitude, those of the smaller columns do.
TEST(FactorPattern, OfEqualMagnitudesTheSmallerColumnsStay)
{
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t j = 0; j < 9; ++j) entries.emplace_back(0, j, j == 0 ? 4.0 : j % 2 == 1 ? -0.5 : 0.5);
    for (index_t i = 1; i < 9; ++i) entries.emplace_back(i, i, 4.0);
    for (index_t j = 0; j < 8; ++j) entries.emplace_back(8, j, 1.0);
    const auto a = csr_of<double>(9, 9, entries);
    const Context c = Context::cpu(1);
    const auto factors =
        host_of(c, Plan<double>::make(c, a.view(), {.kind = Kind::ilut, .drop = 1e-3, .fill = 1}).factors());
    const std::vector<index_t> first(factors.col.begin(), factors.col.begin() + factors.row_begin[1]),
        last(factors.col.begin() + factors.row_begin[8], factors.col.end());
    EXPECT_EQ(first, (std::vector<index_t>{0, 1, 2}));
    EXPECT_EQ(last, (std::vector<index_t>{0, 1, 8}));
}

}  // namespace
}  // namespace tulle
