// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Eigen: a row-major sparse matrix times a dense one, whose rows are contiguous, in parallel through OpenMP. It reads our columns and values where
// they are; only the row offsets are narrowed to 32 bits, as an Eigen user would have them.
#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <memory>

#include "bench/yardsticks/spmm.hpp"
#include "tulle/base/error.hpp"
#include "tulle/base/text.hpp"

namespace tulle::bench {
namespace {

template <class V>
struct EigenSpmm {
    using Matrix = Eigen::Map<const Eigen::SparseMatrix<V, Eigen::RowMajor, int>>;
    using Dense = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

    explicit EigenSpmm(SpmmProblem<V>& which) : problem(which) {}

    Prepared prepare()
    {
        const CsrView<V> a = problem.a;
        require<ValueError>(a.nonzeros <= max_index, "more nonzeros than 32-bit offsets can count");
        row_begin.assign(a.row_begin, a.row_begin + a.rows + 1);
        Eigen::setNbThreads(problem.ctx.host().threads);
        return {concat(Eigen::nbThreads(), " threads"), row_begin.size() * sizeof(int)};
    }

    void run()
    {
        const CsrView<V> a = problem.a;
        const Matrix matrix(a.rows, a.cols, static_cast<Eigen::Index>(a.nonzeros), row_begin.data(), a.col, a.value);
        const Eigen::Map<const Dense> b(problem.b.data, a.cols, problem.n);
        Eigen::Map<Dense> c(problem.c.data, a.rows, problem.n);
        c.noalias() = matrix * b;
    }

    SpmmProblem<V>& problem;
    std::vector<int> row_begin;
};

}  // namespace

template <class V>
std::vector<Contender> eigen_spmm(SpmmProblem<V>& problem)
{
    auto eigen = std::make_shared<EigenSpmm<V>>(problem);
    return {{"eigen", Role::yardstick, [eigen] { return eigen->prepare(); }, [eigen] { eigen->run(); }, [&problem] { return problem.download(); }}};
}

template std::vector<Contender> eigen_spmm(SpmmProblem<float>&);
template std::vector<Contender> eigen_spmm(SpmmProblem<double>&);

}  // namespace tulle::bench
