// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Runs the built program the way a shell does, in a folder of its own for each test.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace tulle::test {

struct Outcome {
    int code = -1;
    std::string out, err;
};

// What a program that succeeded printed with --json.
inline nlohmann::json parsed(const Outcome& done)
{
    EXPECT_EQ(done.code, 0) << done.err;
    return nlohmann::json::parse(done.out);
}

inline std::string text_of(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

class Program : public ::testing::Test {
protected:
    void SetUp() override
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "tulle_cli_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    // The words as a shell would read them; `environment` like "NO_COLOR=1".
    Outcome tulle(const std::string& words, const std::string& environment = "") const
    {
        return call(TULLE_CLI_PROGRAM, words, environment);
    }
    Outcome call(const std::string& program, const std::string& words, const std::string& environment = "") const
    {
        const auto out = folder / "stdout", err = folder / "stderr";
        const std::string line = "cd '" + folder.string() + "' && " + environment + " '" + program + "' " + words +
                                 " >'" + out.string() + "' 2>'" + err.string() + "' </dev/null";
        const int status = std::system(line.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), text_of(out), text_of(err)};
    }

    // The object --json prints; fails the test if there is none or the run fails.
    nlohmann::json json(const std::string& words) const
    {
        const Outcome run = tulle(words + " --json");
        EXPECT_EQ(run.code, 0) << words << "\n" << run.err;
        const auto result = nlohmann::json::parse(run.out, nullptr, false);
        EXPECT_FALSE(result.is_discarded()) << words << "\n" << run.out;
        return result;
    }

    std::string file(const std::string& name, const std::string& text) const
    {
        std::ofstream(folder / name, std::ios::binary) << text;
        return name;
    }

    std::filesystem::path folder;
};

}  // namespace tulle::test
