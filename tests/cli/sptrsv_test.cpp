// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run sptrsv and tulle tune sptrsv.
#include "program.hpp"
#include "tulle/context.hpp"

namespace tulle::test {
namespace {

class Sptrsv : public Program {};

TEST_F(Sptrsv, SolvesAndChecksEveryTriangle)
{
    for (const char* options : {"", "--upper", "--lower --transpose", "--upper --transpose --unit-diagonal",
                                "--rhs 7 --alpha 2", "--type f32", "--search 0.01"}) {
        SCOPED_TRACE(options);
        const auto done =
            parsed(tulle(std::string("run sptrsv stencil5:30 --dominant --verify --repeat 2 --json ") + options));
        EXPECT_EQ(done["rows"], 900);
        EXPECT_EQ(done["results"][0]["check"]["ok"], true);
    }
}

TEST_F(Sptrsv, SaysWhereAndWhyUnlessTold)
{
    const Outcome free = tulle("run sptrsv chain:500 --dominant --repeat 1");
    EXPECT_EQ(free.code, 0) << free.err;
    EXPECT_NE((free.out + free.err).find("on the CPU: "), std::string::npos) << free.out << free.err;
    EXPECT_NE(free.out.find("cpu:"), std::string::npos) << free.out;
    const Outcome told = tulle("run sptrsv chain:500 --dominant --repeat 1 --backend cpu");
    EXPECT_EQ((told.out + told.err).find("on the CPU: "), std::string::npos) << told.out << told.err;
}

TEST_F(Sptrsv, SaysWhatIsWrong)
{
    EXPECT_EQ(tulle("run sptrsv uniform:30,20,3").code, 2) << "not square";
    const Outcome missing = tulle("run sptrsv uniform:300,300,2");
    EXPECT_NE(missing.code, 0);
    EXPECT_NE(missing.err.find("diagonal"), std::string::npos) << missing.err;
    EXPECT_EQ(tulle("run sptrsv stencil5:10 --upper --lower").code, 2);
    std::ofstream(folder / "nan.mtx") << "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 1\n";
    const Outcome bad = tulle("run sptrsv nan.mtx --verify");
    EXPECT_EQ(bad.code, 2);
    EXPECT_NE(bad.err.find("not finite"), std::string::npos) << bad.err;
}

TEST_F(Sptrsv, TunesAndMarksWhatItWouldChoose)
{
    const auto done = parsed(tulle("tune sptrsv chain:500,2 --seconds 0.2 --backend cpu --threads 2 --json"));
    ASSERT_EQ(done["trials"].size(), 3u);
    int chosen = 0;
    for (const auto& trial : done["trials"]) chosen += trial["chosen"].get<bool>();
    EXPECT_EQ(chosen, 1);
    EXPECT_NE(tulle("tune sptrsv chain:500,2 --seconds 0.2 --backend cpu").out.find("fastest"), std::string::npos);
}

// All schemes of the paper where there is a GPU, as far as the time goes.
TEST_F(Sptrsv, TriesTheSchemesOfThePaper)
{
    for (const char* option : {"--paper", "--exhaustive"}) {
        const Outcome on_cpu = tulle(std::string("tune sptrsv chain:100 --backend cpu ") + option);
        EXPECT_EQ(on_cpu.code, 2);
        EXPECT_NE(on_cpu.err.find("has no effect where no GPU is used"), std::string::npos) << on_cpu.err;
    }
    EXPECT_EQ(tulle("tune sptrsv chain:100 --paper --exhaustive").code, 2);
    if (!why_no_cuda().empty()) return;
    const auto some = parsed(tulle("tune sptrsv chain:100 --seconds 0.01 --paper --json")),
               all = parsed(tulle("tune sptrsv chain:100 --seconds 0.01 --exhaustive --json"));
    EXPECT_GE(some["of"].get<int>(), 192);
    EXPECT_GE(all["of"].get<int>(), 106'920);
    EXPECT_LT(all["tried"].get<int>(), 1000) << "the time is up";
}

TEST_F(Sptrsv, RemembersTheFastest)
{
    const auto tuned =
        parsed(tulle("tune sptrsv stencil5:20 --seconds 0.2 --backend cpu --threads 2 --json --cache remembered"));
    EXPECT_EQ(tuned["features"].size(), 10u);
    for (const char* count : {"rows", "nonzeros", "levels", "row_longest"})
        EXPECT_TRUE(tuned["features"][count].is_number_integer()) << count;
    EXPECT_EQ(tuned["remembered"], tuned["trials"][0]["policy"]);
    const Outcome used = tulle("run sptrsv stencil5:20 --threads 2 --repeat 1 --cache remembered");
    EXPECT_NE(used.out.find("earlier search"), std::string::npos) << used.out << used.err;
    const Outcome other = tulle("run sptrsv stencil5:21 --threads 2 --repeat 1 --cache remembered");
    EXPECT_NE(other.out.find("nothing remembered"), std::string::npos) << other.out << other.err;
}

TEST_F(Sptrsv, RemembersInFoldersOnly)
{
    file("taken", "");
    for (const char* words : {"tune sptrsv chain:50 --seconds 0.01 --backend cpu --cache taken",
                              "run sptrsv chain:50 --search 0.01 --cache taken"}) {
        const Outcome run = tulle(words);
        EXPECT_EQ(run.code, 3) << words;
        EXPECT_NE(run.err.find("taken: cannot be used as a folder"), std::string::npos) << run.err;
    }
}

TEST_F(Sptrsv, DrawsLevels)
{
    if (!json("doctor")["build"]["pictures"]) GTEST_SKIP() << "built without Cairo";
    const auto drawn = parsed(tulle("spy chain:640 --levels --json -o levels.svg"));
    EXPECT_EQ(drawn["levels"], 640);
    EXPECT_EQ(drawn["levels_clustered"], 20);
    const std::string text = text_of(folder / "levels.svg");
    EXPECT_NE(text.find("<svg"), std::string::npos);
    EXPECT_EQ(tulle("spy chain:64 --levels --permute reverse -o levels.svg").code, 2);
    EXPECT_NE(tulle("spy uniform:30,20,3 --levels -o levels.svg").code, 0) << "not square";
}

}  // namespace
}  // namespace tulle::test
