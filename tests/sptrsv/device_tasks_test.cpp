// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tasks written by a GPU are those the host writes, bit for bit.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "sptrsv/on_host.hpp"
#include "sptrsv/steps.hpp"
#include "support/backends.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

class SptrsvDeviceTasksOn : public OnBackend {};

template <class T>
testing::AssertionResult same(const CudaQueue& q, const Buffer<T>& want, const Buffer<T>& there, const char* what)
{
    if (want.size() != there.size())
        return testing::AssertionFailure() << what << ": " << there.size() << " instead of " << want.size();
    std::vector<T> got(static_cast<std::size_t>(there.size()));
    download(q, there.data(), got.data(), there.size());
    for (offset_t k = 0; k < want.size(); ++k)
        if (std::memcmp(want.data() + k, &got[static_cast<std::size_t>(k)], sizeof(T)) != 0)
            return testing::AssertionFailure() << what << " differs at " << k << " of " << want.size();
    return testing::AssertionSuccess();
}

// Of a triangle whose rows are taken as they are stored, one each.
[[maybe_unused]] testing::AssertionResult same_sources(const CudaQueue& q, const Triangle& want,
                                                       const DeviceTriangle& there)
{
    if (there.row_source.size() != want.rows)
        return testing::AssertionFailure() << there.row_source.size() << " sources of " << want.rows << " rows";
    std::vector<offset_t> first(static_cast<std::size_t>(want.rows));
    download(q, there.row_source.data(), first.data(), there.row_source.size());
    for (index_t i = 0; i < want.rows; ++i)
        for (offset_t k = want.row_begin.data()[i], follows = 0; k < want.row_begin.data()[i + 1]; ++k, ++follows)
            if (want.source.data()[k] != first[static_cast<std::size_t>(i)] + (want.reversed ? -follows : follows))
                return testing::AssertionFailure() << "the source of entry " << k << " of row " << i;
    return testing::AssertionSuccess();
}

[[maybe_unused]] void expect_same(const CudaQueue& q, const Tasks& want, const Tasks& got)
{
    ASSERT_TRUE(same(q, want.task, got.task, "task"));
    ASSERT_TRUE(same(q, want.row, got.row, "row"));
    ASSERT_TRUE(same(q, want.diagonal, got.diagonal, "diagonal"));
    ASSERT_TRUE(same(q, want.col, got.col, "col"));
    ASSERT_TRUE(same(q, want.source, got.source, "source"));
    ASSERT_TRUE(same(q, want.late_col, got.late_col, "late_col"));
    ASSERT_TRUE(same(q, want.dense_at, got.dense_at, "dense_at"));
    ASSERT_TRUE(same(q, want.dense_source, got.dense_source, "dense_source"));
    ASSERT_TRUE(same(q, want.dense_first, got.dense_first, "dense_first"));
    ASSERT_EQ(want.dense_size, got.dense_size);
    ASSERT_TRUE(want.rows == got.rows && want.levels == got.levels && want.team == got.team &&
                want.reordered == got.reordered && want.reversed == got.reversed);
}

struct TeamWay {
    Merge how;
    int rows, limit, team;
    bool reorder;
};
const std::vector<TeamWay> team_ways{{Merge::none, 1, 0, 1, false},       {Merge::none, 1, 0, 4, false},
                                     {Merge::critical, 32, 0, 1, false},  {Merge::critical, 32, 0, 4, false},
                                     {Merge::critical, 8, 0, 1, true},    {Merge::fixed, 32, 0, 4, false},
                                     {Merge::fixed, 8, 0, 1, true},       {Merge::average, 32, 20, 1, false},
                                     {Merge::threshold, 32, 3, 1, false}, {Merge::chains, 32, 0, 1, false},
                                     {Merge::chains, 32, 0, 4, false},    {Merge::chains, 5, 0, 1, true}};

// The layout found there, nodes included, whose words are compared with the host's graph.
[[maybe_unused]] TaskLayout lay_out_there(const CudaQueue& q, const DeviceTriangle& there, const TeamWay& way,
                                          const Graph& graph)
{
    const bool chains = way.how == Merge::chains;
    LevelAnalysis swept = sweep(q, there, chains ? way.rows : 32, most_levels_swept(there.rows));
    const std::optional<Surveyed> found = survey(q, there, swept);
    EXPECT_TRUE(found.has_value());
    const Widths& widths = chains ? found->chained : found->alone;
    EXPECT_EQ(std::ssize(widths.nodes), graph.levels);
    EXPECT_EQ(std::accumulate(widths.nodes.begin(), widths.nodes.end(), offset_t{0}), graph.nodes);
    EXPECT_EQ(std::accumulate(widths.rows.begin(), widths.rows.end(), offset_t{0}), there.rows);
    return lay_out_tasks(q, there, swept, chains, graph.levels, {way.reorder, way.team, 8});
}

