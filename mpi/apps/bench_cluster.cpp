// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle::mpi and PETSc in one job, on the same rows, by turns: SpMV, SpMM with 32 columns, SpGEMM (A A), its values
// again, dot products, memory of SpGEMM; for stencils CG with multigrid (GAMG), setup and solve. Shortest CPU times of
// the slowest rank in milliseconds (other programs may use the machine); speedup is PETSc's time over tulle's. MPI
// waits actively, so that waiting counts.
//
//     mpirun -n 2 tulle-bench-cluster MATRIX …       generators such as stencil7:60; also as tulle bench cluster
//
// With PETSC_OPTIONS="-dll_append libtulle_petsc.so -mat_type aijtulle" and one rank: MatMult of the plugin against a
// plan such as it makes; what is above 1 is the plugin's own.
#include <malloc.h>
#include <petscksp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "tulle/mpi.hpp"

namespace {

using namespace tulle;

constexpr int columns = 32;
constexpr int rounds = 7;

void check(PetscErrorCode code)
{
    if (code) MPI_Abort(MPI_COMM_WORLD, 6);
}

struct Speedups {
    const char* what;
    std::vector<double> all = {};
};

double cpu_seconds()
{
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Both by turns; the shortest time of each.
template <class Ours, class Theirs>
void compare(const mpi::Cluster& cluster, Speedups& s, const Ours& ours, const Theirs& theirs)
{
    double best[2] = {1e300, 1e300};
    const auto timed = [&](int who, const auto& f) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = cpu_seconds();
        f();
        double mine = cpu_seconds() - begin, slowest = 0;
        MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        best[who] = std::min(best[who], slowest);
    };
    for (int i = 0; i < rounds; ++i) {
        timed(0, ours);
        timed(1, theirs);
    }
    s.all.push_back(best[1] / best[0]);
    if (cluster.rank() == 0)
        std::printf("  %-12s tulle %10.3f ms   PETSc %10.3f ms   speedup %.2f\n", s.what, best[0] * 1e3, best[1] * 1e3,
                    best[1] / best[0]);
}

// A line "NAME: 123 kB" of /proc/self/status, in bytes.
double status_of(const std::string& name)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name + ":")) return 1024 * std::strtod(line.c_str() + name.size() + 1, nullptr);
    return 0;
}

// Bytes that f() takes at its peak beyond what the process held before; the rank that takes most. 0: the system does
// not tell.
template <class F>
double peak_of(const F& f)
{
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM begins anew
    const double before = status_of("VmRSS");
    f();
    double mine = status_of("VmHWM") - before, most = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

template <class Ours, class Theirs>
void compare_memory(const mpi::Cluster& cluster, Speedups& s, const Ours& ours, const Theirs& theirs)
{
    const double bytes = peak_of(ours), of_petsc = peak_of(theirs);
    if (bytes <= 0 || of_petsc <= 0) return;
    s.all.push_back(of_petsc / bytes);
    if (cluster.rank() == 0)
        std::printf("  %-12s tulle %10.2f MB   PETSc %10.2f MB   ratio %.2f\n", s.what, bytes / 1e6, of_petsc / 1e6,
                    of_petsc / bytes);
}

// The same rows as a PETSc matrix.
Mat to_petsc(const mpi::DistCsr<double>& a)
{
    const CsrView<double> local = a.local();
    std::vector<PetscInt> begin(local.row_begin, local.row_begin + local.rows + 1);
    std::vector<PetscInt> col(static_cast<std::size_t>(local.nonzeros));
    for (std::size_t k = 0; k < col.size(); ++k) col[k] = static_cast<PetscInt>(a.global_col(local.col[k]));
    const auto me = static_cast<std::size_t>(a.cluster().rank());
    const auto cols = static_cast<PetscInt>(a.col_cuts()[me + 1] - a.col_cuts()[me]);
    Mat m = nullptr;
    if (a.cluster().ranks() == 1) {
        check(MatCreate(PETSC_COMM_WORLD, &m));
        check(MatSetSizes(m, local.rows, cols, PETSC_DETERMINE, PETSC_DETERMINE));
        check(MatSetType(m, MATAIJ));
        check(MatSetFromOptions(m));
        check(MatSeqAIJSetPreallocationCSR(m, begin.data(), col.data(), local.value));
        return m;
    }
    check(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, local.rows, cols, PETSC_DETERMINE, PETSC_DETERMINE, begin.data(),
                                    col.data(), local.value, &m));
    return m;
}

