// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-bench: speed, compared with other libraries and with the roofline of the machine. `tulle bench …` runs this
// program.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "apps/cli/support/arguments.hpp"
#include "apps/cli/support/failure.hpp"
#include "bench/harness/exit_code.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/values.hpp"
#include "bench/operations/collect.hpp"
#include "bench/operations/graph.hpp"
#include "bench/operations/partition.hpp"
#include "bench/operations/roofline.hpp"
#include "bench/operations/sddmm.hpp"
#include "bench/operations/solve.hpp"
#include "bench/operations/spgemm.hpp"
#include "bench/operations/spmm.hpp"
#include "bench/operations/spmv.hpp"
#include "bench/operations/sptrsv.hpp"
#include "tulle/context.hpp"
#include "tulle/memory.hpp"

namespace tulle::bench {
namespace {

constexpr const char* examples =
    "Examples:\n"
    "  tulle-bench spmv                                        small generated matrices, every backend\n"
    "  tulle-bench spmv --suite paper --backend cpu            the twelve twins against Eigen\n"
    "  tulle-bench spmv stencil7:100 A.mtx --policy all        every way we have\n"
    "  tulle-bench spmv --suite real --cold --json out.jsonl   figures for docs (tools/bench_table.py out.jsonl)\n"
    "  tulle-bench sptrsv --suite triangles --backend cuda     triangular solves; baseline: cuSPARSE SpSV; --rhs 32: "
    "SpSM\n"
    "  tulle-bench sptrsv twin:cant --policy ablation          what each idea is worth\n"
    "  tulle-bench solve stencil7:64 --preconditioner ic0      systems; baselines: Eigen's solvers, cuSPARSE\n"
    "  tulle-bench graph email-Enron.mtx --backend cpu         graph algorithms; baseline: GraphBLAS\n"
    "  tulle-bench partition --suite paper                     cutting into 8 parts and one upload, and what each "
    "part takes alone\n"
    "  tulle-bench roof                                        how fast this machine reads and copies memory\n";

struct RoofOptions {
    Wish wish = {};
    std::string json = {};
    bool quiet = false;
};

int bench_roof(const RoofOptions& options)
{
    Report report(options.json, options.quiet);
    for (int threads = 1; threads < 2 * available_threads(); threads *= 2) {
        const Context ctx = Context::cpu(std::min(threads, available_threads()));
        report.add(limits(ctx, options.wish), device_name(ctx));
    }
    if (const std::string why = why_no_cuda(); why.empty())
        report.add(limits(Context::cuda(0), options.wish), device_name(Context::cuda(0)));
    else report.talk("cuda skipped: " + why);
    return 0;
}

template <class Options>
void add_timing(CLI::App& app, Options& o)
{
    auto* repeat = app.add_option("--repeat", o.wish.repeat, "Samples of each contender")->check(cli::positive());
    app.add_option("--seconds", o.wish.seconds, "Time for each contender and each way of timing")
        ->check(cli::positive())
        ->capture_default_str()
        ->excludes(repeat);
    app.add_option("--json", o.json, "Add JSON lines to this file; - is standard output, instead of the table");
    app.add_flag("--quiet", o.quiet, "Results only");
}

void add_values(CLI::App& app)
{
    app.add_option_function<std::string>(
           "--values", set_pattern_values,
           "Of files without values: ones (the default) or random:SEED, which JSON lines then say")
        ->option_text("HOW");
}

// What all races ask for: matrices, where, how long.
template <class Options>
void add_race(CLI::App& app, Options& o, const std::string& matrices,
              const std::string& suites = "paper, real, quick, or a file with one matrix a line")
{
    app.add_option("matrix", o.matrices, matrices);
    app.add_option("--suite", o.suite, suites);
    add_values(app);
    app.add_option("--backend", o.backend, "cpu, cuda or all")
        ->check(CLI::IsMember({"cpu", "cuda", "all"}))
        ->capture_default_str();
    app.add_option("--threads", o.threads, "CPU threads; 0: all")
        ->check(CLI::Range(0, most_threads()))
        ->capture_default_str();
    add_timing(app, o);
}

template <class Options>
void add_type(CLI::App& app, Options& o)
{
    app.add_option("--type", o.type, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}))->capture_default_str();
}

void add_cold(CLI::App& app, Wish& wish)
{
    app.add_flag("--cold", wish.cold, "Also time with the last-level cache overwritten before each run");
}

void add_spmv(CLI::App& app, SpmvOptions& o)
{
    add_race(app, o, "Files or generator sentences (twin:cant, stencil7:100); none: the suite quick");
    add_type(app, o);
    app.add_option("--against", o.against, "Baselines: plain (a loop over CSR), eigen, mkl, cusparse")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--policy", o.policies,
                   "Policies in addition to the chosen one: all, split, rows, rows:8; once: the call without a plan")
        ->delimiter(',');
    add_cold(app, o.wish);
}

