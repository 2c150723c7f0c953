// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A radix sort of the bins with the positions as payload; the sorted bins then say where each begins. Memory beside the
// result: the keys (4 n bytes) and what the sort needs.
//
// Entries are sorted by column and then, stably, by row: together no more digits than one sort by both, with keys of
// half the size.
#include "matrix/convert_steps.hpp"

#include "device/cuda/kernel.cuh"
#include "prim/sort.hpp"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

__global__ void number_keys_kernel(const index_t* __restrict__ bin, offset_t n, std::uint32_t* __restrict__ key,
                                   offset_t* __restrict__ source)
{
    const offset_t k = global_thread();
    if (k >= n) return;
    key[k] = static_cast<std::uint32_t>(bin[k]);
    source[k] = k;
}

// key becomes the bins in ascending order, source where each of them stood.
void sort_bins(const CudaQueue& q, const index_t* bin, offset_t n, index_t bins, Buffer<std::uint32_t>& key,
               Buffer<offset_t>& source)
{
    launch(q, one_thread_each(n), number_keys_kernel, bin, n, key.data(), source.data());
    prim::sort_pairs(q, key.data(), source.data(), n, prim::bits_for(static_cast<std::uint64_t>(bins)));
}

}  // namespace

Groups group(const CudaQueue& q, const index_t* bin, offset_t n, index_t bins)
{
    Groups groups{.begin = Buffer<offset_t>(q, offset_t{bins} + 1), .source = Buffer<offset_t>(q, n)};
    Buffer<std::uint32_t> key(q, n);
    sort_bins(q, bin, n, bins, key, groups.source);
    compress_rows(q, reinterpret_cast<const index_t*>(key.data()), n, bins,
                  groups.begin.data());  // bins are not negative: the same bits
    return groups;
}

Groups order_entries(const CudaQueue& q, const index_t* row, const index_t* col, offset_t n, index_t rows, index_t cols)
{
    Buffer<offset_t> by_col(q, n), source(q, n);
    Buffer<std::uint32_t> key(q, n);
    Buffer<index_t> row_by_col(q, n);
    sort_bins(q, col, n, cols, key, by_col);
    gather(q, row, by_col.data(), n, row_by_col.data());
    Groups by_row = group(q, row_by_col.data(), n, rows);
    gather(q, by_col.data(), by_row.source.data(), n, source.data());
    return {.begin = std::move(by_row.begin), .source = std::move(source)};
}

}  // namespace tulle::inline TULLE_ABI::matrix
