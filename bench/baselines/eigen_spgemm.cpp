// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Eigen: the product of two row-major sparse matrices, on one thread, as Eigen has it.
#include <memory>

#include "bench/baselines/eigen_matrix.hpp"
#include "bench/baselines/spgemm.hpp"

namespace tulle::bench {
namespace {

template <class V>
struct EigenSpgemm {
    using Matrix = typename EigenMatrix<V>::Sparse;

    explicit EigenSpgemm(SpgemmProblem<V>& which) : problem(which)
    {
        matrix.narrow(problem.a);
        require<ValueError>(problem.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
    }

    void call()
    {
        const auto a = matrix.map();
        c = a * a;
        c.makeCompressed();
    }

    SpgemmProblem<V>& problem;
    EigenMatrix<V> matrix;
    Matrix c;
};

}  // namespace

template <class V>
std::vector<Multiplier> eigen_spgemm(SpgemmProblem<V>& problem)
{
    auto eigen = std::make_shared<EigenSpgemm<V>>(problem);
    return {{"eigen", Role::baseline, [eigen] { eigen->call(); },
             [eigen, &problem] {
                 const auto& c = eigen->c;
                 return problem.worst_share(static_cast<index_t>(c.rows()), c.outerIndexPtr(), c.innerIndexPtr(),
                                            c.valuePtr());
             },
             [eigen] { eigen->c = typename EigenSpgemm<V>::Matrix(); }}};
}

template std::vector<Multiplier> eigen_spgemm(SpgemmProblem<float>&);
template std::vector<Multiplier> eigen_spgemm(SpgemmProblem<double>&);

}  // namespace tulle::bench
