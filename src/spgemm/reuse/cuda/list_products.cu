// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products in the order of C's entries: written down in the order of A's nonzeros with the entry they fall to, then
// sorted by that, some rows at a time.
#include <algorithm>
#include <vector>

#include "prim/scan.hpp"
#include "prim/search.hpp"
#include "prim/sort.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/reuse/listed.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// A stretch of rows, its first product and its first entry of C.
struct Chunk {
    index_t first_row, last_row;
    offset_t first, products, entry;
};

// One thread per nonzero of A.      count: products of each
__global__ void __launch_bounds__(256)
    count_of_each_kernel(const index_t* a_col, offset_t nonzeros, const offset_t* b_begin, offset_t* count)
{
    const offset_t k = global_thread();
    if (k < nonzeros) count[k] = b_begin[a_col[k] + 1] - b_begin[a_col[k]];
}

// One thread per row, and one behind the last.      begin: the first product of every row
__global__ void __launch_bounds__(256)
    find_row_ends_kernel(const offset_t* a_begin, index_t rows, const offset_t* before, offset_t* begin)
{
    const offset_t i = global_thread();
    if (i <= rows) begin[i] = before[a_begin[i]];
}

// One thread per product, which looks for its nonzero of A, for its row, and for its column among those of C.
//   before: products before each nonzero of A, and all of them      entry, product: the chunk's, once each
template <class V>
__global__ void __launch_bounds__(256)
    write_down_kernel(CsrView<V> a, CsrView<V> b, RowRange<V> c, const offset_t* before, Chunk chunk,
                      std::uint32_t* entry, offset_t* product)
{
    const offset_t i = global_thread();
    if (i >= chunk.products) return;
    const offset_t nonzero_begin = a.row_begin[chunk.first_row], nonzeros = a.row_begin[chunk.last_row] - nonzero_begin;
    const offset_t k = nonzero_begin + prim::upper_bound(before + nonzero_begin, nonzeros, chunk.first + i) - 1;
    const offset_t row =
        chunk.first_row +
        prim::upper_bound(a.row_begin + chunk.first_row, offset_t{chunk.last_row} - chunk.first_row, k) - 1;
    const offset_t l = b.row_begin[a.col[k]] + chunk.first + i - before[k];
    const offset_t begin = c.row_begin[row] - c.base, length = c.row_begin[row + 1] - c.row_begin[row];
    entry[i] = static_cast<std::uint32_t>(begin - chunk.entry +
                                          min(prim::lower_bound(c.col + begin, length, b.col[l]), length - 1));
    product[i] = listed(k, l);
}

// One thread per product, which are sorted now.      begin: of the whole list, see ProductList
__global__ void __launch_bounds__(256)
    mark_ends_kernel(const std::uint32_t* entry, Chunk chunk, offset_t* product, offset_t* begin)
{
    const offset_t i = global_thread();
    if (i >= chunk.products) return;
    if (i + 1 == chunk.products || entry[i + 1] != entry[i]) product[i] = as_last(product[i]);
    if ((chunk.first + i) % listed_step == 0) begin[(chunk.first + i) / listed_step] = chunk.entry + entry[i];
}

// products: before every row, and all of them      c_begin: the first entry of every row
std::vector<Chunk> cut_into_chunks(const std::vector<offset_t>& products, const std::vector<offset_t>& c_begin,
                                   offset_t at_once)
{
    std::vector<Chunk> chunks;
    const auto rows = static_cast<index_t>(products.size()) - 1;
    for (index_t row = 0; row < rows;) {
        const auto at = static_cast<std::size_t>(row);
        const auto end = std::upper_bound(products.begin() + row + 2, products.end(), products[at] + at_once) - 1;
        const auto last = static_cast<index_t>(end - products.begin());
        chunks.push_back({row, last, products[at], *end - products[at], c_begin[at] - c_begin[0]});
        row = last;
    }
    return chunks;
}

}  // namespace

template <class V>
ProductList reserve_list(const CudaQueue& q, const CsrView<V>&, const CsrView<V>&, const Workspace& work)
{
    ProductList list;
    list.product = Buffer<offset_t>(q, work.products);
    list.begin = Buffer<offset_t>(q, (work.products + listed_step - 1) / listed_step);
    return list;
}

template <class V>
void list_products(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                   const RowRange<V>& c, ProductList& list, offset_t at_once)
{
    const offset_t ends = offset_t{a.rows} + 1;
    Buffer<offset_t> before(q, a.nonzeros + 1), row_end(q, ends);
    launch(q, one_thread_each(a.nonzeros), count_of_each_kernel, a.col, a.nonzeros, b.row_begin, before.data());
    prim::exclusive_scan(q, before.data(), before.data(), a.nonzeros);
    launch(q, one_thread_each(ends), find_row_ends_kernel, a.row_begin, a.rows, before.data(), row_end.data());
    std::vector<offset_t> products(static_cast<std::size_t>(ends)), c_begin(static_cast<std::size_t>(ends));
    download(q, row_end.data(), products.data(), ends);
    download(q, c.row_begin, c_begin.data(), ends);
    row_end = {};
    Buffer<std::uint32_t> entry(q, std::min(work.products, std::max(at_once, work.longest)));
    for (const Chunk& chunk : cut_into_chunks(products, c_begin, at_once)) {
        offset_t* product = list.product.data() + chunk.first;
        const offset_t entries = c_begin[static_cast<std::size_t>(chunk.last_row)] - c_begin[0] - chunk.entry;
        launch(q, one_thread_each(chunk.products), write_down_kernel<V>, a, b, c, before.data(), chunk, entry.data(),
               product);
        prim::sort_pairs(q, entry.data(), product, chunk.products, prim::bits_for(static_cast<std::uint64_t>(entries)));
        launch(q, one_thread_each(chunk.products), mark_ends_kernel, entry.data(), chunk, product, list.begin.data());
    }
    list.known = true;
}

std::size_t list_bytes_for(const CudaQueue& q, const Workspace& work, index_t rows, index_t, offset_t nonzeros_a)
{
    const offset_t most = std::min(work.products, std::max(listed_at_once, work.longest));
    return static_cast<std::size_t>(most) * sizeof(std::uint32_t) +
           static_cast<std::size_t>(nonzeros_a + 1 + rows + 1) * sizeof(offset_t) + prim::sort_bytes_for(q, most);
}

template ProductList reserve_list(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&);
template ProductList reserve_list(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&);
template void list_products(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&,
                            const RowRange<float>&, ProductList&, offset_t);
template void list_products(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&,
                            const RowRange<double>&, ProductList&, offset_t);

}  // namespace tulle::inline TULLE_ABI::spgemm