void bench_vectors(const mpi::DistCsr<double>& a, Mat m, Speedups& spmv, Speedups& dot)
{
    auto plan = mpi::SpmvPlan<double>::make(a);
    mpi::DistVector<double> y(a.cluster(), a.row_cuts());
    Vec px = nullptr, py = nullptr;
    check(MatCreateVecs(m, &px, &py));
    check(VecSet(px, 1.0));
    std::fill(plan.x().begin(), plan.x().end(), 1.0);
    constexpr int repeat = 20;
    compare(
        a.cluster(), spmv,
        [&] {
            for (int i = 0; i < repeat; ++i) plan.run(plan.x(), y.local());
        },
        [&] {
            for (int i = 0; i < repeat; ++i) check(MatMult(m, px, py));
        });
    double sum = 0;
    compare(
        a.cluster(), dot,
        [&] {
            for (int i = 0; i < repeat; ++i) sum += mpi::dot<double>(a.cluster(), plan.x(), y.local());
        },
        [&] {
            for (int i = 0; i < repeat; ++i) {
                PetscScalar d = 0;
                check(VecDot(px, py, &d));
                sum += d;
            }
        });
    if (std::isnan(sum)) std::puts("NaN");
    check(VecDestroy(&px));
    check(VecDestroy(&py));
}

void bench_spmm(const mpi::DistCsr<double>& a, Mat m, Speedups& spmm)
{
    auto plan = mpi::SpmmPlan<double>::make(a, columns);
    std::fill(plan.b().begin(), plan.b().end(), 1.0);
    std::vector<double> c(static_cast<std::size_t>(a.local().rows) * columns);
    Mat pb = nullptr, pc = nullptr;
    PetscInt local = 0;
    check(MatGetLocalSize(m, nullptr, &local));
    check(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, PETSC_DETERMINE, columns, nullptr, &pb));
    check(MatShift(pb, 1.0));
    check(MatMatMult(m, pb, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &pc));
    compare(
        a.cluster(), spmm, [&] { plan.run(1, plan.b(), 0, c); },
        [&] { check(MatMatMult(m, pb, MAT_REUSE_MATRIX, PETSC_DEFAULT, &pc)); });
    check(MatDestroy(&pb));
    check(MatDestroy(&pc));
}

void bench_spgemm(const mpi::DistCsr<double>& a, Mat m, Speedups& first, Speedups& again, Speedups& memory)
{
    const auto ours = [&] { mpi::SpgemmPlan<double>::make(a, a).run(); };
    const auto theirs = [&] {
        Mat c = nullptr;
        check(MatMatMult(m, m, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &c));
        check(MatDestroy(&c));
    };
    compare_memory(a.cluster(), memory, ours, theirs);
    compare(a.cluster(), first, ours, theirs);
    auto plan = mpi::SpgemmPlan<double>::make(a, a);
    mpi::DistCsr<double> c = plan.run();
    Mat pc = nullptr;
    check(MatMatMult(m, m, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &pc));
    compare(
        a.cluster(), again, [&] { plan.run(c); },
        [&] { check(MatMatMult(m, m, MAT_REUSE_MATRIX, PETSC_DEFAULT, &pc)); });
    check(MatDestroy(&pc));
}