[[maybe_unused]] void check(const CudaQueue& q, const HostCsr<double>& a, bool upper, bool unit,
                            const std::string& name)
{
    const Buffer<offset_t> stored_begin = to_queue(q, a.row_begin.data(), offset_t{a.rows} + 1);
    const Buffer<index_t> stored_col = to_queue(q, a.col.data(), static_cast<offset_t>(a.col.size()));
    const Triangle t = make_triangle(host_queue, {.rows = a.rows,
                                                  .row_begin = a.row_begin.data(),
                                                  .col = a.col.data(),
                                                  .upper = upper,
                                                  .unit_diagonal = unit,
                                                  .ignore_other_side = true});
    const auto taken = extract_triangle(q, {.rows = a.rows,
                                            .row_begin = stored_begin.data(),
                                            .col = stored_col.data(),
                                            .nonzeros = stored_col.size(),
                                            .upper = upper,
                                            .unit_diagonal = unit,
                                            .ignore_other_side = true});
    ASSERT_TRUE(taken.has_value());
    const DeviceTriangle& there = *taken;
    ASSERT_TRUE(same(q, t.row_begin, there.row_begin, "the triangle's rows"));
    ASSERT_TRUE(same(q, t.col, there.col, "the triangle's columns"));
    ASSERT_TRUE(same_sources(q, t, there));
    ASSERT_TRUE(same(q, t.diagonal, there.diagonal, "the triangle's diagonal"));
    for (const TeamWay& way : team_ways) {
        if (!is_drawn(name + to_text(way.how) + std::to_string(way.team), 3)) continue;
        SCOPED_TRACE(name + ": " + to_text(way.how) + " of " + std::to_string(way.rows) + ", " +
                     std::to_string(way.team) + " warps");
        const Graph graph = merge(host_queue, t, way.how, way.rows, way.limit);
        const Packing packing{way.reorder, way.team, 8};
        const Tasks want = make_tasks(host_queue, t, t, graph, packing);
        expect_same(q, want,
                    write_tasks(q,
                                lay_out_tasks(q, there, upload_nodes(q, host_queue, graph), !graph.size.empty(),
                                              graph.levels, packing),
                                there));
        if (way.how == Merge::none || way.how == Merge::chains)
            expect_same(q, want, write_tasks(q, lay_out_there(q, there, way, graph), there));
    }
}

[[maybe_unused]] void check_levels(const CudaQueue& q, const HostCsr<double>& a, bool upper, const Graph& want,
                                   const Features& features)
{
    const Buffer<offset_t> stored_begin = to_queue(q, a.row_begin.data(), offset_t{a.rows} + 1);
    const Buffer<index_t> stored_col = to_queue(q, a.col.data(), static_cast<offset_t>(a.col.size()));
    if (a.rows == 0) return;
    const DeviceTriangle there = extract_triangle(q, {.rows = a.rows,
                                                      .row_begin = stored_begin.data(),
                                                      .col = stored_col.data(),
                                                      .upper = upper,
                                                      .ignore_other_side = true})
                                     .value();
    LevelAnalysis swept = sweep(q, there, 32, want.levels);
    Buffer<index_t> level(q, a.rows);
    write_levels(q, swept, level.data());
    ASSERT_TRUE(same(q, want.level, level, "levels"));
    const Surveyed found = survey(q, there, swept).value();
    const Features& got = found.features;
    LevelAnalysis too_deep = sweep(q, there, 32, want.levels - 1);
    ASSERT_FALSE(survey(q, there, too_deep).has_value()) << "a level more than is looked for";
    for (const std::string& name : feature_names()) ASSERT_EQ(feature(got, name), feature(features, name)) << name;
    ASSERT_EQ(got.levels, want.levels);
}

// Both triangles of a general matrix: what is on the other side is left out.
TEST_P(SptrsvDeviceTasksOn, AreThoseOfTheHost)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU has no tasks";
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            for (const auto& [name, a] : triangles<double>())
                ASSERT_NO_FATAL_FAILURE(check(q, a, false, name.size() % 2 == 0, name));
            std::vector<std::tuple<index_t, index_t, double>> entries;
            for (index_t i = 0; i < 130; ++i)
                for (index_t j = 0; j < 130; ++j)
                    if (i == j || unit(hash_of(7, i, j)) < 0.08 || (i % 60 == 59 && j % 2 == 0))
                        entries.emplace_back(i, j, 1.0);
            const auto general = csr_of<double>(130, 130, entries);
            for (const bool upper : {false, true})
                ASSERT_NO_FATAL_FAILURE(check(q, general, upper, false, upper ? "upper part" : "lower part"));
        }
        (void)q;
    });
}

