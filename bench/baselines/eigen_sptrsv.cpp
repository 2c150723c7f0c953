// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Eigen: solveInPlace of a triangular view of a row-major sparse matrix; one thread, as Eigen does it. The copy of b
// into x, which Eigen's interface asks for, is part of the time.
#include <Eigen/Core>

#include <memory>

#include "bench/baselines/eigen_matrix.hpp"
#include "bench/baselines/sptrsv.hpp"

namespace tulle::bench {
namespace {

template <class V>
struct EigenSptrsv {
    using RhsView = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;

    explicit EigenSptrsv(SptrsvProblem<V>& which) : problem(which) {}

    Prepared prepare()
    {
        matrix.narrow(problem.a);
        return {"one thread", matrix.bytes()};
    }

    void run()
    {
        const index_t rows = problem.a.rows, sides = problem.sides;
        if (sides == 1)
            solve(matrix.map(), Eigen::Map<const Vector>(problem.b.data(), rows),
                  Eigen::Map<Vector>(problem.x.data(), rows));
        else
            solve(matrix.map(), Eigen::Map<const RhsView>(problem.b.data(), rows, sides),
                  Eigen::Map<RhsView>(problem.x.data(), rows, sides));
    }

    template <class From, class To>
    static void solve(const typename EigenMatrix<V>::Map& matrix, const From& b, To x)
    {
        x = b;
        matrix.template triangularView<Eigen::Lower>().solveInPlace(x);
    }

    SptrsvProblem<V>& problem;
    EigenMatrix<V> matrix;
};

}  // namespace

template <class V>
std::vector<Contender> eigen_sptrsv(SptrsvProblem<V>& problem)
{
    auto eigen = std::make_shared<EigenSptrsv<V>>(problem);
    return {{"eigen", Role::baseline, [eigen] { return eigen->prepare(); }, [eigen] { eigen->run(); },
             [&problem] { return problem.download_x(); }}};
}

template std::vector<Contender> eigen_sptrsv(SptrsvProblem<float>&);
template std::vector<Contender> eigen_sptrsv(SptrsvProblem<double>&);

}  // namespace tulle::bench
