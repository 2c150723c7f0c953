// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Every verb once on its good path: what it prints, that --json is JSON, that stdout holds results and nothing else.
#include "cli/program.hpp"

#include <set>

namespace tulle::test {
namespace {

class Verbs : public Program {
protected:
    std::string small() const
    {
        return file("small.mtx", "%%MatrixMarket matrix coordinate real general\n% a comment\n3 4 5\n1 1 1.5\n1 4 2\n2 "
                                 "2 -1\n3 1 4\n3 3 0.25\n");
    }
};

TEST_F(Verbs, HelpOpensWithExamples)
{
    for (const char* verb : {"", "info", "validate", "convert", "gen", "spy", "run", "run spmv", "doctor", "demo"}) {
        SCOPED_TRACE(verb);
        const Outcome run = tulle(std::string(verb) + " --help");
        EXPECT_EQ(run.code, 0);
        EXPECT_EQ(run.out.rfind("Examples:\n  tulle ", 0), 0u) << run.out;
        EXPECT_NE(run.out.find("--help"), run.out.npos);
        EXPECT_EQ(run.err, "");
    }
}

TEST_F(Verbs, VersionIsOneLine) { EXPECT_EQ(tulle("--version").out.rfind("tulle ", 0), 0u); }

TEST_F(Verbs, InfoKnowsASmallMatrix)
{
    const auto about = json("info " + small());
    EXPECT_EQ(about["rows"], 3);
    EXPECT_EQ(about["cols"], 4);
    EXPECT_EQ(about["nonzeros"], 5);
    EXPECT_EQ(about["row_length"]["longest"], 2);
    EXPECT_EQ(about["empty_rows"], 0);
    EXPECT_EQ(about["lower_bandwidth"], 2);
    EXPECT_EQ(about["upper_bandwidth"], 3);
    EXPECT_EQ(about["diagonal"], 3);
    EXPECT_TRUE(about["products"].is_null());
    EXPECT_EQ(about["file"]["stored"], 5);
    EXPECT_EQ(about["row_length"]["histogram"].size(), 2u);
}

TEST_F(Verbs, InfoPrintsForPeople)
{
    const Outcome run = tulle("info " + small());
    EXPECT_EQ(run.code, 0);
    for (const char* part : {"small", "3 x 4", "nonzeros", "row length", "█", "fingerprint", "a comment"})
        EXPECT_NE(run.out.find(part), run.out.npos) << part;
    EXPECT_EQ(run.out.find('\033'), run.out.npos) << "colour into a pipe";
    EXPECT_EQ(run.out.find("read small.mtx in"), run.out.npos) << "talk on stdout";
    EXPECT_NE(run.err.find("read small.mtx in"), run.err.npos);
}

TEST_F(Verbs, QuietSilencesTalkOnly)
{
    const Outcome run = tulle("info --quiet " + small());
    EXPECT_EQ(run.err, "");
    EXPECT_NE(run.out.find("3 x 4"), run.out.npos);
}

TEST_F(Verbs, ColourIsAMatterOfWish)
{
    EXPECT_NE(tulle("info --color always " + small()).out.find("\033["), std::string::npos);
    EXPECT_EQ(tulle("info --color never " + small()).out.find("\033["), std::string::npos);
    EXPECT_EQ(tulle("info " + small(), "NO_COLOR=1").out.find("\033["), std::string::npos);
}

TEST_F(Verbs, BarsInPlainAsciiWhereTheLocaleAsksForIt)
{
    const std::string out = tulle("info " + small(), "LC_ALL=C").out;
    EXPECT_EQ(out.find("█"), out.npos);
    EXPECT_NE(out.find("###"), out.npos);
}

TEST_F(Verbs, ValidateAcceptsASoundMatrix)
{
    const Outcome run = tulle("validate " + small());
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.out.find("sound"), run.out.npos);
    EXPECT_EQ(json("validate " + small())["ok"], true);
}

TEST_F(Verbs, ConvertThereAndBack)
{
    for (const char* format : {"copy.npz", "copy.tulle", "copy.petsc", "copy.mtx"}) {
        SCOPED_TRACE(format);
        const auto made = json("convert " + small() + " " + format);
        EXPECT_EQ(made["nonzeros"], 5);
        EXPECT_EQ(made["bytes"], std::filesystem::file_size(folder / format));
        EXPECT_EQ(json(std::string("info ") + format)["fingerprint"], json("info " + small())["fingerprint"]);
    }
    EXPECT_LT(json("convert " + small() + " f32.npz --type f32")["bytes"],
              json("convert " + small() + " f64.npz --type f64")["bytes"]);
}

TEST_F(Verbs, GenListsItsSentencesAndTheyWork)
{
    const auto list = json("gen --list");
    ASSERT_GE(list.size(), 10u);
    for (const auto& kind : list) {
        SCOPED_TRACE(kind["name"].get<std::string>());
        if (kind["name"].get<std::string>().starts_with("twin")) continue;  // larger than a test of the tool needs
        const auto made = json("gen '" + kind["example"].get<std::string>() + "' -o made.tulle");
        EXPECT_GT(made["nonzeros"], 0);
        EXPECT_EQ(tulle("validate made.tulle").code, 0);
    }
}

TEST_F(Verbs, GenIsTheSameForAnyNumberOfThreads)
{
    tulle("gen rmat:8,4 -o one.mtx --threads 1");
    tulle("gen rmat:8,4 -o four.mtx --threads 4");
    EXPECT_FALSE(text_of(folder / "one.mtx").empty());
    EXPECT_EQ(text_of(folder / "one.mtx"), text_of(folder / "four.mtx"));
}

TEST_F(Verbs, RunSpmvIsRightInEveryFormatAndType)
{
    for (const char* format : {"csr", "csc", "coo", "bell"})
        for (const char* rest : {"", "--transpose", "--type f32", "--alpha -2.5 --beta 0.5",
                                 "--type f32 --transpose --alpha 3 --beta -1"}) {
            SCOPED_TRACE(std::string(format) + " " + rest);
            const auto done =
                json("run spmv uniform:500,300,7 --repeat 1 --verify --format " + std::string(format) + " " + rest);
            ASSERT_EQ(done["results"].size(), 1u);
            EXPECT_EQ(done["results"][0]["check"]["ok"], true);
            EXPECT_GT(done["results"][0]["bytes_per_second"], 0);
        }
}

TEST_F(Verbs, RunSpmvObeysAForcedPolicy)
{
    for (const char* kernel : {"rows", "split"}) {
        const auto done = json(std::string("run spmv stencil5:40 --repeat 1 --verify --policy ") + kernel);
        EXPECT_EQ(done["results"][0]["policy"].get<std::string>().rfind(kernel, 0), 0u) << done;
    }
}

TEST_F(Verbs, RunSpmvReadsXAndWritesY)
{
    file("x.txt", "1\n2\n3\n4\n");
    EXPECT_EQ(tulle("run spmv " + small() + " --x x.txt --out y.txt --repeat 1").code, 0);
    EXPECT_EQ(text_of(folder / "y.txt"), "9.5\n-2\n4.75\n");
}

TEST_F(Verbs, RunSpmvOnAllBackendsSaysWhatIsLeftOut)
{
    const Outcome run = tulle("run spmv " + small() + " --backend all --verify --json");
    EXPECT_EQ(run.code, 0) << run.err;
    const auto results = nlohmann::json::parse(run.out)["results"];
    EXPECT_EQ(results.size() == 2, run.err.find("cuda is left out") == run.err.npos) << run.err;
}

TEST_F(Verbs, DoctorTellsBuildHardwareAndWhatIsNotUsed)
{
    const auto found = json("doctor");
    EXPECT_FALSE(found["version"].get<std::string>().empty());
    EXPECT_GE(found["hardware"]["threads"], 1);
    EXPECT_GT(found["hardware"]["memory"], 0);
    EXPECT_EQ(found["hardware"]["gpus"].empty(), std::any_of(found["not_used"].begin(), found["not_used"].end(),
                                                             [](const auto& u) { return u["what"] == "CUDA"; }));
    EXPECT_EQ(found["transport"]["cpu"], "host: yes (ranks work on CPUs)");
    for (const char* name : {"nccl: ", "; gpu-aware: ", "; staged: "})
        if (found["build"]["cuda"].get<bool>()) {
            EXPECT_NE(found["transport"]["cuda"].get<std::string>().find(name), std::string::npos)
                << found["transport"];
        }
    const Outcome run = tulle("doctor");
    for (const char* part : {"compiler", "CPU backend", "CUDA backend", "hardware", "transport, CPUs", "not used"})
        EXPECT_NE(run.out.find(part), run.out.npos) << part;
}

TEST_F(Verbs, RunsTellTheSameOfAllOperations)
{
    const std::set<std::string> keys{"backend",    "policy",  "description", "plan_seconds",
                                     "plan_bytes", "seconds", "check"};
    for (const std::string verb : {"spmv", "spmm", "spgemm", "sptrsv", "sddmm"}) {
        const auto checked = json("run " + verb + " stencil5:6 --repeat 2 --verify"),
                   plain = json("run " + verb + " stencil5:6");
        for (const std::string& key : keys) EXPECT_TRUE(checked["results"][0].contains(key)) << verb << " " << key;
        EXPECT_GE(checked["results"][0]["seconds"]["median"], checked["results"][0]["seconds"]["best"]) << verb;
        EXPECT_FALSE(checked["results"][0]["description"].get<std::string>().empty()) << verb;
        EXPECT_EQ(checked["results"][0]["check"]["ok"], true) << verb;
        EXPECT_TRUE(plain["results"][0]["check"].is_null()) << verb;
        EXPECT_EQ(checked["repeat"], 2) << verb;
        for (const char* scalar : {"alpha", "transpose"})
            EXPECT_EQ(checked.contains(scalar), verb != "spgemm" && verb != "sddmm") << verb << " " << scalar;
        EXPECT_EQ(checked.contains("beta"), verb == "spmv" || verb == "spmm") << verb;
    }
    EXPECT_EQ(json("run spgemm stencil5:6 --transpose-a")["transpose_a"], true);
    EXPECT_TRUE(json("run spgemm stencil5:6 --chunks 1MiB")["results"][0]["plan_seconds"].is_null());
}

TEST_F(Verbs, DemoMultipliesChecksAndDraws)
{
    const auto done = json("demo stencil9:30 --repeat 2");
    EXPECT_EQ(done["rows"], 900);
    ASSERT_GE(done["results"].size(), 1u);
    for (const auto& result : done["results"]) EXPECT_EQ(result["ok"], true);
    EXPECT_GT(done["read_bandwidth"], 0);
    if (done["picture"].is_null()) GTEST_SKIP() << "built without Cairo";
    EXPECT_TRUE(std::filesystem::exists(folder / done["picture"].get<std::string>()));
}

TEST_F(Verbs, DemoTakesAFileAndTellsItsStory)
{
    if (!json("doctor")["build"]["pictures"]) GTEST_SKIP() << "built without Cairo";
    const Outcome run = tulle("demo " + small() + " --repeat 2 --picture here.svg");
    EXPECT_EQ(run.code, 0) << run.err;
    for (const char* part :
         {"small", "row length", "y = A x", "cpu:", "ok (", "memory is read with", "picture: here.svg"})
        EXPECT_NE(run.out.find(part), run.out.npos) << part;
}

TEST_F(Verbs, ATerminalIsNeededForProgress) { EXPECT_EQ(tulle("info stencil7:60").err.find('\r'), std::string::npos); }

}  // namespace
}  // namespace tulle::test
