// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The program tulle-demo: the verb `demo` as `make demo` builds it, without the files of the library that only other
// verbs need.
#include "program.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tulle/text.hpp"

namespace tulle::test {
namespace {

class DemoProgram : public Program {
protected:
    Outcome demo(const std::string& words) const { return call(TULLE_DEMO_PROGRAM, words); }

    nlohmann::json demo_json(const std::string& words) const
    {
        const Outcome run = demo(words + " --repeat 1 --json");
        EXPECT_EQ(run.code, 0) << words << "\n" << run.err;
        return nlohmann::json::parse(run.out, nullptr, false);
    }
};

TEST_F(DemoProgram, DoesWhatTheVerbDoes)
{
    const auto alone = demo_json("stencil7:12"), verb = json("demo stencil7:12 --repeat 1");
    ASSERT_EQ(alone["results"].size(), verb["results"].size());
    ASSERT_GE(alone["results"].size(), 5U);
    for (std::size_t k = 0; k < alone["results"].size(); ++k)
        for (const char* key : {"operation", "backend", "ok"})
            EXPECT_EQ(alone["results"][k][key], verb["results"][k][key]) << key << " of result " << k;
    for (const char* key : {"rows", "nonzeros", "fingerprint", "picture", "no_cuda"})
        EXPECT_EQ(alone[key], verb[key]) << key;
}

TEST_F(DemoProgram, ReadsEveryFormat)
{
    file("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 1 1\n2 2 5\n");
    const auto expected = demo_json("a.mtx");
    for (const char* ending : {".npz", ".tulle", ".petsc", ".smtx", ".mtx.gz"}) {
        const std::string name = concat("b", ending);
        if (tulle(concat("convert a.mtx ", name)).code != 0) continue;  // built without zlib
        const auto found = demo_json(name);
        EXPECT_EQ(found["fingerprint"], expected["fingerprint"]) << name;
        for (const auto& result : found["results"]) EXPECT_EQ(result["ok"], true) << name << "\n" << result;
    }
}

TEST_F(DemoProgram, MatricesWithoutRowsOrNonzeros)
{
    file("none.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
    file("empty.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 0\n");
    for (const char* name : {"none.mtx", "empty.mtx"}) {
        const Outcome alone = demo(concat(name, " --repeat 1")), verb = tulle(concat("demo ", name, " --repeat 1"));
        EXPECT_EQ(alone.code, verb.code) << name << "\n" << alone.err << verb.err;
    }
}

TEST_F(DemoProgram, SaysWhatIsWrong)
{
    file("cut.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n");
    EXPECT_EQ(demo("cut.mtx").code, 3);
    EXPECT_EQ(demo("no_such.mtx").code, 3);
    EXPECT_EQ(demo("--no-such-option").code, 2);
    EXPECT_EQ(demo("stencil7:100000").code, tulle("demo stencil7:100000").code);
    EXPECT_NE(demo("stencil7:100000").code, 0);
    const Outcome help = demo("--help");
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("--picture"), help.out.npos);
    EXPECT_EQ(demo("demo --help").out, help.out) << "the verb may be written";
}

}  // namespace
}  // namespace tulle::test
