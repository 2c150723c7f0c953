// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp for every row; its lanes look at neighbouring candidates.
#include "matrix/convert_steps.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

constexpr int warp = 32;
constexpr unsigned whole_warp = 0xffffffffu;

constexpr LaunchShape one_warp_each(offset_t rows) { return one_thread_each(rows * warp); }

// What this warp has to look at: nothing where the grid is larger than the matrix.
template <class View>
__device__ offset_t candidates_of_warp(const View& a, offset_t row)
{
    return row < a.rows ? candidates(a) : 0;
}

//   grid: one warp per row      shared memory: none      count: every row written once
template <class View>
__global__ void count_entries_kernel(View a, offset_t* __restrict__ count)
{
    const int lane = static_cast<int>(threadIdx.x % warp);
    const offset_t row = global_thread() / warp;
    const offset_t n = candidates_of_warp(a, row);
    offset_t found = 0;
    for (offset_t k = lane; k < n; k += warp) found += candidate(a, static_cast<index_t>(row), k).value != 0 ? 1 : 0;
    found = slice_sum<warp>(found);
    if (row < a.rows && lane == 0) count[row] = found;
}

// In every step the lanes that have an entry count those before them, and so keep the order.
//   grid: one warp per row      shared memory: none      col, value: every entry written once
template <class View, class V>
__global__ void fill_entries_kernel(View a, const offset_t* __restrict__ row_begin, index_t* __restrict__ col,
                                    V* __restrict__ value)
{
    const int lane = static_cast<int>(threadIdx.x % warp);
    const offset_t row = global_thread() / warp;
    const offset_t n = candidates_of_warp(a, row);
    offset_t to = n > 0 ? row_begin[row] : 0;
    for (offset_t step = 0; step < n; step += warp) {
        const offset_t k = step + lane;
        const Candidate<V> found = k < n ? candidate(a, static_cast<index_t>(row), k) : Candidate<V>{0, V(0)};
        const unsigned having = __ballot_sync(whole_warp, found.value != 0);
        if (found.value != 0) {
            const int before = __popc(having & ((1u << lane) - 1));
            col[to + before] = found.col;
            value[to + before] = found.value;
        }
        to += __popc(having);
    }
}

}  // namespace

template <class View>
void count_entries(const CudaQueue& q, const View& a, offset_t* count)
{
    launch(q, one_warp_each(a.rows), count_entries_kernel<View>, a, count);
}

template <class View, class V>
void fill_entries(const CudaQueue& q, const View& a, const offset_t* row_begin, index_t* col, V* value)
{
    launch(q, one_warp_each(a.rows), fill_entries_kernel<View, V>, a, row_begin, col, value);
}

template void count_entries(const CudaQueue&, const DenseRows<float>&, offset_t*);
template void count_entries(const CudaQueue&, const DenseRows<double>&, offset_t*);
template void count_entries(const CudaQueue&, const BlockedEllView<float>&, offset_t*);
template void count_entries(const CudaQueue&, const BlockedEllView<double>&, offset_t*);
template void fill_entries(const CudaQueue&, const DenseRows<float>&, const offset_t*, index_t*, float*);
template void fill_entries(const CudaQueue&, const DenseRows<double>&, const offset_t*, index_t*, double*);
template void fill_entries(const CudaQueue&, const BlockedEllView<float>&, const offset_t*, index_t*, float*);
template void fill_entries(const CudaQueue&, const BlockedEllView<double>&, const offset_t*, index_t*, double*);

}  // namespace tulle::inline TULLE_ABI::matrix
