// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A product with the rows in parts by PT-SCOTCH, the result in the file's order: mpirun -n 4 mpi_partition MATRIX.
#include <algorithm>
#include <cstdio>

#include "tulle/mpi.hpp"
#include "tulle/ptscotch.hpp"

namespace {

void run(const char* file)
{
    auto cluster = tulle::mpi::cluster(MPI_COMM_WORLD, tulle::Context::cpu(1));
    auto A = tulle::mpi::DistCsr<double>::read(cluster, file);
    tulle::mpi::DistVector<double> x(cluster, A.col_cuts()), y(cluster, A.row_cuts());
    std::ranges::fill(x.local(), 1.0);

    auto parts = tulle::mpi::Repartition<double>::make(A, tulle::mpi::ptscotch_parts(MPI_COMM_WORLD, A));
    auto plan = tulle::mpi::SpmvPlan<double>::make(parts.matrix());
    tulle::mpi::DistVector<double> new_x(cluster, parts.matrix().col_cuts()), new_y(cluster, parts.matrix().row_cuts());
    parts.move(x, new_x);
    plan.run(new_x.local(), new_y.local());
    parts.move_back(new_y, y);  // in the order of the file

    const auto before = cluster.sum(A.halo_sent()), after = cluster.sum(parts.matrix().halo_sent());
    if (cluster.rank() == 0)
        std::printf("entries of x sent in a product: %lld, in parts %lld\n", static_cast<long long>(before),
                    static_cast<long long>(after));
}

}  // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    run(argc > 1 ? argv[1] : "A.mtx");
    MPI_Finalize();  // after all of it is gone
    return 0;
}
