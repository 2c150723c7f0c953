// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Nonzeros of every row of C. Rows whose pattern follows from the row before are not counted, nor are equal rows of B
// that follow each other.
#include "spgemm/adaptive/cpu/relations.hpp"
#include "spgemm/adaptive/cpu/short_row.hpp"
#include "spgemm/adaptive/cpu/workers.hpp"
#include "spgemm/deltasparse/deltasparse.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// What is known of B's columns.
struct Pattern {
    const unsigned char* runs_b;
    MaskView masks;
};

// visit(row of B) for the rows a row of A picks, but for those that equal the one before: they add no columns.
template <class V, class Visit>
void for_each_pattern(const CsrView<V>& a, const unsigned char* runs_b, index_t row, Visit&& visit)
{
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
        const index_t j = a.col[k];
        if (runs_b && k > a.row_begin[row] && a.col[k - 1] == j - 1 && runs_b[j] == equal_pattern) continue;
        visit(j);
    }
}

template <class V>
offset_t count_row(const CsrView<V>& a, const CsrView<V>& b, const Pattern& p, index_t row, offset_t products,
                   HashAccumulator<V>& columns)
{
    columns.begin(std::min(products, offset_t{b.cols}));
    offset_t count = 0;
    for_each_pattern(a, p.runs_b, row, [&](index_t j) {
        for (offset_t l = b.row_begin[j]; l < b.row_begin[j + 1]; ++l) count += columns.touch(b.col[l]) ? 1 : 0;
    });
    return count;
}

template <class V>
offset_t count_row(const CsrView<V>& a, const CsrView<V>& b, const Pattern& p, index_t row, offset_t,
                   MarkedAccumulator<V>& columns)
{
    offset_t count = 0;
    for_each_pattern(a, p.runs_b, row, [&](index_t j) {
        for (offset_t l = b.row_begin[j]; l < b.row_begin[j + 1]; ++l) count += columns.touch(b.col[l]) ? 1 : 0;
    });
    return count;
}

template <class V>
offset_t count_row(const CsrView<V>& a, const CsrView<V>& b, const Pattern& p, index_t row, offset_t,
                   DenseAccumulator<V>& columns)
{
    for_each_pattern(a, p.runs_b, row, [&](index_t j) { columns.touch_row(b, p.masks, j); });
    offset_t count = 0;
    columns.take_words([&](index_t, std::uint64_t bits) { count += std::popcount(bits); });
    return count;
}

}  // namespace

template <class V>
void count_nonzeros(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
                    offset_t* count)
{
    if (policy.method == Method::deltasparse) return delta::count_nonzeros(q, a, b, work, count);
    const Share share = Share::of(q, policy, work, b.cols);
    Workers<V> workers(q, share, b.cols, false);
    const unsigned char* relations = policy.use_runs ? work.runs_a.data() : nullptr;
    const Pattern pattern{policy.use_runs ? work.runs_b.data() : nullptr, masks_of(work)};
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = 0; i < a.rows; ++i) {
        if (relations && relations[i] != unrelated) continue;
        const offset_t products = workers.bound(a, b, i);
        if (products <= share.compared) count[i] = count_short(a, b, i, products);
        else
            workers.with(i, products,
                         [&](auto& columns) { count[i] = count_row(a, b, pattern, i, products, columns); });
    }
    for (index_t i = 1; relations && i < a.rows; ++i)
        if (relations[i] != unrelated) count[i] = count[i - 1];
}

template void count_nonzeros(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&,
                             offset_t*);
template void count_nonzeros(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&, Workspace&,
                             offset_t*);

}  // namespace tulle::inline TULLE_ABI::spgemm
