// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// stdin, stdout and pipes as files; errors as JSON; outputs that take nothing; signals while a file is written.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "cli/program.hpp"
#include "tulle/text.hpp"

namespace tulle::test {
namespace {

class StreamsOfTheTool : public Program {
protected:
    // A line for a shell, in the folder, where "tulle" is the program.
    Outcome shell(const std::string& line) const
    {
        const auto out = folder / "stdout", err = folder / "stderr", script = folder / "script";
        file("script", "cd '" + folder.string() + "'\ntulle() { '" + TULLE_CLI_PROGRAM +
                           "' \"$@\"; }\nset -o pipefail\n" + line + "\n");
        const int status =
            std::system(("bash '" + script.string() + "' >'" + out.string() + "' 2>'" + err.string() + "'").c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), text_of(out), text_of(err)};
    }
    std::size_t files() const
    {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
    }
};

const std::string small =
    "%%MatrixMarket matrix coordinate real general\n3 4 5\n1 1 1.5\n1 4 2\n2 2 -1\n3 1 4\n3 3 0.25\n";

TEST_F(StreamsOfTheTool, AMatrixGoesThroughPipesInEveryFormat)
{
    file("a.mtx", small);
    const auto plain = json("info a.mtx");
    for (const char* format : {"mtx", "npz", "tulle", "petsc", "mtx.gz"}) {
        SCOPED_TRACE(format);
        const Outcome run =
            shell(std::string("tulle convert - - --output-format ") + format + " -q <a.mtx | tulle info - --json");
        ASSERT_EQ(run.code, 0) << run.err;
        const auto piped = nlohmann::json::parse(run.out);
        EXPECT_EQ(piped["fingerprint"], plain["fingerprint"]);
        EXPECT_EQ(piped["matrix"], "-");
        EXPECT_EQ(piped["name"], "stdin");
    }
    EXPECT_EQ(shell("tulle convert a.mtx - | diff - a.mtx").code, 0)
        << "Matrix Market unless told otherwise, and nothing else on stdout";
    EXPECT_EQ(shell("tulle convert a.mtx /dev/stdout | diff - a.mtx").code, 0);
    EXPECT_EQ(shell("tulle gen stencil5:3 -o - -q | tulle run spmv - --verify").code, 0);
    EXPECT_EQ(shell("tulle validate <(cat a.mtx)").code, 0);
    EXPECT_EQ(shell("tulle validate /dev/stdin <a.mtx").code, 0);
    EXPECT_EQ(shell("tulle info - --input-format npz <a.mtx").code, 3);
    EXPECT_EQ(shell("tulle info - --input-format csv <a.mtx").code, 2);
}

TEST_F(StreamsOfTheTool, VectorsAndProductsGoToStdout)
{
    file("a.mtx", small);
    EXPECT_EQ(shell("printf '1\\n2\\n3\\n4\\n' | tulle run spmv a.mtx --x - --out - --repeat 1").out,
              "9.5\n-2\n4.75\n");
    EXPECT_EQ(shell("tulle run spgemm stencil5:3 --out - --repeat 0 -q | tulle info - --json").code, 0);
    const Outcome closed = shell("tulle run spmv a.mtx --x - <&-");
    EXPECT_EQ(closed.code, 3);
    EXPECT_NE(closed.err.find("cannot be read"), std::string::npos) << closed.err;
    const Outcome twice = shell("tulle run spgemm - - <a.mtx");
    EXPECT_EQ(twice.code, 2);
    EXPECT_NE(twice.err.find("cannot be read twice"), std::string::npos) << twice.err;
}

TEST_F(StreamsOfTheTool, PicturesGoToStdoutInEveryFormat)
{
    if (!json("doctor")["build"]["pictures"]) GTEST_SKIP() << "built without Cairo";
    file("a.mtx", small);
    const Outcome picture = shell("tulle spy a.mtx -o - --json");
    EXPECT_EQ(picture.out.rfind("<?xml", 0) == 0 || picture.out.rfind("<svg", 0) == 0, true)
        << picture.out.substr(0, 40);
    EXPECT_NE(picture.err.find("\"file\": \"-\""), std::string::npos) << "results go to stderr where stdout is taken";
    const std::pair<const char*, const char*> formats[] = {{"svg", "<?xml"}, {"png", "\x89PNG"}, {"pdf", "%PDF"}};
    for (const auto& [format, begin] : formats)
        for (const char* kind : {"a.mtx ", "stencil5:4 --levels "})
            EXPECT_EQ(shell(std::string("tulle spy -o - ") + kind + "--output-format " + format).out.rfind(begin, 0),
                      0u)
                << kind << format;
    EXPECT_EQ(shell("tulle spy a.mtx -o picture --output-format png").code, 0) << "a file whose name says nothing";
    EXPECT_EQ(text_of(folder / "picture").rfind("\x89PNG", 0), 0u);
}

TEST_F(StreamsOfTheTool, BenchmarksReadStdin)
{
    if (json("doctor")["build"]["bench"].is_null()) GTEST_SKIP() << "tulle-bench was not built";
    file("a.mtx", small);
    EXPECT_EQ(shell("tulle bench spmv - --backend cpu --repeat 1 --quiet <a.mtx").code, 0);
    EXPECT_EQ(shell("tulle bench --help >/dev/full").code, 3);
    EXPECT_EQ(shell("tulle bench spmv a.mtx --backend cpu --repeat 1 --quiet >/dev/full").code, 3);
    EXPECT_EQ(shell("tulle bench spmv a.mtx --backend cpu --repeat 1 --quiet --json /dev/full").code, 3);
    file("c.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2 3\n");
    const Outcome complex = shell("tulle bench spmv c.mtx --backend cpu --repeat 1 --quiet");
    EXPECT_EQ(complex.code, 0) << complex.err;
    EXPECT_NE(complex.err.find("c.mtx is complex: its real part is taken"), std::string::npos) << complex.err;
    EXPECT_NE(complex.out.find("geometric mean over 1 matrix)"), std::string::npos) << complex.out;
}

// As the OpenMP runtime tells them; the program starts itself again, so the last ones count.
TEST_F(StreamsOfTheTool, ThreadsSpinBrieflyOnABusyMachineUnlessToldOtherwise)
{
    const auto spins_in = [&](const std::string& environment) {
        const std::string told =
            shell("env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=VERBOSE " + environment + " '" +
                  TULLE_CLI_PROGRAM + "' --version 2>&1 | grep GOMP_SPINCOUNT | tail -n 1")
                .out;
        const auto digit = told.find_first_of("0123456789");
        return digit == std::string::npos ? -1 : std::atoll(told.c_str() + digit);
    };
    const long long brief = spins_in("");
    if (brief < 0) GTEST_SKIP() << "this OpenMP runtime does not tell its spins";
    double load = 0;
    ASSERT_EQ(getloadavg(&load, 1), 1);
    const double cores = std::thread::hardware_concurrency();
    EXPECT_GT(brief, 0);
    EXPECT_TRUE(load < 0.7 * cores || brief < 100000);
    EXPECT_TRUE(load > 0.3 * cores || brief > 100000);
    EXPECT_EQ(spins_in("GOMP_SPINCOUNT=77"), 77);
    EXPECT_GT(spins_in("OMP_WAIT_POLICY=active"), 100000);
}

TEST_F(StreamsOfTheTool, ErrorsAreJsonWhereResultsAre)
{
    const auto error = [&](const std::string& words, int code) {
        const Outcome run = tulle(words);
        EXPECT_EQ(run.code, code) << words;
        EXPECT_NE(run.err.find("tulle: "), std::string::npos);
        const auto document = nlohmann::json::parse(run.out, nullptr, false);
        EXPECT_FALSE(document.is_discarded()) << run.out;
        EXPECT_EQ(document["error"]["exit_code"], code);
        EXPECT_FALSE(document["error"]["message"].get<std::string>().empty());
        EXPECT_TRUE(document["error"].contains("hint"));
        return document["error"]["kind"].get<std::string>();
    };
    EXPECT_EQ(error("info missing.mtx --json", 3), "file");
    EXPECT_EQ(error("info --frobnicate --json", 2), "usage");
    EXPECT_EQ(error("frobnicate --json", 2), "usage");
    EXPECT_EQ(error("info stencil7:60 --budget 1MiB --json", 4), "memory");
    file("nan.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 nan\n");
    const auto one = nlohmann::json::parse(tulle("validate --finite --json nan.mtx").out, nullptr, false);
    EXPECT_EQ(one["ok"], false) << "one document: the result, which tells what failed";
}

TEST_F(StreamsOfTheTool, EveryVerbNamesTheMatrixAndItsSize)
{
    const bool draws = json("doctor")["build"]["pictures"];
    for (const char* words : {"info stencil5:4",
                              "validate stencil5:4",
                              "convert stencil5:4 a.mtx",
                              "gen stencil5:4 -o b.mtx",
                              "spy stencil5:4 -o a.svg",
                              "spy stencil5:4 --levels -o a.svg",
                              "run spmv stencil5:4 --repeat 1",
                              "run spmm stencil5:4 --n 2 --repeat 1",
                              "run spgemm stencil5:4 --repeat 0",
                              "run sptrsv stencil5:4 --repeat 1 --backend cpu",
                              "plan spmv stencil5:4 --devices 2",
                              "plan spgemm stencil5:4",
                              "explain spmm stencil5:4 --repeat 0 --backend cpu",
                              "report stencil5:4 -o a.html",
                              "solve stencil5:4",
                              "explain solve stencil5:4",
                              "partition stencil5:4 -n 2",
                              "components stencil5:4",
                              "paths stencil5:4 --source 0",
                              "run sddmm stencil5:4 --repeat 1",
                              "demo stencil5:4 --repeat 1",
                              "explain spgemm stencil5:4 --repeat 0",
                              "tune sptrsv stencil5:4 --backend cpu --seconds 0.01"}) {
        if (!draws && std::string(words).starts_with("spy")) continue;
        SCOPED_TRACE(words);
        const auto result = json(words);
        EXPECT_EQ(result["matrix"], "stencil5:4");
        EXPECT_EQ(result["rows"], 16);
        EXPECT_EQ(result["cols"], 16);
        EXPECT_EQ(result["nonzeros"], 64);
    }
}

TEST_F(StreamsOfTheTool, AFullDeviceIsAnErrorEverywhere)
{
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
    file("a.mtx", small);
    for (const char* words : {"--help",
                              "--version",
                              "info --help",
                              "run spmv --help",
                              "info a.mtx",
                              "info a.mtx --json",
                              "info missing.mtx --json",
                              "gen --list",
                              "convert a.mtx -",
                              "gen stencil5:3 -o -",
                              "spy a.mtx -o -",
                              "validate a.mtx",
                              "run spmv a.mtx --repeat 1",
                              "run spmv a.mtx --repeat 1 --out -",
                              "solve stencil5:3",
                              "solve stencil5:3 --output -",
                              "partition stencil5:3 -n 2",
                              "components stencil5:3 --out -",
                              "cluster rmat:4,2 --out -",
                              "report stencil5:3 -o -",
                              "completion bash",
                              "manual"}) {
        SCOPED_TRACE(words);
        const Outcome run = shell(std::string("tulle ") + words + " >/dev/full");
        EXPECT_EQ(run.code, 3);
        EXPECT_NE(run.err.find("tulle: "), std::string::npos) << run.err;
    }
    for (const char* words :
         {"convert a.mtx /dev/full", "spy a.mtx -o /dev/full", "run spmv a.mtx --repeat 1 --out /dev/full",
          "solve stencil5:3 --output /dev/full", "cores stencil5:3 --out /dev/full", "cluster rmat:4,2 --out /dev/full",
          "report stencil5:3 -o /dev/full", "run spgemm a.mtx stencil5:2 --out /dev/full"}) {
        const Outcome run = shell(std::string("tulle ") + words);
        EXPECT_EQ(run.code, 3) << words;
        EXPECT_NE(run.err.find("No space left"), std::string::npos) << run.err;
    }
}

TEST_F(StreamsOfTheTool, ASignalLeavesNoFile)
{
    for (const char* signal : {"INT", "TERM", "HUP"}) {
        SCOPED_TRACE(signal);
        // a pipe that nobody reads to its end holds the writer in the middle of a file's text; here the writer is
        // stopped by chance instead, early and late
        for (const char* after : {"0.02", "0.2", "0.5"}) {
            const Outcome run =
                shell(concat("'", TULLE_CLI_PROGRAM, "' gen stencil27:70 -o big.mtx --threads 1 -q & sleep ", after,
                             "; kill -", signal, " $! 2>/dev/null; wait $!; echo $?"));
            std::filesystem::remove(folder / "big.mtx");
            EXPECT_EQ(files(), 3u) << "stdout, stderr, script; " << run.out;
        }
    }
}

TEST_F(StreamsOfTheTool, AByteOrderMarkIsNoObstacle)
{
    EXPECT_EQ(tulle("info " + file("bom.mtx", "\xef\xbb\xbf" + small)).code, 0);
}

}  // namespace
}  // namespace tulle::test
