// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The program tulle-mpi: products and solves on the ranks of an MPI job, timed, and with --verify compared bit by bit
// with one process. Rank 0 prints the result on stdout; exit codes are those of `tulle`.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tulle/error.hpp"
#include "tulle/generate.hpp"
#include "tulle/io.hpp"
#include "tulle/mpi.hpp"
#ifdef TULLE_HAS_PTSCOTCH
#include "tulle/ptscotch.hpp"
#endif
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace {

using namespace tulle;

constexpr const char* help =
    "usage: mpirun -n RANKS tulle-mpi spmv|spmm|spgemm|solve MATRIX [options]\n\n"
    "MATRIX is a file of any format that tulle reads, or a generator like stencil7:50.\n\n"
    "  --backend WHERE   cpu (the default) or cuda: GPUs by the rank on its host, shared where there are fewer\n"
    "  --partition HOW   rows in the order of metis or ptscotch, so that ranks need less from each other (none)\n"
    "  --json            one JSON object, with the times of pack, exchange and product of every rank\n"
    "  --verify          compare with one process, bit by bit; exit code 1 if they differ. solve: without a\n"
    "                    preconditioner or with jacobi; others depend on the number of ranks\n"
    "  --repeat N        timed runs; the shortest counts (10)\n"
    "  --n N             spmm: columns of B (32)\n"
    "  --budget BYTES    spgemm: rows of B that a rank fetches at once, like 64MiB (no limit)\n"
    "  --method NAME     solve: cg (the default), minres, bicgstab, gmres or fgmres\n"
    "  --preconditioner P  solve: none, jacobi (the default), amg (multigrid of the whole matrix), or on the diagonal\n"
    "                    block of each rank: ilu0, ic0, local-amg, ...\n"
    "  --restart N       solve: vectors of gmres and fgmres before a restart (30)\n"
    "  --tolerance X     solve: residual over the norm of b (1e-8, in float 1e-5)\n"
    "  --max-iterations N  solve: the most iterations (10000)\n"
    "  --transpose       spmv: with the transposed matrix\n"
    "  --help\n\n"
    "Exit codes: 0 ok, 1 check failed, 2 usage, 3 file, 4 memory, 5 a rank is lost, 6 internal.\n";

class UsageError : public Error {
public:
    using Error::Error;
};

struct Wishes {
    std::string operation, matrix, partition;
    bool verify = false, transpose = false, help = false, json = false, cuda = false;
    int repeat = 10;
    index_t n = 32;
    std::size_t budget = Memory::unlimited;
    mpi::SolveOptions solve = {};
};

double number_of(const std::string& option, const char* text, double least)
{
    char* end = nullptr;
    const double number = std::strtod(text, &end);
    require<UsageError>(end != text && *end == '\0' && number >= least && number <= 1e9,
                        [&] { return concat(option, " cannot be '", text, "'"); });
    return number;
}

// "local-amg": multigrid of the diagonal block of each rank.
void set_preconditioner(std::string_view text, mpi::SolveOptions& how)
{
    constexpr std::string_view local = "local-";
    how.local_amg = text.starts_with(local);
    how.preconditioner = solve::parse_preconditioner(how.local_amg ? text.substr(local.size()) : text);
}

bool is_cuda(const std::string& backend)
{
    require<UsageError>(backend == "cpu" || backend == "cuda",
                        [&] { return concat("--backend cannot be '", backend, "'"); });
    return backend == "cuda";
}

Wishes parse(int argc, char** argv)
{
    Wishes w;
    std::vector<std::string> words;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto next = [&] {
            require<UsageError>(i + 1 < argc, [&] { return concat(word, " needs a value"); });
            return argv[++i];
        };
        if (word == "--help" || word == "-h") w.help = true;
        else if (word == "--verify") w.verify = true;
        else if (word == "--transpose") w.transpose = true;
        else if (word == "--json") w.json = true;
        else if (word == "--backend") w.cuda = is_cuda(next());
        else if (word == "--partition") w.partition = next();
        else if (word == "--repeat") w.repeat = static_cast<int>(number_of(word, next(), 1));
        else if (word == "--n") w.n = static_cast<index_t>(number_of(word, next(), 1));
        else if (word == "--budget") w.budget = parse_bytes(next());
        else if (word == "--method") w.solve.method = solve::parse_method(next());
        else if (word == "--preconditioner") set_preconditioner(next(), w.solve);
        else if (word == "--restart") w.solve.restart = static_cast<int>(number_of(word, next(), 1));
        else if (word == "--tolerance") w.solve.stop.relative = number_of(word, next(), 0);
        else if (word == "--max-iterations")
            w.solve.stop.iterations = static_cast<offset_t>(number_of(word, next(), 0));
        else if (word.starts_with("-")) throw UsageError(concat("there is no option ", word), "see tulle-mpi --help");
        else words.push_back(word);
    }
    if (w.help) return w;
    require<UsageError>(words.size() == 2, "an operation and a matrix are needed", "see tulle-mpi --help");
    w.operation = words[0];
    w.matrix = words[1];
    const std::vector<std::string> known{"spmv", "spmm", "spgemm", "solve"};
    require<UsageError>(
        std::find(known.begin(), known.end(), w.operation) != known.end(),
        [&] { return concat("there is no operation '", w.operation, "'"); }, "spmv, spmm, spgemm or solve");
    return w;
}

bool is_generator(const std::string& text)
{
    const std::string kind = text.substr(0, text.find(':'));
    const auto& all = io::generators();
    return text.find(':') != text.npos &&
           (kind == "twin" || std::any_of(all.begin(), all.end(), [&](const auto& g) { return g.name == kind; }));
}

mpi::DistCsr<double> load(const mpi::Cluster& cluster, const std::string& matrix)
{
    return is_generator(matrix) ? mpi::DistCsr<double>::generate(cluster, matrix)
                                : mpi::DistCsr<double>::read(cluster, matrix);
}

mpi::Repartition<double> by_ptscotch(const mpi::DistCsr<double>& a)
{
#ifdef TULLE_HAS_PTSCOTCH
    return mpi::Repartition<double>::make(a, mpi::ptscotch_parts(MPI_COMM_WORLD, a));
#else
    static_cast<void>(a);
    throw NotBuilt("this program was built without PT-SCOTCH", "Debian: libptscotch-dev");
#endif
}

mpi::DistCsr<double> in_parts(const mpi::DistCsr<double>& a, const std::string& how)
{
    if (how.empty() || how == "none") return a;
    require<UsageError>(
        how == "metis" || how == "ptscotch", [&] { return concat("--partition cannot be '", how, "'"); },
        "none, metis or ptscotch");
    return (how == "metis" ? mpi::Repartition<double>::make(a) : by_ptscotch(a)).matrix();
}

// The shortest of some runs, of the slowest rank, in seconds.
template <class F>
double shortest(const mpi::Cluster& cluster, int repeat, const F& f)
{
    double best = 1e300;
    for (int i = 0; i < repeat; ++i) {
        cluster.sum(0);
        const auto begin = std::chrono::steady_clock::now();
        f();
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, static_cast<double>(cluster.largest(static_cast<mpi::global_t>(took.count()))) * 1e-9);
    }
    return best;
}

void fill(mpi::DistVector<double>& x)
{
    std::vector<double> host(x.local().size());
    for (std::size_t i = 0; i < host.size(); ++i)
        host[i] = io::pattern_value(static_cast<index_t>((x.first() + static_cast<mpi::global_t>(i)) % max_index), 1);
    x.upload(host);
}

// The same vector as many times as there are columns, row by row; cuts of its entries.
mpi::Cuts times(mpi::Cuts cuts, index_t n)
{
    for (mpi::global_t& c : cuts) c *= n;
    return cuts;
}

constexpr int phases = 3;
constexpr std::array phase_names{"pack", "exchange", "product"};

