// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Eigen: a row-major sparse matrix times a vector, in parallel through OpenMP.
#include <Eigen/Core>

#include <memory>

#include "bench/baselines/eigen_matrix.hpp"
#include "bench/baselines/spmv.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::bench {
namespace {

template <class V>
struct EigenSpmv {
    using Vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;

    explicit EigenSpmv(SpmvProblem<V>& which) : problem(which) {}

    Prepared prepare()
    {
        const trace::Phase phase{"narrow offsets"};
        matrix.narrow(problem.a);
        Eigen::setNbThreads(problem.ctx.host().threads);
        return {concat(Eigen::nbThreads(), " threads"), matrix.bytes()};
    }

    void run()
    {
        const Eigen::Map<const Vector> x(problem.x.data(), problem.a.cols);
        Eigen::Map<Vector> y(problem.y.data(), problem.a.rows);
        y.noalias() = matrix.map() * x;
    }

    SpmvProblem<V>& problem;
    EigenMatrix<V> matrix;
};

}  // namespace

template <class V>
std::vector<Contender> eigen_spmv(SpmvProblem<V>& problem)
{
    auto eigen = std::make_shared<EigenSpmv<V>>(problem);
    return {{"eigen", Role::baseline, [eigen] { return eigen->prepare(); }, [eigen] { eigen->run(); },
             [&problem] { return problem.download_y(); }}};
}

template std::vector<Contender> eigen_spmv(SpmvProblem<float>&);
template std::vector<Contender> eigen_spmv(SpmvProblem<double>&);

}  // namespace tulle::bench
