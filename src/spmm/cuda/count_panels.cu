// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A block for each panel, which has a table of its columns: a slot holds a column and the mask of the slabs that use
// it. Tables stand one after the other in memory, each twice as large as its panel has entries, or the matrix columns
// if these are fewer. Only counts leave the GPU.
#include <algorithm>
#include <vector>

#include "base/hash.hpp"
#include "device/cuda/kernel.cuh"
#include "prim/scan.hpp"
#include "spmm/order/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int threads = 256, warps = threads / 32;

using Slot = unsigned long long;  // a column's number + 1, then its mask; 0: free
constexpr int mask_bits = 8;

// The panels that are counted.
struct Sampled {
    Pattern a;
    const index_t* row;  // at each position
    index_t height;
    const index_t* panel;  // null: the first ones
    index_t panels;

    __device__ offset_t first(offset_t k) const { return (panel != nullptr ? panel[k] : k) * height; }
    __device__ int rows(offset_t first) const
    {
        return static_cast<int>(a.rows - first < height ? a.rows - first : height);
    }
};

// One warp per panel.
//   grid: ceil(32 * panels / threads)      shared memory: none      entries, slots: one a panel
__global__ void __launch_bounds__(threads) size_tables_kernel(Sampled s, offset_t* entries, offset_t* slots)
{
    const offset_t k = global_thread() / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (k >= s.panels) return;
    const offset_t first = s.first(k);
    offset_t mine = 0;
    for (int i = lane; i < s.rows(first); i += 32)
        mine += s.a.row_begin[s.row[first + i] + 1] - s.a.row_begin[s.row[first + i]];
    const offset_t all = slice_sum<32>(mine);
    if (lane != 0) return;
    entries[k] = all;
    slots[k] = 2 * (all < s.a.cols ? all : s.a.cols);
}

// Adds a slab to the mask of a column. A free slot is always found: there are twice as many as columns.
__device__ inline void mark(Slot* table, offset_t slots, index_t col, unsigned bit)
{
    const Slot key = (static_cast<Slot>(col) + 1) << mask_bits;
    for (auto at =
             static_cast<offset_t>(below(mix(static_cast<std::uint64_t>(col)), static_cast<std::uint64_t>(slots)));
         ; at = at + 1 < slots ? at + 1 : 0) {
        const Slot found = atomicCAS(table + at, Slot{0}, key | bit);
        if (found == 0) return;
        if (found >> mask_bits != key >> mask_bits) continue;
        if ((found & bit) == 0) atomicOr(table + at, Slot{bit});
        return;
    }
}

// A warp per row of the panel; then all threads look through the table.
//   grid: panels      shared memory: 1 KB      counts: one a panel
__global__ void __launch_bounds__(threads)
    count_panels_kernel(Sampled s, const offset_t* entries, const offset_t* table_begin, Slot* tables,
                        PanelCounts* counts)
{
    TULLE_SHARED(index_t, cols_with, slab_masks);
    TULLE_SHARED(unsigned long long, distinct, 1);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const offset_t first = s.first(blockIdx.x), slots = table_begin[blockIdx.x + 1] - table_begin[blockIdx.x];
    Slot* table = tables + table_begin[blockIdx.x];
    for (int i = static_cast<int>(threadIdx.x); i < slab_masks; i += threads) cols_with[i] = 0;
    if (threadIdx.x == 0) distinct[0] = 0;
    __syncthreads();
    offset_t mine = 0;
    for (int i = static_cast<int>(threadIdx.x) / 32; i < s.rows(first); i += warps) {
        const offset_t begin = s.a.row_begin[s.row[first + i]], end = s.a.row_begin[s.row[first + i] + 1];
        for (offset_t k = begin + lane; k < end; k += 32) {
            mine += k == begin || s.a.col[k] != s.a.col[k - 1];
            mark(table, slots, s.a.col[k], 1u << i / counted_slab);
        }
    }
    if (mine > 0) atomicAdd(distinct, static_cast<unsigned long long>(mine));
    __syncthreads();
    for (offset_t k = threadIdx.x; k < slots; k += threads)
        if (table[k] != 0) atomicAdd(cols_with + (table[k] & (slab_masks - 1)), 1);
    __syncthreads();
    if (threadIdx.x != 0) return;
    PanelCounts all{count_columns(cols_with), entries[blockIdx.x]};
    all.cost.nonzeros = static_cast<offset_t>(distinct[0]);
    counts[blockIdx.x] = all;
}

}  // namespace

PanelCounts count_panels(const CudaQueue& q, const Pattern& a, const index_t* row, index_t height,
                         const PanelList& list)
{
    if (list.count == 0) return {};
    const Buffer<index_t> panel = to_queue(q, list.number, list.number != nullptr ? list.count : 0);
    const Sampled sampled{a, row, height, list.number != nullptr ? panel.data() : nullptr, list.count};
    Buffer<offset_t> entries(q, list.count), slots(q, offset_t{list.count} + 1);
    launch(q, one_thread_each(32 * offset_t{list.count}, threads), size_tables_kernel, sampled, entries.data(),
           slots.data());
    prim::exclusive_scan(q, slots.data(), slots.data(), list.count);
    Buffer<Slot> tables(q, read_value<offset_t>(q, slots.data() + list.count));
    fill_zero(q, tables.data(), tables.size());
    Buffer<PanelCounts> counts(q, list.count);
    launch(q, {list.count, threads}, count_panels_kernel, sampled, entries.data(), slots.data(), tables.data(),
           counts.data());
    std::vector<PanelCounts> here(static_cast<std::size_t>(list.count));
    download(q, counts.data(), here.data(), list.count);
    PanelCounts all;
    for (const PanelCounts& some : here) all += some;
    return all;
}

}  // namespace tulle::inline TULLE_ABI::spmm