// Rows too long to be sorted, alone and in clusters; clusters that wait for more columns than there is room for.
TEST_P(SptrsvDeviceTasksOn, AreThoseOfTheHostForLongRows)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU has no tasks";
    const auto long_rows = triangle_where<double>(420, 3, [](index_t i, index_t j) {
        return j == i - 1 || (i % 70 == 69 && i > 300) || (i > 400 && j % 3 == 0);
    });
    const auto very_many = triangle_where<double>(1040, 4, [](index_t i, index_t j) {
        return i >= 1000 ? j == i - 1 || (j < 900 && (i + j) % 4 == 0) : false;
    });  // late columns: more than a table holds
    const auto many_late = triangle_where<double>(420, 4, [](index_t i, index_t j) {
        return i >= 380 ? j == i - 1 || (j < 300 && (i + j) % 4 == 0) : false;
    });
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const auto* a : {&long_rows, &many_late, &very_many}) {
                const Triangle t =
                    make_triangle(host_queue,
                                  {.rows = a->rows, .row_begin = a->row_begin.data(), .col = a->col.data()});
                const Buffer<offset_t> stored_begin = to_queue(q, a->row_begin.data(), offset_t{a->rows} + 1);
                const Buffer<index_t> stored_col = to_queue(q, a->col.data(), static_cast<offset_t>(a->col.size()));
                const DeviceTriangle there = extract_triangle(q, {.rows = a->rows,
                                                                  .row_begin = stored_begin.data(),
                                                                  .col = stored_col.data(),
                                                                  .nonzeros = stored_col.size()})
                                                 .value();
                ASSERT_TRUE(same(q, t.row_begin, there.row_begin, "the triangle's rows"));
                ASSERT_TRUE(same(q, t.col, there.col, "the triangle's columns"));
                for (const TeamWay& way :
                     {TeamWay{Merge::none, 1, 0, 1, false}, TeamWay{Merge::critical, 32, 0, 1, false},
                      TeamWay{Merge::critical, 32, 0, 4, true}, TeamWay{Merge::average, 32, 200, 1, false},
                      TeamWay{Merge::chains, 32, 0, 1, false}, TeamWay{Merge::chains, 32, 0, 4, false}}) {
                    if (!is_drawn("long rows " + std::to_string(a->rows) + std::to_string(a->col.size()) +
                                      to_text(way.how) + std::to_string(way.team),
                                  1))
                        continue;
                    SCOPED_TRACE(to_text(way.how));
                    const Graph graph = merge(host_queue, t, way.how, way.rows, way.limit);
                    const Tasks want = make_tasks(host_queue, t, t, graph, {way.reorder, way.team, 8});
                    TaskLayout taken = lay_out_tasks(q, there, upload_nodes(q, host_queue, graph), !graph.size.empty(),
                                                     graph.levels, {way.reorder, way.team, 8});
                    ASSERT_NO_FATAL_FAILURE(expect_same(q, want, write_tasks(q, std::move(taken), there)));
                    if (way.how == Merge::none || way.how == Merge::chains) {
                        ASSERT_NO_FATAL_FAILURE(
                            expect_same(q, want, write_tasks(q, lay_out_there(q, there, way, graph), there)));
                    }
                }
            }
        (void)q;
    });
}

// So many tasks that several blocks add their sizes up: a task for each row of a chain.
TEST_P(SptrsvDeviceTasksOn, AreThoseOfTheHostWhereTheyAreMany)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU has no tasks";
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < 2100; ++i) {
        for (index_t j = std::max(0, i - i % 7); j < i; ++j) entries.emplace_back(i, j, 1.0);
        if (i > 0 && i % 7 == 0) entries.emplace_back(i, i - 1, 1.0);
        entries.emplace_back(i, i, 1.0);
    }
    const auto a = csr_of<double>(2100, 2100, entries);
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            const Triangle t = triangle_of(a);
            const Buffer<offset_t> begin = to_queue(q, a.row_begin.data(), offset_t{a.rows} + 1);
            const Buffer<index_t> col = to_queue(q, a.col.data(), std::ssize(a.col));
            const DeviceTriangle there =
                extract_triangle(q,
                                 {.rows = a.rows, .row_begin = begin.data(), .col = col.data(), .nonzeros = col.size()})
                    .value();
            ASSERT_TRUE(
                same(q, t.row_begin, there.row_begin, "the triangle's rows"));  // a warp counts several rows in turn
            ASSERT_TRUE(same(q, t.col, there.col, "the triangle's columns"));
            for (const Merge how : {Merge::none, Merge::fixed}) {
                const Graph graph = merge(host_queue, t, how, 2);
                const Packing packing{false, 1, 8};
                const Tasks want = make_tasks(host_queue, t, t, graph, packing);
                ASSERT_GT(want.task.size(), 1024);
                ASSERT_NO_FATAL_FAILURE(
                    expect_same(q, want,
                                write_tasks(q,
                                            lay_out_tasks(q, there, upload_nodes(q, host_queue, graph),
                                                          !graph.size.empty(), graph.levels, packing),
                                            there)));
            }
        }
        (void)q;
    });
}

