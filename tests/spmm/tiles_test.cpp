// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tiles and rest: every nonzero in one of them, once; which tiles are dense; and both products together are the
// product, for all types and orders, with numbers in B that are not finite, with new values.
#include "spmm/dense_case.hpp"

#include <map>
#include <set>

#include "spmm/order/steps.hpp"
#include "spmm/steps.hpp"
#include "spmm/tile_choice.hpp"
#include "support/backends.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;

// ---- the format, on the host

// (row, column) of every entry of tiles and rest -> where its value stands.
template <class V>
std::map<std::pair<index_t, index_t>, offset_t> entries_of(const Tiles<V>& t, const std::vector<index_t>& order)
{
    std::map<std::pair<index_t, index_t>, offset_t> all;
    for (offset_t tile = 0; tile < t.slots(); ++tile) {
        const index_t block = t.block_col.data()[tile];
        if (tile % t.width > 0) {
            const index_t before = t.block_col.data()[tile - 1];
            EXPECT_TRUE(block < 0 || (before >= 0 && before < block)) << "tiles of a panel ascend, padding comes last";
        }
        for (int r = 0; r < tile_side; ++r)
            for (int c = 0; c < tile_side; ++c) {
                if (!(t.present.data()[tile * tile_side + r] >> c & 1u)) continue;
                const index_t position = (t.first_panel + static_cast<index_t>(tile / t.width)) * tile_side + r;
                all[{order[static_cast<std::size_t>(position)], block * tile_side + c}] =
                    tile * tile_places + place_in_tile<V>(r, c);
            }
    }
    EXPECT_EQ(std::ssize(all), t.in_tiles);
    for (index_t i = 0; i < t.rows; ++i)
        for (offset_t k = t.rest_begin.data()[i]; k < t.rest_begin.data()[i + 1]; ++k)
            EXPECT_TRUE(all.emplace(std::pair{i, t.rest_col.data()[k]}, t.slots() * tile_places + k).second);
    return all;
}

template <class V>
void check_format(const HostCsr<double>& a, double delta)
{
    std::vector<index_t> order;
    for (index_t i = 0; i < a.rows; ++i) order.push_back(a.rows - 1 - i);
    const Tiles<V> t = make_tiles<V>(CpuQueue(3), pattern_of(a.view()), order.data(), fixed_density(delta));
    std::map<std::pair<index_t, index_t>, offset_t> want;
    std::map<std::pair<index_t, index_t>, index_t> in_tile;
    offset_t k = 0, dense = 0;
    for (const auto& [i, j, v] : a.entries()) {
        want[{i, j}] = t.place.data()[k++];
        ++in_tile[{(a.rows - 1 - i) / tile_side, j / tile_side}];
    }
    EXPECT_EQ(entries_of(t, order), want);
    index_t first = t.panels + t.first_panel;
    for (const auto& [at, nonzeros] : in_tile)
        if (nonzeros > delta * tile_places) first = std::min(first, at.first), ++dense;
    EXPECT_EQ(t.dense_tiles, dense);
    EXPECT_EQ(t.first_panel, first);
    EXPECT_EQ((t.panels + t.first_panel), (a.rows + tile_side - 1) / tile_side);
}

TEST(SpmmTiles, HoldEveryNonzeroOnce)
{
    for (const auto& [name, a] : battery<double>(Values::integers))
        if (a.unique)
            for (const double delta : {0.0, 0.04, 1.0}) {
                SCOPED_TRACE(name);
                check_format<Float16>(a, delta);
                check_format<float>(a, delta);
            }
}

TEST(SpmmTiles, EveryPlaceOfATileIsUsedOnce)
{
    std::set<index_t> half, single;
    for (int r = 0; r < tile_side; ++r)
        for (int c = 0; c < tile_side; ++c)
            half.insert(place_in_tile<Float16>(r, c)), single.insert(place_in_tile<float>(r, c));
    EXPECT_EQ(std::ssize(half), tile_places);
    EXPECT_EQ(std::ssize(single), tile_places);
    EXPECT_TRUE(*half.begin() == 0 && *half.rbegin() == tile_places - 1 && *single.begin() == 0 &&
                *single.rbegin() == tile_places - 1);
}

