// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The loop that everybody writes first, over CSR with 32-bit offsets; with several threads, rows dealt out in equal
// shares of the nonzeros.
#include <algorithm>
#include <memory>
#include <vector>

#include "bench/baselines/spmv.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

template <class V>
void multiply(const int* row_begin, const int* col, const V* value, const V* x, V* y, int first, int last)
{
    for (int i = first; i < last; ++i) {
        V sum = 0;
        for (int k = row_begin[i]; k < row_begin[i + 1]; ++k) sum += value[k] * x[col[k]];
        y[i] = sum;
    }
}

template <class V>
struct PlainSpmv {
    explicit PlainSpmv(SpmvProblem<V>& which) : problem(which), threads(which.ctx.host().threads) {}

    Prepared prepare()
    {
        const CsrView<V>& a = problem.a;
        require<ValueError>(a.nonzeros <= max_index, "more nonzeros than 32-bit offsets can count");
        row_begin.assign(a.row_begin, a.row_begin + a.rows + 1);
        first.clear();
        for (int t = 0; t <= threads; ++t)
            first.push_back(static_cast<int>(
                std::lower_bound(row_begin.begin(), row_begin.end() - 1, static_cast<int>(a.nonzeros * t / threads)) -
                row_begin.begin()));
        first.back() = a.rows;
        return {concat(threads, threads == 1 ? " thread" : " threads"), row_begin.size() * sizeof(int)};
    }

    void run()
    {
        const CsrView<V>& a = problem.a;
        if (threads == 1)
            return multiply(row_begin.data(), a.col, a.value, problem.x.data(), problem.y.data(), 0, a.rows);
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int t = 0; t < threads; ++t)
            multiply(row_begin.data(), a.col, a.value, problem.x.data(), problem.y.data(),
                     first[static_cast<std::size_t>(t)], first[static_cast<std::size_t>(t) + 1]);
    }

    SpmvProblem<V>& problem;
    int threads;
    std::vector<int> row_begin, first;
};

}  // namespace

template <class V>
std::vector<Contender> plain_spmv(SpmvProblem<V>& problem)
{
    auto plain = std::make_shared<PlainSpmv<V>>(problem);
    return {{"plain loop", Role::baseline, [plain] { return plain->prepare(); }, [plain] { plain->run(); },
             [&problem] { return problem.download_y(); }}};
}

template std::vector<Contender> plain_spmv(SpmvProblem<float>&);
template std::vector<Contender> plain_spmv(SpmvProblem<double>&);

}  // namespace tulle::bench