// What a step needs of the one before is asked for, not guessed.
// Blocks of 1024 tasks, more than 256 of them: threads of the last ones add up the sizes of several blocks before their
// own.
TEST_P(SptrsvDeviceTasksOn, ArePlacedWhereBlocksAreMoreThanThreads)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU has no tasks";
    if (simt::under_asan || simt::under_tsan) GTEST_SKIP() << "66000 threads, twice";
    constexpr offset_t n = 258 * 1024 + 77;
    std::vector<Task> task(n);
    std::vector<offset_t> entries(n + 1);
    for (offset_t k = 0; k < n; ++k) {
        const auto h = hash_of(1, k);
        task[static_cast<std::size_t>(k)] = {.step = -1,
                                             .dense = -1,
                                             .first = 0,
                                             .late_first = -1,
                                             .steps = static_cast<index_t>(below(h, 5)),
                                             .rows = 1,
                                             .width = static_cast<std::uint8_t>(1 << below(h, 6)),
                                             .late = static_cast<std::uint8_t>(below(hash_of(2, k), 4)),
                                             .cluster = static_cast<std::uint8_t>(k % 2)};
        entries[static_cast<std::size_t>(k)] = static_cast<offset_t>(below(hash_of(3, k), 9));
    }
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            TaskLayout layout;
            layout.tasks.task = to_queue(q, task.data(), n);
            layout.tasks.dense_first = to_queue(q, entries.data(), n + 1);
            place_tasks(q, layout);
            std::vector<Task> got(n);
            std::vector<offset_t> first(n + 1);
            download(q, layout.tasks.task.data(), got.data(), n);
            download(q, layout.tasks.dense_first.data(), first.data(), n + 1);
            offset_t step = 0, dense = 0, late = 0, before = 0;
            for (std::size_t k = 0; k < task.size(); ++k) {
                ASSERT_TRUE(got[k].step == step && got[k].dense == dense && got[k].late_first == late &&
                            first[k] == before)
                    << "task " << k;
                step += units_of(task[k], 1), dense += dense_of(task[k]),
                    late += task[k].cluster != 0 ? task[k].late : 0, before += entries[k];
            }
            EXPECT_EQ(first.back(), before);
            EXPECT_EQ(layout.tasks.dense_size, dense);
        }
        (void)q;
    });
}

// At most 1024 blocks of 256 threads: the rows behind that are looked at in a second round, the longest row and the
// deepest level among them.
TEST_P(SptrsvDeviceTasksOn, ASurveyHasMoreRowsThanThreads)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU has no survey";
    if (simt::under_asan || simt::under_tsan) GTEST_SKIP() << "262000 threads, several times";
    constexpr index_t rows = 1024 * 256 + 100;
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < rows; ++i) {
        if (i >= rows - 3)
            for (index_t j = rows - 9; j < i; ++j) entries.emplace_back(i, j, 1.0);
        entries.emplace_back(i, i, 1.0);
    }
    const auto a = csr_of<double>(rows, rows, entries);
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            const Buffer<offset_t> begin = to_queue(q, a.row_begin.data(), offset_t{rows} + 1);
            const Buffer<index_t> col = to_queue(q, a.col.data(), std::ssize(a.col));
            const DeviceTriangle there =
                extract_triangle(q,
                                 {.rows = rows, .row_begin = begin.data(), .col = col.data(), .nonzeros = col.size()})
                    .value();
            LevelAnalysis swept = sweep(q, there, 32, 8);
            const Surveyed found = survey(q, there, swept).value();
            EXPECT_EQ(found.features.levels, 4);
            EXPECT_EQ(found.alone.rows, (std::vector<offset_t>{rows - 3, 1, 1, 1}));
            EXPECT_EQ(feature(found.features, "nonzeros"), static_cast<double>(a.col.size()));
            EXPECT_EQ(feature(found.features, "row_longest"), 9);
        }
        (void)q;
    });
}

