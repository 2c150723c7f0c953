// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is chosen before anything is tried: schemes as lines, features by name, the learned model, what was remembered.
#include "sptrsv/steps.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "model/damage.hpp"
#include "sptrsv/on_host.hpp"
#include "support/backends.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;
namespace fs = std::filesystem;

Features features_of_matrix(const HostCsr<double>& a)
{
    const Triangle t = triangle_of(a);
    return features_of(t, merge(host_queue, t, Merge::none));
}

// A folder that goes away again.
struct Folder {
    fs::path path =
        fs::temp_directory_path() / ("tulle_sptrsv_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    std::string text() const { return path.string(); }
    static inline std::atomic<int> count = 0;
};

std::string read(const std::string& file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(SptrsvScheme, ReadsBackAsItWasWritten)
{
    std::vector<Policy> all = ag_sptrsv_policies();
    for (const Policy& s : candidates(gpu)) all.insert(all.begin(), s);
    for (std::size_t k = 0; k < all.size(); k += k < 20 ? 1 : 101)
        EXPECT_EQ(parse_policy(to_line(all[k])), all[k]) << to_line(all[k]);
    EXPECT_EQ(to_line({.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 32, .warps_per_task = 4, .warps = 8}),
              "kernel=tasks merge=critical rows=32 warps_per_task=4 warps=8");
    const Policy in_a_block{.kernel = Kernel::tasks, .execution_scope = ExecutionScope::block};
    EXPECT_EQ(to_line(in_a_block), "kernel=tasks execution_scope=block");
    EXPECT_EQ(parse_policy("kernel=tasks regime=block"), in_a_block) << "as older files have it";
    EXPECT_EQ(parse_policy("kernel=tasks team=4"), (Policy{.kernel = Kernel::tasks, .warps_per_task = 4}))
        << "the same";
    EXPECT_EQ(parse_policy("kernel=levels limit=1"), (Policy{.kernel = Kernel::levels, .limit = 1}));
}

TEST(SptrsvScheme, RefusesWhatItDoesNotUnderstand)
{
    for (const char* line :
         {"", "tasks", "rows=3", "kernel=", "kernel=task", "kernel=tasks merge", "kernel=tasks  rows=3",
          "kernel=tasks rows=", "kernel=tasks rows=3x", "kernel=tasks rows=99999999999", "kernel=tasks reorder=2",
          "kernel=tasks colour=3", "kernel=tasks merge=none rows=3 ="})
        EXPECT_FALSE(parse_policy(line)) << line;
}

// dep_dist of the paper: the mean of 1 / (k - column of the last entry beside the diagonal), 0 for rows without one.
TEST(SptrsvFeatures, NearnessByHand)
{
    EXPECT_DOUBLE_EQ(features_of_matrix(triangle_where<double>(8, 3, [](index_t i, index_t j) { return j == i - 1; }))
                         .dependency_nearness,
                     7.0 / 8);
    EXPECT_DOUBLE_EQ(features_of_matrix(triangle_where<double>(8, 3, [](index_t i, index_t j) { return j == i - 4; }))
                         .dependency_nearness,
                     4 * 0.25 / 8);
    EXPECT_NEAR(features_of_matrix(triangle_where<double>(8, 3, [](index_t i, index_t j) { return j == 0 && i > 0; }))
                    .dependency_nearness,
                (1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0 + 1 / 5.0 + 1 / 6.0 + 1 / 7.0) / 8, 1.0 / (1ull << 32));
    EXPECT_DOUBLE_EQ(
        features_of_matrix(triangle_where<double>(8, 3, [](index_t, index_t) { return false; })).dependency_nearness,
        0);
    EXPECT_DOUBLE_EQ(features_of_matrix(
                         triangle_where<double>(5, 3,
                                                [](index_t i, index_t j) { return i == 4 && (j == 0 || j == 2); }))
                         .dependency_nearness,
                     0.5 / 5)
        << "the last entry counts, not the first";
}

TEST(SptrsvFeatures, LevelsByHand)
{
    // Rows 0 … 3 need nobody, 4 and 5 each one of them, 6 both: levels of 4, 4 and 3 entries.
    const Features f = features_of_matrix(triangle_where<double>(7, 3, [](index_t i, index_t j) {
        return (i == 4 && j == 0) || (i == 5 && j == 1) || (i == 6 && (j == 4 || j == 5));
    }));
    EXPECT_EQ(f.levels, 3);
    EXPECT_DOUBLE_EQ(f.level_mean, 11.0 / 3);
    EXPECT_DOUBLE_EQ(f.level_longest, 4);
    EXPECT_NEAR(f.level_variation, std::sqrt((16 + 16 + 9) / 3.0 - 121.0 / 9) / (11.0 / 3), 1e-12);
    EXPECT_EQ(feature_names().size(), 10u);
    EXPECT_EQ(feature(f, "levels"), 3);
    EXPECT_EQ(feature(f, "rows"), 7);
    EXPECT_EQ(feature(f, "nonzeros"), 11);
    EXPECT_EQ(feature(f, "level_longest"), 4);
    EXPECT_THROW(feature(f, "colour"), ValueError);
}

// Judges "rows alone" by the levels: few are good. The third output is not understood, the fourth is for another
// backend; both are judged highest.
constexpr const char* by_levels = "tulle perceptron 1\nfeature levels\n"
                                  "output kernel=tasks warps=4\noutput kernel=tasks merge=critical rows=32 team=4 "
                                  "warps=8\noutput kernel=unheard\noutput kernel=serial\n"
                                  "mean 0 0 0\nscale 1 1 1\nlayer 4 3\n5 0 -0.1 0\n0 0 0 0\n90 0 0 0\n80 0 0 0\n";

TEST(SptrsvLearned, TakesTheHighestThatWorks)
{
    const Learned model(model::Perceptron::parse(by_levels, "by levels"));
    const auto few = choose_learned({.levels = 10}, model, gpu), many = choose_learned({.levels = 1000}, model, gpu),
               cpu = choose_learned({.levels = 10}, model, {Backend::cpu, 2});
    ASSERT_TRUE(few && many && cpu);
    EXPECT_EQ(few->policy, (Policy{.kernel = Kernel::tasks, .warps = 4}));
    EXPECT_EQ(many->policy.merge, Merge::critical);
    EXPECT_EQ(cpu->policy.kernel, Kernel::serial);
    const Learned none(model::Perceptron::parse(
        "tulle perceptron 1\nfeature rows\noutput x\nmean 0 0 0\nscale 0 0 0\nlayer 1 3\n0 0 0 0\n", "none"));
    EXPECT_FALSE(choose_learned({}, none, gpu));
    const Learned strange(model::Perceptron::parse(
        "tulle perceptron 1\nfeature colour\noutput x\nmean 0 0 0\nscale 0 0 0\nlayer 1 3\n0 0 0 0\n", "strange"));
    EXPECT_THROW(choose_learned({}, strange, gpu), ValueError);
}

// Rows alone are worth a half or more up to 50 levels, clusters always exactly a half.
TEST(SptrsvLearned, OverrulesWhatIsNotGoodEnough)
{
    const Learned model(model::Perceptron::parse(by_levels, "by levels"));
    const Choice alone{{.kernel = Kernel::tasks, .warps = 16}, 1e-6, "predicted"},
        clusters{{.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 32, .warps_per_task = 4, .warps = 4},
                 1e-6,
                 "predicted"};
    const std::vector<MergeEstimate> both{{Merge::none, 1, 1000, 1000}, {Merge::critical, 32, 10, 10}},
        shorter{{Merge::none, 1, 1000, 1000}, {Merge::critical, 16, 10, 10}};
    EXPECT_EQ(overrule(alone, {.levels = 40}, model, gpu, both).policy, alone.policy)
        << "good enough, with other warps";
    EXPECT_EQ(overrule(alone, {.levels = 60}, model, gpu, both).policy.merge, Merge::critical);
    EXPECT_EQ(overrule(alone, {.levels = 60}, model, gpu, shorter).policy, alone.policy)
        << "clusters of another length were looked at";
    EXPECT_EQ(overrule(clusters, {.levels = 10}, model, gpu, both).policy, clusters.policy)
        << "good enough, if not the best";
    const Choice unknown{{.kernel = Kernel::tasks, .merge = Merge::fixed, .rows = 8}, 1e-6, "predicted"};
    EXPECT_EQ(overrule(unknown, {.levels = 10}, model, gpu, both).policy, (Policy{.kernel = Kernel::tasks, .warps = 4}))
        << "a scheme that it does not know is not good enough";
}

TEST(SptrsvCache, FingerprintsTellPatternsApart)
{
    std::set<std::uint64_t> seen;
    std::size_t patterns = 0;
    for (const auto& [name, a] : triangles<double>()) {
        const Triangle t = triangle_of(a);
        EXPECT_EQ(fingerprint(CpuQueue(1), t, false), fingerprint(CpuQueue(3), t, false)) << name;
        seen.insert(fingerprint(host_queue, t, false));
        ++patterns;
    }
    EXPECT_EQ(seen.size(), patterns);
    const Triangle chain = triangle_of(triangle_where<double>(9, 1, [](index_t i, index_t j) { return j == i - 1; }));
    EXPECT_EQ(fingerprint(host_queue, chain, false),
              fingerprint(host_queue,
                          triangle_of(triangle_where<double>(9, 2, [](index_t i, index_t j) { return j == i - 1; })),
                          false))
        << "values do not matter";
    const Triangle moved =
        triangle_of(triangle_where<double>(9, 1, [](index_t i, index_t j) { return i == 8 ? j == 6 : j == i - 1; }));
    EXPECT_NE(fingerprint(host_queue, chain, false), fingerprint(host_queue, moved, false));
    EXPECT_NE(fingerprint(host_queue, chain, false), fingerprint(host_queue, chain, true)) << "the diagonal matters";
}

const CacheKey key{0x123, "NVIDIA H200", "f64"};
const Policy found{.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 16, .warps_per_task = 4, .warps = 8};

TEST(SptrsvCache, RemembersByPatternDeviceAndType)
{
    const Folder folder;
    EXPECT_FALSE(recall(folder.text(), key, gpu).policy);
    EXPECT_EQ(recall(folder.text(), key, gpu).note, "");
    EXPECT_EQ(remember(folder.text() + "/new/folder", key, found, 1.25e-4), "");
    EXPECT_EQ(remember(folder.text(), key, found, 1.25e-4), "");
    const Remembered back = recall(folder.text(), key, gpu);
    EXPECT_EQ(back.policy, found);
    EXPECT_EQ(back.seconds, 1.25e-4);
    EXPECT_FALSE(recall(folder.text(), {0x124, key.device, key.type}, gpu).policy);
    EXPECT_FALSE(recall(folder.text(), {key.pattern, "another", key.type}, gpu).policy);
    EXPECT_FALSE(recall(folder.text(), {key.pattern, key.device, "f32"}, gpu).policy);
    EXPECT_NE(recall(folder.text(), key, {Backend::cpu, 2}).note.find("not for this backend"), std::string::npos);
}

TEST(SptrsvCache, FindsOutAFileUnderAnothersName)
{
    const Folder folder;
    const CacheKey other{0x999, "NVIDIA H200", "f64"};
    EXPECT_EQ(remember(folder.text(), key, found, 1), "");
    fs::copy_file(cache_file(folder.text(), key), cache_file(folder.text(), other));
    EXPECT_FALSE(recall(folder.text(), other, gpu).policy);
    EXPECT_NE(recall(folder.text(), other, gpu).note.find("of another pattern"), std::string::npos);
}

// Whatever is done to a file: it is ignored with a note, or it still says what it said in a way that works.
TEST(SptrsvCache, SurvivesDamage)
{
    const Folder folder;
    remember(folder.text(), key, found, 1);
    const std::string file = cache_file(folder.text(), key), text = read(file);
    int ignored = 0;
    for (int seed = 0; seed < 100; ++seed) {
        const std::string broken = model::damaged(text, seed);
        std::ofstream(file, std::ios::trunc) << broken;
        const Remembered back = recall(folder.text(), key, gpu);
        SCOPED_TRACE(broken);
        EXPECT_NE(back.policy.has_value(), !back.note.empty());
        EXPECT_TRUE(!back.policy || works(*back.policy, gpu));
        ignored += back.policy ? 0 : 1;
    }
    EXPECT_GT(ignored, 60);
}

TEST(SptrsvCache, LeavesForeignFilesAlone)
{
    const Folder folder;
    const std::string file = cache_file(folder.text(), key);
    std::ofstream(file) << "my diary\n";
    EXPECT_NE(recall(folder.text(), key, gpu).note.find("not a remembered scheme"), std::string::npos);
    EXPECT_NE(remember(folder.text(), key, found, 1).find("stays as it is"), std::string::npos);
    EXPECT_EQ(read(file), "my diary\n");
    std::ofstream(file, std::ios::trunc) << "tulle sptrsv scheme 1\nhalf";  // ours, but cut off: may be replaced
    EXPECT_EQ(remember(folder.text(), key, found, 1), "");
    EXPECT_EQ(recall(folder.text(), key, gpu).policy, found);
}

TEST(SptrsvCache, SaysWhyNothingWasWritten)
{
    const Folder folder;
    std::ofstream(folder.path / "file") << "x";
    EXPECT_NE(remember((folder.path / "file").string(), key, found, 1), "");
    EXPECT_NE(remember((folder.path / "file" / "deeper").string(), key, found, 1), "");
    EXPECT_FALSE(recall((folder.path / "file").string(), key, gpu).policy);
}

// Readers see one of what the writers wrote, whole, and no file is left over.
TEST(SptrsvCache, ManyMayWriteAtOnce)
{
    const Folder folder;
    remember(folder.text(), key, found, 1);
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0, seen = 0;
    std::thread reader([&] {
        while (!stop) {
            const Remembered back = recall(folder.text(), key, gpu);
            if (!back.policy || back.policy->warps != static_cast<int>(back.seconds) + 7) ++wrong;
            ++seen;
        }
    });
    std::vector<std::thread> writers;
    for (int w = 1; w <= 3; ++w)
        writers.emplace_back([&, w] {
            Policy mine = found;
            mine.warps = w + 7;
            for (int k = 0; k < 20; ++k)
                if (!remember(folder.text(), key, mine, w).empty()) ++wrong;
        });
    for (auto& t : writers) t.join();
    stop = true;
    reader.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(seen, 0);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1);
}

class SptrsvSelectOn : public OnBackend {};

TEST_P(SptrsvSelectOn, ASearchIsRememberedAndUsed)
{
    const auto c = ctx();
    const Folder folder;
    const auto a = triangle_where<double>(60, 3, [](index_t i, index_t j) { return j == i - 1 || j == i - 7; });
    const auto there = to_device(c, a.view());
    const Options search{.effort = Effort::search,
                         .seconds = 1e-9,
                         .cache = folder.text()};  // one scheme, then the time is over
    const auto first = Plan<double>::make(c, there.view(), search);
    EXPECT_NE(first.describe().find("remembered from now on"), std::string::npos) << first.describe();
    const auto second = Plan<double>::make(c, there.view(), {.cache = folder.text()});
    EXPECT_EQ(second.policy(), first.policy());
    EXPECT_NE(second.describe().find("the fastest of an earlier search"), std::string::npos) << second.describe();
    const auto other = Plan<double>::make(
        c, view_of(to_device(c, triangle_where<double>(61, 3, [](index_t, index_t) { return false; }).view())),
        {.cache = folder.text()});
    EXPECT_NE(other.describe().find("nothing remembered"), std::string::npos) << other.describe();
}

TEST_P(SptrsvSelectOn, AModelFromAFileChooses)
{
    const auto c = ctx();
    const Folder folder;
    const std::string file = (folder.path / "model.txt").string();
    const bool cpu = c.backend() == Backend::cpu;
    const Policy wanted = cpu ? Policy{.kernel = Kernel::levels, .limit = 1}
                              : Policy{.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 8, .warps = 2};
    std::ofstream(file) << "tulle perceptron 1\nfeature nearness\noutput kernel=serial\noutput kernel=tasks\noutput "
                        << to_line(wanted) << "\nmean 0 0 0\nscale 1 1 1\nlayer 3 3\n0 0 0 0\n0 0 0 0\n1 0 0 0\n";
    const auto a = triangle_where<double>(60, 3, [](index_t i, index_t j) { return j == i - 1; });
    const auto there = to_device(c, a.view());
    const auto plan = Plan<double>::make(c, there.view(), {.model = file});
    EXPECT_EQ(plan.policy(), wanted);
    EXPECT_NE(plan.describe().find("learned model"), std::string::npos);
    std::ofstream(file, std::ios::trunc) << "nonsense";
    EXPECT_THROW(Plan<double>::make(c, there.view(), {.model = file}), FormatError);
}

TULLE_ON_BACKENDS(SptrsvSelectOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
