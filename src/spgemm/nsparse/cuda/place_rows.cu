// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// nsparse, steps 2 and 5: rows into seven groups by their products or nonzeros.
#include "spgemm/nsparse/cuda/place_rows.hpp"

#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/nsparse/cuda/nsparse.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm::nsparse {
namespace {

constexpr int threads = 256;

struct Tally {
    unsigned long long sum, longest;
    offset_t end;
    unsigned rows[groups + 1];
    unsigned cursor[groups + 1];
};

struct Sizes {
    const offset_t* size;
    const offset_t* row_begin;
    index_t first, rows;

    __device__ offset_t of(offset_t k) const
    {
        return row_begin ? row_begin[first + k + 1] - row_begin[first + k] : size[first + k];
    }
};

// One thread per row.      tally: zero before
__global__ void __launch_bounds__(threads) tally_kernel(Sizes sizes, Groups g, Tally* tally)
{
    TULLE_SHARED(unsigned, rows, groups + 1);
    TULLE_SHARED(unsigned long long, sums, 2);
    if (threadIdx.x <= groups) rows[threadIdx.x] = 0;
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();
    const offset_t k = global_thread();
    if (k < sizes.rows) {
        const offset_t size = sizes.of(k);
        atomicAdd(rows + group_of(g, size), 1u);
        atomicAdd(sums, static_cast<unsigned long long>(size));
        atomicMax(sums + 1, static_cast<unsigned long long>(size));
    }
    __syncthreads();
    if (threadIdx.x <= groups && rows[threadIdx.x] > 0) atomicAdd(&tally->rows[threadIdx.x], rows[threadIdx.x]);
    if (threadIdx.x == 0) {
        atomicAdd(&tally->sum, sums[0]);
        atomicMax(&tally->longest, sums[1]);
    }
    if (k == 0) tally->end = sizes.row_begin ? sizes.row_begin[sizes.first + sizes.rows] : 0;
}

// One thread per row.      list: every row that is not empty, once
__global__ void __launch_bounds__(threads) place_kernel(Sizes sizes, Groups g, Tally* tally, index_t* list)
{
    TULLE_SHARED(unsigned, mine, groups + 1);
    TULLE_SHARED(offset_t, base, groups + 1);
    if (threadIdx.x <= groups) mine[threadIdx.x] = 0;
    __syncthreads();
    const offset_t k = global_thread();
    const int group = k < sizes.rows ? group_of(g, sizes.of(k)) : 0;
    const unsigned at = group > 0 ? atomicAdd(mine + group, 1u) : 0;
    __syncthreads();
    if (threadIdx.x > 0 && threadIdx.x <= groups) {
        offset_t begin = 0;
        for (unsigned before = 1; before < threadIdx.x; ++before) begin += tally->rows[before];
        base[threadIdx.x] =
            begin + (mine[threadIdx.x] > 0 ? atomicAdd(&tally->cursor[threadIdx.x], mine[threadIdx.x]) : 0);
    }
    __syncthreads();
    if (group > 0) list[base[group] + at] = sizes.first + static_cast<index_t>(k);
}

}  // namespace

Placed place(const CudaQueue& q, const Groups& g, const offset_t* size, const offset_t* row_begin, index_t first,
             index_t rows, index_t* list)
{
    Buffer<Tally> tally(q, 1);
    fill_zero(q, tally.data(), 1);
    const Sizes sizes{size, row_begin, first, rows};
    launch(q, one_thread_each(std::max(rows, 1), threads), tally_kernel, sizes, g, tally.data());
    launch(q, one_thread_each(rows, threads), place_kernel, sizes, g, tally.data(), list);
    const Tally t = read_value(q, tally.data());
    Placed placed{static_cast<offset_t>(t.sum), static_cast<offset_t>(t.longest), t.end, {}};
    for (std::size_t k = 0; k <= groups; ++k) placed.rows[k] = t.rows[k];
    return placed;
}

std::vector<RowGroup> named(const Placed& placed, const std::array<const char*, groups + 1>& names)
{
    std::vector<RowGroup> all;
    offset_t begin = 0;
    for (std::size_t k = 1; k <= groups; ++k) {
        all.push_back({names[k], begin, placed.rows[k]});
        begin += placed.rows[k];
    }
    return all;
}

offset_t group_rows(const CudaQueue& q, Workspace& work, index_t first, index_t rows, const offset_t* row_begin)
{
    const Placed placed = place(q, filling, nullptr, row_begin, first, rows, work.list.data());
    work.longest_nonzeros = placed.longest;
    work.numeric = named(placed, filling_names());
    return placed.end;
}

}  // namespace tulle::inline TULLE_ABI::spgemm::nsparse
