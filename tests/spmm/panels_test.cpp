// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Panels: the format says what the matrix says, each nonzero once; and the kernel on tensor cores multiplies with it,
// in any order of rows, for all its types, with numbers in B that are not finite, with panels that are cut.
#include "spmm/dense_case.hpp"

#include <map>
#include <set>

#include "base/math.hpp"
#include "spmm/steps.hpp"
#include "support/backends.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;

// ---- the format, on the host

// The matrix that panels describe: (row, column) -> where its value stands.
template <class V>
std::map<std::pair<index_t, index_t>, offset_t> entries_of(const Panels<V>& p, const std::vector<index_t>& order,
                                                           bool dense = false)
{
    std::map<std::pair<index_t, index_t>, offset_t> all;
    std::map<offset_t, offset_t> nonzero_at;  // by its place among the values
    for (offset_t k = 0; k < p.place.size(); ++k)
        EXPECT_TRUE(nonzero_at.emplace(p.place.data()[k], k).second) << "two values in one place";
    offset_t tile = 0;
    for (const PanelUnit& unit : p.unit.span())
        for (offset_t at = unit.begin; at < unit.end; ++at) {
            const Chunk<V>& chunk = p.chunk.data()[at];
            EXPECT_EQ(chunk.first, tile);
            for (int slab = 0; slab < slabs; ++slab) {
                if (!chunk.has(slab)) continue;
                EXPECT_EQ(chunk.tile(slab), tile);
                const std::size_t before = all.size();
                for (int r = 0; r < slab_rows; ++r)
                    for (int c = 0; c < chunk_columns<V>; ++c) {
                        const LanePlace place = lane_place<V>(r, c);
                        const offset_t lane = tile * 32 + place.lane;
                        const auto found = nonzero_at.find(lane * values_per_lane<V> + place.value);
                        EXPECT_EQ(p.present.data()[lane] >> place.value & 1, found != nonzero_at.end());
                        if (found == nonzero_at.end()) continue;
                        const index_t position = unit.panel * panel_rows + slab * slab_rows + r;
                        EXPECT_TRUE(all.emplace(std::pair{order[static_cast<std::size_t>(position)], chunk.col[c]},
                                                found->second)
                                        .second);
                    }
                EXPECT_TRUE(dense || all.size() > before) << "an empty tile";
                ++tile;
            }
        }
    EXPECT_EQ(tile, p.tiles());
    EXPECT_EQ(p.place.size(), p.nonzeros);
    return all;
}

template <class V>
void check_format(offset_t units)
{
    const CpuQueue q(3);
    for (const auto& [name, a] : battery<double>(Values::integers)) {
        if (!a.unique) continue;
        SCOPED_TRACE(name + ", " + name_of<V>());
        std::vector<index_t> order(static_cast<std::size_t>(a.rows));
        for (index_t i = 0; i < a.rows; ++i) order[static_cast<std::size_t>(i)] = a.rows - 1 - i;
        const Panels<V> p = make_panels<V>(q, pattern_of(a.view()), order.data(), units);
        std::map<std::pair<index_t, index_t>, offset_t> want;
        offset_t k = 0;
        for (const auto& [i, j, v] : a.entries()) want[{i, j}] = k++;
        EXPECT_EQ(entries_of(p, order), want);
        // Units cover every chunk of every panel once, in order; cut panels have slots of their own.
        offset_t chunk = 0;
        std::int32_t slots = 0;
        index_t panel = -1;
        for (const PanelUnit& unit : p.unit.span()) {
            EXPECT_EQ(unit.begin, chunk);
            chunk = unit.end;
            if (unit.piece == 0) ++panel;
            EXPECT_EQ(unit.panel, panel);
            EXPECT_EQ(unit.first_slot, unit.pieces == 1 ? -1 : slots);
            if (unit.piece == unit.pieces - 1 && unit.pieces > 1) slots += unit.pieces;
        }
        EXPECT_EQ(chunk, p.chunk.size());
        EXPECT_EQ(slots, p.slots);
        EXPECT_EQ(panel + 1, (a.rows + 63) / 64);
    }
}

