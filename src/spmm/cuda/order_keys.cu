// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What rows are sorted by: a thread for each number, a warp for each row where the row is looked through.
#include "device/cuda/kernel.cuh"
#include "spmm/order/keys.hpp"
#include "spmm/order/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int lanes = 32, threads = 256;
constexpr unsigned whole_warp = 0xffffffffu;

__global__ void write_numbers_kernel(offset_t n, offset_t* __restrict__ to)
{
    const offset_t i = global_thread();
    if (i < n) to[i] = i;
}

__global__ void write_dispersions_kernel(EncodingsView e, Dispersion which, std::uint64_t* __restrict__ key)
{
    const offset_t row = global_thread();
    if (row < e.rows) key[row] = dispersion_key(e, which, row);
}

__global__ void write_lengths_kernel(Pattern a, std::uint64_t* __restrict__ key)
{
    const offset_t row = global_thread();
    if (row < a.rows) key[row] = length_key(a, row);
}

//   grid: a warp a row      shared memory: none      key: every row written once
__global__ void __launch_bounds__(threads)
    write_minhashes_kernel(Pattern a, int hash, const offset_t* __restrict__ row, std::uint32_t* __restrict__ key)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t i = global_thread() / lanes;
    if (i >= a.rows) return;  // the whole warp
    FirstColumn first;
    for (offset_t k = a.row_begin[row[i]] + lane; k < a.row_begin[row[i] + 1]; k += lanes)
        first.look_at(hash, a.col[k]);
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        const std::int64_t other = __shfl_xor_sync(whole_warp, first.col, distance);
        if (other >= 0) first.look_at(hash, static_cast<index_t>(other));
    }
    if (lane == 0) key[i] = first.key();
}

__global__ void write_clusters_kernel(const index_t* __restrict__ cluster, offset_t n, std::uint32_t* __restrict__ key)
{
    const offset_t i = global_thread();
    if (i < n) key[i] = static_cast<std::uint32_t>(cluster[i]);
}

__global__ void take_rows_kernel(const offset_t* __restrict__ from, offset_t n, index_t* __restrict__ to)
{
    const offset_t i = global_thread();
    if (i < n) to[i] = static_cast<index_t>(from[i]);
}

}  // namespace

void write_numbers(const CudaQueue& q, offset_t n, offset_t* to)
{
    launch(q, one_thread_each(n), write_numbers_kernel, n, to);
}

void write_dispersions(const CudaQueue& q, const EncodingsView& e, Dispersion which, std::uint64_t* key)
{
    launch(q, one_thread_each(e.rows), write_dispersions_kernel, e, which, key);
}

void write_lengths(const CudaQueue& q, const Pattern& a, std::uint64_t* key)
{
    launch(q, one_thread_each(a.rows), write_lengths_kernel, a, key);
}

void write_minhashes(const CudaQueue& q, const Pattern& a, int hash, const offset_t* row, std::uint32_t* key)
{
    launch(q, one_thread_each(offset_t{a.rows} * lanes, threads), write_minhashes_kernel, a, hash, row, key);
}

void write_clusters(const CudaQueue& q, const index_t* cluster, offset_t n, std::uint32_t* key)
{
    launch(q, one_thread_each(n), write_clusters_kernel, cluster, n, key);
}

void take_rows(const CudaQueue& q, const offset_t* from, offset_t n, index_t* to)
{
    launch(q, one_thread_each(n), take_rows_kernel, from, n, to);
}

}  // namespace tulle::inline TULLE_ABI::spmm