void add_sptrsv(CLI::App& app, SptrsvOptions& o)
{
    add_race(app, o, "Files or generator sentences; their lower triangles are solved; none: the suite triangles",
             "triangles, paper, real, quick, or a file with one matrix a line");
    add_type(app, o);
    app.add_option("--against", o.against, "Baselines: eigen, mkl, cusparse")->delimiter(',')->capture_default_str();
    app.add_option(
        "--policy", o.policies,
        "Policies in addition to the chosen one, by parts of their names: all; \"one block\"; by their lines: "
        "\"kernel=tasks warps=4\"; ablation: the fastest "
        "of the paper's, and of those with one idea more at a time");
    app.add_option("--rhs", o.right_hand_sides, "Right-hand sides, row-major")
        ->check(cli::positive())
        ->capture_default_str();
    add_cold(app, o.wish);
}

void add_solve(CLI::App& app, SolveOptions& o)
{
    add_race(app, o, "Files or generator sentences of square matrices; none: the suite quick");
    app.add_option("--against", o.against, "Baselines: eigen (CPU), cusparse (GPU)")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--preconditioner", o.preconditioners,
                   "Preconditioners in addition to the chosen one, as tulle solve has them")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--tolerance", o.tolerance, "Residual over the norm of b")
        ->check(cli::positive())
        ->capture_default_str();
    app.add_option("--graphs", o.graphs, "Blocks of iterations as CUDA graphs: auto, never")
        ->check(CLI::IsMember({"auto", "never"}))
        ->capture_default_str();
}

void add_partition(CLI::App& app, PartitionOptions& o)
{
    add_race(app, o, "Files or generator sentences; none: the suite quick");
    app.add_option("--parts", o.parts, "Parts of each matrix")->check(CLI::Range(1, 1024))->capture_default_str();
    app.add_option("--overlap", o.overlap, "Of exchange and rows that need none: auto, always, never")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->capture_default_str();
    app.add_option("--link", o.link, "GB/s between devices, assumed for the prediction")
        ->check(cli::positive())
        ->capture_default_str();
}

void add_spgemm(CLI::App& app, SpgemmOptions& o)
{
    add_race(app, o, "Files or generator sentences of square matrices; none: the suite quick");
    add_type(app, o);
    app.add_option("--against", o.against,
                   "Baselines: plain (Gustavson's loop, unsorted, as SciPy has it), eigen, graphblas, mkl, cusparse")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--policy", o.policies,
                   "Policies in addition to the chosen one, by parts of their names: all; nsparse deltasparse; "
                   "unsorted: C as it comes")
        ->delimiter(',');
    app.add_flag("--checked", o.checked, "Let ours validate its input inside the clock");
}

void add_spmm(CLI::App& app, SpmmOptions& o)
{
    add_race(app, o, "Files or generator sentences; none: the suite quick");
    app.add_option("--type", o.type, "f64, f32, tf32, f16 or bf16; the last two with sums and C in f32")
        ->check(CLI::IsMember({"f64", "f32", "tf32", "f16", "bf16"}))
        ->capture_default_str();
    app.add_option(
           "--scale", o.scale,
           "f16 and bf16: powers of two of rows, taken back when C is written (tulle run spmm --scale), in addition to "
           "the same product without them: auto, rows; off: the matrix is divided by its largest value")
        ->check(CLI::IsMember({"off", "auto", "rows"}))
        ->capture_default_str();
    app.add_option("--n", o.columns, "Columns of B")->delimiter(',')->check(cli::positive())->capture_default_str();
    app.add_option("--against", o.against, "Baselines: eigen, mkl, cusparse, cublas")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--policy", o.policies,
                   "Policies in addition to the chosen one, by parts of their names: all; rows; \"64, natural\"");
    add_cold(app, o.wish);
}

void add_sddmm(CLI::App& app, SddmmOptions& o)
{
    add_race(app, o, "Files or generator sentences; none: the suite quick");
    app.add_option("--type", o.type, "f64, f32, f16 or bf16; the last two with sums and results in f32")
        ->check(CLI::IsMember({"f64", "f32", "f16", "bf16"}))
        ->capture_default_str();
    app.add_option("--k", o.columns, "Columns of X and Y")
        ->delimiter(',')
        ->check(cli::positive())
        ->capture_default_str();
    app.add_option("--against", o.against, "Baselines: plain (a loop, on the CPU), cusparse")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--policy", o.policies,
                   "Policies in addition to the chosen one, by parts of their names: all; \"8 lanes\"");
    add_cold(app, o.wish);
}

void add_graph(CLI::App& app, GraphOptions& o)
{
    add_race(app, o, "Files or generator sentences, taken as undirected graphs; none: the suite quick");
    app.add_option("--algorithm", o.algorithms, "triangles, bfs, pagerank (50 iterations), masked (C<A> = A A)")
        ->delimiter(',')
        ->check(CLI::IsMember({"triangles", "bfs", "pagerank", "masked"}))
        ->capture_default_str();
}

