// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run spmm and tulle explain spmm.
#include "program.hpp"

#include <cmath>

namespace tulle::test {
namespace {

class Spmm : public Program {};

TEST_F(Spmm, MultipliesAndChecksEveryType)
{
    for (const char* options : {"", "--type f32 --n 1", "--type tf32 --layout columns", "--type f16 --n 40",
                                "--type bf16 --transpose", "--alpha 2 --beta -1 --type f16 --layout columns"}) {
        SCOPED_TRACE(options);
        const Outcome run = tulle(std::string("run spmm uniform:300,200,4 --verify --repeat 1 --json ") + options);
        ASSERT_EQ(run.code, 0) << run.err;
        const auto done = nlohmann::json::parse(run.out);
        ASSERT_EQ(done["results"].size(), 1u);
        EXPECT_EQ(done["results"][0]["check"]["ok"], true);
        EXPECT_EQ(done["results"][0]["policy"], "rows");
    }
}

// Values that f16 has not: rows are scaled unless that is turned off, on one device and on teams.
TEST_F(Spmm, ScalesRowsBeyondTheRangeOfF16)
{
    const std::string a = file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 7\n1 1 1\n2 1 70000\n"
                                           "2 2 3\n3 2 1e30\n3 3 1e20\n4 4 1e-30\n4 1 2e-31\n"),
                      run = "run spmm " + a + " --n 40 --verify --repeat 1 ";
    for (const char* options :
         {"--type f16", "--type f16 --scale rows", "--type bf16 --scale rows --transpose", "--type f16 --transpose",
          "--type f16 --devices 2", "--type f16 --alpha 2 --beta -1 --layout columns", "--type f16 --kernel tiles"}) {
        SCOPED_TRACE(options);
        const auto done = json(run + options);
        EXPECT_EQ(done["results"][0]["check"]["ok"], true);
    }
    EXPECT_NE(tulle(run + "--type f16").out.find("scale:  3 of 4 rows of C by powers of two, 2^-115 to 2^84"),
              std::string::npos)
        << tulle(run + "--type f16").out;
    EXPECT_EQ(tulle(run + "--type f16").err.find("warning"), std::string::npos);
    EXPECT_NE(tulle("run spmm " + a + " --type f16 --scale off --repeat 1").err.find("became infinite"),
              std::string::npos);
    const std::string mixed = file("mixed.mtx", "%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 1e9\n"
                                                "1 2 1e-9\n");
    EXPECT_NE(tulle("run spmm " + mixed + " --type f16 --repeat 1").err.find("1 value is too small beside the largest"),
              std::string::npos);
    EXPECT_EQ(tulle("run spmm " + mixed + " --type f16 --repeat 1 --strict").code, 3);
    EXPECT_EQ(tulle("run spmm " + mixed + " --type f32 --scale auto").code, 2);
    EXPECT_EQ(tulle("run spmm " + mixed + " --type f16 --scale columns").code, 2);
}

TEST_F(Spmm, WorksOnTeams)
{
    for (const char* options : {"--devices 1", "--devices 3 --n 5 --type f32",
                                "--devices 4 --split columns --type f16 --n 40 --layout columns",
                                "--devices 7 --split rows --transpose --alpha 2 --beta -1 --type bf16"}) {
        SCOPED_TRACE(options);
        const auto done = json(std::string("run spmm uniform:300,200,4 --verify --repeat 1 ") + options);
        EXPECT_EQ(done["results"][0]["check"]["ok"], true);
        EXPECT_EQ(done["results"][0]["policy"],
                  std::string(options).find("columns --type") == std::string::npos ? "by rows" : "by columns");
    }
    const Outcome run = tulle("run spmm uniform:300,200,4 --devices 2 --repeat 1");
    for (const char* part : {"2 x cpu:", "spmm on a team of 2: 300 x 200", "nonzeros and rows", "moved:"})
        EXPECT_NE(run.out.find(part), run.out.npos) << part;
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

nlohmann::json way(const nlohmann::json& explained, const std::string& name)
{
    for (const auto& w : explained["ways"])
        if (w["way"] == name) return w;
    ADD_FAILURE() << name << " is not in " << explained.dump(2);
    return {};
}

// Row i of `rows` has columns 64 (i mod groups) … + 63: long enough that a GPU would not take it for small.
std::string interleaved(int rows, int groups)
{
    std::string text = "%%MatrixMarket matrix coordinate pattern general\n" + std::to_string(rows) + " " +
                       std::to_string(64 * groups) + " " + std::to_string(64 * rows) + "\n";
    for (int i = 0; i < rows; ++i)
        for (int k = 1; k <= 64; ++k) text += std::to_string(i + 1) + " " + std::to_string(i % groups * 64 + k) + "\n";
    return text;
}

TEST_F(Spmm, ExplainsByHand)
{
    const auto e = json("explain spmm " + file("a.mtx", interleaved(256, 4)) +
                        " --n 128 --type f16 --all --repeat 1 --expected-calls 100");
    const auto rows = way(e, "rows"), natural = way(e, "panels, natural order"),
               minhash = way(e, "panels, minhash order");
    EXPECT_EQ(rows["rows_of_b"], 64 * 256);
    EXPECT_EQ(natural["rows_of_b"], 4 * 256);  // four panels, all columns in each
    EXPECT_EQ(natural["nonzeros_each"], 16.0);
    EXPECT_EQ(natural["bytes_of_b"], 1024.0 * 128 * 2);
    EXPECT_EQ(natural["tiles_16x8"], 4 * 4 * 32);
    EXPECT_EQ(natural["tile_fill"], 0.25);
    EXPECT_EQ(minhash["rows_of_b"], 4 * 64);  // rows alike stand together
    EXPECT_EQ(minhash["tile_fill"], 1.0);
    EXPECT_EQ(minhash["pays_after_calls"].get<double>(),
              std::floor(minhash["order_seconds"].get<double>() /
                         (natural["predicted_seconds"].get<double>() - minhash["predicted_seconds"].get<double>())) +
                  1);
    EXPECT_GT(minhash["pays_after_calls"], 100);
    const auto dense = way(e, "dense");  // every panel needs every row of B
    EXPECT_TRUE(dense["chosen"].get<bool>());
    EXPECT_EQ(dense["rows_of_b"], 4 * 256);
    EXPECT_EQ(dense["tile_fill"], 0.25);
    EXPECT_GT(dense["predicted_seconds"], 0.0);
    EXPECT_FALSE(rows["chosen"].get<bool>());
    EXPECT_FALSE(natural["chosen"].get<bool>());
    EXPECT_EQ(e["share_on_tensor_cores"], 1.0);
    EXPECT_NE(e["why"].get<std::string>().find("100 % of the rows of B"), std::string::npos);
    EXPECT_GT(rows["measured_seconds"], 0.0);
    EXPECT_FALSE(e["measured_on"].get<std::string>().empty());
}

TEST_F(Spmm, ExplainsWhenAnOrderPays)
{
    const std::string a = file("a.mtx", interleaved(256, 4));
    const auto often = json("explain spmm " + a + " --n 128 --repeat 0 --expected-calls 1e9"),
               seldom = json("explain spmm " + a + " --n 128 --repeat 0 --expected-calls 60");
    EXPECT_FALSE(way(often, "panels, natural order")["chosen"].get<bool>());
    int chosen = 0;
    for (const auto& w : often["ways"]) {
        EXPECT_TRUE(w["measured_seconds"].is_null());
        if (!w["chosen"].get<bool>()) continue;
        ++chosen;
        EXPECT_EQ(w["rows_of_b"], 256);
        EXPECT_NE(often["order_why"].get<std::string>().find(
                      "pays after " + std::to_string(w["pays_after_calls"].get<long>()) + " calls"),
                  std::string::npos)
            << often["order_why"];
    }
    EXPECT_EQ(chosen, 1);
    EXPECT_FALSE(way(seldom, "panels, pack order")["counted"].get<bool>());
    EXPECT_GT(way(seldom, "panels, pack order")["pays_after_calls"], 60);
}

TEST_F(Spmm, ExplainsWhyTensorCoresAreNotUsed)
{
    const auto exact = json("explain spmm stencil5:10 --type f64 --repeat 0"),
               narrow = json("explain spmm stencil5:10 --n 8 --repeat 0"),
               once = json("explain spmm stencil5:10 --repeat 0 --expected-calls 1");
    EXPECT_EQ(exact["ways"].size(), 1u);
    EXPECT_NE(exact["why"].get<std::string>().find("full precision"), std::string::npos);
    EXPECT_NE(narrow["why"].get<std::string>().find("8 columns"), std::string::npos);
    EXPECT_NE(once["why"].get<std::string>().find("too seldom"), std::string::npos);
    for (const auto& e : {exact, narrow, once}) {
        EXPECT_TRUE(way(e, "rows")["chosen"].get<bool>());
        EXPECT_EQ(e["share_on_tensor_cores"], 0.0);
    }
    const auto cpu = json("explain spmm uniform:300,200,4 --type f32 --backend cpu --transpose --repeat 1");
    EXPECT_EQ(way(cpu, "rows")["rows_of_b"], cpu["nonzeros"]);
    EXPECT_GT(way(cpu, "rows")["measured_seconds"], 0.0);
    EXPECT_NE(cpu["description"].get<std::string>().find("200 x 300"), std::string::npos);
}

TEST_F(Spmm, ExplainsToPeople)
{
    const Outcome run = tulle("explain spmm fem:6,3 --n 128 --type bf16 --repeat 1");
    EXPECT_EQ(run.code, 0) << run.err;
    for (const char* part : {"(chosen)", "rows of B", "tiles 16 x 8", "pays after", "tensor cores  all nonzeros",
                             "chunks", "also moved", "H200", "measured: spmm on"})
        EXPECT_NE(run.out.find(part), run.out.npos) << part << " in\n" << run.out;
    for (const char* verb : {"explain", "explain spmm"})
        EXPECT_EQ(tulle(std::string(verb) + " --help").out.rfind("Examples:\n  tulle ", 0), 0u) << verb;
    EXPECT_EQ(tulle("explain").code, 2);
    EXPECT_EQ(tulle("explain spmm stencil5:10 --n 0").code, 2);
    EXPECT_EQ(tulle("explain spmm stencil5:10 --type f8").code, 2);
    EXPECT_EQ(tulle("explain spmm no-such-file.mtx").code, 3);
}

}  // namespace
}  // namespace tulle::test
