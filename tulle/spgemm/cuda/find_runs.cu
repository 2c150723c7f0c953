// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows that equal their predecessor, and the first and last column of every row.
#include "tulle/spgemm/cuda/find_runs.hpp"

#include "tulle/spgemm/cuda/rows.cuh"

namespace tulle::spgemm {
namespace {

constexpr int lanes_per_row = 8;
constexpr int threads = 256;

// Eight lanes compare a row with the one before it until they differ; most do at once.
__device__ bool compare(const offset_t* row_begin, const index_t* col, offset_t row, offset_t begin, offset_t length)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes_per_row;
    const unsigned slice = 0xffu << (threadIdx.x % 32 / lanes_per_row * lanes_per_row);
    bool equal = row > 0 && length > 0 && begin - row_begin[row - 1] == length;
    for (offset_t k = lane; __any_sync(all_lanes, equal && k - lane < length); k += lanes_per_row) {
        const bool differs = equal && k < length && col[begin + k] != col[begin + k - length];
        if (__ballot_sync(all_lanes, differs) & slice) equal = false;
    }
    return equal;
}

//   grid: ceil(rows * 8 / 256)      like, span: one a row, where they are wanted
__global__ void __launch_bounds__(threads) look_at_rows_kernel(const offset_t* row_begin, const index_t* col, offset_t rows, unsigned char* like, Span* span)
{
    const offset_t row = global_thread() / lanes_per_row;
    const bool exists = row < rows;
    const offset_t begin = exists ? row_begin[row] : 0, length = exists ? row_begin[row + 1] - begin : 0;
    const bool equal = like && compare(row_begin, col, row, begin, length);
    if (!exists || threadIdx.x % lanes_per_row != 0) return;
    if (like) like[row] = equal ? 1 : 0;
    if (span) span[row] = length > 0 ? Span{col[begin], col[begin + length - 1]} : Span{0, -1};
}

}  // namespace

template <class V>
void look_at_rows(const CudaQueue& q, const CsrView<V>& a, unsigned char* like, Span* span)
{
    launch(q, one_thread_each(offset_t{a.rows} * lanes_per_row, threads), look_at_rows_kernel, a.row_begin, a.col, offset_t{a.rows}, like, span);
}

template void look_at_rows(const CudaQueue&, const CsrView<float>&, unsigned char*, Span*);
template void look_at_rows(const CudaQueue&, const CsrView<double>&, unsigned char*, Span*);

}  // namespace tulle::spgemm
