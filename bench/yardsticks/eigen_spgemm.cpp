// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Eigen: the product of two row-major sparse matrices, on one thread, as Eigen has it.
#include <Eigen/SparseCore>

#include <memory>

#include "bench/yardsticks/spgemm.hpp"
#include "tulle/base/error.hpp"

namespace tulle::bench {
namespace {

template <class V>
struct EigenSpgemm {
    using Matrix = Eigen::SparseMatrix<V, Eigen::RowMajor, int>;

    explicit EigenSpgemm(SpgemmProblem<V>& which) : problem(which), row_begin(which.a.row_begin, which.a.row_begin + which.a.rows + 1)
    {
        require<ValueError>(problem.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
    }

    void call()
    {
        const CsrView<V> a = problem.a;
        const Eigen::Map<const Matrix> matrix(a.rows, a.cols, static_cast<Eigen::Index>(a.nonzeros), row_begin.data(), a.col, a.value);
        c = matrix * matrix;
        c.makeCompressed();
    }

    SpgemmProblem<V>& problem;
    std::vector<int> row_begin;                            // narrowed, as an Eigen user would have them
    Matrix c;
};

}  // namespace

template <class V>
std::vector<Multiplier> eigen_spgemm(SpgemmProblem<V>& problem)
{
    auto eigen = std::make_shared<EigenSpgemm<V>>(problem);
    return {{"eigen", Role::yardstick, [eigen] { eigen->call(); },
             [eigen, &problem] {
                 const auto& c = eigen->c;
                 return problem.worst_share(static_cast<index_t>(c.rows()), c.outerIndexPtr(), c.innerIndexPtr(), c.valuePtr());
             },
             [eigen] { eigen->c = typename EigenSpgemm<V>::Matrix(); }}};
}

template std::vector<Multiplier> eigen_spgemm(SpgemmProblem<float>&);
template std::vector<Multiplier> eigen_spgemm(SpgemmProblem<double>&);

}  // namespace tulle::bench