void add_collect(CLI::App& app, CollectOptions& o)
{
    app.add_option("operation", o.operation, "sptrsv or spgemm")
        ->required()
        ->check(CLI::IsMember({"sptrsv", "spgemm"}));
    app.add_option("matrix", o.matrices, "Files or generator sentences; none: the suite learn");
    app.add_option("--suite", o.suite, "learn, triangles, or a file with one matrix a line");
    add_values(app);
    app.add_option("--backend", o.backend, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
    app.add_option("--json", o.json, "File that JSON lines are added to; - is standard output")->required();
    app.add_option("--seconds", o.seconds, "No new matrix after this long")
        ->check(cli::positive())
        ->capture_default_str();
    app.add_flag("--paper", o.paper, "sptrsv: the paper's schemes too");
    app.add_option("--products", o.products,
                   "spgemm: no matrix with more multiplications; 0: a thousand million on a GPU, 30 million on a CPU")
        ->check(cli::from_zero())
        ->capture_default_str();
    app.add_option("--threads", o.threads, "CPU threads; 0: all")
        ->check(CLI::Range(0, most_threads()))
        ->capture_default_str();
    app.add_flag("--quiet", o.quiet, "No progress");
}

int parse_and_run(int argc, char** argv)
{
    CLI::App app(examples, "tulle-bench");
    app.require_subcommand(1);
    SpmvOptions spmv;
    SptrsvOptions sptrsv;
    SpgemmOptions spgemm;
    RoofOptions roofline;
    CLI::App* spmv_command =
        app.add_subcommand("spmv", "y = A x: ours, the baselines, and a plain read of as many bytes");
    CLI::App* sptrsv_command =
        app.add_subcommand("sptrsv",
                           "L x = b for the lower triangle of a matrix: ours and the baselines, analysis and solve");
    SolveOptions solve;
    CLI::App* solve_command = app.add_subcommand("solve", "A x = b: setup and solve, ours and the baselines");
    add_solve(*solve_command, solve);
    PartitionOptions partition;
    CLI::App* partition_command =
        app.add_subcommand("partition",
                           "Cutting a matrix into parts: cost, balance, halo, and every part's product alone");
    add_partition(*partition_command, partition);
    CLI::App* spgemm_command = app.add_subcommand("spgemm", "C = A A: whole calls and refills, ours and the baselines");
    CollectOptions collect;
    CLI::App* collect_command = app.add_subcommand(
        "collect", "Runs to learn models from: every choice on many matrices, with their features (tools/train)");
    add_collect(*collect_command, collect);
    CLI::App* roof_command =
        app.add_subcommand("roof", "The machine's limits: memory read and copied, caches, launches");
    add_spmv(*spmv_command, spmv);
    add_sptrsv(*sptrsv_command, sptrsv);
    add_spgemm(*spgemm_command, spgemm);
    SpmmOptions spmm;
    CLI::App* spmm_command = app.add_subcommand("spmm", "C = A B with a dense B: ours and the baselines");
    add_spmm(*spmm_command, spmm);
    SddmmOptions sddmm;
    CLI::App* sddmm_command = app.add_subcommand("sddmm", "c = X Y^T at the positions of A: ours and the baselines");
    add_sddmm(*sddmm_command, sddmm);
    GraphOptions graph;
    CLI::App* graph_command =
        app.add_subcommand("graph", "Triangles, searches, ranks, masked products: ours and SuiteSparse:GraphBLAS");
    add_graph(*graph_command, graph);
    add_timing(*roof_command, roofline);
    cli::check_arguments(app, {argv + 1, argv + argc});
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& fault) {
        return app.exit(fault) == 0 ? 0 : 2;
    }
    set_value_type(*spmm_command ? (spmm.scale == "off" ? spmm.type : "") : *sddmm_command ? sddmm.type : "");
    if (*collect_command) return collect.operation == "spgemm" ? collect_spgemm(collect) : collect_sptrsv(collect);
    if (*partition_command) return bench_partition(partition);
    if (*sptrsv_command) return bench_sptrsv(sptrsv);
    if (*solve_command) return bench_solve(solve);
    if (*spgemm_command) return bench_spgemm(spgemm);
    if (*spmm_command) return bench_spmm(spmm);
    if (*sddmm_command) return bench_sddmm(sddmm);
    if (*graph_command) return bench_graph(graph);
    return *spmv_command ? bench_spmv(spmv) : bench_roof(roofline);
}

}  // namespace
}  // namespace tulle::bench

int main(int argc, char** argv)
{
    try {
        const int code = tulle::bench::parse_and_run(argc, argv);
        const bool written = std::cout.flush().good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
        tulle::require<tulle::FileError>(written, "the results could not be written to stdout");
        return code;
    } catch (const std::exception& fault) {
        fmt::print(stderr, "tulle-bench: {}\n", tulle::bench::text_of(fault));
        return tulle::bench::exit_code(fault);
    }
}
