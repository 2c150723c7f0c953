// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Upper bounds of the nonzeros of every row of C (DeltaSPARSE's algorithm 2).
#include "device/cuda/kernel.cuh"

#include "spgemm/steps.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// One thread per row.      products: every row, once
__global__ void __launch_bounds__(256) count_products_kernel(const offset_t* a_begin, const index_t* a_col,
                                                             index_t rows, const offset_t* b_begin, offset_t* products)
{
    const offset_t row = global_thread();
    if (row >= rows) return;
    offset_t upper = 0;
    for (offset_t k = a_begin[row]; k < a_begin[row + 1]; ++k) upper += b_begin[a_col[k] + 1] - b_begin[a_col[k]];
    products[row] = upper;
}

}  // namespace

template <class V>
void count_products(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, offset_t* products)
{
    launch(q, one_thread_each(a.rows), count_products_kernel, a.row_begin, a.col, a.rows, b.row_begin, products);
}

template void count_products(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, offset_t*);
template void count_products(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, offset_t*);

}  // namespace tulle::inline TULLE_ABI::spgemm
