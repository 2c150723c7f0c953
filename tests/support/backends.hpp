// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One test body for every backend: the parameter names it, ctx() makes a context there.
//
//     class SpmvOn : public tulle::test::OnBackend {};
//     TEST_P(SpmvOn, MatchesOracle) { … ctx() … }
//     TULLE_ON_BACKENDS(SpmvOn);
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "simt/sanitizers.hpp"
#include "support/schedule.hpp"
#include "tulle/context.hpp"

namespace tulle::test {

// Small matrices are worth one thread; tests want to see the others at work too. Before main(), so that every queue of
// the program knows.
inline const bool every_entry_is_worth_a_thread = ::setenv("TULLE_WORK_PER_THREAD", "1", 0) == 0;

// While it lives, queues are made with another idea of what is worth a thread.
class WorkPerThread {
public:
    explicit WorkPerThread(const char* work) { ::setenv("TULLE_WORK_PER_THREAD", work, 1); }
    ~WorkPerThread() { ::setenv("TULLE_WORK_PER_THREAD", "1", 1); }
    WorkPerThread(const WorkPerThread&) = delete;
    WorkPerThread& operator=(const WorkPerThread&) = delete;
};

class OnBackend : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override
    {
        if (GetParam() == "cpu1" && simt::under_tsan) GTEST_SKIP() << "backend=cpu1: one thread races with nobody";
        if (GetParam() == "cpu" || GetParam() == "cpu1") {
            if (!is_turn_of(GetParam()))
                GTEST_SKIP() << "backend=" << GetParam() << ": the case has another number of threads under this seed";
            return;
        }
        if (const std::string why = why_no_cuda(); !why.empty())
            GTEST_SKIP() << "backend=" << GetParam() << ": " << why;
        draw_schedule();
    }

    // The first and the last thread have the ends of arrays. Others only have to be woken, which takes longer than
    // their work on a few rows.
    static constexpr int threads_at_ends = 2;

    // A fresh context, with its own memory accounts.
    Context ctx(int threads = 4) const
    {
        if (GetParam() == "cpu1") return Context::cpu(1);
        if (GetParam() == "cpu") return Context::cpu(threads);
        return Context::cuda(0);
    }
};

inline std::string cuda_name() { return build::simulated ? "cuda_sim" : "cuda"; }

}  // namespace tulle::test

#define TULLE_ON_BACKENDS(Suite)                                                                          \
    INSTANTIATE_TEST_SUITE_P(Backends, Suite, ::testing::Values("cpu", "cpu1", tulle::test::cuda_name()), \
                             [](const auto& backend) { return backend.param; })
