// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "sptrsv/schedule/cuda/tasks.cuh"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

struct RowsView {
    index_t rows;
    const index_t* row;
    const offset_t *begin, *source;
};

//   grid: one thread per row      reciprocal: every row written once
template <class V>
__global__ void __launch_bounds__(fill_threads)
    fill_reciprocals_kernel(const offset_t* diagonal, index_t rows, const V* value, V* reciprocal, unsigned* first_zero)
{
    const offset_t i = global_thread();
    if (i < rows) reciprocal[i] = reciprocal_of(diagonal, i, value, first_zero);
}

// A warp for each row.      grid: one warp per row      value: every entry written once
template <class V>
__global__ void __launch_bounds__(fill_threads)
    fill_rows_kernel(RowsView rows, const V* __restrict__ from, const V* __restrict__ reciprocal, V* __restrict__ to)
{
    const offset_t i = global_thread() / lanes;
    if (i >= rows.rows) return;
    for (offset_t k = rows.begin[i] + threadIdx.x % lanes; k < rows.begin[i + 1]; k += lanes)
        to[k] = from[rows.source[k]] * reciprocal[i];
}

}  // namespace

template <class V>
index_t fill_rows(const CudaQueue& q, const Rows& rows, const V* value, RowValues<V>& to)
{
    const offset_t* diagonal = rows.diagonal.empty() ? nullptr : rows.diagonal.data();
    FirstZero zero(q);
    launch(q, one_thread_each(rows.rows, fill_threads), fill_reciprocals_kernel<V>, diagonal, rows.rows, value,
           to.reciprocal.data(), zero.there());
    const RowsView view{rows.rows, rows.row.data(), rows.begin.data(), rows.source.data()};
    launch(q, one_thread_each(offset_t{rows.rows} * lanes, fill_threads), fill_rows_kernel<V>, view, value,
           to.reciprocal.data(), to.value.data());
    return zero.wait(rows.row);
}

template index_t fill_rows(const CudaQueue&, const Rows&, const float*, RowValues<float>&);
template index_t fill_rows(const CudaQueue&, const Rows&, const double*, RowValues<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
