// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle report: the data in the page is right, whatever the matrix or its name. tests/pages opens it in a browser.
#include <numeric>

#include "cli/program.hpp"

namespace tulle::test {
namespace {

using Json = nlohmann::json;

class Report : public Program {
protected:
    // What the page would draw. Everything from the data's script to the end of its line is one JSON text.
    Json data_of(const std::string& name) const
    {
        const std::string page = text_of(folder / name), mark = "<script id=\"data\" type=\"application/json\">";
        const std::size_t begin = page.find(mark) + mark.size(), end = page.find("</script>", begin);
        EXPECT_LT(page.size(), std::size_t{2} << 20);
        const Json data = Json::parse(page.substr(begin, end - begin), nullptr, false);
        EXPECT_FALSE(data.is_discarded()) << page.substr(begin, 200);
        return data;
    }
    Json report_of(const std::string& words) const
    {
        const Outcome run = tulle("report " + words + " -o r.html");
        EXPECT_EQ(run.code, 0) << run.err;
        return data_of("r.html")["matrices"][0];
    }
};

TEST_F(Report, CountsWhatIsThere)
{
    file("a.mtx",
         "%%MatrixMarket matrix coordinate real general\n4 4 6\n1 1 2\n2 2 -3\n3 3 1e5\n4 4 1\n2 1 0\n4 3 1e-9\n");
    const Json m = report_of("a.mtx");
    EXPECT_EQ(m["rows"], 4);
    EXPECT_EQ(m["nonzeros"], 6);
    EXPECT_EQ(m["density_map"]["cells"].get<std::string>().size(), 24u);  // 16 bytes
    EXPECT_EQ(m["components"], (Json{{"count", 2}, {"largest", 2}, {"single", 0}}));
    EXPECT_EQ(m["levels"]["lower"]["bars"], (Json{2, 2}));
    EXPECT_EQ(m["levels"]["upper"]["bars"], (Json{4}));
    const Json& v = m["values"];
    EXPECT_EQ(v["zeros"], 1);
    EXPECT_EQ(v["negative"], 1);
    EXPECT_EQ(v["too_large_for_f16"], 1);
    EXPECT_EQ(v["too_small_for_f16"], 1);
    EXPECT_EQ(v["too_small_for_f32"], 0);
    EXPECT_EQ(v["least"], 1e-9);
    EXPECT_EQ(m["warnings"].size(), 4u) << m["warnings"];  // a stored zero, the spread, f16 twice
    ASSERT_EQ(m["operations"].size(), 4u);
    for (const Json& o : m["operations"]) {
        EXPECT_FALSE(o.contains("not")) << o;
        EXPECT_GT(o["predicted_seconds"].get<double>(), 0) << o;
        EXPECT_FALSE(o.contains("seconds")) << o;  // nothing was run
    }
    EXPECT_EQ(m["operations"][0]["flops"], 12);
    EXPECT_EQ(m["operations"][0]["memory_bytes"].get<double>(), 64 + m["operations"][0]["bytes"].get<double>());
}

// Nothing is read before both files are known to be there.
TEST_F(Report, LooksForTheSecondFileFirst)
{
    const Outcome run = tulle("report stencil5:4 --compare missing.mtx");
    EXPECT_EQ(run.code, 3);
    EXPECT_NE(run.err.find("there is no file 'missing.mtx'"), std::string::npos) << run.err;
    EXPECT_EQ(run.err.find("generated"), std::string::npos) << run.err;
    EXPECT_EQ(tulle("run spgemm stencil5:4 missing.mtx").err.find("generated"), std::string::npos);
}

TEST_F(Report, PartsCoverAllRowsAndCountTheHalo)
{
    const Json m = report_of("banded:1000,1");  // each part but the outer ones needs one entry of each neighbour
    for (const Json& split : m["parts"]) {
        int rows = 0, halo = 0;
        for (const Json& part : split["parts"]) rows += part["rows"].get<int>(), halo += part["halo"].get<int>();
        EXPECT_EQ(rows, 1000);
        EXPECT_EQ(halo, 2 * (split["devices"].get<int>() - 1));
    }
}

TEST_F(Report, EmptySmallFlatAndHypersparse)
{
    file("no-rows.mtx", "%%MatrixMarket matrix coordinate real general\n0 5 0\n");
    EXPECT_TRUE(report_of("no-rows.mtx")["density_map"].is_null());
    file("no-entries.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 0\n");
    EXPECT_EQ(report_of("no-entries.mtx")["warnings"][0], "The matrix has no entries.");
    file("one.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5\n");
    EXPECT_EQ(report_of("one.mtx")["components"]["count"], 1);
    const Json flat = report_of("uniform:10,5000,3");
    EXPECT_TRUE(flat["levels"].is_null());
    EXPECT_EQ(flat["operations"][2]["not"], "the matrix is not square");
    file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 2000000000 2\n1 1 1\n2 2000000000 1\n");
    EXPECT_TRUE(report_of("wide.mtx --trust-header")["column_lengths"].is_null());
}

TEST_F(Report, NamesAndCommentsStayText)
{
    file("<script>alert(1)<script>.mtx",
         "%%MatrixMarket matrix coordinate real general\n% </script><img src=x onerror=alert(1)>\n1 1 1\n1 1 1\n");
    const Json m = report_of("'<script>alert(1)<script>.mtx'");
    EXPECT_EQ(m["name"], "<script>alert(1)<script>");
    const std::string page = text_of(folder / "r.html");
    EXPECT_EQ(page.find("<script>alert"), std::string::npos);
    EXPECT_EQ(page.find("<img"), std::string::npos);
}

TEST_F(Report, MeasuresAndCompares)
{
    const Outcome run = tulle("report stencil5:20 --run --compare stencil7:8 -o r.html");
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.err.find("cuda is left out"), run.err.rfind("cuda is left out")) << "told once: " << run.err;
    const Json data = data_of("r.html");
    ASSERT_EQ(data["matrices"].size(), 2u);
    EXPECT_GT(data["bandwidth"].get<double>(), 1e8);
    EXPECT_EQ(text_of(folder / "r.html").find("{base.js}"), std::string::npos);
    for (const Json& o : data["matrices"][1]["operations"]) EXPECT_GT(o["seconds"].get<double>(), 0) << o;
}

TEST_F(Report, RefusesWhatCannotBeWritten)
{
    EXPECT_EQ(tulle("report stencil5:4 -o nowhere/r.html").code, 3);
    EXPECT_EQ(json("report stencil5:4 -o r.html")["file"], "r.html");
}

}  // namespace
}  // namespace tulle::test
