// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A product, a dot product and a system on several processes: mpirun -n 4 mpi_example MATRIX.
#include <algorithm>
#include <cstdio>

#include "tulle/mpi.hpp"

namespace {

bool run(const char* file)
{
    auto cluster = tulle::mpi::cluster(MPI_COMM_WORLD, tulle::Context::cpu(1));
    auto A = tulle::mpi::DistCsr<double>::read(cluster, file);  // or from_rows, scatter, generate
    auto plan = tulle::mpi::SpmvPlan<double>::make(A);
    tulle::mpi::DistVector<double> x(cluster, A.col_cuts()), y(cluster, A.row_cuts());
    std::ranges::fill(x.local(), 1.0);
    plan.run(x.local(), y.local());  // y = A x
    double d = tulle::mpi::dot(x, y);
    auto report = tulle::mpi::solve(A, y.local(), x.local());  // CG, Jacobi, relative residual 1e-8
    if (cluster.rank() == 0) std::printf("x · A x = %g; %s\n", d, report.text().c_str());
    return report.converged();
}

}  // namespace

int main(int argc, char** argv)
{
    if (const int code = tulle::mpi::answer_self_test(argc, argv); code >= 0) return code;
    MPI_Init(&argc, &argv);
    const bool solved = run(argc > 1 ? argv[1] : "A.mtx");
    MPI_Finalize();  // after all of it is gone
    return solved ? 0 : 1;
}
