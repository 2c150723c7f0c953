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
//   grid: ceil(rows * 8 / 256)      like: one byte a row, lowest bit only
__global__ void __launch_bounds__(threads) compare_rows_kernel(const offset_t* row_begin, const index_t* col, offset_t rows, unsigned char* like)
{
    const offset_t row = global_thread() / lanes_per_row;
    const int lane = static_cast<int>(threadIdx.x) % lanes_per_row;
    const unsigned slice = 0xffu << (threadIdx.x % 32 / lanes_per_row * lanes_per_row);
    const bool exists = row < rows;
    const offset_t begin = exists ? row_begin[row] : 0, length = exists ? row_begin[row + 1] - begin : 0;
    bool equal = exists && row > 0 && length > 0 && begin - row_begin[row - 1] == length;
    for (offset_t k = lane; __any_sync(all_lanes, equal && k - lane < length); k += lanes_per_row) {
        const bool differs = equal && k < length && col[begin + k] != col[begin + k - length];
        if (__ballot_sync(all_lanes, differs) & slice) equal = false;
    }
    if (exists && lane == 0) like[row] = equal ? 1 : 0;
}

// One thread a row.
__global__ void __launch_bounds__(threads) place_rows_kernel(const unsigned char* like, offset_t rows, unsigned char* runs)
{
    const offset_t row = global_thread();
    if (row < rows) runs[row] = pack(run_byte(like, rows, row));
}

// One thread a row.      span: {0, -1} for empty rows
__global__ void __launch_bounds__(threads) find_spans_kernel(const offset_t* row_begin, const index_t* col, offset_t rows, Span* span)
{
    const offset_t row = global_thread();
    if (row >= rows) return;
    const offset_t begin = row_begin[row], end = row_begin[row + 1];
    span[row] = begin < end ? Span{col[begin], col[end - 1]} : Span{0, -1};
}

}  // namespace

template <class V>
Buffer<unsigned char> find_runs(const CudaQueue& q, const CsrView<V>& a)
{
    Buffer<unsigned char> like(q, a.rows), runs(q, a.rows);
    launch(q, one_thread_each(offset_t{a.rows} * lanes_per_row, threads), compare_rows_kernel, a.row_begin, a.col, offset_t{a.rows}, like.data());
    launch(q, one_thread_each(a.rows, threads), place_rows_kernel, like.data(), offset_t{a.rows}, runs.data());
    return runs;
}

template <class V>
Buffer<Span> find_spans(const CudaQueue& q, const CsrView<V>& b)
{
    Buffer<Span> span(q, b.rows);
    launch(q, one_thread_each(b.rows, threads), find_spans_kernel, b.row_begin, b.col, offset_t{b.rows}, span.data());
    return span;
}

template Buffer<unsigned char> find_runs(const CudaQueue&, const CsrView<float>&);
template Buffer<unsigned char> find_runs(const CudaQueue&, const CsrView<double>&);
template Buffer<Span> find_spans(const CudaQueue&, const CsrView<float>&);
template Buffer<Span> find_spans(const CudaQueue&, const CsrView<double>&);

}  // namespace tulle::spgemm
