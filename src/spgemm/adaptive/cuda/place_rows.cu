// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows into the lists of their groups. A block counts its rows by group, reserves room for them in each list at once,
// and writes them: rows near each other in the matrix stay near each other in the list, so their rows of B are still in
// the cache.
#include "spgemm/adaptive/cuda/place_rows.hpp"

#include "device/cuda/pinned_readback.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/adaptive/cuda/totals.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int threads = 256;

// Where the group of this lane's number begins in the list; group 0 is nobody's work and is left out.
__device__ unsigned begin_of_group(const unsigned* rows)
{
    static_assert(most_groups <= 32);
    const int group = team_rank<32>();
    const unsigned mine = group > 0 && group < most_groups ? rows[group] : 0;
    return warp_running_sum(mine) - mine;
}

__device__ int filling_group(const RowView& v, index_t row, const RunByte& run)
{
    const offset_t nonzeros = v.row_begin[row + 1] - v.row_begin[row];
    return static_cast<int>(
        filler_for(v.facts[row], v.a_begin[row + 1] - v.a_begin[row], run, nonzeros, v.value_bytes, v.kinds));
}

__device__ int counting_group(const RowView& v, index_t row)
{
    return static_cast<int>(
        counter_for(v.facts[row], v.a_begin[row + 1] - v.a_begin[row], run_of(v.runs_a, row), v.kinds));
}

// Rows that nobody counts: empty, or one scaled row of B.
__device__ void count_trivial(const RowView& v, index_t row, offset_t* count)
{
    const RowStats f = v.facts[row];
    if (f.products == 0 || v.a_begin[row + 1] - v.a_begin[row] == 1) count[row] = f.products;
}

// One thread per row.      list: every row whose group is not 0, once      totals: rows of each group; cursor is zero
// before
//   count: trivial ones, while counting      told: the totals, while filling
template <bool Filling>
__global__ void __launch_bounds__(threads)
    place_rows_kernel(RowView v, BothTotals* totals, index_t* list, offset_t* count, BothTotals* told)
{
    TULLE_SHARED(unsigned, mine, most_groups);
    TULLE_SHARED(unsigned, base, most_groups);
    Totals& of = Filling ? totals->filling : totals->counting;
    const bool together = !Filling || (v.runs_a && runs_pay(of, v.rows));
    if (!together) v.runs_a = nullptr;
    if (Filling && blockIdx.x == 0) tell(totals, of.cursor, told);
    const unsigned begin = threadIdx.x < 32 ? begin_of_group(together ? of.rows : of.alone) : 0;
    if (threadIdx.x < most_groups) mine[threadIdx.x] = 0;
    __syncthreads();
    const offset_t k = global_thread();
    const bool exists = k < v.rows;
    const index_t row = exists ? v.first + static_cast<index_t>(k) : 0;
    int group = 0;
    if (!Filling && exists) count_trivial(v, row, count);
    if (exists)
        group = Filling ? filling_group(v, row, run_inside(v.runs_a, row, v.first, v.rows)) : counting_group(v, row);
    const unsigned at = exists ? atomicAdd(mine + group, 1u) : 0;
    __syncthreads();
    if (threadIdx.x < most_groups && threadIdx.x > 0)
        base[threadIdx.x] = mine[threadIdx.x] > 0 ? begin + atomicAdd(of.cursor + threadIdx.x, mine[threadIdx.x]) : 0;
    __syncthreads();
    if (exists && group > 0) list[base[group] + at] = row;
}

// How many rows each group has, with rows filled together and without.      grid: one thread per row
__global__ void __launch_bounds__(threads) count_groups_kernel(RowView v, Totals* totals)
{
    TULLE_SHARED(unsigned, histogram, most_groups);
    TULLE_SHARED(unsigned, alone, most_groups);
    if (threadIdx.x < most_groups) histogram[threadIdx.x] = alone[threadIdx.x] = 0;
    __syncthreads();
    const offset_t k = global_thread();
    if (k < v.rows) {
        const index_t row = v.first + static_cast<index_t>(k);
        const RunByte run = run_inside(v.runs_a, row, v.first, v.rows), none{false, 0, 1};
        const int group = filling_group(v, row, run);
        atomicAdd(histogram + group, 1u);
        atomicAdd(alone + (run.length > 1 ? filling_group(v, row, none) : group), 1u);
    }
    __syncthreads();
    if (threadIdx.x < most_groups && histogram[threadIdx.x] > 0)
        atomicAdd(&totals->rows[threadIdx.x], histogram[threadIdx.x]);
    if (threadIdx.x < most_groups && alone[threadIdx.x] > 0) atomicAdd(&totals->alone[threadIdx.x], alone[threadIdx.x]);
    if (k == 0) totals->end = v.row_begin[v.first + v.rows];
}

}  // namespace

void place_for_counting(const CudaQueue& q, const RowView& rows, Workspace& work, offset_t* count)
{
    launch(q, one_thread_each(rows.rows, threads), place_rows_kernel<false>, rows, work.totals.data(), work.list.data(),
           count, static_cast<BothTotals*>(nullptr));
}

offset_t place_for_filling(const CudaQueue& q, const RowView& rows, Workspace& work)
{
    BothTotals* const totals = work.totals.data();
    if (!std::exchange(work.totals_are_zero, false)) fill_zero(q, &totals->filling, 1);
    const LaunchShape shape = one_thread_each(std::max(rows.rows, 1), threads);
    launch(q, shape, count_groups_kernel, rows, &totals->filling);
    cuda::PinnedReadback<BothTotals> box(q);
    launch(q, shape, place_rows_kernel<true>, rows, totals, work.list.data(), static_cast<offset_t*>(nullptr),
           box.there());
    const BothTotals& found = box.wait();
    if (work.kinds.at_once) note_counting(found.counting, work);
    work.fills_runs = rows.runs_a && runs_pay(found.filling, rows.rows);
    work.numeric = groups_of(work.fills_runs ? found.filling.rows : found.filling.alone, filler_names);
    return found.filling.end;
}

}  // namespace tulle::inline TULLE_ABI::spgemm
