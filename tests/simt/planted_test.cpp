// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Every planted bug is caught in the builds its row names, and its correct twin is right everywhere and never reported.
//
// Each runs as a program of its own, since a sanitizer's report ends it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <string>

#include "simt/planted/table.hpp"
#include "simt/sanitizers.hpp"

namespace tulle::test {
namespace {

constexpr Builds this_build = simt::under_tsan ? tsan : simt::under_asan ? asan : plain;
constexpr const char* build_name = simt::under_tsan ? "tsan" : simt::under_asan ? "asan" : "plain";
constexpr int seeds = this_build == plain ? 30 : this_build == asan ? 10 : 5;

struct Outcome {
    int status = 0;  // what the shell saw: 128 and more for a signal
    std::string output;
};

Outcome run_planted(const PlantedBug& bug, const char* variant)
{
    const std::string command = "'" TULLE_SIMT_PLANTED "' " + std::string(bug.name) + " " + variant + " " +
                                std::to_string(seeds) + " 2>&1; echo status $?";
    Outcome outcome;
    FILE* const pipe = popen(command.c_str(), "r");
    std::array<char, 4096> piece;
    while (const std::size_t got = fread(piece.data(), 1, piece.size(), pipe)) outcome.output.append(piece.data(), got);
    pclose(pipe);
    const std::size_t at = outcome.output.rfind("status ");
    outcome.status = at == std::string::npos ? -1 : std::stoi(outcome.output.substr(at + 7));
    return outcome;
}

// One line that says how it was caught, for the list in the log.
std::string first_line_with(const std::string& text, std::initializer_list<const char*> words)
{
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        for (const char* word : words)
            if (line.find(word) != std::string::npos) return line;
        begin = end + 1;
    }
    return text.substr(0, text.find('\n'));
}

bool reported(const std::string& output)
{
    return output.find("Sanitizer") != std::string::npos || output.find("runtime error") != std::string::npos;
}

class Planted : public ::testing::TestWithParam<PlantedBug> {};

TEST_P(Planted, IsCaught)
{
    if (!(GetParam().caught_in & this_build))
        GTEST_SKIP() << "not a bug that the " << build_name << " build must catch";
    const Outcome broken = run_planted(GetParam(), "broken");
    EXPECT_GT(broken.status, 0) << broken.output;
    EXPECT_NE(broken.status, 3) << broken.output;
    const bool in_its_words = broken.output.find(GetParam().says) != std::string::npos;
    EXPECT_TRUE(in_its_words || (this_build != plain && reported(broken.output)) || broken.status > 128)
        << broken.output;
    std::cout << build_name << ": " << GetParam().name << ": "
              << first_line_with(broken.output, {"SUMMARY", "runtime error", "seed ", "simulated GPU"}).substr(0, 160)
              << std::endl;
}

TEST_P(Planted, CorrectTwinIsRight)
{
    const Outcome correct = run_planted(GetParam(), "correct");
    EXPECT_EQ(correct.status, 0) << correct.output;
    EXPECT_FALSE(reported(correct.output)) << correct.output;
}

INSTANTIATE_TEST_SUITE_P(Bugs, Planted, ::testing::ValuesIn(planted_bugs),
                         [](const auto& bug) { return std::string(bug.param.name); });

}  // namespace
}  // namespace tulle::test
