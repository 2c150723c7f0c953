// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Eigen: solveInPlace of a triangular view of a row-major sparse matrix; one thread, as Eigen does it. The copy of b into x, which Eigen's
// interface asks for, is part of the time.
#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <memory>

#include "bench/yardsticks/sptrsv.hpp"
#include "tulle/base/error.hpp"

namespace tulle::bench {
namespace {

template <class V>
struct EigenSptrsv {
    using Matrix = Eigen::Map<const Eigen::SparseMatrix<V, Eigen::RowMajor, int>>;
    using Sides = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;

    explicit EigenSptrsv(SptrsvProblem<V>& which) : problem(which) {}

    Prepared prepare()
    {
        const CsrView<V> a = problem.a;
        require<ValueError>(a.nonzeros <= max_index, "more nonzeros than 32-bit offsets can count");
        row_begin.assign(a.row_begin, a.row_begin + a.rows + 1);
        return {"one thread", row_begin.size() * sizeof(int)};
    }

    void run()
    {
        const CsrView<V> a = problem.a;
        const Matrix matrix(a.rows, a.cols, static_cast<Eigen::Index>(a.nonzeros), row_begin.data(), a.col, a.value);
        if (problem.sides == 1) solve(matrix, Eigen::Map<const Vector>(problem.b.data(), a.rows), Eigen::Map<Vector>(problem.x.data(), a.rows));
        else solve(matrix, Eigen::Map<const Sides>(problem.b.data(), a.rows, problem.sides), Eigen::Map<Sides>(problem.x.data(), a.rows, problem.sides));
    }

    template <class From, class To>
    static void solve(const Matrix& matrix, const From& b, To x)
    {
        x = b;
        matrix.template triangularView<Eigen::Lower>().solveInPlace(x);
    }

    SptrsvProblem<V>& problem;
    std::vector<int> row_begin;
};

}  // namespace

template <class V>
std::vector<Contender> eigen_sptrsv(SptrsvProblem<V>& problem)
{
    auto eigen = std::make_shared<EigenSptrsv<V>>(problem);
    return {{"eigen", Role::yardstick, [eigen] { return eigen->prepare(); }, [eigen] { eigen->run(); }, [&problem] { return problem.download_x(); }}};
}

template std::vector<Contender> eigen_sptrsv(SptrsvProblem<float>&);
template std::vector<Contender> eigen_sptrsv(SptrsvProblem<double>&);

}  // namespace tulle::bench
