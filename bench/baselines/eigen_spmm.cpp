// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Eigen: a row-major sparse matrix times a dense one, whose rows are contiguous, in parallel through OpenMP.
#include <Eigen/Core>

#include <memory>

#include "bench/baselines/eigen_matrix.hpp"
#include "bench/baselines/spmm.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

template <class V>
struct EigenSpmm {
    using Dense = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

    explicit EigenSpmm(SpmmProblem<V>& which) : problem(which) {}

    Prepared prepare()
    {
        matrix.narrow(problem.a);
        Eigen::setNbThreads(problem.ctx.host().threads);
        return {concat(Eigen::nbThreads(), " threads"), matrix.bytes()};
    }

    void run()
    {
        const Eigen::Map<const Dense> b(problem.b.data, problem.a.cols, problem.n);
        Eigen::Map<Dense> c(problem.c.data, problem.a.rows, problem.n);
        c.noalias() = matrix.map() * b;
    }

    SpmmProblem<V>& problem;
    EigenMatrix<V> matrix;
};

}  // namespace

template <class V>
std::vector<Contender> eigen_spmm(SpmmProblem<V>& problem)
{
    auto eigen = std::make_shared<EigenSpmm<V>>(problem);
    return {{"eigen", Role::baseline, [eigen] { return eigen->prepare(); }, [eigen] { eigen->run(); },
             [&problem] { return problem.download(); }}};
}

template std::vector<Contender> eigen_spmm(SpmmProblem<float>&);
template std::vector<Contender> eigen_spmm(SpmmProblem<double>&);

}  // namespace tulle::bench
