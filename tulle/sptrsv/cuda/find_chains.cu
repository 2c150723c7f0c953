// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Chains of rows, found as levels are (matrix/cuda/find_levels.cu): a warp per row, by ticket, waits for the words of the rows it needs, and publishes its own. The
// row joins the chain of the latest of them if all others are of lower levels or of that chain, and if it is the first row that needs the last of them it
// needs there. That row can be followed once only, so that nobody has to count, and the chains are those of the host whoever comes first.
#include "tulle/device/copy.hpp"
#include "tulle/device/cuda/value_flag.cuh"
#include "tulle/sptrsv/cuda/nodes.cuh"

namespace tulle::sptrsv {
namespace {

constexpr int threads = 256;
constexpr unsigned whole_warp = 0xffffffffu;

// The first row that needs each row.      grid: one warp per row      first: beyond all rows before
__global__ void __launch_bounds__(threads) first_to_need_kernel(const offset_t* row_begin, const index_t* col, index_t rows, index_t* first)
{
    const offset_t row = global_thread() / lanes;
    if (row >= rows) return;
    for (offset_t k = row_begin[row] + static_cast<int>(threadIdx.x) % lanes; k < row_begin[row + 1]; k += lanes)
        if (load_relaxed(&first[col[k]]) > row) atomicMin(&first[col[k]], static_cast<index_t>(row));
}

__device__ Standing wait_for(const Standing* standing)
{
    Standing known = load_relaxed(standing);
    while (known == 0) known = load_relaxed(standing);
    return known;
}

__device__ Standing warp_maximum(Standing value)
{
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        const Standing other = __shfl_xor_sync(whole_warp, value, distance);
        value = other > value ? other : value;
    }
    return value;
}

// The latest of the rows that a row needs, the last of its chain; whether no other chain is as late. Every lane gets the same.
struct Latest {
    Standing standing = 0;
    index_t row = 0;
    bool alone = true;
};

__device__ Latest latest_needed(const offset_t* row_begin, const index_t* col, index_t row, int lane, const Standing* standing)
{
    Latest mine;
    Standing turned = 0;                                   // the first row of the chain turned round: the largest has the smallest
    for (offset_t k = row_begin[row] + lane; k < row_begin[row + 1]; k += lanes) {
        const Standing one = wait_for(&standing[col[k]]), other = (one ^ chain_mask) >> place_bits;
        if (one > mine.standing) mine = {one, col[k], true};
        turned = other > turned ? other : turned;
    }
    const Standing largest = warp_maximum(mine.standing);
    const int holder = __ffs(static_cast<int>(__ballot_sync(whole_warp, mine.standing == largest))) - 1;
    turned = warp_maximum(turned);
    return {largest, __shfl_sync(whole_warp, mine.row, holder), (turned ^ (chain_mask >> place_bits)) == largest >> place_bits};
}

// A warp takes one ticket, which tells its row.      grid: ceil(rows * 32 / threads)      ticket, standing, size: zero before
__global__ void __launch_bounds__(threads)
find_chains_kernel(const offset_t* row_begin, const index_t* col, index_t rows, Standing most, const index_t* first, unsigned* ticket, Standing* standing, index_t* size)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    unsigned taken = 0;
    if (lane == 0) taken = atomicAdd(ticket, 1u);
    const offset_t turn = __shfl_sync(whole_warp, taken, 0);
    if (turn >= rows) return;                              // the whole warp
    const auto row = static_cast<index_t>(turn);
    const Latest latest = latest_needed(row_begin, col, row, lane, standing);
    if (lane != 0) return;
    const bool is_long = row_begin[row + 1] - row_begin[row] > long_row;
    const Standing place = place_of(latest.standing) + 1;
    const bool joins = latest.standing != 0 && latest.alone && !is_long && place < most && first[latest.row] == row;
    store_relaxed(&standing[row], joins ? latest.standing + 1 : standing_of(level_of(latest.standing) + 1, row, is_long ? most_place : 0));
    if (joins) atomicMax(&size[first_of(latest.standing)], static_cast<index_t>(place) + 1);
}

}  // namespace

Chains find_chains(const CudaQueue& q, const Triangle& there, int most)
{
    require<ValueError>(there.rows < most_rows_there && most >= 1 && most <= most_rows, "chains of so many rows are not found on a GPU");
    Chains chains{.most = most, .standing = Buffer<unsigned long long>(q, there.rows), .size = Buffer<index_t>(q, there.rows)};
    Buffer<index_t> first(q, there.rows);
    Buffer<unsigned> ticket(q, 1);
    fill_bytes(q, first.data(), 0x7f, first.bytes());      // beyond all rows
    fill_zero(q, ticket.data(), 1);
    fill_zero(q, chains.standing.data(), there.rows);
    fill_zero(q, chains.size.data(), there.rows);
    const auto grid = one_thread_each(offset_t{there.rows} * lanes, threads);
    launch(q, grid, first_to_need_kernel, there.row_begin.data(), there.col.data(), there.rows, first.data());
    launch(q, grid, find_chains_kernel, there.row_begin.data(), there.col.data(), there.rows, static_cast<Standing>(most), first.data(), ticket.data(), chains.standing.data(), chains.size.data());
    return chains;
}

}  // namespace tulle::sptrsv
