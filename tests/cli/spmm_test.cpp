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
