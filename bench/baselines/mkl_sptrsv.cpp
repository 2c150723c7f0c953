// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Intel MKL: mkl_sparse_?_trsv, or mkl_sparse_?_trsm for several right-hand sides, after mkl_sparse_optimize and
// without it.
#include <memory>

#include "bench/baselines/mkl_matrix.hpp"
#include "bench/baselines/sptrsv.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

sparse_status_t solve(sparse_matrix_t a, const float* b, float* x)
{
    return mkl_sparse_s_trsv(mkl::as_stored, 1, a, mkl::lower(), b, x);
}
sparse_status_t solve(sparse_matrix_t a, const double* b, double* x)
{
    return mkl_sparse_d_trsv(mkl::as_stored, 1, a, mkl::lower(), b, x);
}
sparse_status_t solve(sparse_matrix_t a, const float* b, int sides, float* x)
{
    return mkl_sparse_s_trsm(mkl::as_stored, 1, a, mkl::lower(), mkl::row_major, b, sides, sides, x, sides);
}
sparse_status_t solve(sparse_matrix_t a, const double* b, int sides, double* x)
{
    return mkl_sparse_d_trsm(mkl::as_stored, 1, a, mkl::lower(), mkl::row_major, b, sides, sides, x, sides);
}

template <class V>
struct MklSptrsv {
    MklSptrsv(SptrsvProblem<V>& which, bool optimised) : problem(which), optimise(optimised) {}

    Prepared prepare()
    {
        const int threads = mkl::use_threads(problem.ctx);
        matrix.create(problem.a);
        if (optimise) {
            mkl::check(set_hint());
            mkl::check(mkl_sparse_optimize(matrix.get()));
        }
        return {concat(threads, " threads"), matrix.bytes()};
    }

    // MKL 2024 answers that it does not support the hint for several right-hand sides; that for one is the nearest.
    sparse_status_t set_hint() const
    {
        const sparse_status_t several =
            problem.sides == 1 ? SPARSE_STATUS_NOT_SUPPORTED
                               : mkl_sparse_set_sm_hint(matrix.get(), mkl::as_stored, mkl::lower(), mkl::row_major,
                                                        problem.sides, mkl::expected_calls);
        return several != SPARSE_STATUS_NOT_SUPPORTED
                   ? several
                   : mkl_sparse_set_sv_hint(matrix.get(), mkl::as_stored, mkl::lower(), mkl::expected_calls);
    }

    void run()
    {
        const V* b = problem.b.data();
        V* x = problem.x.data();
        mkl::check(problem.sides == 1 ? solve(matrix.get(), b, x) : solve(matrix.get(), b, problem.sides, x));
    }

    SptrsvProblem<V>& problem;
    bool optimise;
    mkl::Matrix<V> matrix;
};

}  // namespace

template <class V>
std::vector<Contender> mkl_sptrsv(SptrsvProblem<V>& problem)
{
    std::vector<Contender> all;
    for (const bool optimise : {true, false}) {
        auto one = std::make_shared<MklSptrsv<V>>(problem, optimise);
        all.push_back({optimise ? "mkl" : "mkl, not optimised", Role::baseline, [one] { return one->prepare(); },
                       [one] { one->run(); }, [&problem] { return problem.download_x(); }, true});
    }
    return all;
}

template std::vector<Contender> mkl_sptrsv(SptrsvProblem<float>&);
template std::vector<Contender> mkl_sptrsv(SptrsvProblem<double>&);

}  // namespace tulle::bench