TEST(SpmmTiles, RefusePositionsStoredTwice)
{
    const auto a = csr_of<float>(2, 2, {{0, 0, 1.0f}, {0, 0, 2.0f}, {1, 1, 3.0f}});
    const std::vector<index_t> order{0, 1};
    EXPECT_THROW(make_tiles<float>(CpuQueue(1), pattern_of(a.view()), order.data(), fixed_density(0)), ValueError);
}

// ---- which tiles are dense

// Two panels: tiles of 40 and 30 nonzeros in the first, of 35 in the second.
TEST(SpmmTiles, AreDenseWhereTheyGain)
{
    const auto a = matrix_where<float>(64, 96, Values::integers, 1, [](index_t i, index_t j) {
        const index_t place = i % 32 * 32 + j % 32;
        return place < (i < 32 ? (j < 32 ? 40 : j < 64 ? 30 : 0) : j >= 64 ? 35 : 0);
    });
    std::vector<unsigned char> dense(a.col.size());
    std::vector<index_t> tiles(2);
    const auto found = [&](const TileRule& rule) {
        mark_tiles(CpuQueue(2), pattern_of(a.view()), nullptr, 32, rule, dense.data(), tiles.data());
        return std::pair{tiles, std::count(dense.begin(), dense.end(), 1)};
    };
    using Panels = std::vector<index_t>;
    EXPECT_EQ(found({0, 0}), (std::pair{Panels{2, 1}, 105L}));
    EXPECT_EQ(found({30, 0}), (std::pair{Panels{1, 1}, 75L}));   // more than 30, not as many
    EXPECT_EQ(found({25, 10}), (std::pair{Panels{2, 0}, 70L}));  // 15 and 5 more than 25 together, but only 10
    EXPECT_EQ(found({25, 20}), (std::pair{Panels{0, 0}, 0L}));
    EXPECT_EQ(found({40, 0}), (std::pair{Panels{0, 0}, 0L}));
}

TEST(SpmmTiles, CostWhatTheirRowsOfBCost)
{
    const CostModel model{.start = 6,
                          .per_byte = 1,
                          .per_tile_column = 2,
                          .per_panel_column = 3,
                          .per_nonzero_column = 4,
                          .per_memory_byte = 5};
    const double tile = 32 * 10 * 2 + 2 * 8 * 10 + 5 * 1024 * 2, panel = 3 * 10;
    EXPECT_EQ(tiles_seconds(model, 640, 7, 2, 100, 10, 2), 6 + 7 * tile + 2 * panel + 6 + 10 * (4 * 100 + 3 * 10));
    EXPECT_EQ(cheapest_density(model, 10, 2).least, tile / 40);
    EXPECT_EQ(cheapest_density(model, 10, 2).gain, panel / 40);
    EXPECT_EQ(fixed_density(0.25).least, 256);
    EXPECT_THROW(fixed_density(-0.1), ValueError);
    // On an H200 some per cent of a tile: where the authors' sweeps end up as well.
    for (const auto& [n, bytes] : std::vector<std::pair<index_t, std::size_t>>{{32, 2}, {128, 2}, {256, 2}, {128, 4}}) {
        const double delta = cheapest_density(cost_model(Backend::cuda, 1, bytes), n, bytes).least / tile_places;
        EXPECT_TRUE(delta > 0.02 && delta < 0.3) << n << " columns: " << delta;
    }
}

// ---- products

class SpmmTilesOn : public tulle::test::OnBackend {
protected:
    Policy tiles(OrderKind order, index_t n, std::size_t bytes)
    {
        return policy_of(Kernel::tiles, {.n = n, .value_bytes = bytes, .order = order}, {ctx().backend()});
    }
    bool on_gpu() { return ctx().backend() == Backend::cuda; }
};