// Nearly dense matrices: the same with all columns in their places and all tiles.
template <class V>
void check_dense_format()
{
    for (const auto& [name, a] : battery<double>(Values::integers)) {
        if (!a.unique) continue;
        SCOPED_TRACE(name + ", " + name_of<V>());
        std::vector<index_t> order(static_cast<std::size_t>(round_up(a.rows, index_t{panel_rows})));
        for (index_t i = 0; i < std::ssize(order); ++i) order[static_cast<std::size_t>(i)] = i;
        const Panels<V> p = make_dense_panels<V>(CpuQueue(3), pattern_of(a.view()));
        std::map<std::pair<index_t, index_t>, offset_t> want;
        offset_t k = 0;
        for (const auto& [i, j, v] : a.entries()) want[{i, j}] = k++;
        EXPECT_EQ(entries_of(p, order, true), want);
        const index_t chunks = ceil_div(a.cols, index_t{chunk_columns<V>});
        EXPECT_EQ(p.tiles(), offset_t{ceil_div(a.rows, index_t{panel_rows})} * chunks * slabs);
        for (offset_t at = 0; at < p.chunk.size(); ++at)
            for (index_t c = 0; c < chunk_columns<V>; ++c) {
                const index_t col = static_cast<index_t>(at % chunks) * chunk_columns<V> + c;
                EXPECT_EQ(p.chunk.data()[at].col[c], col < a.cols ? col : -1);
            }
    }
}

TEST(SpmmPanels, OfDenseMatricesHaveAllTiles)
{
    check_dense_format<Float16>();
    check_dense_format<float>();
    check_dense_format<double>();
}

TEST(SpmmPanels, SayWhatTheMatrixSays)
{
    check_format<Float16>(1);
    check_format<Float16>(1000);
    check_format<float>(1000);
}

TEST(SpmmPanels, GroupColumnsByTheSlabsThatUseThem)
{
    std::set<int> ranks;
    for (unsigned mask = 0; mask < 16; ++mask) ranks.insert(gray_rank(mask));
    EXPECT_EQ(ranks.size(), 16u);
    for (unsigned mask = 0; mask < 16; ++mask)
        for (unsigned other = 0; other < 16; ++other)
            if (gray_rank(other) == gray_rank(mask) + 1) {
                EXPECT_EQ(__builtin_popcount(mask ^ other), 1);
            }
    // Columns that alternate between two slabs need each slab's tile in half of the chunks.
    const auto a =
        matrix_where<double>(64, 64, Values::integers, 1, [](index_t i, index_t j) { return i / 16 == j % 2; });
    const Panels<Float16> p = make_panels<Float16>(CpuQueue(1), pattern_of(a.view()), nullptr, 1);
    EXPECT_EQ(p.chunk.size(), 4);
    EXPECT_EQ(p.tiles(), 4);
}

TEST(SpmmPanels, RefusePositionsStoredTwice)
{
    const auto a = csr_of<double>(3, 3, {{1, 2, 1.0}, {1, 2, 1.0}});
    EXPECT_THROW(make_panels<Float16>(CpuQueue(1), pattern_of(a.view()), nullptr, 1), ValueError);
    EXPECT_THROW(make_dense_panels<Float16>(CpuQueue(1), pattern_of(a.view())), ValueError);
}

// ---- the kernel

class SpmmPanelsOn : public tulle::test::OnBackend {
protected:
    bool on_gpu() const { return ctx().backend() == Backend::cuda; }
};

Policy panels(OrderKind order = OrderKind::natural, int width = 32) { return {Kernel::panels, 1, order, width}; }

template <class Go>
void for_each_panel_type(Go&& go)
{
    go(Float16(), Float16());
    go(Float16(), float());
    go(Bfloat16(), Bfloat16());
    go(Bfloat16(), float());
    go(float(), float());
}

