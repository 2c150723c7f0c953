// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run spmm.
#include "program.hpp"

namespace tulle::test {
namespace {

class Spmm : public Program {};

TEST_F(Spmm, MultipliesAndChecksEveryType)
{
    for (const char* options : {"", "--type f32 --n 1", "--type tf32 --layout columns", "--type f16 --n 40", "--type bf16 --transpose", "--alpha 2 --beta -1 --type f16 --layout columns"}) {
        SCOPED_TRACE(options);
        const Outcome run = tulle(std::string("run spmm uniform:300,200,4 --verify --repeat 1 --json ") + options);
        ASSERT_EQ(run.code, 0) << run.err;
        const auto done = nlohmann::json::parse(run.out);
        ASSERT_EQ(done["results"].size(), 1u);
        EXPECT_LE(done["results"][0]["worst_error"], 1.0);
        EXPECT_EQ(done["results"][0]["policy"], "rows");
    }
}

TEST_F(Spmm, WorksOnTeams)
{
    for (const char* options : {"--devices 1", "--devices 3 --n 5 --type f32", "--devices 4 --split columns --type f16 --n 40 --layout columns", "--devices 7 --split rows --transpose --alpha 2 --beta -1 --type bf16"}) {
        SCOPED_TRACE(options);
        const auto done = json(std::string("run spmm uniform:300,200,4 --verify --repeat 1 ") + options);
        EXPECT_LE(done["results"][0]["worst_error"], 1.0);
        EXPECT_EQ(done["results"][0]["policy"], std::string(options).find("columns --type") == std::string::npos ? "by rows" : "by columns");
    }
    const Outcome run = tulle("run spmm uniform:300,200,4 --devices 2 --repeat 1");
    for (const char* part : {"2 x cpu:", "spmm on a team of 2: 300 x 200", "nonzeros and rows", "moved:"}) EXPECT_NE(run.out.find(part), run.out.npos) << part;
    EXPECT_EQ(tulle("run spmm stencil5:10 --devices 0").code, 2);
    EXPECT_EQ(tulle("run spmm stencil5:10 --split rows").code, 2);
    EXPECT_EQ(tulle("run spmm stencil5:10 --devices 2 --split halves").code, 2);
}

TEST_F(Spmm, SaysWhatIsWrong)
{
    const Outcome panels = tulle("run spmm stencil5:10 --kernel panels");
    EXPECT_EQ(panels.code, 2) << panels.err;
    EXPECT_NE(panels.err.find("possible here: rows"), std::string::npos) << panels.err;
    EXPECT_EQ(tulle("run spmm stencil5:10 --order best").code, 2);
    EXPECT_EQ(tulle("run spmm stencil5:10 --n 0").code, 2);
}

}  // namespace
}  // namespace tulle::test
