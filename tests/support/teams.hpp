// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tests on teams of every kind: CPU queues, GPUs, streams of one GPU, and CPUs and GPUs together.
//
//   class SpmvOnTeam : public OnTeam {};
//   TULLE_ON_TEAMS(SpmvOnTeam);
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/schedule.hpp"
#include "tulle/context.hpp"
#include "tulle/team.hpp"
#include "tulle/version.hpp"

namespace tulle::test {

class OnTeam : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override
    {
        if (GetParam() == "cpu") return;
        if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << "team=" << GetParam() << ": " << why;
        draw_schedule();
    }

    Team team(int members, bool deterministic = false) const
    {
        std::vector<Context> all;
        for (int m = 0; m < members; ++m) {
            const bool on_cpu = GetParam() == "cpu" || (GetParam() == "mixed" && m % 2 == 1);
            Context ctx =
                on_cpu ? Context::cpu(members == 2 ? 2 : 1)
                       : Context::cuda(GetParam() == "streams" ? 0 : m % static_cast<int>(cuda_devices().size()));
            all.push_back(ctx.deterministic(deterministic));
        }
        return Team(std::move(all));
    }
};

#define TULLE_ON_TEAMS(Suite)                                                                                     \
    INSTANTIATE_TEST_SUITE_P(Teams, Suite,                                                                        \
                             ::testing::Values("cpu", ::tulle::build::simulated ? "cuda_sim" : "cuda", "streams", \
                                               "mixed"),                                                          \
                             [](const auto& kind) { return kind.param; })

}  // namespace tulle::test