TEST_P(SptrsvDeviceTasksOn, RefuseWhatTheStepBeforeDidNotMake)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU has no tasks";
    const auto a = triangle_where<double>(40, 3, [](index_t i, index_t j) { return j == i - 1; });
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            const Triangle t = triangle_of(a);
            const DeviceTriangle sent{{.rows = t.rows,
                                       .row_begin = to_queue(q, t.row_begin.data(), t.row_begin.size()),
                                       .col = to_queue(q, t.col.data(), t.col.size())}};
            EXPECT_THROW(sweep(q, sent, 32, 40), ValueError);  // nobody has looked who needs a row first
            LevelAnalysis nodes = upload_nodes(q, host_queue, merge(host_queue, t, Merge::none));
            EXPECT_THROW(survey(q, sent, nodes), ValueError);                    // no room to count in
            EXPECT_FALSE(extract_triangle(q, {.rows = max_index}).has_value());  // left to the host
        }
        (void)q;
    });
}

// Through the door users have: the same bits of x, whatever the format and the side.
TEST_P(SptrsvDeviceTasksOn, SolveAsThoseOfTheHost)
{
    const auto c = ctx();
    const auto a = triangle_where<double>(150, 6, [](index_t i, index_t j) {
        return i - j <= 3 || unit(hash_of(3, i, j)) < 0.03;
    });
    const auto there = to_device(c, a.view());
    std::vector<double> b(150);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = unit(hash_of(4, i));
    const auto right = to_device(c, std::span<const double>(b));
    for (const Op op : {Op::none, Op::transpose}) {
        std::vector<std::vector<double>> x;
        for (const Analysis analysis : {Analysis::host, Analysis::device}) {
            const auto plan = Plan<double>::make(c, there.view(), {.op = op, .analysis = analysis});
            Buffer<double> solved = to_device(c, std::span<const double>(b));
            plan.solve(right.span(), solved.span());
            plan.wait();
            const auto back = to_host(c, std::span<const double>(solved.span()));
            x.emplace_back(back.data(), back.data() + back.size());
        }
        EXPECT_EQ(x[0], x[1]);
    }
}

// Levels and features found where the matrix is, for both triangles of a matrix that has both.
TEST_P(SptrsvDeviceTasksOn, LevelsAndFeaturesAreThoseOfTheHost)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU finds them on the host";
    for (const auto& [name, a] : triangles<double>()) {
        std::vector<std::tuple<index_t, index_t, double>> entries;
        for (const auto& [i, j, v] : a.entries()) {
            entries.emplace_back(i, j, v);
            if (i != j && (i + j) % 3 != 0) entries.emplace_back(j, i, v);
        }
        std::sort(entries.begin(), entries.end());
        const auto both = csr_of<double>(a.rows, a.rows, entries);
        for (const bool upper : {false, true}) {
            SCOPED_TRACE(name + (upper ? ", upper" : ", lower"));
            const Triangle t = make_triangle(host_queue, {.rows = a.rows,
                                                          .row_begin = both.row_begin.data(),
                                                          .col = both.col.data(),
                                                          .upper = upper,
                                                          .ignore_other_side = true});
            const Graph want = merge(host_queue, t, Merge::none);
            c.run([&](const auto& q) {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
                    check_levels(q, both, upper, want, features_of(t, want));
                (void)q;
            });
        }
    }
}

// Levels and features of one triangle, on the GPU and on the host.
void check_features(const Context& c, const HostCsr<double>& a)
{
    const Triangle t = triangle_of(a);
    const Graph want = merge(host_queue, t, Merge::none);
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            check_levels(q, a, false, want, features_of(t, want));
        (void)q;
    });
}

// Many rows of one level, which a warp adds up before it tells; a row for each of two levels in turn; more rows than
// the survey has threads is too much here.
TEST_P(SptrsvDeviceTasksOn, FeaturesOfManyRows)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU finds them on the host";
    check_features(c, triangle_where<double>(700, 5, [](index_t i, index_t j) {
                       return i < 350 ? false : i % 2 == 0 ? j == i - 350 : j == i - 1 || j == 3;
                   }));
}

// A block counts 128 levels in its shared memory, and the rest elsewhere.
TEST_P(SptrsvDeviceTasksOn, FeaturesOfManyLevels)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU finds them on the host";
    for (const index_t levels : {127, 128, 129}) {
        SCOPED_TRACE(levels);
        check_features(c, triangle_where<double>(2 * levels, 5, [](index_t i, index_t j) { return j == i - 2; }));
    }
}

