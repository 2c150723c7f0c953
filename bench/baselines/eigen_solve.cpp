// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <Eigen/Core>
#include <Eigen/IterativeLinearSolvers>

#include <memory>

#include "bench/baselines/eigen_matrix.hpp"
#include "bench/baselines/solve.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

using EigenVector = Eigen::VectorXd;
using Sparse = EigenMatrix<double>::Sparse;

// Setup is compute(), a run is one solve.
template <class Solver>
struct EigenSolve {
    explicit EigenSolve(SolveProblem& which) : problem(which) {}

    Prepared prepare()
    {
        matrix.narrow(problem.a.view());
        own = matrix.map();
        solver.setTolerance(problem.tolerance);
        solver.setMaxIterations(10'000);
        solver.compute(own);
        require<ValueError>(solver.info() == Eigen::Success, "Eigen's preconditioner cannot be made");
        return {"", matrix.bytes()};
    }
    void run()
    {
        const Eigen::Map<const EigenVector> b(problem.b.data(), problem.b.size());
        Eigen::Map<EigenVector>(problem.x.data(), problem.x.size()) = solver.solve(b);
    }

    SolveProblem& problem;
    EigenMatrix<double> matrix;
    Sparse own;
    Solver solver;
};

template <class Solver>
std::vector<Contender> contender(SolveProblem& problem, const char* name)
{
    auto eigen = std::make_shared<EigenSolve<Solver>>(problem);
    return {{name, Role::baseline, [eigen] { return eigen->prepare(); }, [eigen] { eigen->run(); },
             [&problem] { return problem.download_x(); }, true}};
}

}  // namespace

std::vector<Contender> eigen_solve(SolveProblem& problem, bool symmetric)
{
    if (symmetric)
        return contender<
            Eigen::ConjugateGradient<Sparse, Eigen::Lower | Eigen::Upper, Eigen::IncompleteCholesky<double>>>(
            problem, "eigen cg, IncompleteCholesky");
    return contender<Eigen::BiCGSTAB<Sparse, Eigen::IncompleteLUT<double>>>(problem, "eigen bicgstab, IncompleteLUT");
}

}  // namespace tulle::bench