template <class Go>
void for_each_tile_type(Go&& go)
{
    go(Float16(), Float16());
    go(Float16(), float());
    go(Bfloat16(), Bfloat16());
    go(float(), float());
}

// Blocks among scattered entries, long rows and empty ones, last tiles that reach beyond the matrix.
HostCsr<double> mixed(Values values)
{
    return matrix_where<double>(100, 170, values, 5, [](index_t i, index_t j) {
        return i != 50 && (i == 7 || (i / 20 == j / 35 && (i + j) % 3 != 0) || below(hash_of(5, i, j), 40) == 0);
    });
}

TEST_P(SpmmTilesOn, AndRestAreTheProduct)
{
    const auto c = ctx();
    int k = 0;
    for (const Values values : {Values::integers, Values::reals})
        for_each_tile_type([&](auto v, auto r) {
            using V = decltype(v);
            using C = decltype(r);
            auto a = in_type<V>(mixed(values), values == Values::reals && std::is_same_v<V, Float16> ? 0x1p-12 : 1);
            if constexpr (std::is_same_v<V, float>)
                for (float& x : a.value) x = tf32_of(x);  // the rest is not rounded
            const auto there = to_device(c, a.view());
            for (const index_t n : {1, 40, 72}) {
                ++k;
                auto b = dense<V>(a.cols, n, values, 3);
                if constexpr (std::is_same_v<V, float>)
                    for (float& x : b.at) x = tf32_of(x);
                const auto before = dense<C>(a.rows, n, values, 4);
                const Form form_b{k % 4 == 0 ? Layout::col_major : Layout::row_major, k % 3 == 0 ? 5 : 0,
                                  k % 5 == 0 ? 61u : 64u},
                    form_c{k % 4 == 1 ? Layout::col_major : Layout::row_major, k % 2};
                const Scalars s = k % 2 ? Scalars{1, 0} : Scalars{-2, 0.5};
                Lent<V> b_there(c, b, form_b);
                Lent<C> c_there(c, before, form_c);
                const OrderKind order = k % 3 == 0 ? OrderKind::natural : k % 3 == 1 ? OrderKind::bsa : OrderKind::pack;
                const index_t expected = k % 2 ? n : 33;  // more are multiplied slice by slice
                Options options{.n = expected, .math = Math::tf32, .force = tiles(order, expected, sizeof(V))};
                if (k % 4 != 3) options.delta = k % 4 == 0 ? 0.0 : 0.1;
                const auto plan = Plan<V, C>::make(c, there.view(), options);
                plan.run(static_cast<float>(s.alpha), b_there.view(), static_cast<float>(s.beta), c_there.view());
                EXPECT_TRUE(is_product(a, false, s, b, before, c_there.take(), values == Values::integers, true))
                    << name_of<V>() << " to " << name_of<C>() << ", n = " << n << "\n"
                    << plan.describe();
            }
        });
}

// All in tiles, nothing in tiles, and nothing at all; rows of C without a nonzero are written too.
TEST_P(SpmmTilesOn, TakeAnyShare)
{
    const auto c = ctx();
    for (const auto& [name, in_double] : battery<double>(Values::integers)) {
        if (!in_double.unique || !is_drawn(name, 2)) continue;
        for (const double delta : {0.0, 1.0}) {
            SCOPED_TRACE(name);
            const auto a = in_type<Float16>(in_double);
            const auto there = to_device(c, a.view());
            const auto b = dense<Float16>(a.cols, 9, Values::integers, 3);
            const auto before = dense<float>(a.rows, 9, Values::integers, 4);
            Lent<Float16> b_there(c, b, {});
            Lent<float> c_there(c, before, {});
            const auto plan =
                Plan<Float16, float>::make(c, there.view(),
                                           {.n = 9, .delta = delta, .force = tiles(OrderKind::bsa, 9, 2)});
            EXPECT_NE(plan.describe().find(delta == 0 ? "rest:   0 nonzeros" : "tiles:  0 that"), std::string::npos)
                << plan.describe();
            plan.run(b_there.view(), c_there.view());
            EXPECT_TRUE(is_product(a, false, {}, b, before, c_there.take(), true, true));
        }
    }
}