TEST_P(SpmmPanelsOn, MultiplyTheBattery)
{
    if (!on_gpu()) GTEST_SKIP() << "panels are for GPUs";
    const auto c = ctx();
    int k = 0;
    for_each_panel_type([&](auto v, auto r) {
        using V = decltype(v);
        using C = decltype(r);
        for (const Values values : {Values::integers, Values::reals})
            for (const auto& [name, in_double] : battery<double>(values)) {
                const index_t n = std::array{1, 8, 31, 40, 100, 136}[static_cast<std::size_t>(++k % 6)];
                const std::string what =
                    name + ", " + name_of<V>() + " to " + name_of<C>() + ", n = " + std::to_string(n);
                if (!in_double.unique || !is_drawn(what, 2)) continue;
                SCOPED_TRACE(what);
                const auto a =
                    in_type<V>(in_double, values == Values::reals && std::is_same_v<V, Float16> ? 0x1p-12 : 1);
                const auto there = to_device(c, a.view());
                const auto b = dense<V>(a.cols, n, values, 3);
                const auto before = dense<C>(a.rows, n, values, 4);
                const Form form_b{k % 4 == 0 ? Layout::col_major : Layout::row_major, k % 3 == 0 ? 5 : (4 - n % 4) % 4,
                                  k % 5 == 0 ? 61u : 64u},
                    form_c{k % 4 == 1 ? Layout::col_major : Layout::row_major, k % 2};
                const Scalars s = k % 2 ? Scalars{1, 0} : Scalars{-2, 0.5};
                Lent<V> b_there(c, b, form_b);
                Lent<C> c_there(c, before, form_c);
                const auto plan = Plan<V, C>::make(c, there.view(),
                                                   {.n = n,
                                                    .b_layout = k % 8 == 0 ? Layout::col_major : Layout::row_major,
                                                    .math = Math::tf32,
                                                    .force = k % 4 == 2 ? whole(32 << k / 4 % 3 % 2, 1 << k / 4 % 4)
                                                                        : panels(OrderKind::natural, 32 << k % 3)});
                plan.run(static_cast<float>(s.alpha), b_there.view(), static_cast<float>(s.beta), c_there.view());
                EXPECT_TRUE(is_product(a, false, s, b, before, c_there.take(), values == Values::integers, true));
            }
    });
}

TEST_P(SpmmPanelsOn, MultiplyInAnyOrderAndTransposed)
{
    if (!on_gpu()) GTEST_SKIP() << "panels are for GPUs";
    const auto c = ctx();
    const auto a = in_type<Bfloat16>(matrix_where<double>(150, 130, Values::integers, 5, [](index_t i, index_t j) {
        return (i * 7 + j) % 41 < 3 || below(hash_of(5, i, j), 40) == 0;
    }));
    const auto there = to_device(c, a.view());
    for (const OrderKind order : {OrderKind::degree, OrderKind::minhash, OrderKind::pack, OrderKind::bsa})
        for (const Op op : {Op::none, Op::transpose}) {
            if (!is_drawn(to_text(order) + (op == Op::none ? "" : "t"), 2)) continue;
            const bool t = op == Op::transpose;
            const auto b = dense<Bfloat16>(t ? 150 : 130, 20, Values::integers, 3);
            const auto before = dense<float>(t ? 130 : 150, 20, Values::integers, 4);
            Lent<Bfloat16> b_there(c, b, {});
            Lent<float> c_there(c, before, {});
            const auto plan = Plan<Bfloat16, float>::make(c, there.view(), {.op = op, .n = 20, .force = panels(order)});
            plan.run(1, b_there.view(), 1, c_there.view());
            EXPECT_TRUE(is_product(a, t, {1, 1}, b, before, c_there.take(), true, true)) << to_text(order);
        }
}

