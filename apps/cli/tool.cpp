// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The command line tool: which verbs there are, and what can be asked of them.
#include <algorithm>
#include <array>
#include <string_view>

#include "apps/cli/support/parser.hpp"
#include "apps/cli/support/programs.hpp"
#include "apps/cli/support/run_program.hpp"
#include "apps/cli/verbs.hpp"
#include "apps/cli/verbs/operations/sddmm.hpp"
#include "apps/cli/verbs/operations/spgemm.hpp"
#include "apps/cli/verbs/operations/spmm.hpp"
#include "apps/cli/verbs/operations/sptrsv.hpp"
#include "apps/cli/verbs/solvers/graph.hpp"
#include "apps/cli/verbs/solvers/solve.hpp"
#include "apps/cli/verbs/tools/completion.hpp"
#include "apps/cli/verbs/tools/manual.hpp"
#include "io/sink.hpp"
#include "tulle/context.hpp"

namespace tulle::cli {
namespace {

void add_info(Parser& parser, InfoOptions& o)
{
    CLI::App* verb =
        parser.verb("info", "What a matrix is like: shape, row lengths, symmetry, levels, and a histogram of its rows.",
                    "tulle info matrix.mtx.gz\ntulle info twin:webbase-1M\ntulle info stencil7:100 --json");
    parser.matrix(verb, o.matrix);
    parser.when(verb, [&o](const Session& session) { info(session, o); });
}

void add_validate(Parser& parser, ValidateOptions& o)
{
    CLI::App* verb =
        parser.verb("validate",
                    "Checks a matrix; exit code 1 with the first thing that is wrong, 3 if the file is malformed.",
                    "tulle validate matrix.mtx\ntulle validate matrix.npz --finite --quiet && echo sound");
    parser.matrix(verb, o.matrix);
    verb->add_flag("--finite", o.finite, "NaN and infinite values are wrong too");
    parser.when(verb, [&o](const Session& session) { validate(session, o); });
}

bool writes_matrix_market(const ConvertOptions& o)
{
    if (!o.format.empty()) return o.format.find("mtx") != o.format.npos;
    return o.to.find(".mtx") != o.to.npos || io::is_stream(o.to);
}

void add_convert(Parser& parser, ConvertOptions& o)
{
    CLI::App* verb =
        parser.verb("convert",
                    "From any format to another; the name of the new file says which (.mtx .npz .tulle .petsc ...).",
                    "tulle convert matrix.mtx.xz matrix.npz\ntulle convert matrix.mtx matrix.tulle --type f32\ntulle "
                    "convert lattice.npz lattice.mtx --symmetric");
    parser.matrix(verb, o.matrix);
    verb->add_option("to", o.to, "the file to write; - is stdout")->required()->option_text("FILE");
    parser.output(verb, o.to, o.format, "mtx (the default for - and pipes), mtx.gz, npz, smtx, tulle, petsc");
    Parser::type(verb, o.type);
    verb->add_flag("--symmetric", o.symmetric,
                   "Matrix Market: write the lower triangle only (the matrix must be symmetric)");
    verb->add_flag("--pattern", o.pattern, "Matrix Market: leave the values out");
    verb->add_option("--comment", o.comment, "Matrix Market: a comment for the top of the file")->option_text("TEXT");
    parser.effective(
        verb, "--comment", [&o] { return writes_matrix_market(o); }, "in a file that is not Matrix Market");
    parser.when(verb, [&o](const Session& session) { convert(session, o); });
}

void add_gen(Parser& parser, GenOptions& o)
{
    CLI::App* verb = parser.verb("gen", "Matrices from a sentence, the same on every machine.",
                                 "tulle gen --list\ntulle gen stencil27:50 -o lattice.mtx\ntulle gen twin:cant "
                                 "--stats\ntulle gen twin:all --stats    the twelve twins beside the paper's figures");
    verb->add_option("sentence", o.sentence, "what to make, like stencil7:100 or twin:cant")->option_text("SENTENCE");
    verb->add_option("-o,--out", o.to, "the file to write; its name says the format; - is stdout")->option_text("FILE");
    parser.output(verb, o.to, o.format, "mtx (the default for - and pipes), mtx.gz, npz, tulle, petsc");
    verb->add_flag("--list", o.list, "show the sentences there are");
    verb->add_flag("--stats", o.stats, "describe the matrix instead of writing it");
    Parser::type(verb, o.type);
    parser.compute(verb);
    for (const char* option : {"sentence", "--stats", "--out", "--type", "--threads", "--budget"})
        parser.effective(
            verb, option, [&o] { return !o.list; }, "with --list");
    for (const char* option : {"--out", "--type"})
        parser.effective(
            verb, option, [&o] { return !o.stats; }, "with --stats, which writes no matrix");
    parser.when(verb, [&o](const Session& session) { gen(session, o); });
}

void add_solve(Parser& parser, SolveOptions& o)
{
    CLI::App* verb = parser.verb(
        "solve", "Solves A x = b; exit code 1 unless the residual b - A x is small enough.",
        "tulle solve matrix.mtx\ntulle solve matrix.mtx --rhs b.mtx --output x.mtx --tolerance 1e-10\ntulle "
        "solve stencil7:50 --method cg --preconditioner ic0 --plot history.png\ntulle solve stencil7:50 "
        "--preconditioner solve[cg,amg+smoother[ic0],0.01,20]\ntulle solve elasticity3d:12 "
        "--near-null-space rigid-body:coordinates:12,12,12");
    parser.matrix(verb, o.matrix, true, {&o.rhs, &o.near_null_space});
    verb->add_option("--rhs", o.rhs.text, "b: a matrix file with one column, or one number a line (ones)")
        ->option_text("FILE");
    verb->add_option("--method", o.method,
                     "cg, pipelined-cg, minres, bicgstab, gmres, fgmres, chebyshev or refinement (chosen from A)")
        ->option_text("NAME");
    verb->add_option("--preconditioner", o.preconditioner,
                     "none, jacobi, block-jacobi:ROWS, chebyshev:DEGREE, ic0, ilu0, iluk:LEVEL, ilut:DROP:FILL, fsai, "
                     "ssor:WEIGHT, amg, amg:float, amg:double, amg:f16 or amg:bf16; +relax:PART, +match, +rcm, "
                     "+colour, +nd, +auto; "
                     "amg+classical, +w, +k, "
                     "+jacobi, +l1-jacobi, +gauss-seidel, +smoother[NAME]; solve[METHOD,NAME,RELATIVE,ITERATIONS], an "
                     "inner solver, as in solve[cg,amg+smoother[ic0],0.01,20] (chosen)")
        ->option_text("NAME");
    verb->add_option(
            "--near-null-space", o.near_null_space.text,
            "amg: vectors that A maps to almost zero, as columns of a matrix, or rigid-body:COORDINATES, a row "
            "for each point (constants)")
        ->option_text("MATRIX");
    verb->add_option("--unknowns-per-node", o.unknowns_per_node,
                     "amg: neighbouring rows that belong to one node (1, with rigid-body the columns of COORDINATES)")
        ->check(positive())
        ->option_text("N");
    verb->add_option("--tolerance", o.tolerance, "residual over the norm of b that is small enough (1e-8, in f32 1e-5)")
        ->check(from_zero())
        ->option_text("X");
    verb->add_option("--max-iterations", o.iterations, "the most iterations (10000)")
        ->check(from_zero())
        ->option_text("N");
    verb->add_option("--max-seconds", o.seconds, "the most seconds; 0 is no limit")
        ->check(from_zero())
        ->option_text("X");
    verb->add_option("--restart", o.restart, "gmres and fgmres: vectors before a restart (30)")
        ->check(CLI::Range(1, 1000))
        ->option_text("N");
    verb->add_option("--devices", o.devices, "on a team of so many: CPU queues, GPUs, or streams of one GPU")
        ->check(CLI::Range(1, 1024))
        ->option_text("N");
    verb->add_option("--output", o.to, "write x: Matrix Market, or one number a line")->option_text("FILE");
    parser.output(o.to);
    verb->add_option("--plot", o.plot, "draw the residuals, .png, .svg or .pdf")->option_text("FILE");
    parser.output(o.plot);
    verb->add_option("--backend", o.backend, "cpu (the default) or cuda")
        ->check(one_of({"cpu", "cuda"}))
        ->option_text("WHERE");
    verb->add_option("--graphs", o.graphs, "cuda: blocks of iterations as CUDA graphs, auto (the default) or never")
        ->check(one_of({"auto", "never"}))
        ->option_text("WHEN");
    Parser::type(verb, o.type);
    parser.verbose(verb);
    parser.device(verb, [&o] { return o.backend != "cpu"; });
    parser.effective(
        verb, "--graphs", [&o] { return o.backend != "cpu"; }, "without --backend cuda");
    parser.effective(
        verb, "--restart",
        [&o] {
            constexpr std::array others{"cg", "pipelined-cg", "minres", "bicgstab", "chebyshev"};
            return std::find(others.begin(), others.end(), o.method) == others.end();
        },
        "without gmres, fgmres or refinement as the --method");
    for (const char* option : {"--near-null-space", "--unknowns-per-node"})
        parser.effective(
            verb, option,
            [&o] { return o.preconditioner.empty() || o.preconditioner.find("amg") != std::string::npos; },
            "without amg as the --preconditioner");
    for (const char* option : {"--near-null-space", "--unknowns-per-node"})
        parser.effective(
            verb, option, [&o] { return o.devices == 0; }, "with --devices");
    parser.when(verb, [&o](const Session& session) { solve(session, o); });
}

void add_spmv_choices(CLI::App* verb, SpmvOptions& o)
{
    verb->add_option("--backend", o.backend, "cpu (the default), cuda or all")
        ->check(one_of({"cpu", "cuda", "all"}))
        ->option_text("WHERE");
    verb->add_option("--format", o.format, "csr (the default), csc, coo or bell")
        ->check(one_of({"csr", "csc", "coo", "bell"}))
        ->option_text("FORMAT");
    verb->add_option("--block", o.block, "block size of bell (4)")->check(CLI::Range(1, 256))->option_text("N");
    verb->add_option("--policy", o.kernel,
                     "force a kernel: rows, groups, stream, sell, split, scatter, entries or blocks")
        ->option_text("KERNEL");
    verb->add_option("--lanes", o.lanes, "with --policy: lanes that share a row")
        ->check(CLI::Range(1, 32))
        ->option_text("N");
    verb->add_option("--devices", o.devices, "on a team of so many: CPU queues, GPUs, or streams of one GPU")
        ->check(CLI::Range(1, 1024))
        ->option_text("N");
    verb->add_flag("--paper", o.paper, "with --devices: cut to the nonzero, all of x for everybody (MSREP)");
}

void add_spmv(Parser& parser, CLI::App* run, SpmvOptions& o)
{
    CLI::App* verb =
        parser.verb("spmv", "y = alpha op(A) x + beta y, timed; x and y come from a seed unless given.",
                    "tulle run spmv matrix.mtx --verify\ntulle run spmv twin:cant --backend all --repeat 100\n"
                    "tulle run spmv rmat:16,16 --type f32 --transpose --policy scatter\ntulle run spmv twin:cant "
                    "--devices 4 --verify\ntulle run spmv matrix.mtx --x x.txt --out y.txt",
                    run);
    parser.matrix(verb, o.matrix);
    add_spmv_choices(verb, o);
    Parser::type(verb, o.type);
    verb->add_flag("--transpose", o.transpose, "multiply with the transposed matrix");
    Parser::scalar(verb, "--alpha", o.alpha, "(1)");
    Parser::scalar(verb, "--beta", o.beta, "(0)");
    verb->add_option("--repeat", o.repeat, "timed runs (10)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    verb->add_flag("--verify", o.verify,
                   "compare with a plain product, entry by entry; exit code 1 if a bound is broken");
    Parser::seed(verb, o.seed, "of x and y");
    verb->add_option("--x", o.x_from, "read x from a file, one number a line; - is stdin")->option_text("FILE");
    verb->add_option("--out", o.y_to, "write y to a file, one number a line; - is stdout")->option_text("FILE");
    parser.output(o.y_to);
    parser.device(verb, [&o] { return o.backend != "cpu"; });
    parser.verbose(verb);
    parser.effective(
        verb, "--verbose", [&o] { return o.devices == 0; }, "with --devices");
    parser.effective(
        verb, "--block", [&o] { return o.format == "bell"; }, "without --format bell");
    parser.effective(
        verb, "--lanes", [&o] { return !o.kernel.empty(); }, "without --policy");
    parser.effective(
        verb, "--paper", [&o] { return o.devices > 0; }, "without --devices");
    parser.effective(
        verb, "--seed", [&o] { return o.x_from.empty() || o.beta != 0; }, "with --x, unless --beta is given");
    parser.when(verb, [&o](const Session& session) { run_spmv(session, o); });
}

void add_run(Parser& parser, SpmvOptions& o, RunSptrsvOptions& sptrsv, SpgemmOptions& spgemm, SpmmOptions& spmm,
             SddmmOptions& sddmm)
{
    CLI::App* run = parser.verb("run", "Does an operation, times it, and checks it with --verify.",
                                "tulle run spmv matrix.mtx --verify\ntulle run spmv --help");
    run->require_subcommand(1);
    add_spmv(parser, run, o);
    add_run_sptrsv(parser, run, sptrsv);
    add_run_spgemm(parser, run, spgemm);
    add_run_spmm(parser, run, spmm);
    add_run_sddmm(parser, run, sddmm);
}

void add_plan(Parser& parser, PlanOptions& o, SpgemmOptions& spgemm)
{
    CLI::App* plan =
        parser.verb("plan", "How an operation would be dealt out to several devices, and what that predicts.",
                    "tulle plan spmv matrix.mtx --devices 8\ntulle plan spmv --help");
    plan->require_subcommand(1);
    add_plan_spgemm(parser, plan, spgemm);
    CLI::App* verb = parser.verb(
        "spmv",
        "Per device: nonzeros, rows, entries of x from others, memory, time alone; and the speed that predicts.",
        "tulle plan spmv stencil7:100 --devices 8\ntulle plan spmv twin:webbase-1M --devices 4 --backend cuda --link "
        "150",
        plan);
    parser.matrix(verb, o.matrix);
    verb->add_option("--devices", o.devices, "how many (8)")->check(CLI::Range(1, 1024))->option_text("N");
    verb->add_option("--backend", o.backend, "cpu (the default) or cuda: where parts are timed")
        ->check(one_of({"cpu", "cuda"}))
        ->option_text("WHERE");
    verb->add_option("--link", o.link, "GB/s between devices, assumed (400)")->check(positive())->option_text("GB/S");
    verb->add_option("--tolerance", o.tolerance, "by which a part may exceed its share before a row is split (0.01)")
        ->check(from_to(0, 1))
        ->option_text("SHARE");
    verb->add_flag("--paper", o.paper, "cut to the nonzero, all of x for everybody (MSREP)");
    Parser::type(verb, o.type);
    parser.device(verb, [&o] { return o.backend != "cpu"; });
    parser.effective(
        verb, "--tolerance", [&o] { return !o.paper; }, "with --paper, which cuts to the nonzero");
    parser.when(verb, [&o](const Session& session) { plan_spmv(session, o); });
}

void add_partition(Parser& parser, PartitionOptions& o)
{
    CLI::App* verb = parser.verb(
        "partition",
        "How the rows of a matrix would be dealt out to the ranks of a cluster: balance, halo, neighbours, and the "
        "times that a model predicts.",
        "tulle partition matrix.mtx -n 64\ntulle partition stencil7:100 -n 512 --link 12.5 --latency 2 --json");
    parser.matrix(verb, o.matrix);
    verb->add_option("-n,--ranks", o.ranks, "how many (4)")->check(CLI::Range(1, 1 << 20))->option_text("N");
    verb->add_option("--method", o.method,
                     "nonzeros (the default, as tulle::mpi: equally many rows and nonzeros together), rows (equally "
                     "many rows) or metis (ordered by METIS for a small halo)")
        ->check(one_of({"nonzeros", "rows", "metis"}))
        ->option_text("HOW");
    verb->add_option("--link", o.link, "GB/s of each rank to others, assumed (12.5)")
        ->check(positive())
        ->option_text("GB/S");
    verb->add_option("--latency", o.latency, "microseconds of a message, assumed (2)")
        ->check(from_to(0, 1e6))
        ->option_text("US");
    verb->add_option("--memory", o.memory, "GB/s that a rank reads from its memory, assumed (20)")
        ->check(positive())
        ->option_text("GB/S");
    verb->add_option("--plot", o.plot, "draw the rows in the colours of their ranks, .png, .svg or .pdf")
        ->option_text("FILE");
    parser.output(o.plot);
    parser.when(verb, [&o](const Session& session) { partition_rows(session, o); });
}

void add_explain_solve(Parser& parser, CLI::App* explain, SolveOptions& o)
{
    CLI::App* verb = parser.verb(
        "solve",
        "Every method and preconditioner that a solve of A x = 1 would try, alone: predicted and measured times.",
        "tulle explain solve matrix.mtx\ntulle explain solve stencil7:50 --max-seconds 5", explain);
    o.seconds = 20;
    parser.matrix(verb, o.matrix);
    verb->add_option("--tolerance", o.tolerance, "residual over the norm of b that is small enough (1e-8)")
        ->check(from_zero())
        ->option_text("X");
    verb->add_option("--max-iterations", o.iterations, "the most iterations of each (10000)")
        ->check(from_zero())
        ->option_text("N");
    verb->add_option("--max-seconds", o.seconds, "the most seconds of each, without setup (20)")
        ->check(positive())
        ->option_text("X");
    verb->add_option("--backend", o.backend, "cpu (the default) or cuda")
        ->check(one_of({"cpu", "cuda"}))
        ->option_text("WHERE");
    Parser::type(verb, o.type);
    parser.device(verb, [&o] { return o.backend != "cpu"; });
    parser.when(verb, [&o](const Session& session) { explain_solve(session, o); });
}

void add_explain(Parser& parser, ExplainSpmmOptions& spmm, SpgemmOptions& spgemm, SolveOptions& solve)
{
    CLI::App* explain = parser.verb(
        "explain",
        "What tulle would choose for an operation and why: counts, predictions, and measured times beside them.",
        "tulle explain spmm matrix.mtx --n 128 --type f16\ntulle explain spgemm matrix.mtx\ntulle explain solve "
        "matrix.mtx");
    explain->require_subcommand(1);
    add_explain_spmm(parser, explain, spmm);
    add_explain_spgemm(parser, explain, spgemm);
    add_explain_solve(parser, explain, solve);
}

void add_bench(Parser& parser)
{
    CLI::App* verb =
        parser.verb("bench",
                    "Benchmarks against other libraries; all arguments go to the program tulle-bench, those behind "
                    "`cluster` to tulle-bench-cluster.",
                    "tulle bench spmv twin:cant\nmpirun -n 2 tulle bench cluster stencil7:60\ntulle bench --help");
    verb->allow_extras();
}

void add_doctor(Parser& parser, DoctorOptions& o)
{
    CLI::App* verb = parser.verb("doctor", "What was built, what hardware is there, what is not used and why.",
                                 "tulle doctor\ntulle doctor --measure --json");
    verb->add_flag("--measure", o.measure, "also measure how fast memory is read");
    parser.compute(verb);
    for (const char* option : {"--threads", "--budget"})
        parser.effective(
            verb, option, [&o] { return o.measure; }, "without --measure");
    parser.when(verb, [&o](const Session& session) { doctor(session, o); });
}

void add_report(Parser& parser, ReportOptions& o)
{
    CLI::App* verb =
        parser.verb("report",
                    "One HTML file about a matrix, to look at and to send: density map, histograms, values, "
                    "levels, parts, what each operation chooses, warnings.",
                    "tulle report matrix.mtx -o report.html\ntulle report twin:cant --run\n"
                    "tulle report before.mtx --compare after.mtx -o both.html");
    parser.matrix(verb, o.matrix, true, {&o.compare});
    verb->add_option("-o,--output", o.to, "the file to write (report.html)")->option_text("FILE");
    parser.output(o.to);
    verb->add_option("--compare", o.compare.text, "a second matrix, beside the first")->option_text("MATRIX");
    verb->add_flag("--run", o.run, "also run every operation and show times and a roofline");
    parser.when(verb, [&o](const Session& session) { report(session, o); });
}

// Both print what is made from this very tree of verbs.
void add_for_packages(Parser& parser, std::string& shell)
{
    CLI::App* completion =
        parser.verb("completion", "Prints the completions of a shell.",
                    "source <(tulle completion bash)\ntulle completion zsh >_tulle\ntulle completion fish >tulle.fish");
    completion->group("For packages");
    completion->add_option("shell", shell, "bash, zsh or fish")
        ->required()
        ->check(one_of({"bash", "zsh", "fish"}))
        ->option_text("SHELL");
    parser.when(completion, [&parser, &shell](const Session& session) {
        session.console.print(completion_for(shell, verb_tree(parser.tree())));
    });
    CLI::App* manual = parser.verb("manual", "Prints the manual page tulle(1).", "tulle manual | man -l -");
    manual->group("For packages");
    parser.when(manual,
                [&parser](const Session& session) { session.console.print(manual_page(verb_tree(parser.tree()))); });
}

// What the verbs were asked for, filled by the parser.
struct Wishes {
    InfoOptions info;
    ValidateOptions validate;
    ConvertOptions convert;
    GenOptions gen;
    SpyOptions spy;
    SolveOptions solve, solve_explained;
    SpmvOptions spmv;
    PlanOptions plan;
    PartitionOptions partition;
    RunSptrsvOptions sptrsv;
    SpgemmOptions spgemm, spgemm_plan, spgemm_explained;
    SpmmOptions spmm;
    SddmmOptions sddmm;
    ExplainSpmmOptions spmm_explained;
    TuneSptrsvOptions tune;
    GraphWishes graph;
    DoctorOptions doctor;
    ReportOptions report;
    DemoOptions demo;
    std::string shell;
};

void add_verbs(Parser& parser, Wishes& wishes)
{
    add_demo(parser, wishes.demo);
    add_info(parser, wishes.info);
    add_report(parser, wishes.report);
    add_validate(parser, wishes.validate);
    add_convert(parser, wishes.convert);
    add_gen(parser, wishes.gen);
    add_spy(parser, wishes.spy);
    add_solve(parser, wishes.solve);
    add_run(parser, wishes.spmv, wishes.sptrsv, wishes.spgemm, wishes.spmm, wishes.sddmm);
    add_tune(parser, wishes.tune);
    add_plan(parser, wishes.plan, wishes.spgemm_plan);
    add_partition(parser, wishes.partition);
    add_explain(parser, wishes.spmm_explained, wishes.spgemm_explained, wishes.solve_explained);
    add_graph(parser, wishes.graph);
    add_bench(parser);
    add_doctor(parser, wishes.doctor);
    add_for_packages(parser, wishes.shell);
}

// The benchmark program knows its own arguments, help included; without it our help is better than none.
bool goes_to_bench(int count, char** words)
{
    if (count < 2 || std::string_view(words[1]) != "bench") return false;
    const bool asks_for_help =
        count > 2 && (std::string_view(words[2]) == "--help" || std::string_view(words[2]) == "-h");
    return !asks_for_help || !find_bench().empty();
}

void answer(Parser& parser, Wishes& wishes, int count, char** words)
{
    if (const auto job = on_ranks({words + 1, words + std::max(count, 1)})) run_on_ranks(*job);
    if (goes_to_bench(count, words)) bench({words + 2, words + count});
    add_verbs(parser, wishes);
    parser.run(count, words);
}

}  // namespace

int run_tool(int count, char** words)
{
    Wishes wishes;
    return run_program(count, words, [&](Parser& parser) { answer(parser, wishes, count, words); });
}

}  // namespace tulle::cli
