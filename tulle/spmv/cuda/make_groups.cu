// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Finds runs of rows with the same columns and cuts them into groups of at most two, three or four rows, whichever wastes least.
#include "tulle/device/cuda/kernel.cuh"

#include "tulle/device/copy.hpp"
#include "tulle/prim/scan.hpp"
#include "tulle/spmv/group_size.hpp"
#include "tulle/spmv/steps.hpp"

namespace tulle::spmv {
namespace {

constexpr int threads_per_block = 256;
constexpr int lanes_per_row = 8;
constexpr unsigned all_lanes = 0xffffffffu;

// Lanes of this slice of the warp.
__device__ unsigned slice_mask() { return 0xffu << (threadIdx.x % 32 / lanes_per_row * lanes_per_row); }

// starts[row] = 1 unless the row has the columns of the row before.
//   grid: ceil(rows * lanes / threads)      shared memory: none      starts: every row once
__global__ void __launch_bounds__(threads_per_block) find_starts_kernel(index_t rows, const offset_t* row_begin, const index_t* col, offset_t* starts)
{
    const offset_t row = global_thread() / lanes_per_row;
    const int lane = static_cast<int>(threadIdx.x) % lanes_per_row;
    bool differs = row >= rows || row == 0;
    if (!differs) {
        const offset_t before = row_begin[row - 1], begin = row_begin[row], length = row_begin[row + 1] - begin;
        differs = length != begin - before;
        for (offset_t k = lane; !differs && k < length; k += lanes_per_row) differs = col[begin + k] != col[before + k];
    }
    const bool any = (__ballot_sync(all_lanes, differs) & slice_mask()) != 0;
    if (row < rows && lane == 0) starts[row] = any ? 1 : 0;
}

// run[row]: runs begun before the row; begin[k]: first row of run k, with the end of the last.
//   grid: ceil(rows / threads)      shared memory: none      begin: one a run
__global__ void __launch_bounds__(threads_per_block) list_runs_kernel(index_t rows, const offset_t* run, index_t* begin)
{
    const offset_t row = global_thread();
    if (row >= rows) return;
    if (run[row + 1] != run[row]) begin[run[row]] = static_cast<index_t>(row);
    if (row == rows - 1) begin[run[rows]] = rows;
}

// How many groups there would be, for each of the three sizes.
//   grid: ceil(rows / threads)      shared memory: none      count: atomically, integers
__global__ void __launch_bounds__(threads_per_block) count_groups_kernel(index_t rows, const offset_t* run, const index_t* begin, unsigned long long* count)
{
    const offset_t r = global_thread();
    const index_t length = r < run[rows] ? begin[r + 1] - begin[r] : 0;
    for (int k = 0; k < group_sizes; ++k) {
        const unsigned long long groups = slice_sum<32>(static_cast<unsigned long long>(groups_of(length, smallest_group + k)));
        if (threadIdx.x % 32 == 0 && groups != 0) atomicAdd(count + k, groups);
    }
}

//   grid: ceil(rows / threads)      shared memory: none      count: one a run, zero behind the last
__global__ void __launch_bounds__(threads_per_block) count_by_run_kernel(index_t rows, const offset_t* run, const index_t* begin, int most, offset_t* count)
{
    const offset_t r = global_thread();
    if (r < rows) count[r] = r < run[rows] ? groups_of(begin[r + 1] - begin[r], most) : 0;
}

// One thread per row; those that begin a group write it.
//   grid: ceil(rows / threads)      shared memory: none      group: every group once
__global__ void __launch_bounds__(threads_per_block)
    write_groups_kernel(index_t rows, const offset_t* row_begin, const offset_t* run, const index_t* begin, int most, const offset_t* at, RowGroup* group)
{
    const offset_t row = global_thread();
    if (row >= rows) return;
    const offset_t r = run[row + 1] - 1;
    const index_t place = static_cast<index_t>(row) - begin[r];
    if (place % most != 0) return;
    const int size = min(most, begin[r + 1] - static_cast<index_t>(row));
    const auto length = static_cast<std::int32_t>(row_begin[row + 1] - row_begin[row]);
    group[at[r] + place / most] = {row_begin[row], static_cast<index_t>(row), length * 8 + size};
}

}  // namespace

template <class M>
Groups make_groups(const CudaQueue& q, const CsrView<M>& a)
{
    const LaunchShape by_row = one_thread_each(a.rows, threads_per_block);
    Buffer<offset_t> run(q, offset_t{a.rows} + 1), count(q, offset_t{a.rows} + 1);
    Buffer<index_t> begin(q, offset_t{a.rows} + 1);
    Buffer<unsigned long long> sizes(q, group_sizes);
    launch(q, one_thread_each(offset_t{a.rows} * lanes_per_row, threads_per_block), find_starts_kernel, a.rows, a.row_begin, a.col, run.data());
    prim::exclusive_scan(q, run.data(), run.data(), a.rows);
    launch(q, by_row, list_runs_kernel, a.rows, run.data(), begin.data());
    fill_zero(q, sizes.data(), group_sizes);
    launch(q, by_row, count_groups_kernel, a.rows, run.data(), begin.data(), sizes.data());
    GroupCounts groups;
    download(q, sizes.data(), groups.data(), group_sizes);

    Groups made{.group = {}, .most = best_group(groups)};
    made.group = Buffer<RowGroup>(q, static_cast<offset_t>(groups[static_cast<std::size_t>(made.most - smallest_group)]));
    launch(q, by_row, count_by_run_kernel, a.rows, run.data(), begin.data(), made.most, count.data());
    prim::exclusive_scan(q, count.data(), count.data(), a.rows);
    launch(q, by_row, write_groups_kernel, a.rows, a.row_begin, run.data(), begin.data(), made.most, count.data(), made.group.data());
    return made;
}

template Groups make_groups(const CudaQueue&, const CsrView<float>&);
template Groups make_groups(const CudaQueue&, const CsrView<double>&);

}  // namespace tulle::spmv