// What the GPU does not take is left to the host, which says what is wrong.
TEST_P(SptrsvDeviceTasksOn, TakesNoFaultyTriangle)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU makes its own";
    struct Faulty {
        const char* what;
        std::vector<offset_t> begin;
        std::vector<index_t> col;
        bool upper, unit, ignore, taken;
    };
    const std::vector<Faulty> all{{"good", {0, 1, 3}, {0, 0, 1}, false, false, false, true},
                                  {"no diagonal", {0, 1, 2}, {0, 0}, false, false, false, false},
                                  {"none is needed", {0, 0, 1}, {0}, false, true, false, true},
                                  {"other side", {0, 2, 3}, {0, 1, 1}, false, false, false, false},
                                  {"other side left out", {0, 2, 3}, {0, 1, 1}, false, false, true, true},
                                  {"upper", {0, 2, 3}, {0, 1, 1}, true, false, false, true},
                                  {"other side of upper", {0, 1, 3}, {0, 0, 1}, true, false, false, false},
                                  {"unsorted", {0, 1, 3}, {0, 1, 0}, false, false, false, false},
                                  {"twice", {0, 1, 4}, {0, 0, 0, 1}, false, false, false, false},
                                  {"an empty row", {0, 0, 2}, {0, 1}, false, false, false, false},
                                  {"offsets begin later", {1, 2, 3}, {0, 0, 1}, false, true, true, false},
                                  {"offsets fall", {0, 3, 1}, {0, 0, 1}, false, true, true, false},
                                  {"offsets end earlier", {0, 1, 2}, {0, 1, 1}, false, true, true, false},
                                  {"offsets end later", {0, 1, 4}, {0, 0, 1}, false, true, true, false},
                                  {"a column beyond", {0, 2, 3}, {0, 2, 1}, true, false, true, false},
                                  {"a column before", {0, 1, 3}, {0, -1, 1}, false, false, true, false}};
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const Faulty& f : all) {
                const Buffer<offset_t> begin = to_queue(q, f.begin.data(), 3);
                const Buffer<index_t> col = to_queue(q, f.col.data(), std::ssize(f.col));
                const TriangleSource stored{.rows = 2,
                                            .row_begin = begin.data(),
                                            .col = col.data(),
                                            .nonzeros = std::ssize(f.col),
                                            .upper = f.upper,
                                            .unit_diagonal = f.unit,
                                            .ignore_other_side = f.ignore};
                EXPECT_EQ(extract_triangle(q, stored).has_value(), f.taken) << f.what;
            }
        (void)q;
    });
}

// Wide enough that the GPU's sweep is predicted to be shorter: whatever was used, nothing else changes.
TEST_P(SptrsvDeviceTasksOn, WideLevelsGiveTheSamePlan)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU's choice depends on how busy it is";
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < 2500; ++i) {
        for (index_t k = 0; i >= 50 && k < 40; ++k) entries.emplace_back(i, k, 0.01);
        entries.emplace_back(i, i, 1.0);
    }
    const auto a = csr_of<double>(2500, 2500, entries);
    ASSERT_GE(most_levels_on_device(2500, std::ssize(a.col) - 2500), 2);
    const auto there = to_device(c, a.view());
    const auto host = Plan<double>::make(c, there.view(), {.analysis = Analysis::host}),
               device = Plan<double>::make(c, there.view(), {.analysis = Analysis::device});
    EXPECT_EQ(device.features().levels, 2);
    EXPECT_EQ(host.policy(), device.policy());
    EXPECT_EQ(host.levels(), device.levels());
    for (const std::string& name : feature_names())
        EXPECT_EQ(feature(host.features(), name), feature(device.features(), name)) << name;
}

// Chains found there are laid out with their own levels, also after merges on the host were evaluated.
TEST_P(SptrsvDeviceTasksOn, ChainsKeepTheirLevels)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU has no tasks";
    const auto a = triangle_where<double>(1500, 8, [](index_t i, index_t j) {
        return i >= 40 && j < 40 ? (i + j) % 2 == 0 : i >= 1450 ? j == i - 1 : j >= 40 && j == i - 700;
    });
    const auto there = to_device(c, a.view());
    const WideView<double> view = there.view();
    AnalysisState known = analyze_pattern(c, view, {});
    ASSERT_TRUE(known.device && known.device->nodes);
    evaluate_merges(c, limits_of(c), 1e9, known);
    known.estimates.resize(1);
    const Policy chains{.kernel = Kernel::tasks, .merge = Merge::chains, .rows = 32, .warps = 4};
    EXPECT_EQ(prepare(c, view, {}, known, chains).levels, merge(host_queue, triangle_of(a), Merge::chains, 32).levels);
}

