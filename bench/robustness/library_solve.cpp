// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Solves A x = 1 on one thread: library_solve FILE METHOD PRECONDITIONER TOLERANCE with tulle ("-": chosen), or
// library_solve FILE eigen cg|bicgstab TOLERANCE with Eigen and its incomplete factors. Prints the reason, the
// iterations, the relative residual of x, computed anew, and the processor seconds of setup and solve.
// bench/robustness/time builds and runs it.
#include <Eigen/Core>
#include <Eigen/IterativeLinearSolvers>

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "tulle/io.hpp"
#include "tulle/solve.hpp"

namespace {

double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Outcome {
    std::string reason;
    long iterations;
    double seconds;
};

using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor>;

Eigen::Map<const Sparse> map_of(const tulle::Csr<double>& a, const std::vector<int>& begin)
{
    return {a.rows, a.cols, static_cast<Eigen::Index>(a.nonzeros()), begin.data(), a.col.data(), a.value.data()};
}

template <class Solver>
Outcome solve_eigen(const Sparse& a, const Eigen::VectorXd& b, double tolerance, std::vector<double>& x)
{
    const double begin = now();
    Solver solver;
    solver.setTolerance(tolerance);
    solver.setMaxIterations(10'000);
    solver.compute(a);
    if (solver.info() != Eigen::Success) return {"preconditioner", 0, now() - begin};
    Eigen::Map<Eigen::VectorXd>(x.data(), b.size()) = solver.solve(b);
    return {solver.info() == Eigen::Success ? "converged" : "iterations", static_cast<long>(solver.iterations()),
            now() - begin};
}

Outcome solve_tulle(const tulle::Context& ctx, const tulle::Csr<double>& a, const std::string& method,
                    const std::string& preconditioner, double tolerance, std::vector<double>& x)
{
    const std::vector<double> b(x.size(), 1);
    tulle::solve::Recipe recipe;
    if (method != "-") recipe.method = tulle::solve::parse_method(method);
    if (preconditioner != "-") recipe.preconditioner = tulle::solve::parse_preconditioner(preconditioner);
    recipe.stop.relative = tolerance;
    const double begin = now();
    auto plan = tulle::solve::Plan<double>::make(ctx, a.view(), recipe);
    const tulle::solve::Report report = plan.solve(b, x);
    std::string reason = tulle::solve::to_text(report.reason);
    return {reason.substr(0, reason.find(' ')), static_cast<long>(report.iterations), now() - begin};
}

}  // namespace

int main(int, char** argv)
{
    const tulle::Context ctx = tulle::Context::cpu(1);
    const tulle::Csr<double> a = tulle::io::read<double>(ctx, argv[1]);
    const std::string method = argv[2], preconditioner = argv[3];
    const double tolerance = std::stod(argv[4]);
    std::vector<double> x(static_cast<std::size_t>(a.rows));
    const std::vector<int> offsets(a.row_begin.data(), a.row_begin.data() + a.rows + 1);
    const Sparse own = map_of(a, offsets);
    const Eigen::VectorXd b = Eigen::VectorXd::Ones(a.rows);
    using Cg = Eigen::ConjugateGradient<Sparse, Eigen::Lower | Eigen::Upper, Eigen::IncompleteCholesky<double>>;
    using Bicgstab = Eigen::BiCGSTAB<Sparse, Eigen::IncompleteLUT<double>>;
    const Outcome o = method != "eigen"        ? solve_tulle(ctx, a, method, preconditioner, tolerance, x)
                      : preconditioner == "cg" ? solve_eigen<Cg>(own, b, tolerance, x)
                                               : solve_eigen<Bicgstab>(own, b, tolerance, x);
    const Eigen::Map<const Eigen::VectorXd> found(x.data(), a.rows);
    std::printf("%s %ld %g %g\n", o.reason.c_str(), o.iterations, (b - own * found).norm() / b.norm(), o.seconds);
}
