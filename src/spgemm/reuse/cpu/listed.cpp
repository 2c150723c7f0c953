// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products in the order of C's entries, and refills by them: a thread has a row of C.
#include "spgemm/reuse/listed.hpp"

#include "prim/scan.hpp"
#include "spgemm/adaptive/cpu/workers.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// visit(number in A, number in B) in the order of the additions.
template <class V, class Visit>
void for_products(const CsrView<V>& a, const CsrView<V>& b, index_t row, Visit&& visit)
{
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
        for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l) visit(k, l);
}

// `where`, of columns, and `end`, of entries, are as long as a row of C could be. No entry is without products.
template <class V>
void list_row(const CsrView<V>& a, const CsrView<V>& b, index_t row, const index_t* col, offset_t nonzeros,
              offset_t* product, index_t* where, offset_t* end)
{
    for (offset_t e = 0; e < nonzeros; ++e) where[col[e]] = static_cast<index_t>(e), end[e] = 0;
    for_products(a, b, row, [&](offset_t, offset_t l) { ++end[where[b.col[l]]]; });
    offset_t before = 0;
    for (offset_t e = 0; e < nonzeros; ++e) before += std::exchange(end[e], before);
    for_products(a, b, row, [&](offset_t k, offset_t l) { product[end[where[b.col[l]]]++] = listed(k, l); });
    for (offset_t e = 0; e < nonzeros; ++e) product[end[e] - 1] = as_last(product[end[e] - 1]);
}

}  // namespace

template <class V>
ProductList reserve_list(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace&)
{
    ProductList list;
    list.begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
    offset_t* begin = list.begin.data();
    count_products(q, a, b, begin);
    prim::exclusive_scan(q, begin, begin, a.rows);
    list.product = Buffer<offset_t>(q, begin[a.rows]);
    return list;
}

template <class V>
void list_products(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace&, const RowRange<V>& c,
                   ProductList& list)
{
    Buffer<index_t> where(q, q.threads * offset_t{b.cols});
    Buffer<offset_t> end(q, q.threads * offset_t{b.cols});
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = 0; i < c.rows; ++i) {
        const offset_t mine = omp_get_thread_num() * offset_t{b.cols};
        list_row(a, b, i, c.col + (c.row_begin[i] - c.base), c.row_begin[i + 1] - c.row_begin[i],
                 list.product.data() + list.begin.data()[i], where.data() + mine, end.data() + mine);
    }
    list.known = true;
}

std::size_t list_bytes_for(const CpuQueue& q, const Workspace&, index_t, index_t cols, offset_t)
{
    return static_cast<std::size_t>(q.threads) * static_cast<std::size_t>(cols) * (sizeof(index_t) + sizeof(offset_t));
}

template <class V>
void add_listed(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const ProductList& list,
                const RowRange<V>& c)
{
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = 0; i < c.rows; ++i) {
        const offset_t* next = list.product.data() + list.begin.data()[i];
        for (offset_t e = c.row_begin[i] - c.base; e < c.row_begin[i + 1] - c.base; ++e) {
            V sum = V(-0.0);  // what changes no sum, not even the sign of zero
            do sum += a.value[of_a(*next)] * b.value[of_b(*next)];
            while (!is_last(*next++));
            c.value[e] = sum;
        }
    }
}

template ProductList reserve_list(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&);
template ProductList reserve_list(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&);
template void list_products(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&,
                            const RowRange<float>&, ProductList&);
template void list_products(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&,
                            const RowRange<double>&, ProductList&);
template void add_listed(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const ProductList&,
                         const RowRange<float>&);
template void add_listed(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const ProductList&,
                         const RowRange<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm
