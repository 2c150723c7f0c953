// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Values that files do not have or that do not fit, duplicates, skew symmetry, and the numbers of things.
#include "cli/program.hpp"

namespace tulle::test {
namespace {

class ValuesOfTheTool : public Program {
protected:
    std::string real(const std::string& name, const std::string& rest) const
    {
        return file(name, "%%MatrixMarket matrix coordinate real general\n" + rest);
    }
};

TEST_F(ValuesOfTheTool, PatternsAreOnesAndSymmetricOnesStaySymmetric)
{
    ASSERT_EQ(tulle("gen stencil5:10 -o s.mtx").code, 0);
    ASSERT_EQ(tulle("convert s.mtx p.mtx --pattern").code, 0);
    ASSERT_EQ(tulle("convert s.mtx p.smtx --pattern").code, 0);
    for (const char* from : {"p.mtx", "p.smtx"})
        for (const char* how : {"", "--values ones", "--values random:5"}) {
            SCOPED_TRACE(std::string(from) + " " + how);
            EXPECT_EQ(tulle(std::string("convert ") + from + " q.mtx --symmetric " + how).code, 0);
            const std::string written = text_of(folder / "q.mtx");
            EXPECT_EQ(written.find("1 1 1\n") != std::string::npos, std::string(how) != "--values random:5");
        }
    EXPECT_EQ(json("info p.mtx")["file"]["values"], "ones");
    EXPECT_EQ(json("info p.mtx --values random:5")["file"]["values"], "random:5");
    EXPECT_EQ(json("run spmv p.mtx --values random:5 --verify")["results"][0]["check"]["ok"], true);
    EXPECT_NE(tulle("info s.mtx --values ones").err.find("has no effect"), std::string::npos);
    for (const char* wrong : {"random", "random:", "random:x", "twos"})
        EXPECT_EQ(tulle(std::string("info p.mtx --values ") + wrong).code, 2) << wrong;
}

TEST_F(ValuesOfTheTool, BenchmarksSayHowValuesWereMade)
{
    if (json("doctor")["build"]["bench"].is_null()) GTEST_SKIP() << "tulle-bench was not built";
    file("p.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 1\n2 2\n3 1\n3 3\n");
    const auto line = [&](const std::string& words) {
        const Outcome run = tulle("bench spmv " + words + " --backend cpu --repeat 1 --quiet --json -");
        EXPECT_EQ(run.code, 0) << run.err;
        return nlohmann::json::parse(run.out.substr(0, run.out.find('\n')), nullptr, false);
    };
    EXPECT_EQ(line("p.mtx")["values"], "ones");
    EXPECT_EQ(line("p.mtx --values random:3")["values"], "random:3");
    EXPECT_FALSE(line("stencil5:10 --values random:3").contains("values"));
    EXPECT_EQ(tulle("bench spmv p.mtx --values twos").code, 2);
}

TEST_F(ValuesOfTheTool, LossesAreSaidAndRefusedWhereStrict)
{
    const auto warns = [&](const std::string& words, const std::string& kind, const std::string& sentence) {
        SCOPED_TRACE(words);
        const Outcome run = tulle(words + " --json");
        EXPECT_EQ(run.code, 0) << run.err;
        EXPECT_NE(run.err.find("warning: " + sentence), std::string::npos) << run.err;
        const auto warnings = nlohmann::json::parse(run.out)["warnings"];
        ASSERT_EQ(warnings.size(), 1u);
        EXPECT_EQ(warnings[0]["kind"], kind);
        EXPECT_EQ(warnings[0]["count"], 1);
        EXPECT_EQ(warnings[0]["line"], 4);
        EXPECT_EQ(warnings[0]["row"], 1);
        EXPECT_EQ(warnings[0]["col"], 0);
        const Outcome refused = tulle(words + " --strict");
        EXPECT_EQ(refused.code, 3);
        EXPECT_NE(refused.err.find("tulle: " + sentence), std::string::npos) << refused.err;
    };
    warns("run spmm " + real("large.mtx", "2 2 2\n1 1 1\n2 1 70000\n") + " --n 4 --type f16 --scale off --repeat 1",
          "overflow", "large.mtx:4: 1 value is too large");
    warns("info " + real("small.mtx", "2 2 2\n1 1 1\n2 1 1e-400\n"), "underflow", "small.mtx:4: 1 value is too small");
    warns("convert " +
              file("whole.mtx",
                   "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1\n2 1 9007199254740993\n") +
              " w.npz",
          "rounding", "whole.mtx:4: 1 whole number");
    EXPECT_EQ(tulle("run spmm large.mtx --n 4 --type f32 --strict --repeat 1").code, 0);
    EXPECT_EQ(tulle("run spmm large.mtx --n 4 --type f16 --strict --repeat 1").code, 0);  // its row is scaled
    EXPECT_FALSE(json("info large.mtx").contains("warnings"));
}

TEST_F(ValuesOfTheTool, ValidateTellsDuplicates)
{
    const std::string twice = real("twice.mtx", "2 2 3\n1 1 1\n2 1 1\n1 1 4\n");
    const Outcome run = tulle("validate " + twice);
    EXPECT_EQ(run.code, 0);
    EXPECT_NE(run.out.find("1 duplicate added up (first: line 5, row 1, column 1, counted from 1)"), std::string::npos)
        << run.out;
    const auto found = json("validate " + twice);
    EXPECT_EQ(found["unique"], false);
    EXPECT_EQ(found["duplicates"]["count"], 1);
    EXPECT_EQ(found["duplicates"]["line"], 5);
    EXPECT_EQ(tulle("validate --strict " + twice).code, 1);
    EXPECT_EQ(json("info " + twice)["file"]["duplicates"]["count"], 1);
    const std::string pattern = file("p2.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n2 1\n2 1\n");
    EXPECT_NE(tulle("validate " + pattern).out.find("1 duplicate of a pattern left out (first: line 4,"),
              std::string::npos);
    EXPECT_NE(tulle("convert " + pattern + " - -q").out.find("2 2 1\n2 1 1\n"), std::string::npos);
}

// What does not fit a vector's type is no word that is not a number.
TEST_F(ValuesOfTheTool, NumbersOfVectorsThatDoNotFit)
{
    file("one.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n");
    for (const char* number : {"1e400", "1e-400"}) {
        file("x.txt", std::string(number) + "\n");
        const Outcome run = tulle("run spmv one.mtx --x x.txt");
        EXPECT_EQ(run.code, 3);
        EXPECT_NE(run.err.find(std::string("x.txt:1: '") + number + "' does not fit double"), std::string::npos)
            << run.err;
    }
    file("x.txt", "1e39\n");
    EXPECT_NE(tulle("run spmv one.mtx --x x.txt --type f32").err.find("does not fit float"), std::string::npos);
    file("x.txt", "1e39x\n");
    EXPECT_NE(tulle("run spmv one.mtx --x x.txt").err.find("is not a number"), std::string::npos);
    file("x.txt", "1\n2\n");
    EXPECT_NE(tulle("run spmv one.mtx --x x.txt").err.find("2 numbers, but 1 is needed"), std::string::npos);
}

TEST_F(ValuesOfTheTool, SkewSymmetryIsSeen)
{
    file("skew.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n3 1 -2\n");
    EXPECT_NE(tulle("info skew.mtx").out.find("skew-symmetric"), std::string::npos);
    EXPECT_EQ(json("info skew.mtx")["skew_symmetric"], true);
    EXPECT_EQ(json("validate skew.mtx")["symmetry"], "skew-symmetric");
    EXPECT_EQ(json("validate stencil5:4")["symmetry"], "symmetric");
    EXPECT_EQ(json("info stencil5:4")["skew_symmetric"], false);
    EXPECT_EQ(json("validate " + real("diagonal.mtx", "2 2 3\n1 1 1\n1 2 1\n2 1 -1\n"))["symmetry"], "general")
        << "a diagonal of a skew-symmetric matrix is zero";
}

TEST_F(ValuesOfTheTool, OneNonzeroIsOne)
{
    const std::string one = real("one.mtx", "1 1 1\n1 1 2\n"), lacks = real("lacks.mtx", "2 2 1\n1 1 2\n");
    for (const char* words :
         {"validate one.mtx", "convert one.mtx copy.mtx", "spy one.mtx -o one.svg", "run spmv one.mtx --repeat 1",
          "plan spmv one.mtx --devices 1", "run spgemm one.mtx --repeat 0", "run spmm one.mtx --n 1 --repeat 1",
          "run sptrsv one.mtx --repeat 1 --backend cpu", "solve one.mtx", "solve one.mtx --devices 1",
          "solve lacks.mtx --method minres", "cluster rmat:6,3 --iterations 1"}) {
        SCOPED_TRACE(words);
        const Outcome run = tulle(words);
        const std::string out = run.out + run.err;
        for (const char* wrong : {" 1 nonzeros", " 1 rows", " 1 columns", " 1 entries", " 1 devices", " 1 levels",
                                  " 1 unknowns", " 1 stored values", " 1 iterations"})
            EXPECT_EQ((" " + out).find(wrong), std::string::npos) << wrong << " in\n" << out;
    }
}

TEST_F(ValuesOfTheTool, RowNumbersSayFromWhereTheyCount)
{
    EXPECT_NE(
        tulle("run sptrsv " + real("no.mtx", "2 2 1\n1 1 1\n") + " --backend cpu").err.find("row 1 (counted from 0)"),
        std::string::npos);
    EXPECT_NE(
        tulle("convert " + real("un.mtx", "2 2 1\n2 1 1\n") + " s.mtx --symmetric").err.find("row 1 (counted from 0)"),
        std::string::npos);
    EXPECT_NE(tulle("info " + real("out.mtx", "2 2 1\n3 1 1\n")).err.find("row 3 exceeds 2 (counted from 1)"),
              std::string::npos);
    EXPECT_NE(tulle("info rmat:6,4").out.find("(counted from 0)"), std::string::npos);
    for (const char* words : {"solve no.mtx --preconditioner ilu0", "rank stencil5:4", "paths stencil5:4 --weighted",
                              "triangles uniform:50,50,3", "cores uniform:50,50,3"})
        EXPECT_NE(tulle(words).err.find("counted from 0)"), std::string::npos) << words;
}

}  // namespace
}  // namespace tulle::test
