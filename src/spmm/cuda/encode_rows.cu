// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp for each row. The lane whose column is the first of its block in the row counts the block: it walks on until
// the block ends.
#include <cmath>

#include "base/math.hpp"
#include "device/cuda/kernel.cuh"
#include "spmm/order/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int lanes = 32, threads = 256;
constexpr unsigned whole_warp = 0xffffffffu;

// Distinct columns from position k on, in the block of the column there.
__device__ index_t count_in_block(const index_t* __restrict__ col, offset_t k, offset_t end, index_t tau)
{
    const index_t block = col[k] / tau;
    index_t count = 0, last = -1;
    for (; k < end && col[k] / tau == block; ++k) {
        count += col[k] != last;
        last = col[k];
    }
    return count;
}

//   grid: a warp a row
//   shared memory: none
//   entry: the first blocks[r] from begin[r] on of each row; blocks, sum, extent: every row
__global__ void __launch_bounds__(threads)
    encode_rows_kernel(Pattern a, index_t tau, BlockCount* __restrict__ entry, index_t* __restrict__ blocks,
                       index_t* __restrict__ sum, Extent* __restrict__ extent)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t row = global_thread() / lanes;
    if (row >= a.rows) return;  // the whole warp
    const offset_t begin = a.row_begin[row], end = a.row_begin[row + 1];
    index_t found = 0, columns = 0;
    offset_t squares = 0;
    for (offset_t base = begin; base < end; base += lanes) {
        const offset_t k = base + lane;
        const bool is_first = k < end && (k == begin || a.col[k] / tau != a.col[k - 1] / tau);
        const unsigned firsts = __ballot_sync(whole_warp, is_first);
        if (is_first) {
            const index_t count = count_in_block(a.col, k, end, tau);
            entry[begin + found + __popc(firsts & ((1u << lane) - 1))] = {a.col[k] / tau, count};
            columns += count;
            squares += offset_t{count} * count;
        }
        found += __popc(firsts);
    }
    columns = slice_sum<lanes>(columns);
    squares = slice_sum<lanes>(squares);
    if (lane != 0) return;
    const double length = sqrt(static_cast<double>(squares));
    blocks[row] = found;
    sum[row] = columns;
    extent[row] = found == 0 ? Extent{} : Extent{length, static_cast<double>(columns) / length};
}

}  // namespace

Encodings encode_rows(const CudaQueue& q, const Pattern& a, index_t tau)
{
    Encodings e{.rows = a.rows,
                .tau = tau,
                .all_blocks = ceil_div(a.cols, tau),
                .begin = a.row_begin,
                .entry = Buffer<BlockCount>(q, a.nonzeros),
                .blocks = Buffer<index_t>(q, a.rows),
                .sum = Buffer<index_t>(q, a.rows),
                .extent = Buffer<Extent>(q, a.rows)};
    launch(q, one_thread_each(offset_t{a.rows} * lanes, threads), encode_rows_kernel, a, tau, e.entry.data(),
           e.blocks.data(), e.sum.data(), e.extent.data());
    return e;
}

}  // namespace tulle::inline TULLE_ABI::spmm
