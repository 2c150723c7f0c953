// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The checks of tests/mpi with real MPI ranks, and faults: MPI functions are replaced by ones that fail at a given
// call.
//
//     mpirun -n 4 mpi_checks           all checks; exit code 1 and what is wrong if one fails
//     mpirun -n 4 mpi_checks gpu       the checks for ranks on GPUs, real or simulated
//     mpirun -n 4 mpi_checks PHASE     one thing again and again, for faults: products (and dot products), generate,
//                                      read, repartition, ptscotch, spgemm (in batches), multigrid, solve
//
//     TULLE_TEST_FAULT=KIND:RANK:N     at the N-th start of a message on that rank: delay (half a second), silent (for
//                                      ever), fail (MPI_ERR_OTHER), kill (SIGKILL), memory (OutOfMemory in a phase);
//                                      truncate: the N-th message prepared is half as long. The first four with
//                                      "library" behind: at the N-th reduction of PT-SCOTCH
//     TULLE_TEST_SELF=HOW              in the self-test of GPU-aware MPI (TULLE_SELF_TEST=mpi_checks): crash (SIGSEGV),
//                                      hang, wrong (other data); wrong-rank: other data between ranks
#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tests/mpi/amg_checks.hpp"
#include "tests/mpi/fault_checks.hpp"
#include "tests/mpi/product_checks.hpp"
#include "tests/mpi/setup_checks.hpp"
#include "tulle/mpi.hpp"
#ifdef TULLE_HAS_PTSCOTCH
#include "tulle/ptscotch.hpp"
#endif

namespace {

struct Fault {
    std::string kind;
    int rank = -1;
    long call = 0;
};

Fault read_fault()
{
    Fault fault;
    const char* const text = std::getenv("TULLE_TEST_FAULT");
    char kind[20] = "";
    if (text && std::sscanf(text, "%19[a-z]:%d:%ld", kind, &fault.rank, &fault.call) == 3) fault.kind = kind;
    return fault;
}

// Whether this is the call of the fault on this rank.
bool strikes(const std::string& kind)
{
    static const Fault fault = read_fault();
    static long calls = 0;
    if (fault.kind != kind) return false;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == fault.rank && ++calls == fault.call;
}

// Messages as src/mpi/exchange.hpp marks them.
enum Tag { tag_halo = 3, tag_columns = 4, tag_values = 5, tag_trial = 8 };

// What MPI was asked to send: by request, and all that was started, by tag.
struct Prepared {
    int tag = 0, bytes = 0;
};
std::map<MPI_Request, Prepared> prepared;
std::map<int, tulle::mpi::Traffic> started;

void count_start(MPI_Request request)
{
    const auto found = prepared.find(request);
    if (found == prepared.end()) return;
    auto& all = started[found->second.tag];
    ++all.messages;
    all.bytes += static_cast<std::uint64_t>(found->second.bytes);
}

bool is_self_test = false;

// Messages of the self-test, or of the trial between ranks after it, are changed.
bool spoils(const char* how)
{
    const char* const wish = std::getenv("TULLE_TEST_SELF");
    return wish && std::string(wish) == how;
}

// What the fault of this call does, if it is its turn; kinds have this ending.
int suffer(const std::string& ending)
{
    if (strikes("delay" + ending)) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    if (strikes("silent" + ending)) std::this_thread::sleep_for(std::chrono::hours(1));
    if (strikes("kill" + ending)) std::raise(SIGKILL);
    return strikes("fail" + ending) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

}  // namespace

extern "C" int MPI_Start(MPI_Request* request)
{
    if (is_self_test && spoils("crash")) std::raise(SIGSEGV);
    if (is_self_test && spoils("hang")) std::this_thread::sleep_for(std::chrono::hours(1));
    const int code = suffer("");
    if (code != MPI_SUCCESS) return code;
    count_start(*request);
    return PMPI_Start(request);
}

// tulle itself reduces by messages.
extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const int code = suffer("library");
    return code == MPI_SUCCESS ? PMPI_Allreduce(from, to, count, type, op, comm) : code;
}

extern "C" int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                             MPI_Request* request)
{
    if (tag == tag_trial && spoils(is_self_test ? "wrong" : "wrong-rank"))
        data = std::calloc(1, static_cast<std::size_t>(count));
    if (strikes("truncate")) count /= 2;
    const int code = PMPI_Send_init(data, count, type, to, tag, comm, request);
    if (code == MPI_SUCCESS) prepared[*request] = {tag, count};  // tulle's messages are bytes
    return code;
}

