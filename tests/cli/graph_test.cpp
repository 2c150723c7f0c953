// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle triangles, tulle rank, tulle paths, tulle components, tulle cores, tulle cluster, tulle run sddmm.
#include <algorithm>

#include "program.hpp"

namespace tulle::test {
namespace {

class Graph : public Program {};

TEST_F(Graph, TrianglesAreCounted)
{
    // Every point of a nine-point stencil on n x n points closes 4 triangles with each square of four.
    EXPECT_EQ(parsed(tulle("triangles stencil9:10 --json"))["triangles"], 4 * 9 * 9);
    EXPECT_EQ(parsed(tulle("triangles stencil5:10 --json"))["triangles"], 0);
    const Outcome directed = tulle("triangles uniform:50,50,3");
    EXPECT_NE(directed.code, 0);
    EXPECT_NE(directed.err.find("directed"), std::string::npos) << directed.err;
    EXPECT_EQ(tulle("triangles uniform:30,20,3").code, 2) << "not square";
}

TEST_F(Graph, SampledProductsAreChecked)
{
    for (const char* options : {"", "-k 7 --scaled", "--type f16", "--type f32 -k 100"}) {
        SCOPED_TRACE(options);
        const auto done = parsed(tulle(std::string("run sddmm stencil5:12 --verify --repeat 2 --json ") + options));
        EXPECT_EQ(done["results"][0]["check"]["ok"], true);
    }
}

TEST_F(Graph, RanksAddUpAndAreWritten)
{
    const auto done = parsed(tulle("rank rmat:8,8 --tolerance 1e-12 --iterations 1000 --top 3 --json"));
    EXPECT_TRUE(done["converged"]);
    EXPECT_EQ(done["top"].size(), 3u);
    EXPECT_GE(done["top"][0]["value"], done["top"][1]["value"]);
    EXPECT_EQ(tulle("rank rmat:8,8 --tolerance 0 --iterations 2").code, 1) << "not converged";
    EXPECT_EQ(tulle("rank rmat:8,8 --method hits --damping 0.5").code, 2) << "no damping in hits";
    const Outcome out = tulle("rank rmat:8,8 --out -");
    EXPECT_EQ(std::count(out.out.begin(), out.out.end(), '\n'), 256) << out.err;
}

TEST_F(Graph, PathsAreLevelsOrLengths)
{
    EXPECT_EQ(parsed(tulle("paths stencil5:10 --source 0 --json"))["farthest"], 18);
    EXPECT_EQ(parsed(tulle("paths stencil5:10 --source 0 --json"))["reached"], 100);
    const Outcome negative = tulle("paths stencil5:10 --weighted");
    EXPECT_NE(negative.code, 0);
    EXPECT_NE(negative.err.find("not negative"), std::string::npos) << negative.err;
    EXPECT_NE(tulle("paths stencil5:10 --source 100").code, 0);
}

TEST_F(Graph, VerticesHaveComponentsAndCores)
{
    EXPECT_EQ(parsed(tulle("components stencil5:10 --json"))["components"], 1);
    EXPECT_EQ(parsed(tulle("components stencil5:10 --json"))["largest"], 100);
    const auto cores = parsed(tulle("cores stencil9:10 --json"));
    EXPECT_EQ(cores["core"], 4);
    EXPECT_EQ(cores["vertices"], 96);  // all but the corners, which have three neighbours
    const Outcome out = tulle("cores stencil5:10 --out -");
    EXPECT_EQ(std::count(out.out.begin(), out.out.end(), '2'), 100) << out.err;
    EXPECT_NE(tulle("components stencil5:10").out.find("1 component, the largest of 100"), std::string::npos);
    EXPECT_NE(tulle("cores uniform:50,50,3").err.find("directed"), std::string::npos);
}

TEST_F(Graph, ClustersAreFoundAndWritten)
{
    const auto done = parsed(tulle("cluster rmat:6,3 --json"));
    EXPECT_TRUE(done["converged"]);
    EXPECT_GT(done["clusters"], 1);
    const Outcome out = tulle("cluster rmat:6,3 --out -");
    EXPECT_EQ(std::count(out.out.begin(), out.out.end(), '\n'), done["clusters"].get<int>()) << out.err;
    EXPECT_GE(parsed(tulle("cluster rmat:6,3 -I 6 --json"))["clusters"], done["clusters"]);
    EXPECT_EQ(tulle("cluster rmat:6,3 --iterations 1").code, 1) << "not converged";
    EXPECT_NE(tulle("cluster rmat:6,3 --inflation 1").code, 0);
    EXPECT_EQ(tulle("cluster rmat:9,8 --budget 100KiB").code, 4) << "does not fit";
}

}  // namespace
}  // namespace tulle::test
