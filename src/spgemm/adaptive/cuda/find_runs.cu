// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows that equal their predecessor, and the first and last column of every row.
#include "spgemm/adaptive/cuda/find_runs.hpp"

#include "spgemm/adaptive/cuda/rows.cuh"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int threads = 256;
constexpr offset_t longest_compared =
    512;  // entries; comparing longer rows would hold up the others, and runs of them are rare

// A slice of lanes compares a row with the one before it until they differ; most do at once.
template <int Lanes>
__device__ bool compare(const offset_t* row_begin, const index_t* col, offset_t row, offset_t begin, offset_t length)
{
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const unsigned slice = ((1u << Lanes) - 1) << (threadIdx.x % 32 / Lanes * Lanes);
    bool equal = row > 0 && length > 0 && length <= longest_compared && begin - row_begin[row - 1] == length;
    for (offset_t k = lane; __any_sync(all_lanes, equal && k - lane < length); k += Lanes) {
        const bool differs = equal && k < length && col[begin + k] != col[begin + k - length];
        if (__ballot_sync(all_lanes, differs) & slice) equal = false;
    }
    return equal;
}

//   grid: ceil(rows * Lanes / 256)      like, span: one a row, where they are wanted
template <int Lanes>
__global__ void __launch_bounds__(threads)
    look_at_rows_kernel(const offset_t* row_begin, const index_t* col, offset_t rows, unsigned char* like, Span* span)
{
    const offset_t row = global_thread() / Lanes;
    const bool exists = row < rows;
    const offset_t begin = exists ? row_begin[row] : 0, length = exists ? row_begin[row + 1] - begin : 0;
    const bool equal = like && compare<Lanes>(row_begin, col, row, begin, length);
    if (!exists || threadIdx.x % Lanes != 0) return;
    if (like) like[row] = equal ? 1 : 0;
    if (span) span[row] = length > 0 ? Span{col[begin], col[begin + length - 1]} : no_columns;
}

}  // namespace

template <class V>
void look_at_rows(const CudaQueue& q, const CsrView<V>& a, unsigned char* like, Span* span)
{
    const bool is_short = a.nonzeros <= 6 * offset_t{a.rows};
    launch(q, one_thread_each(offset_t{a.rows} * (is_short ? 4 : 8), threads),
           is_short ? look_at_rows_kernel<4> : look_at_rows_kernel<8>, a.row_begin, a.col, offset_t{a.rows}, like,
           span);
}

template void look_at_rows(const CudaQueue&, const CsrView<float>&, unsigned char*, Span*);
template void look_at_rows(const CudaQueue&, const CsrView<double>&, unsigned char*, Span*);

}  // namespace tulle::inline TULLE_ABI::spgemm
