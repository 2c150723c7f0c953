// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Gustavson's product in two passes (doi:10.1145/355791.355796) on one thread, as SciPy has it: an array of marks
// counts the nonzeros of a row, one of sums makes them, and the columns of a row stay in the order they were met.
#include <memory>
#include <vector>

#include "bench/baselines/spgemm.hpp"
#include "tulle/error.hpp"

namespace tulle::bench {
namespace {

template <class V>
struct PlainSpgemm {
    explicit PlainSpgemm(SpgemmProblem<V>& which) : problem(which)
    {
        require<ValueError>(problem.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
        const CsrView<V>& a = problem.a;
        begin.assign(a.row_begin, a.row_begin + a.rows + 1);
    }

    // visit(column, product) for all products of a row.
    template <class Visit>
    void for_each_product(index_t row, Visit&& visit) const
    {
        const CsrView<V>& a = problem.a;
        for (int k = begin[static_cast<std::size_t>(row)]; k < begin[static_cast<std::size_t>(row) + 1]; ++k)
            for (int l = begin[static_cast<std::size_t>(a.col[k])]; l < begin[static_cast<std::size_t>(a.col[k]) + 1];
                 ++l)
                visit(a.col[l], a.value[k] * a.value[l]);
    }

    void call()
    {
        const CsrView<V>& a = problem.a;
        std::vector<int> mark(static_cast<std::size_t>(a.cols), -1);
        row_begin.assign(1, 0);
        for (index_t i = 0; i < a.rows; ++i) {
            int count = 0;
            for_each_product(i, [&](index_t c, V) {
                count += mark[static_cast<std::size_t>(c)] != i, mark[static_cast<std::size_t>(c)] = i;
            });
            row_begin.push_back(row_begin.back() + count);
        }
        col = std::make_unique_for_overwrite<index_t[]>(static_cast<std::size_t>(row_begin.back()));
        value = std::make_unique_for_overwrite<V[]>(static_cast<std::size_t>(row_begin.back()));
        mark.assign(mark.size(), -1);
        std::vector<V> sum(mark.size());
        for (index_t i = 0; i < a.rows; ++i) {
            int to = row_begin[static_cast<std::size_t>(i)];
            for_each_product(i, [&](index_t c, V product) {
                const auto at = static_cast<std::size_t>(c);
                if (mark[at] != i) mark[at] = i, sum[at] = 0, col[static_cast<std::size_t>(to++)] = c;
                sum[at] += product;
            });
            for (int k = row_begin[static_cast<std::size_t>(i)]; k < to; ++k)
                value[static_cast<std::size_t>(k)] = sum[static_cast<std::size_t>(col[static_cast<std::size_t>(k)])];
        }
    }

    SpgemmProblem<V>& problem;
    std::vector<int> begin, row_begin;
    std::unique_ptr<index_t[]> col;
    std::unique_ptr<V[]> value;
};

}  // namespace

template <class V>
std::vector<Multiplier> plain_spgemm(SpgemmProblem<V>& problem)
{
    auto plain = std::make_shared<PlainSpgemm<V>>(problem);
    return {{"plain loop, unsorted", Role::baseline, [plain] { plain->call(); },
             [plain, &problem] {
                 return problem.worst_share_unsorted(problem.a.rows, plain->row_begin.data(), plain->col.get(),
                                                     plain->value.get());
             },
             [plain] { plain->col.reset(), plain->value.reset(); }}};
}

template std::vector<Multiplier> plain_spgemm(SpgemmProblem<float>&);
template std::vector<Multiplier> plain_spgemm(SpgemmProblem<double>&);

}  // namespace tulle::bench
