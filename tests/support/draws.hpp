// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a test draws (battery.hpp) and which kernels run for it, so that a tool that makes every launch slow can look at
// each kernel with few of the draws (gpu/run, part sanitizers).
//
//     TULLE_DRAWS=FILE       a line for each draw in their order, tab-separated: case, draw, number of launches,
//                            kernels. A kernel is listed apart for one block, two or three, and more. What a case
//                            launches before its first draw has no name; what follows a draw belongs to it.
//     TULLE_ONLY_DRAWS=FILE  of the draws only those with a line "case<tab>draw" there
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace tulle::test {

class Draws {
public:
    static Draws& get()
    {
        static Draws draws(std::getenv("TULLE_DRAWS"), std::getenv("TULLE_ONLY_DRAWS"));
        return draws;
    }

    // Names of files, or null.
    Draws(const char* file, const char* only) : file_(file ? file : ""), chooses_(only != nullptr)
    {
        if (!only) return;
        std::ifstream lines(only);
        for (std::string line; std::getline(lines, line);) only_.insert(line);
    }

    ~Draws()
    {
        if (file_.empty()) return;
        std::ofstream out(file_);
        for (const std::string& draw : order_) {
            const Launches& of = launches_[draw];
            out << draw << "\t" << of.number;
            for (const std::string& kernel : of.kernels) out << "\t" << kernel;
            out << "\n";
        }
    }

    Draws(const Draws&) = delete;
    Draws& operator=(const Draws&) = delete;

    // Whether a combination that was drawn shall run; launches are its own from now on.
    bool begin(const std::string& name)
    {
        const std::lock_guard lock(mutex_);
        const std::string line = current_case() + "\t" + name;
        if (chooses_ && !only_.contains(line)) return false;
        go_on_with(line);
        return true;
    }

    bool is_listening() const { return !file_.empty(); }

    void note_launch(const std::string& kernel, unsigned blocks)
    {
        const std::lock_guard lock(mutex_);
        const std::string now = current_case() + "\t";
        if (!draw_.starts_with(now)) go_on_with(now);
        Launches& of = launches_[draw_];
        ++of.number;
        of.kernels.insert(kernel + (blocks == 1 ? " x1" : blocks < 4 ? " x2" : " x4"));
    }

private:
    struct Launches {
        long number = 0;
        std::set<std::string> kernels;
    };

    void go_on_with(const std::string& draw)
    {
        draw_ = draw;
        if (is_listening() && launches_.try_emplace(draw).second) order_.push_back(draw);
    }

    static std::string current_case()
    {
        const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
        return info ? std::string(info->test_suite_name()) + "." + info->name() : "";
    }

    std::mutex mutex_;
    const std::string file_;
    const bool chooses_;
    std::set<std::string> only_;
    std::string draw_;
    std::vector<std::string> order_;
    std::map<std::string, Launches> launches_;
};

}  // namespace tulle::test
