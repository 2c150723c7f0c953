// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Groups of rows (none for the adaptive method), columns and values of rows of C. A row is summed by one thread in the
// order of A's nonzeros.
#include <algorithm>
#include <utility>

#include "spgemm/adaptive/cpu/workers.hpp"
#include "spgemm/deltasparse/deltasparse.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// Columns in the order they are met; how many there are.
template <class V, class Accumulator>
offset_t add_products(const CsrView<V>& a, const CsrView<V>& b, index_t row, index_t* col, Accumulator& sums)
{
    offset_t count = 0;
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
        const V factor = a.value[k];
        for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l)
            if (sums.add(b.col[l], factor * b.value[l])) col[count++] = b.col[l];
    }
    return count;
}

template <class V>
void fill_row(const CsrView<V>& a, const CsrView<V>& b, const MaskView&, index_t row, offset_t products, index_t* col,
              V* value, bool sorted, HashAccumulator<V>& sums)
{
    sums.begin(std::min(products, offset_t{b.cols}));
    const offset_t count = add_products(a, b, row, col, sums);
    if (sorted) std::sort(col, col + count);
    for (offset_t k = 0; k < count; ++k) value[k] = sums.at(col[k]);
}

template <class V>
void fill_row(const CsrView<V>& a, const CsrView<V>& b, const MaskView&, index_t row, offset_t, index_t* col, V* value,
              bool, MarkedAccumulator<V>& sums)
{
    const offset_t count = add_products(a, b, row, col, sums);
    for (offset_t k = 0; k < count; ++k) value[k] = sums.value[col[k]];
}

// First which columns, then their sums, without a question: they come out in order, asked for or not.
template <class V>
void fill_row(const CsrView<V>& a, const CsrView<V>& b, const MaskView& masks, index_t row, offset_t, index_t* col,
              V* value, bool, DenseAccumulator<V>& sums)
{
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
        const index_t j = a.col[k];
        const V factor = a.value[k];
        sums.touch_row(b, masks, j);
        for (offset_t l = b.row_begin[j]; l < b.row_begin[j + 1]; ++l) sums.value[b.col[l]] += factor * b.value[l];
    }
    sums.take_words([&](index_t word, std::uint64_t bits) {
        for (; bits != 0; bits &= bits - 1) {
            const index_t c = word * 64 + std::countr_zero(bits);
            *col++ = c;
            *value++ = std::exchange(sums.value[c], V(-0.0));
        }
    });
}

// The same where the columns are there: nothing is touched to be found again, nothing sorted.
template <class V, class Accumulator>
void refill_row(const CsrView<V>& a, const CsrView<V>& b, index_t row, const index_t* col, offset_t nonzeros, V* value,
                Accumulator& sums)
{
    if constexpr (requires { sums.begin(nonzeros); }) sums.begin(nonzeros);
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
        const V factor = a.value[k];
        for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l)
            sums.add(b.col[l], factor * b.value[l]);
    }
    for (offset_t k = 0; k < nonzeros; ++k) value[k] = sums.at(col[k]);
}

template <class V>
void refill_row(const CsrView<V>& a, const CsrView<V>& b, index_t row, const index_t* col, offset_t nonzeros, V* value,
                DenseAccumulator<V>& sums)
{
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
        const V factor = a.value[k];
        for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l)
            sums.value[b.col[l]] += factor * b.value[l];
    }
    for (offset_t k = 0; k < nonzeros; ++k)
        value[k] =
            std::exchange(sums.value[std::clamp(col[k], 0, b.cols - 1)], V(-0.0));  // whatever a caller's columns are
}

}  // namespace

template <class V>
offset_t group_rows(const CpuQueue& q, const CsrView<V>&, const Policy& policy, Workspace& work, index_t first,
                    index_t rows, const offset_t* row_begin)
{
    if (policy.method == Method::deltasparse) return delta::group_rows(q, policy.rules, work, first, rows, row_begin);
    return row_begin[first + rows];
}

template <class V>
void fill(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
          const RowRange<V>& c)
{
    if (policy.method == Method::deltasparse) return delta::fill(q, a, b, policy.rules, work, c);
    Workers<V> workers(q, Share::of(q, policy, work, b.cols), b.cols, true);
    const MaskView masks = masks_of(work);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = c.first; i < c.first + c.rows; ++i) {
        const offset_t products = workers.bound(a, b, i), at = c.row_begin[i] - c.base;
        workers.with(i, products, [&](auto& sums) {
            fill_row(a, b, masks, i, products, c.col + at, c.value + at, work.sorted, sums);
        });
    }
}

template <class V>
void refill(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
            const RowRange<V>& c)
{
    if (policy.method == Method::deltasparse) return delta::fill(q, a, b, policy.rules, work, c);
    Workers<V> workers(q, Share::of(q, policy, work, b.cols), b.cols, true);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = c.first; i < c.first + c.rows; ++i) {
        const offset_t at = c.row_begin[i] - c.base, nonzeros = c.row_begin[i + 1] - c.row_begin[i];
        workers.with(i, workers.bound(a, b, i),
                     [&](auto& sums) { refill_row(a, b, i, c.col + at, nonzeros, c.value + at, sums); });
    }
}

std::size_t fill_bytes_for(const CpuQueue& q, const Policy& policy, const Workspace& work, offset_t, index_t cols,
                           std::size_t value_bytes)
{
    if (policy.method == Method::deltasparse) return delta::fill_bytes_for(q, value_bytes);
    const Share share = Share::of(q, policy, work, cols);
    return value_bytes == sizeof(float) ? Workers<float>::bytes_for(q, share, cols)
                                        : Workers<double>::bytes_for(q, share, cols);
}

template offset_t group_rows(const CpuQueue&, const CsrView<float>&, const Policy&, Workspace&, index_t, index_t,
                             const offset_t*);
template offset_t group_rows(const CpuQueue&, const CsrView<double>&, const Policy&, Workspace&, index_t, index_t,
                             const offset_t*);
template void refill(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&,
                     const RowRange<float>&);
template void refill(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&, Workspace&,
                     const RowRange<double>&);
template void fill(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&,
                   const RowRange<float>&);
template void fill(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&, Workspace&,
                   const RowRange<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm
