// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Several devices from the command line: run spmv --devices, solve --devices, plan spmv; ranks: partition, and runs
// under mpirun.
#include "cli/program.hpp"

namespace tulle::test {
namespace {

class Teams : public Program {};

TEST_F(Teams, RunIsRightOnAnyNumberOfDevices)
{
    for (const char* how :
         {"--devices 1", "--devices 4", "--devices 3 --paper", "--devices 5 --format csc",
          "--devices 2 --format coo --transpose --beta 0.5 --paper", "--devices 4 --type f32 --alpha -2"}) {
        SCOPED_TRACE(how);
        const auto result = json(std::string("run spmv rmat:10,8 --verify --repeat 1 ") + how)["results"][0];
        EXPECT_EQ(result["check"]["ok"], true);
        EXPECT_NE(result["description"].get<std::string>().find("spmv on a team of "), std::string::npos);
        EXPECT_NE(result["description"].get<std::string>().find("between members"), std::string::npos);
    }
    EXPECT_EQ(json("run spmv stencil5:20 --devices 3 --repeat 1")["results"][0]["policy"], "halo");
    EXPECT_EQ(json("run spmv stencil5:20 --devices 3 --repeat 1 --paper")["results"][0]["policy"], "paper");
}

// The same budget for a team and one device, and for vectors of the host: those are refused before they are filled.
TEST_F(Teams, BudgetsHold)
{
    const std::string wide =
        file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n3 2000000000 2\n1 1 1\n3 2000000000 1\n");
    for (const char* devices : {"", " --devices 2"})
        for (const std::string& words :
             {"run spmv " + wide + " --repeat 1 --trust-header", "run spmm " + wide + " --repeat 1 --trust-header",
              std::string("run spmm stencil5:60 --repeat 1"), std::string("run spgemm stencil5:100 --repeat 1"),
              std::string("solve stencil5:100 --preconditioner jacobi")}) {
            const Outcome run = tulle(words + " --budget 1MiB" + devices);
            EXPECT_EQ(run.code, 4) << words << devices << "\n" << run.err;
            EXPECT_NE(run.err.find("raise --budget to at least"), run.err.npos) << run.err;
        }
    for (const char* words : {"run sddmm stencil5:100 -k 100", "run sptrsv identity:1000 --rhs 1000"})
        EXPECT_EQ(tulle(std::string(words) + " --budget 1MiB").code, 4) << words;
    EXPECT_EQ(tulle("run spmv stencil5:100 --devices 2 --budget 20MiB").code, 0);
    EXPECT_EQ(tulle("run spmv stencil5:10 --devices 100000").code, 2);
}

// With the diagonal the same history for any number of devices.
TEST_F(Teams, SolvesOnAnyNumberOfDevices)
{
    const std::string how = "solve stencil5:20 --method cg --preconditioner jacobi --devices ";
    const auto one = json(how + "1"), some = json(how + "3");
    EXPECT_EQ(some["reason"], "converged");
    EXPECT_EQ(some["devices"], 3);
    EXPECT_EQ(one["history"], some["history"]);
    EXPECT_EQ(json("solve stencil5:20 --devices 2")["converged"], true);
    const Outcome run = tulle(how + "2");
    EXPECT_NE(run.out.find("solve on a team of 2"), run.out.npos) << run.out;
    EXPECT_EQ(tulle("solve stencil5:20 --devices 0").code, 2);
    EXPECT_EQ(tulle("solve stencil5:20 --devices 2 --unknowns-per-node 2").code, 2);
    EXPECT_NE(tulle("solve stencil5:20 --devices 2 --method chebyshev").code, 0);
}

TEST_F(Teams, PlanTellsEveryPart)
{
    const auto plan = json("plan spmv stencil5:30 --devices 8 --link 100");
    ASSERT_EQ(plan["parts"].size(), 8u);
    long nonzeros = 0, rows = 0;
    for (const auto& part : plan["parts"]) {
        nonzeros += part["nonzeros"].get<long>();
        rows += part["rows"].get<long>();
        EXPECT_GT(part["seconds_alone"], 0.0);
        EXPECT_LE(part["senders"], 2);  // slabs have neighbours on two sides
    }
    EXPECT_EQ(rows, 900);
    EXPECT_EQ(nonzeros, 5 * 900 - 4 * 30);
    EXPECT_LE(plan["imbalance"], 1.02);
    EXPECT_GT(plan["predicted_seconds"], 0.0);
    EXPECT_EQ(plan["assumed_link_bytes_per_second"], 100e9);
}

TEST_F(Teams, PlanPrintsForPeople)
{
    const Outcome run = tulle("plan spmv stencil5:30 --devices 3");
    EXPECT_EQ(run.code, 0);
    for (const char* part : {"3 devices", "x from others", "imbalance", "measured", "assumed link of 400 GB/s", "█"})
        EXPECT_NE(run.out.find(part), run.out.npos) << part;
}

TEST_F(Teams, PartitionTellsHaloAndNeighboursOfRanks)
{
    const auto by_rows = json("partition stencil5:20 -n 4 --method rows");
    ASSERT_EQ(by_rows["ranks"].size(), 4u);
    EXPECT_EQ(by_rows["ranks"][0]["rows"], 100);  // five lines of the grid
    EXPECT_EQ(by_rows["ranks"][0]["halo"], 20);
    EXPECT_EQ(by_rows["ranks"][1]["halo"], 40);
    EXPECT_EQ(by_rows["ranks"][1]["neighbours"], 2);
    EXPECT_EQ(by_rows["halo"], 120);
    EXPECT_EQ(by_rows["halo_bytes"], 960);
    EXPECT_EQ(by_rows["most_neighbours"], 2);
    const auto balanced = json("partition arrow:1000 -n 3 --link 1 --latency 0 --memory 10");
    EXPECT_LT(balanced["imbalance"], json("partition arrow:1000 -n 3 --method rows")["imbalance"]);
    EXPECT_EQ(balanced["assumed"]["link_bytes_per_second"], 1e9);
    EXPECT_EQ(json("partition stencil5:3 -n 40")["ranks"].size(), 40u);  // more ranks than rows
    const Outcome run = tulle("partition stencil5:20 -n 4");
    for (const char* part : {"4 ranks", "x from others", "neighbours", "model", "12.5 GB/s of link"})
        EXPECT_NE(run.out.find(part), run.out.npos) << part;
    EXPECT_EQ(tulle("partition stencil5:20 -n 0").code, 2);
    const std::string wide =
        file("wide.mtx",
             "%%MatrixMarket matrix coordinate real general\n2 2147483646 3\n1 1 1\n1 2147483646 1\n2 2147483646 2\n");
    EXPECT_EQ(json("partition " + wide + " -n 2")["halo"], 1);  // by nonzeros, not by columns
    const Outcome metis = tulle("partition stencil5:20 -n 16 --method metis --json");
    if (metis.code == 0) {  // where METIS is installed
        EXPECT_LT(nlohmann::json::parse(metis.out)["halo"], json("partition stencil5:20 -n 16")["halo"]);
    }
    EXPECT_EQ(tulle("partition stencil5:20 --method best").code, 2);
}

// Under mpirun tulle becomes tulle-mpi; where that was not built, one rank says so.
TEST_F(Teams, RanksNeedTheProgramForThem)
{
    std::filesystem::copy_file(TULLE_CLI_PROGRAM, folder / "alone");
    const auto on_rank = [&](const std::string& environment, const std::string& words) {
        const int status = std::system(
            ("cd '" + folder.string() + "' && " + environment + " ./alone " + words + " >out 2>err </dev/null")
                .c_str());
        return Outcome{WEXITSTATUS(status), text_of(folder / "out"), text_of(folder / "err")};
    };
    const Outcome first = on_rank("OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0", "run spmv stencil5:4");
    EXPECT_EQ(first.code, 3);
    EXPECT_NE(first.err.find("one of 3 ranks, but there is no program tulle-mpi"), first.err.npos) << first.err;
    const Outcome second = on_rank("PMI_SIZE=3 PMI_RANK=1", "solve stencil5:4");
    EXPECT_EQ(second.code, 3);
    EXPECT_EQ(second.out + second.err, "");
    EXPECT_EQ(on_rank("OMPI_COMM_WORLD_SIZE=1", "run spmv stencil5:4").code, 0);
    EXPECT_EQ(on_rank("OMPI_COMM_WORLD_SIZE=3", "info stencil5:4").code, 0);
}

TEST_F(Teams, SayWhatCannotBe)
{
    EXPECT_EQ(tulle("run spmv stencil5:5 --paper").code, 2);
    EXPECT_EQ(tulle("run spmv stencil5:5 --devices 2 --policy rows").code, 2);
    EXPECT_EQ(tulle("run spmv stencil5:5 --devices 2 --format bell").code, 2);
    EXPECT_EQ(tulle("run spmv stencil5:5 --devices 0").code, 2);
    EXPECT_EQ(tulle("plan spmv stencil5:5 --devices -1").code, 2);
    EXPECT_EQ(tulle("plan").code, 2);
    EXPECT_EQ(tulle("plan spmv no-such-file.mtx").code, 3);
}

TEST_F(Teams, HelpOpensWithExamples)
{
    for (const char* verb : {"plan", "plan spmv", "partition"})
        EXPECT_EQ(tulle(std::string(verb) + " --help").out.rfind("Examples:\n  tulle ", 0), 0u) << verb;
}

}  // namespace
}  // namespace tulle::test
