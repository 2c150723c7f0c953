// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a seed takes of the cases: CI's builds take all of them in turn, and seeds in a row draw every combination.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "simt/observer.hpp"
#include "simt/run.hpp"
#include "spgemm/products.hpp"
#include "sptrsv/triangles.hpp"
#include "support/battery.hpp"
#include "tulle/text.hpp"

namespace tulle::test {
namespace {

// While it lives, the environment has another seed and takes a sample, or everything.
class WithSeed {
public:
    explicit WithSeed(const std::string& seed) : WithSeed(seed, "sample") {}
    WithSeed(const std::string& seed, const char* battery)
        : before_{text_of("TULLE_SIM_SEED"), text_of("TULLE_BATTERY")}
    {
        setenv("TULLE_SIM_SEED", seed.c_str(), 1);
        setenv("TULLE_BATTERY", battery, 1);
    }
    ~WithSeed()
    {
        put_back("TULLE_SIM_SEED", before_[0]);
        put_back("TULLE_BATTERY", before_[1]);
    }
    WithSeed(const WithSeed&) = delete;
    WithSeed& operator=(const WithSeed&) = delete;

private:
    static std::string text_of(const char* name) { return std::getenv(name) ? std::getenv(name) : ""; }
    static void put_back(const char* name, const std::string& text)
    {
        text.empty() ? unsetenv(name) : setenv(name, text.c_str(), 1);
    }
    std::array<std::string, 2> before_;
};

// {run: seed} of the runs that .ci/run has for a number in .ci/seed.
std::map<std::string, std::string> seeds_of_ci(unsigned number)
{
    FILE* const pipe = popen(concat("'" TULLE_CI_RUN "' --seeds ", number).c_str(), "r");
    std::string text;
    std::array<char, 256> piece;
    while (const std::size_t got = fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), got);
    EXPECT_EQ(pclose(pipe), 0);
    std::map<std::string, std::string> seeds;
    std::istringstream lines(text);
    for (std::string run, seed; lines >> run >> seed;) seeds[run] = seed;
    return seeds;
}

std::set<std::string> names_of_all()
{
    std::set<std::string> names;
    for (const auto& some : battery<float>(Values::integers)) names.insert(some.name);
    for (const auto& some : products<float>(Values::integers)) names.insert("product: " + some.name);
    for (const auto& some : triangles<float>()) names.insert("triangle: " + some.name);
    return names;
}

TEST(Draws, FifteenNumbersOfCiInARowTakeEveryCaseUnderEachSanitizer)
{
    const std::set<std::string> all = [] {
        const WithSeed everything("1", "full");
        return names_of_all();
    }();
    for (const unsigned first : {0u, 3u, 0xfedcba9u}) {
        std::map<std::string, std::set<std::string>> taken;
        for (unsigned number = first; number < first + 15; ++number) {
            const auto seeds = seeds_of_ci(number);
            EXPECT_EQ(seeds.contains("sim-tsan"), seeds.contains("sim-tsan-again"));
            for (const auto& [run, seed] : seeds) {
                const WithSeed with(seed);
                const auto some = names_of_all();
                EXPECT_LT(some.size(), all.size() * 2 / 3) << run << " has a part only";
                taken[run].insert(some.begin(), some.end());
            }
        }
        for (const char* run : {"sim-asan", "sim-tsan", "sim-tsan-again"})
            EXPECT_EQ(taken[run], all) << run << " from " << first;
        EXPECT_TRUE(taken.contains("sim")) << "lines are counted";
    }
}

TEST(Draws, NumbersOfCiThatHaveTheSameBuildHaveOtherSeeds)
{
    std::map<std::string, std::set<std::string>> taken;
    for (unsigned number = 0; number < 10; ++number)
        for (const auto& [run, seed] : seeds_of_ci(number)) taken[run].insert(seed);
    for (const char* run : {"sim-asan", "sim-tsan", "sim-tsan-again"}) EXPECT_EQ(taken[run].size(), 2u) << run;
}

TEST(Draws, CasesWithNothingInThemAreTakenAlways)
{
    for (const char* seed : {"1", "2", "3"}) {
        const WithSeed with(seed);
        std::set<std::string> names;
        for (const auto& some : battery<double>(Values::integers)) names.insert(some.name);
        for (const char* name :
             {"no rows, no columns", "no rows", "no columns", "all rows empty", "one by one", "one entry in a corner"})
            EXPECT_TRUE(names.contains(name)) << name;
    }
}

TEST(Draws, SeedsInARowDrawEveryCombinationOnce)
{
    for (const unsigned one_in : {1u, 2u, 3u, 12u, 20u})
        for (const unsigned block : {0u, 7u})
            for (int name = 0; name < 50; ++name) {
                unsigned drawn = 0;
                for (unsigned seed = block * one_in; seed < (block + 1) * one_in; ++seed) {
                    const WithSeed with(std::to_string(seed));
                    drawn += is_in_sample("combination " + std::to_string(name), one_in);
                }
                EXPECT_EQ(drawn, 1u) << name << ", one in " << one_in;
            }
}

// A case that has its turn every third seed, and in it a combination that one in twelve draws: there are seeds for
// both.
TEST(Draws, TurnsAndDrawsMeet)
{
    std::set<int> met;
    for (unsigned seed = 0; seed < 600; ++seed) {
        const WithSeed with(std::to_string(seed));
        for (int name = 0; name < 20; ++name)
            if (has_turn(static_cast<std::uint64_t>(name)) && is_in_sample("combination " + std::to_string(name), 12))
                met.insert(name);
    }
    EXPECT_EQ(met.size(), 20u);
}

TEST(Draws, AreWrittenDownWithWhatTheyLaunch)
{
    const std::string file = ::testing::TempDir() + "tulle_draws", here = "Draws.AreWrittenDownWithWhatTheyLaunch\t";
    {
        Draws draws(file.c_str(), nullptr);
        draws.note_launch("early", 1);
        EXPECT_TRUE(draws.begin("x")) << "all are taken";
        for (const unsigned blocks : {3u, 2u, 40u}) draws.note_launch("k", blocks);
    }
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    EXPECT_EQ(text.str(), here + "\t1\tearly x1\n" + here + "x\t3\tk x2\tk x4\n");
}

TEST(Draws, OnlyThoseThatAreNamed)
{
    const std::string file = ::testing::TempDir() + "tulle_only_draws";
    std::ofstream(file) << "Draws.OnlyThoseThatAreNamed\tx\nDraws.Another\ty\n";
    Draws draws(nullptr, file.c_str());
    EXPECT_TRUE(draws.begin("x"));
    EXPECT_FALSE(draws.begin("y")) << "it is of another case";
    EXPECT_FALSE(draws.begin(""));
}

std::vector<unsigned> seen;
__global__ void do_nothing() {}

TEST(Draws, LaunchesAreSeen)
{
    simt::observe_launches([](const simt::Launch& launch) { seen.push_back(launch.blocks); });
    run(3, 32, 0, do_nothing);
    simt::observe_launches(nullptr);
    run(5, 32, 0, do_nothing);
    EXPECT_EQ(seen, std::vector{3u});
}

}  // namespace
}  // namespace tulle::test