// Tiles multiply zeros that stand for nothing; infinities in B must not become NaN there, nor NaN spread to rows that
// do not name it.
TEST_P(SpmmPanelsOn, KeepWhatIsNotFiniteWhereItBelongs)
{
    const auto c = ctx();
    const auto in_double =
        matrix_where<double>(90, 80, Values::integers, 5, [](index_t i, index_t j) { return (i + j) % 5 == 0; });
    for_each_panel_type([&](auto v, auto r) {
        using V = decltype(v);
        using C = decltype(r);
        if (simt::under_tsan && !(std::is_same_v<V, Float16> && std::is_same_v<C, Float16>))
            return;  // kernels of their own, but one type is enough for a race
        auto a = in_type<V>(in_double);
        for (V& x : a.value)
            if (x == static_cast<V>(0)) x = static_cast<V>(2);
        const auto there = to_device(c, a.view());
        auto b = dense<V>(80, 16, Values::integers, 3);
        b(3, 4) = static_cast<V>(std::numeric_limits<double>::infinity());
        b(3, 5) = static_cast<V>(std::nan(""));
        b(60, 8) = static_cast<V>(-std::numeric_limits<double>::infinity());
        Lent<V> b_there(c, b, {});
        std::vector<std::optional<Policy>> policies{std::nullopt};
        if (on_gpu())
            policies = {panels(OrderKind::natural, std::is_same_v<V, Bfloat16> ? 128
                                                   : std::is_same_v<V, C>      ? 64
                                                                               : 32),
                        whole(std::is_same_v<V, C> ? 64 : 32, std::is_same_v<V, Float16> ? 2 : 4)};
        for (const auto& policy : policies) {
            Lent<C> c_there(c, dense<C>(90, 16, Values::integers, 4), {});
            Plan<V, C>::make(c, there.view(), {.n = 16, .math = Math::tf32, .force = policy})
                .run(b_there.view(), c_there.view());
            EXPECT_TRUE(is_product_entry_by_entry(a, b, c_there.take()));
        }
    });
}

// A panel of many columns is cut; the pieces are added up the same way every time, also for more columns than were
// expected.
TEST_P(SpmmPanelsOn, CutLongPanels)
{
    if (!on_gpu()) GTEST_SKIP() << "panels are for GPUs";
    const auto c = ctx();
    for (const Values values : {Values::integers, Values::reals}) {
        const auto a = in_type<Float16>(matrix_where<double>(70, 1500, values, 5,
                                                             [](index_t i, index_t j) {
                                                                 return i == 5 || i == 69 || (i + 3 * j) % 211 == 0;
                                                             }),
                                        values == Values::reals ? 0x1p-12 : 1);
        const auto there = to_device(c, a.view());
        const auto plan = Plan<Float16, float>::make(
            c, there.view(), {.n = 10, .force = panels(OrderKind::natural, values == Values::reals ? 64 : 32)});
        EXPECT_EQ(plan.describe().find(" 0 pieces"), std::string::npos) << plan.describe();
        for (const index_t n : {10, 3, 23}) {
            const auto b = dense<Float16>(1500, n, values, 3);
            const auto before = dense<float>(70, n, values, 4);
            Lent<Float16> b_there(c, b, {});
            Lent<float> first(c, before, {}), second(c, before, {});
            plan.run(1, b_there.view(), 2, first.view());
            plan.run(1, b_there.view(), 2, second.view());
            const auto x = first.take(), y = second.take();
            EXPECT_TRUE(is_product(a, false, {1, 2}, b, before, x, values == Values::integers, true));
            EXPECT_TRUE(same_bits(x.at, y.at));
        }
    }
}

