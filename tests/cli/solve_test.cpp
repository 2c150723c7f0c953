// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle solve: the table, the JSON result, files that are read and written, exit codes.
#include <cmath>

#include "cli/program.hpp"

namespace tulle::test {
namespace {

TEST_F(Program, SolveTellsHowItWent)
{
    const Outcome run = tulle("solve stencil7:6 --method cg --preconditioner jacobi");
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.out.find("converged"), std::string::npos) << run.out;
    const auto result = json("solve stencil7:6 --tolerance 1e-10");
    EXPECT_TRUE(result["converged"].get<bool>());
    EXPECT_LE(result["relative_residual"].get<double>(), 1e-10);
    EXPECT_EQ(result["history"].size(), result["iterations"].get<std::size_t>() + 1);
    EXPECT_EQ(result["method"], "cg");
}

TEST_F(Program, SolveReadsAndWritesVectors)
{
    std::ofstream(folder / "a.mtx") << "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 1\n2 2 4\n";
    std::ofstream(folder / "b.mtx") << "%%MatrixMarket matrix array real general\n2 1\n4\n8\n";
    std::ofstream(folder / "b.txt") << "4\n8\n";
    for (const std::string b : {"b.mtx", "b.txt"}) {
        const Outcome run = tulle("solve a.mtx --rhs " + b + " --output x.txt --quiet");
        EXPECT_EQ(run.code, 0) << run.err;
        std::ifstream in(folder / "x.txt");
        double x = 0, y = 0;
        in >> x >> y;
        EXPECT_NEAR(x, 1, 1e-7);
        EXPECT_NEAR(y, 2, 1e-7);
    }
    EXPECT_EQ(tulle("solve a.mtx --output x.mtx").code, 0);
    EXPECT_EQ(json("info x.mtx")["cols"], 1);
    std::ofstream(folder / "long.mtx") << "%%MatrixMarket matrix array real general\n3 1\n4\n8\n1\n";
    EXPECT_EQ(tulle("solve a.mtx --rhs long.mtx").code, 3);
}

// Files beside the matrix are read with the same options; text files may end with empty lines.
TEST_F(Program, SolveReadsRightSidesAsTheMatrix)
{
    file("b.mtx", "%%MatrixMarket matrix array complex general\n2 1\n4 1\n8 0\n");
    EXPECT_NE(tulle("solve identity:2 --rhs b.mtx").err.find("--real-part"), std::string::npos);
    EXPECT_EQ(tulle("solve identity:2 --rhs b.mtx --real-part --output x.txt --quiet").code, 0);
    EXPECT_EQ(text_of(folder / "x.txt"), "4\n8\n");
    EXPECT_EQ(tulle("solve identity:2 --rhs " + file("b.txt", "4\n\n8\n \r\n\n")).code, 0);
    EXPECT_NE(tulle("solve identity:2 --rhs no.txt").err.find("no.txt: cannot be opened: No such file"),
              std::string::npos);
    const std::string remark = "--real-part has no effect: x.mtx is not complex";
    EXPECT_EQ(tulle("gen identity:2 -o x.mtx").code, 0);
    EXPECT_NE(tulle("info x.mtx --real-part").err.find(remark), std::string::npos);
}

TEST_F(Program, SolveSaysThatNoMethodHelps)
{
    std::ofstream(folder / "empty.mtx") << "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1\n";
    const Outcome empty = tulle("solve empty.mtx");
    EXPECT_EQ(empty.code, 1);
    EXPECT_EQ(empty.err.find("try another"), std::string::npos) << empty.err;
    EXPECT_NE(empty.err.find("tulle info"), std::string::npos) << empty.err;
    EXPECT_NE(tulle("solve stencil5:10 --max-iterations 2").err.find("try another"), std::string::npos);
}

TEST_F(Program, ExplainSolveComparesTheCandidates)
{
    const auto result = json("explain solve stencil7:8 --max-seconds 5");
    const auto& all = result["candidates"];
    ASSERT_GE(all.size(), 3u);
    EXPECT_EQ(all[0]["method"], "cg");
    EXPECT_EQ(all[0]["result"], "converged");
    for (const auto& c : all) {
        EXPECT_GT(c["predicted_iteration_seconds"].get<double>(), 0);
        EXPECT_GT(c["iteration_seconds"].get<double>(), 0);
    }
    const Outcome run = tulle("explain solve stencil7:8");
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.out.find("a solve ends with cg with ic0"), std::string::npos) << run.out;
    const Outcome none = tulle("explain solve stencil7:8 --max-iterations 1 --tolerance 0");
    EXPECT_EQ(none.code, 1);
    EXPECT_NE(none.out.find("none converges alone"), std::string::npos) << none.out;
}

TEST_F(Program, SolveTakesANearNullSpace)
{
    const std::string amg = "solve elasticity2d:24 --preconditioner amg";
    const auto rigid = json(amg + " --near-null-space rigid-body:coordinates:24,24"), plain = json(amg);
    EXPECT_LT(2 * rigid["iterations"].get<int>(), plain["iterations"].get<int>());
    EXPECT_EQ(tulle("gen coordinates:24,24 -o at.mtx").code, 0);
    EXPECT_EQ(json(amg + " --near-null-space rigid-body:at.mtx")["iterations"], rigid["iterations"]);
    std::ofstream ones(folder / "two.mtx");
    ones << "%%MatrixMarket matrix coordinate real general\n1152 2 1152\n";
    for (int i = 0; i < 1152; ++i) ones << i + 1 << ' ' << i % 2 + 1 << " 1\n";
    ones.close();
    const std::string nodes = " --unknowns-per-node 2";
    EXPECT_EQ(json(amg + nodes + " --near-null-space two.mtx")["iterations"], json(amg + nodes)["iterations"]);
    const Outcome few = tulle(amg + " --near-null-space rigid-body:coordinates:24,23");
    EXPECT_EQ(few.code, 3);
    EXPECT_NE(few.err.find("has 1104 rows"), std::string::npos) << few.err;
    EXPECT_EQ(tulle(amg + " --unknowns-per-node 7").code, 2) << "not a divisor of the rows";
    EXPECT_EQ(tulle(amg + " --near-null-space missing.mtx").code, 3);
}

TEST_F(Program, SolveEndsWithTheCodeOfItsReason)
{
    const Outcome few = tulle("solve stencil7:8 --preconditioner none --max-iterations 2");
    EXPECT_EQ(few.code, 1);
    EXPECT_NE(few.err.find("limit of iterations"), std::string::npos) << few.err;
    EXPECT_EQ(tulle("solve stencil7:6 --method sor").code, 2);
    EXPECT_EQ(tulle("solve stencil7:6 --preconditioner amg:x").code, 2);
    EXPECT_EQ(tulle("solve stencil7:6 --tolerance -1").code, 2);
    EXPECT_EQ(tulle("solve missing.mtx").code, 3);
}

#ifdef TULLE_CLI_CAIRO
TEST_F(Program, SolveDrawsItsHistory)
{
    EXPECT_EQ(tulle("solve stencil7:6 --plot history.svg").code, 0);
    const std::string picture = text_of(folder / "history.svg");
    EXPECT_NE(picture.find("<svg"), std::string::npos);
    EXPECT_EQ(tulle("solve stencil7:6 --plot history.gif").code, 2);
}
#endif

}  // namespace
}  // namespace tulle::test