TEST_P(SpmmTilesOn, KeepWhatIsNotFiniteWhereItBelongs)
{
    const auto c = ctx();
    for_each_tile_type([&](auto v, auto r) {
        using V = decltype(v);
        using C = decltype(r);
        if (simt::under_tsan && !(std::is_same_v<V, Float16> && std::is_same_v<C, Float16>))
            return;  // kernels of their own, but one type is enough for a race
        auto a = in_type<V>(
            matrix_where<double>(70, 80, Values::integers, 5, [](index_t i, index_t j) { return (i + j) % 5 == 0; }));
        for (V& x : a.value)
            if (x == static_cast<V>(0)) x = static_cast<V>(2);
        a.value[1] = static_cast<V>(0);  // stored: times infinity it is NaN
        const auto there = to_device(c, a.view());
        auto b = dense<V>(80, 9, Values::integers, 3);
        b(a.col[1], 4) = static_cast<V>(std::numeric_limits<double>::infinity());
        b(3, 5) = static_cast<V>(std::nan(""));
        b(60, 8) = static_cast<V>(-std::numeric_limits<double>::infinity());
        Lent<V> b_there(c, b, {});
        Lent<C> c_there(c, dense<C>(70, 9, Values::integers, 4), {});
        Plan<V, C>::make(c, there.view(),
                         {.n = 9, .math = Math::tf32, .delta = 0.0, .force = tiles(OrderKind::natural, 9, sizeof(V))})
            .run(b_there.view(), c_there.view());
        EXPECT_TRUE(is_product_entry_by_entry(a, b, c_there.take()));
    });
}

TEST_P(SpmmTilesOn, TakeNewValuesTransposedOrNot)
{
    const auto c = ctx();
    const auto a = in_type<Bfloat16>(mixed(Values::integers));
    auto changed = a;
    for (auto& v : changed.value) v = static_cast<Bfloat16>(3 * static_cast<float>(v) + 1);
    const auto before = to_device(c, a.view()), after = to_device(c, changed.view());
    for (const Op op : {Op::none, Op::transpose}) {
        const bool t = op == Op::transpose;
        auto plan =
            Plan<Bfloat16, float>::make(c, before.view(),
                                        {.op = op, .n = 16, .delta = 0.05, .force = tiles(OrderKind::bsa, 16, 2)});
        plan.update_values(after.view());
        const auto b = dense<Bfloat16>(t ? 100 : 170, 16, Values::integers, 3);
        const auto old = dense<float>(t ? 170 : 100, 16, Values::integers, 4);
        Lent<Bfloat16> b_there(c, b, {});
        Lent<float> c_there(c, old, {});
        plan.run(b_there.view(), c_there.view());
        EXPECT_TRUE(is_product(changed, t, {}, b, old, c_there.take(), true, true));
    }
}

// Some delta is found, and the product stays what it is.
TEST_P(SpmmTilesOn, AreFoundByTrying)
{
    const auto c = ctx();
    const auto a = in_type<float>(mixed(Values::integers));
    const auto there = to_device(c, a.view());
    const auto plan =
        Plan<float>::make(c, there.view(),
                          {.n = 8, .math = Math::tf32, .effort = Effort::search, .force = tiles(OrderKind::bsa, 8, 4)});
    EXPECT_NE(plan.describe().find("delta by trying"), std::string::npos) << plan.describe();
    const auto b = dense<float>(170, 8, Values::integers, 3);
    const auto before = dense<float>(100, 8, Values::integers, 4);
    Lent<float> b_there(c, b, {}), c_there(c, before, {});
    plan.run(b_there.view(), c_there.view());
    EXPECT_TRUE(is_product(a, false, {}, b, before, c_there.take(), true, true));
}

TULLE_ON_BACKENDS(SpmmTilesOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