struct Result {
    double seconds = 0;
    std::string note;
    bool checked = false, same = true;
    bool ok = true;                  // a solve converged
    std::vector<double> times = {};  // on rank 0: seconds of the phases, rank after rank
};

// The shortest of some runs of each phase, of all ranks on rank 0.
template <class F>
std::vector<double> phase_times(const mpi::Cluster& cluster, int repeat, const F& run_timed)
{
    std::vector<double> best(phases, 1e300);
    for (int i = 0; i < repeat; ++i) {
        cluster.sum(0);
        const mpi::PhaseTimes t = run_timed();
        best = {std::min(best[0], t.pack), std::min(best[1], t.exchange), std::min(best[2], t.product)};
    }
    mpi::DistVector<double> all(cluster, times(mpi::even_cuts(cluster.ranks(), cluster.ranks()), phases));
    all.upload(best);
    return all.gather();
}

std::string text_of(const std::vector<double>& times)
{
    std::string text;
    for (std::size_t p = 0; p < phases && !times.empty(); ++p) {
        double slowest = 0;
        for (std::size_t k = p; k < times.size(); k += phases) slowest = std::max(slowest, times[k]);
        text += concat(p == 0 ? "; slowest rank: " : ", ", phase_names[p], " ", fixed(slowest * 1e6, 1), " us");
    }
    return text;
}

std::string json_of(const std::vector<double>& times)
{
    std::string text;
    for (std::size_t k = 0; k < times.size(); ++k)
        text += concat(k % phases > 0 ? ", "
                       : k > 0        ? "}, {"
                                      : "{",
                       "\"", phase_names[k % phases], "_us\": ", fixed(times[k] * 1e6, 2));
    return concat("[", text, times.empty() ? "]" : "}]");
}