// Where levels were found there, whatever is then asked for has what it needs: clusters made meanwhile, rows alone, the
// paper's kernel, many sides, a cache.
TEST_P(SptrsvDeviceTasksOn, WhatWasLeftThereIsFetched)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU leaves nothing anywhere";
    const auto a = triangle_where<double>(1500, 8, [](index_t i, index_t j) {
        return i >= 40 && j < 40 ? (i + j) % 2 == 0 : i >= 1450 ? j == i - 1 : j >= 40 && j == i - 700;
    });
    ASSERT_GE(most_levels_on_device(1500, std::ssize(a.col) - 1500),
              merge(host_queue, triangle_of(a), Merge::none).levels);
    const auto there = to_device(c, a.view()), upper = to_device(c, turned(a).view());
    const std::vector<double> b(1500, 1.0);
    const auto right = to_device(c, std::span<const double>(b));
    const auto folder = std::filesystem::temp_directory_path() / ("tulle_sptrsv_left_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const Policy clusters{.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 32, .warps = 4},
        alone{.kernel = Kernel::tasks, .warps = 4},
        small{.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 8, .warps = 4};
    const Policy paper{.kernel = Kernel::groups, .merge = Merge::fixed, .rows = 1};
    const std::vector<Options> all{{.force = clusters},
                                   {.force = alone},
                                   {.force = small},
                                   {.force = paper},
                                   {.uplo = Uplo::upper, .force = paper},
                                   {.right_hand_sides = 3, .force = clusters},
                                   {.expected_calls = 1},
                                   {.cache = folder.string()}};
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (!is_drawn("left there " + std::to_string(k), 1)) continue;
        SCOPED_TRACE(k);
        std::vector<std::vector<double>> x;
        std::vector<index_t> levels;
        for (const Analysis analysis : {Analysis::host, Analysis::device}) {
            Options options = all[k];
            options.analysis = analysis;
            const auto plan = Plan<double>::make(c, options.uplo == Uplo::upper ? upper.view() : there.view(), options);
            levels.push_back(plan.levels());
            Buffer<double> solved = to_device(c, std::span<const double>(b));
            plan.solve(right.span(), solved.span());
            plan.wait();
            const auto back = to_host(c, std::span<const double>(solved.span()));
            x.emplace_back(back.data(), back.data() + back.size());
        }
        EXPECT_EQ(x[0], x[1]);
        EXPECT_EQ(levels[0], levels[1]);
    }
    std::filesystem::remove_all(folder);
    Policy short_chains = small, long_chains = clusters;
    short_chains.merge = long_chains.merge = Merge::chains;
    const auto trials =
        try_policies<double>(c, there.view(), {.seconds = 1000}, {small, clusters, short_chains, long_chains});
    ASSERT_EQ(trials.size(), 4u);
    for (const Trial& trial : trials)
        EXPECT_EQ(trial.levels, merge(host_queue, triangle_of(a), trial.policy.merge, trial.policy.rows).levels)
            << to_text(trial.policy);
}

template <class T>
std::vector<T> fetched(const CudaQueue& q, const Buffer<T>& there)
{
    std::vector<T> here(static_cast<std::size_t>(there.size()));
    download(q, there.data(), here.data(), there.size());
    return here;
}

// (I + S)^-1 and its product with F, or S and F themselves, in long double, column after column; the largest row sum of
// |(I + S)^-1| |I + S|.
struct Formed {
    std::vector<long double> dense;
    long double growth = 0;
};

Formed form(const std::vector<long double>& given, int width, int late)
{
    const auto at = [&](int i, int k) { return static_cast<std::size_t>(k * width + i); };
    Formed formed{given, 0};
    auto& z = formed.dense;
    for (int k = 0; k < width + late; ++k)
        for (int i = 0; i < width; ++i) {
            long double sum = k >= width ? given[at(i, k)] : i == k ? 1 : 0;
            for (int m = 0; m < i; ++m) sum -= given[at(i, m)] * z[at(m, k)];
            z[at(i, k)] = sum;
        }
    for (int i = 0; i < width; ++i) {
        long double growth = 0;
        for (int k = 0; k < width; ++k) {
            long double sum = 1;
            for (int m = 0; m < width; ++m) sum += std::abs(given[at(k, m)]);
            growth += std::abs(z[at(i, k)]) * sum;
        }
        formed.growth = std::max(formed.growth, growth);
    }
    return formed;
}

