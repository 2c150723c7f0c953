// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The loop that everybody writes: a dot product for every nonzero, rows in parallel. The compiler may vectorise it.
#include "bench/baselines/sddmm.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

template <class V>
void sample_rows(SddmmProblem<V>& problem)
{
    using S = typename SddmmProblem<V>::Result;
    const CsrView<V>& a = problem.a;
    const index_t k = problem.k;
#pragma omp parallel for num_threads(problem.ctx.host().threads) schedule(dynamic, 64)
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
            const V *x = problem.x.data + offset_t{i} * k, *y = problem.y.data + offset_t{a.col[p]} * k;
            S sum = 0;
#pragma omp simd reduction(+ : sum)
            for (index_t j = 0; j < k; ++j) sum += static_cast<S>(x[j]) * static_cast<S>(y[j]);
            problem.c.data()[p] = sum;
        }
}

}  // namespace

template <class V>
std::vector<Contender> plain_sddmm(SddmmProblem<V>& problem)
{
    return {{"plain loop", Role::baseline,
             [&problem] {
                 return Prepared{concat(problem.ctx.host().threads, " threads"), 0};
             },
             [&problem] { sample_rows(problem); }, [&problem] { return problem.download(); }}};
}

template std::vector<Contender> plain_sddmm(SddmmProblem<float>&);
template std::vector<Contender> plain_sddmm(SddmmProblem<double>&);
template std::vector<Contender> plain_sddmm(SddmmProblem<Float16>&);
template std::vector<Contender> plain_sddmm(SddmmProblem<Bfloat16>&);

}  // namespace tulle::bench
