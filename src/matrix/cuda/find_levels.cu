// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp per row waits until the rows before it that it has entries for know their levels. Rows are handed out by a
// ticket in ascending order, so whoever is waited for has started already and waits in turn only for earlier rows: the
// first row that is not ready waits for nobody, and everything moves on, however few blocks the device runs at once.
// The level is its own flag: zero means not known yet. Nothing else travels with it, so no order is asked of memory.
#include "device/cuda/value_flag.cuh"
#include "matrix/inspect_steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::inspect {
namespace {

constexpr int threads = 256;
constexpr unsigned whole_warp = 0xffffffffu;

__device__ index_t wait_for(const index_t* level)
{
    index_t known = load_relaxed(level);
    while (known == 0) known = load_relaxed(level);
    return known;
}

__device__ index_t level_before(const offset_t* row_begin, const index_t* col, index_t row, int lane,
                                const index_t* level)
{
    index_t before = 0;
    for (offset_t k = row_begin[row] + lane; k < row_begin[row + 1]; k += 32) {
        if (col[k] >= row) continue;
        const index_t one = wait_for(&level[col[k]]);
        before = one > before ? one : before;
    }
    return before;
}

// A warp takes one ticket, which tells its row.      grid: ceil(rows * 32 / threads)      ticket, level: zero before
__global__ void __launch_bounds__(threads)
    find_levels_kernel(const offset_t* row_begin, const index_t* col, index_t rows, unsigned* ticket, index_t* level)
{
    const int lane = threadIdx.x % 32;
    unsigned taken = 0;
    if (lane == 0) taken = atomicAdd(ticket, 1u);
    const offset_t turn = __shfl_sync(whole_warp, taken, 0);
    const auto row = static_cast<index_t>(turn);
    const index_t before = slice_max<32>(turn < rows ? level_before(row_begin, col, row, lane, level) : 0);
    if (turn < rows && lane == 0) store_relaxed(&level[row], before + 1);
}

}  // namespace

void find_levels(const CudaQueue& q, const offset_t* row_begin, const index_t* col, index_t rows, index_t* level)
{
    Buffer<unsigned> ticket(q, 1);
    fill_zero(q, ticket.data(), 1);
    fill_zero(q, level, rows);
    launch(q, one_thread_each(offset_t{rows} * 32, threads), find_levels_kernel, row_begin, col, rows, ticket.data(),
           level);
}

}  // namespace tulle::inline TULLE_ABI::inspect
