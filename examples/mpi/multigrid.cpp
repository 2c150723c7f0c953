// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A symmetric positive definite system on several processes by CG with multigrid: mpirun -n 4 mpi_multigrid MATRIX.
#include <algorithm>
#include <cstdio>

#include "tulle/mpi.hpp"

namespace {

bool run(const char* file)
{
    auto cluster = tulle::mpi::cluster(MPI_COMM_WORLD, tulle::Context::cpu(1));
    auto A = tulle::mpi::DistCsr<double>::read(cluster, file);
    tulle::mpi::DistVector<double> b(cluster, A.row_cuts()), x(cluster, A.row_cuts()), z(cluster, A.row_cuts());
    std::ranges::fill(b.local(), 1.0);
    auto report = tulle::mpi::solve(A, b.local(), x.local(), {.preconditioner = tulle::solve::Amg{}});

    auto plan = tulle::mpi::AmgPlan<double>::make(A);  // multigrid by itself
    plan.apply(b.local(), z.local());                  // one cycle for A z = b from z = 0

    auto steps = tulle::mpi::SolvePlan<double>::make(A, {.preconditioner = tulle::solve::Amg{}});
    for (double& v : A.values()) v *= 1.5;  // the next time step: new values, the same pattern
    steps.update_values();
    report = steps.solve(b.local(), x.local());
    if (cluster.rank() == 0) std::printf("%s\n%s\n", report.text().c_str(), plan.describe().c_str());
    return report.converged();
}

}  // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    const bool solved = run(argc > 1 ? argv[1] : "A.mtx");
    MPI_Finalize();  // after all of it is gone
    return solved ? 0 : 1;
}
