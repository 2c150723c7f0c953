// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <omp.h>

#include "graph/cpu/key_row.hpp"
#include "graph/steps.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr int rows_of_task = 64;

template <class V>
offset_t longest_row(const CsrView<V>& a)
{
    offset_t longest = 0;
    for (index_t i = 0; i < a.rows; ++i) longest = std::max(longest, a.row_begin[i + 1] - a.row_begin[i]);
    return longest;
}

// keep(p) for every entry of row i that stays.
template <class V, class Keep>
void for_each_selected(const CsrView<V>& a, const Rule<V>& rule, KeyOf<V> cutoff, index_t i, Keep&& keep)
{
    for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p)
        if (rule.is_inside(i, a.col[p]) && key_of(a.value[p]) >= cutoff) keep(p);
}

}  // namespace

template <class V>
void count_selected(const CpuQueue& q, const CsrView<V>& a, const Rule<V>& rule, KeyOf<V>* cutoff, offset_t* count)
{
    const offset_t longest = rule.is_cutoff_fixed() ? 0 : longest_row(a);
    Buffer<KeyOf<V>> keys(q, longest * q.threads);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_of_task)
    for (index_t i = 0; i < a.rows; ++i) {
        KeyRow<V> row{keys.data() + longest * omp_get_thread_num(), 0};
        if (!rule.is_cutoff_fixed())
            for_each_selected(a, rule, 0, i, [&](offset_t p) { row.key[row.entries++] = key_of(a.value[p]); });
        cutoff[i] = cutoff_of(rule, row);
        offset_t n = 0;
        for_each_selected(a, rule, cutoff[i], i, [&](offset_t) { ++n; });
        count[i] = n;
    }
}

template <class V>
void fill_selected(const CpuQueue& q, const CsrView<V>& a, const Rule<V>& rule, const KeyOf<V>* cutoff,
                   const offset_t* row_begin, index_t* col, V* value)
{
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_of_task)
    for (index_t i = 0; i < a.rows; ++i) {
        offset_t to = row_begin[i];
        for_each_selected(a, rule, cutoff[i], i, [&](offset_t p) {
            col[to] = a.col[p];
            value[to++] = a.value[p];
        });
    }
}

template void count_selected(const CpuQueue&, const CsrView<float>&, const Rule<float>&, std::uint32_t*, offset_t*);
template void count_selected(const CpuQueue&, const CsrView<double>&, const Rule<double>&, std::uint64_t*, offset_t*);
template void fill_selected(const CpuQueue&, const CsrView<float>&, const Rule<float>&, const std::uint32_t*,
                            const offset_t*, index_t*, float*);
template void fill_selected(const CpuQueue&, const CsrView<double>&, const Rule<double>&, const std::uint64_t*,
                            const offset_t*, index_t*, double*);

}  // namespace tulle::inline TULLE_ABI::graph