extern "C" int MPI_Request_free(MPI_Request* request)
{
    prepared.erase(*request);  // its number is given to another one
    return PMPI_Request_free(request);
}

namespace {

tulle::mpi::Traffic started_with(std::initializer_list<Tag> tags)
{
    tulle::mpi::Traffic all;
    for (const Tag tag : tags) {
        all.messages += started[tag].messages;
        all.bytes += started[tag].bytes;
    }
    return all;
}

// MPI is given the messages and bytes that the plan tells beforehand.
template <class Plan, class Run>
void check_as_told(const Plan& plan, std::initializer_list<Tag> tags, const std::string& what, const Run& run)
{
    const tulle::mpi::Traffic told = plan.sent_per_run(), before = started_with(tags);
    run();
    const tulle::mpi::Traffic after = started_with(tags);
    tulle::testing::expect(after.bytes - before.bytes == told.bytes &&
                               after.messages - before.messages == told.messages,
                           what + ": MPI has sent other bytes than were planned");
}

void check_bytes(const tulle::mpi::Cluster& cluster, const char* sentence)
{
    const auto a = tulle::mpi::DistCsr<double>::generate(cluster, sentence);
    tulle::mpi::DistVector<double> x(cluster, a.col_cuts()), y(cluster, a.row_cuts());
    for (const tulle::Op op : {tulle::Op::none, tulle::Op::transpose}) {
        auto spmv = tulle::mpi::SpmvPlan<double>::make(a, {.op = op});
        check_as_told(spmv, {tag_halo}, "SpMV", [&] { spmv.run(x.local(), y.local()); });
    }
    constexpr int columns = 5;
    auto spmm = tulle::mpi::SpmmPlan<double>::make(a, columns);
    std::vector<double> b(x.local().size() * columns), c(y.local().size() * columns);
    check_as_told(spmm, {tag_halo}, "SpMM", [&] { spmm.run(b, c); });
    for (const std::size_t budget : {tulle::Memory::unlimited, std::size_t{3000}}) {
        auto spgemm = tulle::mpi::SpgemmPlan<double>::make(a, a, {.budget = budget});
        std::optional<tulle::mpi::DistCsr<double>> product;
        check_as_told(spgemm, {tag_columns, tag_values}, "SpGEMM", [&] { product = spgemm.run(); });
        check_as_told(spgemm, {tag_columns, tag_values}, "SpGEMM again", [&] { spgemm.run(*product); });
    }
    const auto halo = static_cast<tulle::mpi::global_t>(started_with({tag_halo}).bytes);
    tulle::testing::expect(cluster.ranks() == 1 || cluster.sum(halo) > 0, "no message was counted");
}

// Parts by PT-SCOTCH, where it was found.
void check_ptscotch([[maybe_unused]] const tulle::mpi::Cluster& cluster)
{
#ifdef TULLE_HAS_PTSCOTCH
    const auto a = tulle::testing::grid_with_holes<double>(cluster);
    const auto parts = tulle::mpi::Repartition<double>::make(a, tulle::mpi::ptscotch_parts(MPI_COMM_WORLD, a));
    tulle::testing::check_good_order(a, parts);
#endif
}

void run_checks(const tulle::mpi::Cluster& cluster)
{
    for (const char* sentence : {"stencil5:12", "uniform:60,60,4", "stencil5:1"}) check_bytes(cluster, sentence);
    tulle::testing::check_agreement(cluster);
    tulle::testing::check_wide(cluster);
    tulle::testing::check_files(cluster);
    tulle::testing::check_generators(cluster);
    tulle::testing::check_parts(cluster);
    if (tulle::testing::has_metis()) tulle::testing::check_metis<double>(cluster);
    check_ptscotch(cluster);
    if (cluster.ranks() <= 4) tulle::testing::check_reasons(cluster);
    tulle::testing::check_refused(cluster);
    tulle::testing::check_empty_system(cluster);
    tulle::testing::check_special_sums(cluster);
    if (cluster.ranks() <= 4) tulle::testing::check_all_failures(cluster, 5);
    if (cluster.ranks() <= 8) {
        tulle::testing::check_batched_values<double>(cluster, "uniform:60,50,4");
        tulle::testing::check_orders<double>(cluster, "uniform:60,60,4");
        tulle::testing::check_little(cluster);
        tulle::testing::check_amg_refused(cluster);
        tulle::testing::check_iterations<double>(cluster, "stencil7:20", "amg");
        tulle::testing::check_methods(cluster, "stencil7:12");
        tulle::testing::check_multigrid<double>(cluster, "stencil7:12");
        tulle::testing::check_multigrid<float>(cluster, "stencil5:30");
        tulle::testing::check_amg_updates<double>(cluster, "stencil7:9");
        tulle::testing::check_amg_updates<float>(cluster, "stencil5:25");
        tulle::testing::check_bad_updates(cluster);
        tulle::testing::check_no_new_values(cluster, "stencil7:12");
        tulle::testing::check_rigid_body_modes(cluster, "30,30");
    }
    tulle::testing::check_all<double>(cluster);
    tulle::testing::check_all<float>(cluster);
}

void run_products(const tulle::mpi::Cluster& cluster)
{
    const auto a = tulle::mpi::DistCsr<double>::generate(cluster, "stencil5:30");
    auto plan = tulle::mpi::SpmvPlan<double>::make(a);
    tulle::mpi::DistVector<double> x(cluster, a.col_cuts()), y(cluster, a.row_cuts());
    for (double& v : x.local()) v = 1;
    for (int i = 0; i < 100; ++i) {
        plan.run(x.local(), y.local());
        tulle::mpi::dot(x, y);
        cluster.run_collective("a phase", [] {
            if (strikes("memory")) throw tulle::OutOfMemory("no memory for a test", 8, 4);
        });
    }
}

using Matrix = tulle::mpi::DistCsr<double>;

void solve_with_blocks(const Matrix& a)
{
    tulle::mpi::DistVector<double> b(a.cluster(), a.row_cuts()), x(a.cluster(), a.row_cuts());
    b.upload(std::vector<double>(b.local().size(), 1.0));
    const auto report =
        tulle::mpi::solve<double>(a, b.local(), x.local(), {.preconditioner = tulle::solve::Incomplete{}});
    tulle::testing::expect(report.converged(), report.text());
}

// One round of a phase.
void run_phase(const std::string& phase, const tulle::mpi::Cluster& cluster, const std::string& file)
{
    if (phase == "read") {
        Matrix::read(cluster, file);
        return;
    }
    const auto a = Matrix::generate(cluster, "stencil5:30");
    if (phase == "repartition") tulle::testing::check_parts(cluster);
    if (phase == "ptscotch") check_ptscotch(cluster);
    if (phase == "spgemm") tulle::mpi::SpgemmPlan<double>::make(a, a, {.budget = 4096}).run();
    if (phase == "multigrid") tulle::mpi::AmgPlan<double>::make(a, {.coarse_rows = 20}).update_values();
    if (phase == "solve") solve_with_blocks(a);
}

void run_phases(const std::string& phase, const tulle::mpi::Cluster& cluster)
{
    const tulle::testing::SharedFile file(cluster, ".mtx");
    const auto grid = tulle::io::generate<double>(tulle::Context::cpu(1), "stencil5:30");
    file.write(grid.view());
    for (int i = 0; i < 2; ++i) run_phase(phase, cluster, file.path());
}

void run_on_gpus(const tulle::mpi::Cluster& cluster)
{
    tulle::testing::check_places(cluster);
    tulle::testing::check_empty_system(cluster);
    tulle::testing::check_gpu<double>(cluster);
    tulle::testing::check_gpu<float>(cluster);
}

int run(const std::string& what)
{
    const bool gpu = what == "gpu";
    const auto cluster =
        tulle::mpi::cluster(MPI_COMM_WORLD, gpu ? tulle::mpi::gpu_of_rank(MPI_COMM_WORLD) : tulle::Context::cpu(1));
    try {
        if (gpu) run_on_gpus(cluster);
        else if (what == "products") run_products(cluster);
        else if (what.empty()) run_checks(cluster);
        else run_phases(what, cluster);
        if (cluster.rank() == 0) std::printf("ok: %s\n", cluster.describe().c_str());
        return 0;
    } catch (const tulle::OutOfMemory& e) {
        std::fprintf(stderr, "rank %d got: %s\n", cluster.rank(), e.what());
        return 4;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "rank %d: %s\n", cluster.rank(), e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv)
{
    is_self_test = argc == 4;
    if (const int code = tulle::mpi::answer_self_test(argc, argv); code >= 0) return code;
    MPI_Init(&argc, &argv);
    const int code = run(argc > 1 ? argv[1] : "");
    MPI_Finalize();
    return code;
}