bool same_bits(std::span<const double> a, std::span<const double> b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

Result run_spmv(const mpi::DistCsr<double>& a, const Wishes& w)
{
    const Op op = w.transpose ? Op::transpose : Op::none;
    auto plan = mpi::SpmvPlan<double>::make(a, {.op = op});
    mpi::DistVector<double> x(a.cluster(), w.transpose ? a.row_cuts() : a.col_cuts());
    mpi::DistVector<double> y(a.cluster(), w.transpose ? a.col_cuts() : a.row_cuts());
    fill(x);
    const Context& ctx = a.cluster().context();
    Result r{shortest(a.cluster(), w.repeat,
                      [&] {
                          plan.run(x.local(), y.local());
                          ctx.synchronize();
                      }),
             concat(spmv::to_text(plan.policy()), ", halo ",
                    a.cluster().sum(static_cast<mpi::global_t>(plan.sent_per_run().bytes)), " bytes a product")};
    r.times = phase_times(a.cluster(), w.repeat, [&] { return plan.run_timed(x.local(), y.local()); });
    if (!w.verify) return r;
    const Csr<double> whole = a.gather();
    const std::vector<double> all_x = x.gather(), all_y = y.gather();
    r.checked = true;
    if (a.cluster().rank() != 0) return r;
    const Csr<double> one = to_device(ctx, whole.view());
    const Buffer<double> one_x = to_device<double>(ctx, all_x);
    Buffer<double> one_y = to_device<double>(ctx, all_y);
    const spmv::Policy policy{plan.policy().kernel, plan.policy().lanes, w.transpose};
    spmv::Plan<double>::make(ctx, one.view(), {.op = op, .force = policy}).run(one_x.span(), one_y.span());
    const Buffer<double> expected = to_host(ctx, std::as_const(one_y).span());
    r.same = same_bits(all_y, expected.span());
    return r;
}

Result run_spmm(const mpi::DistCsr<double>& a, const Wishes& w)
{
    auto plan = mpi::SpmmPlan<double>::make(a, w.n);
    mpi::DistVector<double> b(a.cluster(), times(a.col_cuts(), w.n)), c(a.cluster(), times(a.row_cuts(), w.n));
    fill(b);
    const Context& ctx = a.cluster().context();
    Result r{shortest(a.cluster(), w.repeat,
                      [&] {
                          plan.run(1, b.local(), 0, c.local());
                          ctx.synchronize();
                      }),
             concat(w.n, " columns, halo ", a.cluster().sum(static_cast<mpi::global_t>(plan.sent_per_run().bytes)),
                    " bytes a product")};
    r.times = phase_times(a.cluster(), w.repeat, [&] { return plan.run_timed(b.local(), c.local()); });
    if (!w.verify) return r;
    const Csr<double> whole = a.gather();
    const std::vector<double> all_b = b.gather(), all_c = c.gather();
    r.checked = true;
    if (a.cluster().rank() != 0) return r;
    const Csr<double> one = to_device(ctx, whole.view());
    const Buffer<double> one_b = to_device<double>(ctx, all_b);
    Buffer<double> one_c = to_device<double>(ctx, all_c);
    spmm::Plan<double>::make(ctx, one.view(), {.n = w.n, .force = plan.policy()})
        .run(1.0, DenseView<const double>{whole.cols, w.n, w.n, Layout::row_major, one_b.data()}, 0.0,
             DenseView<double>{whole.rows, w.n, w.n, Layout::row_major, one_c.data()});
    const Buffer<double> expected = to_host(ctx, std::as_const(one_c).span());
    r.same = same_bits(all_c, expected.span());
    return r;
}

Result run_spgemm(const mpi::DistCsr<double>& a, const Wishes& w)
{
    const mpi::DistCsr<double> b = a.rows() == a.cols() ? a : a.transpose();
    mpi::DistCsr<double> c = mpi::SpgemmPlan<double>::make(a, b, {.budget = w.budget}).run();
    Result r{shortest(a.cluster(), w.repeat,
                      [&] { c = mpi::SpgemmPlan<double>::make(a, b, {.budget = w.budget}).run(); }),
             concat(a.rows() == a.cols() ? "A A" : "A times A transposed", ", C has ", c.nonzeros(), " nonzeros")};
    if (!w.verify) return r;
    const Csr<double> whole_a = a.gather(), whole_b = b.gather(), all = c.gather();
    r.checked = true;
    if (a.cluster().rank() != 0) return r;
    const Context& ctx = a.cluster().context();
    const Csr<double> one_a = to_device(ctx, whole_a.view()), one_b = to_device(ctx, whole_b.view());
    const Csr<double> there = spgemm::multiply(ctx, one_a.view(), one_b.view());
    const Csr<double> one = to_host(ctx, there.view());
    r.same = all.nonzeros() == one.nonzeros() &&
             std::equal(all.col.data(), all.col.data() + all.nonzeros(), one.col.data()) &&
             same_bits(all.value.span(), one.value.span());
    return r;
}

// Whether residuals and x have the bits of one rank; only without a preconditioner, or with the diagonal.
bool is_bitwise(const mpi::SolveOptions& how)
{
    return std::holds_alternative<solve::None>(how.preconditioner) ||
           std::holds_alternative<solve::Jacobi>(how.preconditioner);
}

// The same with one rank: rank 0 alone.
bool matches_one_rank(const Csr<double>& whole, const Context& ctx, std::span<const double> x,
                      const solve::Report& report, const mpi::SolveOptions& how)
{
    const auto one = mpi::DistCsr<double>::scatter(mpi::cluster(MPI_COMM_SELF, ctx), whole.view());
    mpi::DistVector<double> b(one.cluster(), one.row_cuts()), one_x(one.cluster(), one.row_cuts());
    b.upload(std::vector<double>(b.local().size(), 1.0));
    const solve::Report expected = mpi::solve<double>(one, b.local(), one_x.local(), how);
    return same_bits(report.history, expected.history) && same_bits(x, one_x.download());
}

Result run_solve(const mpi::DistCsr<double>& a, const Wishes& w)
{
    mpi::DistVector<double> b(a.cluster(), a.row_cuts()), x(a.cluster(), a.row_cuts());
    b.upload(std::vector<double>(b.local().size(), 1.0));
    const solve::Report report = mpi::solve<double>(a, b.local(), x.local(), w.solve);
    Result r{report.iterate_seconds, report.text()};
    r.ok = report.converged();
    if (!w.verify || !is_bitwise(w.solve)) return r;
    const Csr<double> whole = a.gather();
    const std::vector<double> all_x = x.gather();
    r.checked = true;
    if (a.cluster().rank() == 0) r.same = matches_one_rank(whole, a.cluster().context(), all_x, report, w.solve);
    return r;
}

std::string in_words(const mpi::DistCsr<double>& a, const Wishes& w, const Result& r)
{
    return concat(w.operation, " ", w.matrix, ": ", a.rows(), " x ", a.cols(), ", ", a.nonzeros(), " nonzeros, ",
                  a.cluster().ranks(), " ranks", w.cuda ? " on GPUs" : "", ": ", fixed(r.seconds * 1e3, 3), " ms; ",
                  r.note, text_of(r.times),
                  !r.checked ? ""
                  : r.same   ? "; the bits of one process"
                             : "; NOT the bits of one process");
}

std::string in_json(const mpi::DistCsr<double>& a, const Wishes& w, const Result& r)
{
    return concat("{\"operation\": \"", w.operation, "\", \"matrix\": \"", w.matrix, "\", \"rows\": ", a.rows(),
                  ", \"cols\": ", a.cols(), ", \"nonzeros\": ", a.nonzeros(), ", \"ranks\": ", a.cluster().ranks(),
                  ", \"cluster\": \"", a.cluster().describe(), "\", \"seconds\": ", r.seconds, ", \"note\": \"", r.note,
                  "\", \"checked\": ", r.checked ? "true" : "false", ", \"same\": ", r.same ? "true" : "false",
                  ", \"phases\": ", json_of(r.times), "}");
}

int answer(const mpi::Cluster& cluster, const Wishes& w)
{
    const mpi::DistCsr<double> a = in_parts(load(cluster, w.matrix), w.partition);
    const Result r = w.operation == "spmv"     ? run_spmv(a, w)
                     : w.operation == "spmm"   ? run_spmm(a, w)
                     : w.operation == "spgemm" ? run_spgemm(a, w)
                                               : run_solve(a, w);
    if (cluster.rank() == 0) std::printf("%s\n", (w.json ? in_json(a, w, r) : in_words(a, w, r)).c_str());
    return cluster.largest(r.same && r.ok ? 0 : 1) == 0 ? 0 : 1;
}

int code_of(const std::exception& e)
{
    if (dynamic_cast<const UsageError*>(&e)) return 2;
    if (dynamic_cast<const FileError*>(&e)) return 3;
    if (dynamic_cast<const OutOfMemory*>(&e)) return 4;
    if (dynamic_cast<const DeviceError*>(&e) || dynamic_cast<const NotBuilt*>(&e)) return 2;
    if (dynamic_cast<const ShapeError*>(&e) || dynamic_cast<const ValueError*>(&e)) return 2;
    return 6;
}

int run(int argc, char** argv)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        const Wishes w = parse(argc, argv);
        if (w.help) {
            if (rank == 0) std::fputs(help, stdout);
            return 0;
        }
        return answer(mpi::cluster(MPI_COMM_WORLD, w.cuda ? mpi::gpu_of_rank(MPI_COMM_WORLD)
                                                          : Context::cpu(std::getenv("OMP_NUM_THREADS") ? 0 : 1)),
                      w);
    } catch (const std::exception& e) {
        if (rank == 0) std::fprintf(stderr, "tulle-mpi: %s\n", e.what());
        return code_of(e);
    }
}

}  // namespace

int main(int argc, char** argv)
{
    if (const int code = mpi::answer_self_test(argc, argv); code >= 0) return code;
    MPI_Init(&argc, &argv);
    const int code = run(argc, argv);
    MPI_Finalize();
    return code;
}
