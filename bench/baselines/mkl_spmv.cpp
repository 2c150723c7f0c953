// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Intel MKL: mkl_sparse_?_mv after mkl_sparse_optimize, and without it.
#include <memory>

#include "bench/baselines/mkl_matrix.hpp"
#include "bench/baselines/spmv.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

sparse_status_t product(sparse_matrix_t a, const float* x, float* y)
{
    return mkl_sparse_s_mv(mkl::as_stored, 1, a, mkl::general(), x, 0, y);
}
sparse_status_t product(sparse_matrix_t a, const double* x, double* y)
{
    return mkl_sparse_d_mv(mkl::as_stored, 1, a, mkl::general(), x, 0, y);
}

template <class V>
struct MklSpmv {
    MklSpmv(SpmvProblem<V>& which, bool optimised) : problem(which), optimise(optimised) {}

    Prepared prepare()
    {
        const int threads = mkl::use_threads(problem.ctx);
        matrix.create(problem.a);
        if (optimise) {
            mkl::check(mkl_sparse_set_mv_hint(matrix.get(), mkl::as_stored, mkl::general(), mkl::expected_calls));
            mkl::check(mkl_sparse_optimize(matrix.get()));
        }
        return {concat(threads, " threads"), matrix.bytes()};
    }

    void run() { mkl::check(product(matrix.get(), problem.x.data(), problem.y.data())); }

    // A product of a matrix that MKL has not seen before.
    void run_once()
    {
        matrix.create_again(problem.a);
        run();
    }

    SpmvProblem<V>& problem;
    bool optimise;
    mkl::Matrix<V> matrix;
};

template <class V>
Contender contender(SpmvProblem<V>& problem, const char* name, bool optimise, void (MklSpmv<V>::*run)())
{
    auto one = std::make_shared<MklSpmv<V>>(problem, optimise);
    return {name,
            Role::baseline,
            [one] { return one->prepare(); },
            [one, run] { (*one.*run)(); },
            [&problem] { return problem.download_y(); },
            true};
}

}  // namespace

template <class V>
std::vector<Contender> mkl_spmv(SpmvProblem<V>& problem)
{
    return {contender(problem, "mkl", true, &MklSpmv<V>::run),
            contender(problem, "mkl, not optimised", false, &MklSpmv<V>::run),
            contender(problem, "mkl once", false, &MklSpmv<V>::run_once)};
}

template std::vector<Contender> mkl_spmv(SpmvProblem<float>&);
template std::vector<Contender> mkl_spmv(SpmvProblem<double>&);

}  // namespace tulle::bench
