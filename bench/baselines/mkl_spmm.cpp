// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Intel MKL: mkl_sparse_?_mm with contiguous rows of B and C, after mkl_sparse_optimize and without it.
#include <memory>

#include "bench/baselines/mkl_matrix.hpp"
#include "bench/baselines/spmm.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

sparse_status_t product(sparse_matrix_t a, const float* b, int n, float* c)
{
    return mkl_sparse_s_mm(mkl::as_stored, 1, a, mkl::general(), mkl::row_major, b, n, n, 0, c, n);
}
sparse_status_t product(sparse_matrix_t a, const double* b, int n, double* c)
{
    return mkl_sparse_d_mm(mkl::as_stored, 1, a, mkl::general(), mkl::row_major, b, n, n, 0, c, n);
}

template <class V>
struct MklSpmm {
    MklSpmm(SpmmProblem<V>& which, bool optimised) : problem(which), optimise(optimised) {}

    Prepared prepare()
    {
        const int threads = mkl::use_threads(problem.ctx);
        matrix.create(problem.a);
        if (optimise) {
            mkl::check(mkl_sparse_set_mm_hint(matrix.get(), mkl::as_stored, mkl::general(), mkl::row_major, problem.n,
                                              mkl::expected_calls));
            mkl::check(mkl_sparse_optimize(matrix.get()));
        }
        return {concat(threads, " threads"), matrix.bytes()};
    }

    void run() { mkl::check(product(matrix.get(), problem.b.data, problem.n, problem.c.data)); }

    SpmmProblem<V>& problem;
    bool optimise;
    mkl::Matrix<V> matrix;
};

}  // namespace

template <class V>
std::vector<Contender> mkl_spmm(SpmmProblem<V>& problem)
{
    std::vector<Contender> all;
    for (const bool optimise : {true, false}) {
        auto one = std::make_shared<MklSpmm<V>>(problem, optimise);
        all.push_back({optimise ? "mkl" : "mkl, not optimised", Role::baseline, [one] { return one->prepare(); },
                       [one] { one->run(); }, [&problem] { return problem.download(); }, true});
    }
    return all;
}

template std::vector<Contender> mkl_spmm(SpmmProblem<float>&);
template std::vector<Contender> mkl_spmm(SpmmProblem<double>&);

}  // namespace tulle::bench