// CG with GAMG for a vector of ones, setup included; the iterations.
PetscInt solve_with_gamg(Mat m, Vec b, Vec x)
{
    KSP ksp = nullptr;
    PC pc = nullptr;
    PetscInt iterations = 0;
    check(KSPCreate(PETSC_COMM_WORLD, &ksp));
    check(KSPSetOperators(ksp, m, m));
    check(KSPSetType(ksp, KSPCG));
    check(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    check(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    check(KSPGetPC(ksp, &pc));
    check(PCSetType(pc, PCGAMG));
    check(KSPSolve(ksp, b, x));
    check(KSPGetIterationNumber(ksp, &iterations));
    check(KSPDestroy(&ksp));
    return iterations;
}

void bench_multigrid(const mpi::DistCsr<double>& a, Mat m, Speedups& multigrid)
{
    mpi::DistVector<double> b(a.cluster(), a.row_cuts()), x(a.cluster(), a.row_cuts());
    b.upload(std::vector<double>(b.local().size(), 1.0));
    Vec px = nullptr, pb = nullptr;
    check(MatCreateVecs(m, &px, &pb));
    check(VecSet(pb, 1.0));
    check(MatSetOption(m, MAT_SPD, PETSC_TRUE));
    offset_t ours = 0;
    PetscInt theirs = 0;
    compare(
        a.cluster(), multigrid,
        [&] { ours = mpi::solve<double>(a, b.local(), x.local(), {.preconditioner = solve::Amg{}}).iterations; },
        [&] { theirs = solve_with_gamg(m, pb, px); });
    if (a.cluster().rank() == 0)
        std::printf("  %-12s tulle %10d      PETSc %10d\n", "iterations", static_cast<int>(ours),
                    static_cast<int>(theirs));
    check(VecDestroy(&px));
    check(VecDestroy(&pb));
}

bool is_of_plugin(Mat m)
{
    MatType type = nullptr;
    check(MatGetType(m, &type));
    return std::string(type) == "seqaijtulle";
}

void bench_plugin(const mpi::DistCsr<double>& a, Mat m, Speedups& plugin)
{
    const auto plan = spmv::Plan<double>::make(Context::cpu(1), a.local(), {.checked = false});
    std::vector<double> x(static_cast<std::size_t>(plan.cols()), 1.0), y(static_cast<std::size_t>(plan.rows()));
    Vec px = nullptr, py = nullptr;
    check(MatCreateVecs(m, &px, &py));
    check(VecSet(px, 1.0));
    constexpr int repeat = 100;
    compare(
        a.cluster(), plugin,
        [&] {
            for (int i = 0; i < repeat; ++i) plan.run(1.0, x, 0.0, y);
        },
        [&] {
            for (int i = 0; i < repeat; ++i) check(MatMult(m, px, py));
        });
    check(VecDestroy(&px));
    check(VecDestroy(&py));
}

void bench(const mpi::Cluster& cluster, const std::vector<std::string>& matrices)
{
    std::vector<Speedups> s{{"SpMV"},         {"dot"},         {"SpMM 32"}, {"SpGEMM"},
                            {"values again"}, {"CG with AMG"}, {"plugin"},  {"memory"}};
    for (const std::string& name : matrices) {
        const auto a = mpi::DistCsr<double>::generate(cluster, name);
        Mat m = to_petsc(a);
        if (cluster.rank() == 0) std::printf("%s, %d ranks\n", name.c_str(), cluster.ranks());
        if (is_of_plugin(m)) {
            bench_plugin(a, m, s[6]);
        } else {
            bench_vectors(a, m, s[0], s[1]);
            bench_spmm(a, m, s[2]);
            bench_spgemm(a, m, s[3], s[4], s[7]);
            if (name.starts_with("stencil")) bench_multigrid(a, m, s[5]);
        }
        check(MatDestroy(&m));
    }
    if (cluster.rank() != 0) return;
    std::printf("speedups over PETSc, %d ranks: geometric mean (worst, best)\n", cluster.ranks());
    for (const Speedups& one : s) {
        if (one.all.empty()) continue;
        double logs = 0;
        for (const double x : one.all) logs += std::log(x);
        std::printf("  %-12s %.2f (%.2f, %.2f)\n", one.what, std::exp(logs / static_cast<double>(one.all.size())),
                    *std::min_element(one.all.begin(), one.all.end()),
                    *std::max_element(one.all.begin(), one.all.end()));
    }
}

}  // namespace

int main(int argc, char** argv)
{
    std::vector<std::string> matrices(argv + 1, argv + argc);
    if (matrices.empty())
        matrices = {"stencil5:300",   "stencil7:40",           "stencil27:25", "fem:16,3",
                    "banded:60000,8", "uniform:40000,40000,8", "rmat:14,8",    "road:40000"};
    int one = 1;
    check(PetscInitialize(&one, &argv, nullptr, nullptr));
    bench(mpi::cluster(PETSC_COMM_WORLD, Context::cpu(1)), matrices);
    check(PetscFinalize());
    return 0;
}