// Nearly dense matrices: every width, every number of parts and clusters, more parts than there are chunks, rows and
// columns that fill no panel and no chunk; the same bits every time. And the choice takes them.
TEST_P(SpmmPanelsOn, SplitDenseMatrices)
{
    const auto c = ctx();
    for (const auto& [rows, cols] : {std::pair{64, 256}, std::pair{100, 77}, std::pair{1, 16}, std::pair{130, 3}}) {
        const auto a =
            in_type<Bfloat16>(matrix_where<double>(rows, cols, Values::integers, 5, [](index_t i, index_t j) {
                return below(hash_of(3, i, j), 3) != 0;
            }));
        const auto there = to_device(c, a.view());
        const auto plan = Plan<Bfloat16, float>::make(c, there.view(), {.n = 72});
        if (cols > 64) {  // the others are as fast in any way
            EXPECT_EQ(plan.policy().kernel, on_gpu() ? Kernel::dense : Kernel::rows) << plan.describe();
        }
        std::vector<Policy> all{plan.policy()};
        for (const int parts : {1, 2, 4, 8})
            if (on_gpu()) all.push_back(whole(parts == 2 || parts == 4 ? 64 : 32, parts));
        for (const Policy& policy : candidates(plan.features(), {c.backend()}))
            if (policy.clusters > 1) all.push_back(policy);
        for (const Policy& policy : all) {
            if (!is_drawn(std::to_string(rows) + to_text(policy), 1)) continue;
            const auto b = dense<Bfloat16>(cols, 72, Values::integers, 3);
            const auto before = dense<float>(rows, 72, Values::integers, 4);
            Lent<Bfloat16> b_there(c, b, {});
            Lent<float> first(c, before, {}), second(c, before, {});
            const auto forced = Plan<Bfloat16, float>::make(c, there.view(), {.n = 72, .force = policy});
            forced.run(2, b_there.view(), -1, first.view());
            forced.run(2, b_there.view(), -1, second.view());
            const auto x = first.take(), y = second.take();
            EXPECT_TRUE(is_product(a, false, {2, -1}, b, before, x, true, true)) << to_text(policy);
            EXPECT_TRUE(same_bits(x.at, y.at));
        }
    }
}

TEST_P(SpmmPanelsOn, TakeNewValues)
{
    if (!on_gpu()) GTEST_SKIP() << "panels are for GPUs";
    const auto c = ctx();
    const auto in_double = random_matrix<double>(80, 60, 0.1, Values::integers, 31);
    const auto a = in_type<Float16>(in_double);
    auto changed = a;
    for (auto& v : changed.value) v = static_cast<Float16>(3 * static_cast<float>(v) + 1);
    const auto before = to_device(c, a.view()), after = to_device(c, changed.view());
    for (const Op op : {Op::none, Op::transpose}) {
        const bool t = op == Op::transpose;
        auto plan =
            Plan<Float16, float>::make(c, before.view(), {.op = op, .n = 6, .force = panels(OrderKind::degree)});
        plan.update_values(after.view());
        const auto b = dense<Float16>(t ? 80 : 60, 6, Values::integers, 3);
        const auto old = dense<float>(t ? 60 : 80, 6, Values::integers, 4);
        Lent<Float16> b_there(c, b, {});
        Lent<float> c_there(c, old, {});
        plan.run(b_there.view(), c_there.view());
        EXPECT_TRUE(is_product(changed, t, {}, b, old, c_there.take(), true, true));
    }
}

// What is chosen by itself for a matrix made for panels, and for one that is not.
TEST_P(SpmmPanelsOn, AreChosenWhereRowsShareColumns)
{
    const auto c = ctx();
    const auto blocks = in_type<Float16>(
        matrix_where<double>(256, 256, Values::integers, 5, [](index_t i, index_t j) { return i / 64 == j / 64; }));
    const auto alone = in_type<Float16>(
        matrix_where<double>(256, 256, Values::integers, 5, [](index_t i, index_t j) { return i == j; }));
    const auto a = to_device(c, blocks.view()), d = to_device(c, alone.view());
    const auto for_blocks = Plan<Float16, float>::make(c, a.view(), {.n = 64}),
               for_alone = Plan<Float16, float>::make(c, d.view(), {.n = 64});
    EXPECT_EQ(for_blocks.policy().kernel, on_gpu() ? Kernel::panels : Kernel::rows) << for_blocks.describe();
    EXPECT_EQ(for_alone.policy().kernel, Kernel::rows) << for_alone.describe();
    const auto b = dense<Float16>(256, 64, Values::integers, 3);
    const auto before = dense<float>(256, 64, Values::integers, 4);
    Lent<Float16> b_there(c, b, {});
    Lent<float> c_there(c, before, {});
    for_blocks.run(b_there.view(), c_there.view());
    EXPECT_TRUE(is_product(blocks, false, {}, b, before, c_there.take(), true, true));
}

TULLE_ON_BACKENDS(SpmmPanelsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