// What is filled in, against the matrices themselves. Returns how many clusters kept their entries.
[[maybe_unused]] int check_fill(const CudaQueue& q, const HostCsr<double>& a, int team)
{
    const Triangle t = triangle_of(a);
    const Graph graph = merge(host_queue, t, Merge::critical, 32);
    const Tasks tasks = make_tasks(host_queue, t, t, graph, {false, team, 8});
    const Buffer<offset_t> begin = to_queue(q, a.row_begin.data(), offset_t{a.rows} + 1);
    const Buffer<index_t> col = to_queue(q, a.col.data(), std::ssize(a.col));
    const Buffer<double> value = to_queue(q, a.value.data(), std::ssize(a.value));
    const DeviceTriangle triangle =
        extract_triangle(q, {.rows = a.rows, .row_begin = begin.data(), .col = col.data()}).value();
    const Tasks there = write_tasks(q,
                                    lay_out_tasks(q, triangle, upload_nodes(q, host_queue, graph), !graph.size.empty(),
                                                  graph.levels, {false, team, 8}),
                                    triangle);
    TaskValues<double> values{Buffer<double>(q, tasks.col.size()), Buffer<double>(q, a.rows),
                              Buffer<double>(q, tasks.dense_size), Buffer<index_t>(q, tasks.task.size())};
    fill_bytes(q, values.dense.data(), 0xff, values.dense.bytes());            // whatever is not written is no number
    fill_bytes(q, values.substitute.data(), 0xff, values.substitute.bytes());  // written for clusters only
    EXPECT_EQ(fill_tasks(q, there, value.data(), most_growth, values), -1);
    const auto dense = fetched(q, values.dense);
    const auto substitute = fetched(q, values.substitute);
    int kept = 0;
    for (offset_t p = 0; p < tasks.task.size(); ++p) {
        const Task& task = tasks.task.data()[p];
        if (task.cluster == 0) continue;
        const auto count = static_cast<std::size_t>(task.width * (task.width + task.late));
        std::vector<long double> given(count, 0);
        for (offset_t e = tasks.dense_first.data()[p]; e < tasks.dense_first.data()[p + 1]; ++e) {
            const auto place = static_cast<std::size_t>(tasks.dense_at.data()[e] - task.dense);
            const auto diagonal =
                static_cast<std::size_t>(tasks.diagonal.data()[task.first + static_cast<index_t>(place) % task.width]);
            given[place] = static_cast<long double>(a.value[static_cast<std::size_t>(tasks.dense_source.data()[e])]) /
                           a.value[diagonal];
        }
        const Formed formed = form(given, task.width, task.late);
        const bool keeps = substitute[static_cast<std::size_t>(p)] != 0;
        kept += keeps ? 1 : 0;
        EXPECT_EQ(keeps, formed.growth > most_growth) << "task " << p << ", growth " << formed.growth;
        for (std::size_t k = 0; k < count; ++k) {
            const long double want = keeps ? given[k] : formed.dense[k],
                              got = dense[static_cast<std::size_t>(task.dense) + k];
            if (!(std::abs(got - want) <= 1e-13L * (1 + std::abs(want)) * static_cast<long double>(most_growth))) {
                ADD_FAILURE() << "task " << p << ", row " << k % task.width << ", column " << k / task.width << " of "
                              << int{task.width} << " + " << int{task.late} << ": " << got << " instead of " << want;
                return kept;
            }
        }
    }
    return kept;
}

TEST_P(SptrsvDeviceTasksOn, ClustersAreFilledWithTheirInverses)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU has no clusters to invert";
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            const auto mesh = triangle_where<double>(96, 7, [](index_t i, index_t j) {
                return i / 6 == j / 6 || (i / 6 - j / 6 == 1 && (i + j) % 2 == 0) || i - j == 40;
            });
            const auto many_late = triangle_where<double>(240, 4, [](index_t i, index_t j) {
                return i >= 200 ? j == i - 1 || (j < 150 && (i + j) % 4 == 0) : false;
            });
            auto steep = triangle_where<double>(70, 5, [](index_t i, index_t j) {
                return j == i - 1;
            });  // the second cluster waits for the first
            EXPECT_EQ(check_fill(q, mesh, 1), 0);
            EXPECT_EQ(check_fill(q, mesh, 4), 0);
            EXPECT_EQ(check_fill(q, many_late, 1), 0);
            EXPECT_EQ(check_fill(q, many_late, 4), 0);
            for (std::size_t k = 1; k < steep.value.size(); k += 2)
                steep.value[k] *= 500;  // beside the diagonal: inverses grow beyond what is allowed
            EXPECT_GT(check_fill(q, steep, 4), 1);
        }
        (void)q;
    });
}

TULLE_ON_BACKENDS(SptrsvDeviceTasksOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
