// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One rank has no memory, at any allocation: all ranks throw the same. Run as the checks of checks.hpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/mpi/checks.hpp"
#include "tulle/repartition.hpp"

namespace tulle::testing {

// The n-th allocation of the last rank fails, for n = 0, 1, 2, … until none is left to fail. Every `step`-th n alone,
// the first always.
inline void check_failures(const mpi::Cluster& cluster, const std::string& what, int step,
                           const std::function<void()>& work)
{
    const int guilty = cluster.ranks() - 1;
    Memory& memory = cluster.context().memory();
    for (int n = 0;; n += step) {
        expect(n < 1000, what + ": allocations have no end");
        if (cluster.rank() == guilty) memory.fail_at(n);
        std::string said;
        try {
            work();
        } catch (const OutOfMemory& e) {
            said = e.message();
        }
        memory.fail_at(-1);
        const mpi::global_t thrown = cluster.sum(said.empty() ? 0 : 1);
        expect(thrown == 0 || thrown == cluster.ranks(), concat(what, ", allocation ", n, ": not all ranks throw"));
        if (thrown == 0) return expect(n > 0, what + ": nothing was allocated");
        expect(said.starts_with(concat("rank ", guilty, ": ")), concat(what, ", allocation ", n, ": ", said));
    }
}

// step: as check_failures().
inline void check_all_failures(const mpi::Cluster& cluster, int step)
{
    const auto check = [&](const std::string& what, const std::function<void()>& work) {
        check_failures(cluster, what, step, work);
    };
    const auto grid = mpi::DistCsr<double>::generate(cluster, "stencil5:12");
    const Csr<double> whole = io::generate<double>(Context::cpu(1), "stencil5:12");
    mpi::DistVector<double> b(cluster, grid.row_cuts()), x(cluster, grid.row_cuts());
    b.upload(std::vector<double>(b.local().size(), 1.0));
    const auto solve_by = [&](const solve::Preconditioner& preconditioner, solve::Method method) {
        mpi::solve<double>(grid, b.local(), x.local(), {.method = method, .preconditioner = preconditioner});
    };
    check("generate", [&] { mpi::DistCsr<double>::generate(cluster, "rmat:6,4"); });
    check("scatter", [&] { mpi::DistCsr<double>::scatter(cluster, whole.view()); });
    check("transpose", [&] { grid.transpose(); });
    check("vector", [&] { mpi::DistVector<double>(cluster, grid.row_cuts()); });
    check("SpMV", [&] { mpi::SpmvPlan<double>::make(grid).run(b.local(), x.local()); });
    check("SpMV transposed", [&] { mpi::SpmvPlan<double>::make(grid, {.op = Op::transpose}); });
    check("SpMM", [&] { mpi::SpmmPlan<double>::make(grid, 3); });
    check("SpGEMM", [&] {
        auto plan = mpi::SpgemmPlan<double>::make(grid, grid);
        auto c = plan.run();
        plan.run(c);
    });
    check("SpGEMM in batches", [&] { mpi::SpgemmPlan<double>::make(grid, grid, {.budget = 1000}).run(); });
    check("repartition", [&] {
        mpi::Repartition<double>::make(grid, std::vector<int>(static_cast<std::size_t>(grid.local().rows), 0));
    });
    check("multigrid", [&] { mpi::AmgPlan<double>::make(grid, {.coarse_rows = 4}).update_values(); });
    check("CG", [&] { solve_by(solve::Incomplete{}, solve::Method::cg); });
    check("GMRES", [&] { solve_by(solve::Jacobi{}, solve::Method::gmres); });
    check("gather", [&] { grid.gather(cluster.ranks() - 1); });
}

}  // namespace tulle::testing
