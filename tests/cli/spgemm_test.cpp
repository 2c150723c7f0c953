// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle explain spgemm.
#include "program.hpp"

#include <set>

namespace tulle::test {
namespace {

class Spgemm : public Program {};

TEST_F(Spgemm, ExplainsEveryMethodBesideTheChosenOne)
{
    const auto e = json("explain spgemm uniform:200,200,5 --repeat 1"),
               planned = json("plan spgemm uniform:200,200,5")["results"][0];
    std::set<std::string> methods;
    for (const auto& m : e["methods"]) {
        methods.insert(m["method"].get<std::string>());
        EXPECT_EQ(m["chosen"].get<bool>(), methods.size() == 1);
        EXPECT_EQ(m["nonzeros"], planned["nonzeros"]);
        EXPECT_EQ(m["products"], planned["products"]);
        EXPECT_GT(m["seconds"]["median"], 0.0);
        EXPECT_GT(m["peak_bytes"], 0);
    }
    EXPECT_EQ(methods, (std::set<std::string>{"adaptive", "dense", "hash", "deltasparse"}));
    EXPECT_EQ(e["chosen"], planned["policy"]);
    EXPECT_FALSE(e["why"].get<std::string>().empty());
}

TEST_F(Spgemm, ExplainsToPeople)
{
    const Outcome run = tulle("explain spgemm stencil5:10 uniform:100,30,3 --type f32 --transpose-a --repeat 0");
    EXPECT_EQ(run.code, 0) << run.err;
    for (const char* part : {"C = A^T B", "dense (chosen)", "adaptive", "deltasparse", "peak memory",
                             "to a nonzero of C", "in the longest"})
        EXPECT_NE(run.out.find(part), run.out.npos) << part << " in\n" << run.out;
    EXPECT_EQ(tulle("explain spgemm --help").out.rfind("Examples:\n  tulle ", 0), 0u);
    EXPECT_EQ(tulle("explain spgemm stencil5:10 uniform:7,7,1").code, 2);
    EXPECT_EQ(tulle("explain spgemm no-such-file.mtx").code, 3);
    EXPECT_EQ(tulle("explain spgemm stencil5:10 --backend all").code, 2);
}

}  // namespace
}  // namespace tulle::test
