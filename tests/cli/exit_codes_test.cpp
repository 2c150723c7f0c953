// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How runs fail: the exit code, one sentence that begins with "tulle:", and no result on stdout.
#include "cli/program.hpp"
#include "simt/sanitizers.hpp"
#include "tulle/context.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"

namespace tulle::test {
namespace {

class ExitCodes : public Program {
protected:
    // The sentence on stderr, after the code and the manners were checked.
    std::string failure(const std::string& words, int code) const
    {
        const Outcome run = tulle(words);
        EXPECT_EQ(run.code, code) << words << "\n" << run.err;
        EXPECT_EQ(run.out, "") << words;
        EXPECT_NE(("\n" + run.err).find("\ntulle: "), run.err.npos) << words << "\n" << run.err;
        return run.err;
    }
    std::string broken(const std::string& text) const { return file("broken.mtx", text); }
};

TEST_F(ExitCodes, TwoForUsage)
{
    EXPECT_NE(failure("", 2).find("hint: there are demo, info"), std::string::npos);
    EXPECT_NE(failure("frobnicate", 2).find("'frobnicate'"), std::string::npos);
    EXPECT_NE(failure("info stencil5:4 --frobnicate", 2).find("--frobnicate"), std::string::npos);
    failure("--frobnicate", 2);
    failure("info", 2);
    failure("info a b c", 2);
    failure("run", 2);
    failure("run frobnicate", 2);
    failure("run spmv stencil5:4 --type f16", 2);
    failure("run spmv stencil5:4 --repeat 0", 2);
    failure("run spmv stencil5:4 --repeat many", 2);
    failure("run spmv stencil5:4 --policy magic", 2);
    failure("run spmv stencil5:4 --lanes 4", 2);
    failure("info stencil5:4 --budget much", 2);
    failure("info stencil5:4 --color sometimes", 2);
    failure("info stencil5:none", 2);
    EXPECT_NE(failure("info stancil5:4", 2).find("stancil5"), std::string::npos);
    failure("gen", 2);
    failure("gen stencil5:4", 2);
    failure("spy stencil5:4 -o picture.jpeg", 2);
    failure("spy stencil5:4", 2);
    failure("spy stencil5:4 -o a.svg --size 1", 2);
}

TEST_F(ExitCodes, ThreeForFiles)
{
    EXPECT_NE(failure("info missing.mtx", 3).find("hint: give a matrix file"), std::string::npos);
    failure("info .", 3);
    failure("info " + file("notes.pdf", "nothing"), 3);
    failure("info " + file("empty.mtx", ""), 3);
    failure("convert stencil5:4 no/such/folder/a.mtx", 3);
    failure("spy stencil5:4 -o no/such/folder/a.svg", 3);
    failure("run spmv stencil5:4 --x missing.txt", 3);
    failure("run spmv stencil5:4 --x " + file("short.txt", "1\n"), 3);
    EXPECT_NE(failure("run spmv stencil5:4 --x .", 3).find("is a directory"), std::string::npos);
    EXPECT_NE(failure("solve stencil5:4 --rhs .", 3).find("is a directory"), std::string::npos);
    failure("spy stencil5:4 -o a.svg --permute missing.txt", 3);
    failure("spy stencil5:2 -o a.svg --permute " + file("twice.txt", "0\n1\n1\n2\n"), 3);
}

TEST_F(ExitCodes, ThreeForTheFiveMalformedClassesWithTheirLine)
{
    const std::string head = "%%MatrixMarket matrix coordinate real general\n";
    EXPECT_NE(failure("info " + broken(head + "3 3 3\n1 1 1\n2 2 1\n"), 3).find("broken.mtx"),
              std::string::npos);  // truncated
    EXPECT_NE(failure("info " + broken(head + "3 3 1\n1 1 1\n2 2 1\n"), 3).find("broken.mtx:4:"),
              std::string::npos);  // extra entries
    EXPECT_NE(failure("info " + broken(head + "3 3 2\n1 1 1\n0 2 1\n"), 3).find("broken.mtx:4:"),
              std::string::npos);  // zero-based
    EXPECT_NE(failure("info " + broken(head + "3 3 9223372036854775808\n1 1 1\n"), 3).find("broken.mtx:2:"),
              std::string::npos);  // overflowing size
    EXPECT_NE(failure("info " + broken("%%MatrixMarket tensor coordinate real general\n3 3 1\n1 1 1\n"), 3)
                  .find("broken.mtx:1:"),
              std::string::npos);
}

TEST_F(ExitCodes, FourForMemory)
{
    const std::string said = failure("info stencil7:60 --budget 1MiB", 4);
    EXPECT_NE(said.find("hint:"), said.npos) << said;
    failure("run spmv stencil5:100 --budget 100KiB", 4);
    EXPECT_EQ(tulle("info stencil5:10 --budget 1GiB").code, 0);
}

// C takes 286 MiB, more than is left of the address space: refused with both numbers, not killed.
TEST_F(ExitCodes, FourForMemoryThatTheProcessCannotGet)
{
    if (simt::under_asan || simt::under_tsan) GTEST_SKIP() << "sanitizers map more than any limit";
    const Outcome run = tulle("run spgemm arrow:5000,3 --backend cpu --threads 1", "ulimit -v 260000 &&");
    EXPECT_EQ(run.code, 4) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find("286.1 MiB needed, "), run.err.npos) << run.err;
    EXPECT_NE(run.err.find("available (the limit of address space (ulimit -v))"), run.err.npos) << run.err;
}

// A row of dense operands for each of 2^31 columns: refused before anything is filled.
TEST_F(ExitCodes, FourForDenseOperandsNoMachineHolds)
{
    const std::string wide =
        file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 2147483646 2\n1 1 1\n2 2147483646 2\n");
    for (const char* verb : {"run spmm ", "run sddmm "}) {
        const std::string said = failure(verb + wide + " --backend cpu", 4);
        EXPECT_NE(said.find(" needed, "), said.npos) << verb << ": " << said;
        EXPECT_NE(said.find(" available"), said.npos) << verb << ": " << said;
    }
}

TEST_F(ExitCodes, TwoForThreadsNoMachineHas)
{
    EXPECT_NE(failure("run spmv stencil5:4 --threads 1000000", 2).find(std::to_string(most_threads())),
              std::string::npos);
    failure("run spmv stencil5:4 --threads -1", 2);
    EXPECT_EQ(tulle("run spmv stencil5:4 --threads 0").code, 0);
}

TEST_F(ExitCodes, FiveForADeviceThatIsNotThere)
{
    if (why_no_cuda().empty()) failure("run spmv stencil5:4 --backend cuda --device 99", 5);
    else failure("run spmv stencil5:4 --backend cuda", 5);
}

TEST_F(ExitCodes, BenchIsFoundOrItsAbsenceIsTold)
{
    if (json("doctor")["build"]["bench"].is_null()) {
        EXPECT_NE(failure("bench spmv", 3).find("tulle-bench"), std::string::npos);
    } else {
        EXPECT_EQ(tulle("bench --help").code, 0);
    }
}

TEST_F(ExitCodes, OneForAFailedCheck)
{
    const std::string bad = file("nan.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 1\n");
    EXPECT_EQ(tulle("validate " + bad).code, 0);
    const Outcome run = tulle("validate --finite " + bad);
    EXPECT_EQ(run.code, 1);
    EXPECT_NE(run.err.find("NaN or infinite"), run.err.npos);
    const Outcome told = tulle("validate --finite --json " + bad);
    EXPECT_EQ(told.code, 1);
    EXPECT_EQ(nlohmann::json::parse(told.out)["ok"], false);
}

TEST_F(ExitCodes, ThreeWhenStdoutIsFull)
{
    const std::string line = concat("'", TULLE_CLI_PROGRAM, "' doctor >/dev/full 2>/dev/null");
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
    EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 3);
}

TEST_F(ExitCodes, AFailedWriteLeavesTheOldFile)
{
    file("kept.svg", "old");
    failure("spy missing.mtx -o kept.svg", 3);
    EXPECT_EQ(text_of(folder / "kept.svg"), "old");
    failure("spy stencil5:4 -o kept.svg/inside.svg", 3);
    EXPECT_EQ(text_of(folder / "kept.svg"), "old");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3) << "stdout, stderr and the old file";
}

}  // namespace
}  // namespace tulle::test
