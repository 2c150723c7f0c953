// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What counting and filling share in DeltaSPARSE: the walk over a row's products, and the range of columns of a long
// row.
#pragma once

#include "prim/search.hpp"
#include "spgemm/deltasparse/steps.hpp"
#include "spgemm/nsparse/cuda/nsparse.cuh"

namespace tulle::inline TULLE_ABI::spgemm::delta {

using nsparse::walk_products;

struct Range {
    index_t first, last;  // none: last < first
};

// Where the columns of a row of C lie, for every thread of the block; `cells` are two words of shared memory. Rows of B
// are sorted.
template <class V>
__device__ inline Range range_of(const CsrView<V>& a, const CsrView<V>& b, index_t row, index_t* cells)
{
    if (threadIdx.x == 0) {
        cells[0] = max_index;
        cells[1] = -1;
    }
    __syncthreads();
    for (offset_t k = a.row_begin[row] + threadIdx.x; k < a.row_begin[row + 1]; k += blockDim.x) {
        const offset_t begin = b.row_begin[a.col[k]], end = b.row_begin[a.col[k] + 1];
        if (begin == end) continue;
        atomicMin(cells, b.col[begin]);
        atomicMax(cells + 1, b.col[end - 1]);
    }
    __syncthreads();
    return {cells[0], cells[1]};
}

// visit(k, l) for those products of a row whose columns lie in begin … end - 1: a warp per nonzero of A.
template <int Threads, class V, class Visit>
__device__ inline void walk_range(const CsrView<V>& a, const CsrView<V>& b, index_t row, offset_t begin, offset_t end,
                                  Visit&& visit)
{
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    for (offset_t k = a.row_begin[row] + warp; k < a.row_begin[row + 1]; k += Threads / 32) {
        const offset_t from = b.row_begin[a.col[k]], to = b.row_begin[a.col[k] + 1];
        const offset_t first = from + prim::lower_bound(b.col + from, to - from, static_cast<index_t>(begin));
        for (offset_t l = first + lane; l < to && b.col[l] < end; l += 32) visit(k, l);
    }
}

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
