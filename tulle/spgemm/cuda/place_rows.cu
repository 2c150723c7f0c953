// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows into the lists of their groups. A block counts its rows by group, reserves room for them in each list at once, and writes them: rows
// near each other in the matrix stay near each other in the list, so their rows of B are still in the cache.
#include "tulle/spgemm/cuda/place_rows.hpp"

#include "tulle/device/copy.hpp"
#include "tulle/spgemm/cuda/rows.cuh"
#include "tulle/spgemm/cuda/totals.hpp"

namespace tulle::spgemm {
namespace {

constexpr int threads = 256;

struct Begins {
    offset_t at[most_groups];
};

Begins begins_of(const std::vector<RowGroup>& groups)
{
    Begins begins{};
    for (std::size_t g = 0; g < groups.size(); ++g) begins.at[g + 1] = groups[g].begin;
    return begins;
}

__device__ int filling_group(const RowView& v, index_t row, const RunByte& run)
{
    const offset_t nonzeros = v.row_begin[row + 1] - v.row_begin[row];
    return static_cast<int>(filler_for(v.facts[row], v.a_begin[row + 1] - v.a_begin[row], run, nonzeros, v.value_bytes, v.kinds));
}

__device__ int counting_group(const RowView& v, index_t row)
{
    return static_cast<int>(counter_for(v.facts[row], v.a_begin[row + 1] - v.a_begin[row], run_of(v.runs_a, row), v.kinds));
}

// Rows that nobody counts: empty, or one scaled row of B.
__device__ void count_trivial(const RowView& v, index_t row, offset_t* count)
{
    const RowFacts f = v.facts[row];
    if (f.products == 0 || v.a_begin[row + 1] - v.a_begin[row] == 1) count[row] = f.products;
}

// One thread per row.      list: every row whose group is not 0, once      cursor: zero before      count: trivial ones, where it is given
template <bool Filling>
__global__ void __launch_bounds__(threads) place_rows_kernel(RowView v, Begins begins, unsigned* cursor, index_t* list, offset_t* count)
{
    TULLE_SHARED(unsigned, mine, most_groups);
    TULLE_SHARED(unsigned, base, most_groups);
    if (threadIdx.x < most_groups) mine[threadIdx.x] = 0;
    __syncthreads();
    const offset_t k = global_thread();
    const bool exists = k < v.rows;
    const index_t row = exists ? v.first + static_cast<index_t>(k) : 0;
    int group = 0;
    if (!Filling && exists) count_trivial(v, row, count);
    if (exists) group = Filling ? filling_group(v, row, run_inside(v.runs_a, row, v.first, v.rows)) : counting_group(v, row);
    const unsigned at = exists ? atomicAdd(mine + group, 1u) : 0;
    __syncthreads();
    if (threadIdx.x < most_groups && threadIdx.x > 0)
        base[threadIdx.x] = mine[threadIdx.x] > 0 ? atomicAdd(cursor + threadIdx.x, mine[threadIdx.x]) : 0;
    __syncthreads();
    if (exists && group > 0) list[begins.at[group] + base[group] + at] = row;
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
    if (threadIdx.x < most_groups && histogram[threadIdx.x] > 0) atomicAdd(&totals->rows[threadIdx.x], histogram[threadIdx.x]);
    if (threadIdx.x < most_groups && alone[threadIdx.x] > 0) atomicAdd(&totals->alone[threadIdx.x], alone[threadIdx.x]);
    if (k == 0) totals->end = v.row_begin[v.first + v.rows];
}

// Filling rows together pays where there is a run among so many rows; fewer are not worth launches of their own (0.15 ms of cant, measured).
constexpr offset_t rows_per_run = 50;

offset_t runs_of(const Totals& totals)
{
    offset_t runs = 0;
    for (int f = static_cast<int>(Filler::run_tiny); f <= static_cast<int>(Filler::run_huge); ++f) runs += totals.rows[f];
    return runs;
}

}  // namespace

void place_for_counting(const CudaQueue& q, const RowView& rows, Workspace& work, offset_t* count)
{
    Buffer<unsigned> cursor(q, most_groups);
    fill_zero(q, cursor.data(), most_groups);
    launch(q, one_thread_each(rows.rows, threads), place_rows_kernel<false>, rows, begins_of(work.symbolic), cursor.data(), work.list.data(), count);
}

offset_t place_for_filling(const CudaQueue& q, RowView rows, Workspace& work)
{
    Buffer<Totals> totals(q, 1);
    fill_zero(q, totals.data(), 1);
    launch(q, one_thread_each(std::max(rows.rows, 1), threads), count_groups_kernel, rows, totals.data());
    const Totals found = read_value(q, totals.data());
    work.fills_runs = rows.runs_a && runs_of(found) * rows_per_run > rows.rows;
    if (!work.fills_runs) rows.runs_a = nullptr;
    work.numeric = groups_of(work.fills_runs ? found.rows : found.alone, filler_names);
    launch(q, one_thread_each(rows.rows, threads), place_rows_kernel<true>, rows, begins_of(work.numeric), totals.data()->cursor,
           work.list.data(), static_cast<offset_t*>(nullptr));
    return found.end;
}

}  // namespace tulle::spgemm
