// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C with few products, held by the lanes of a warp, and rows that are one scaled row of B.
#include "tulle/base/constant.hpp"
#include "tulle/spgemm/cuda/fill_steps.hpp"
#include "tulle/spgemm/cuda/short_rows.cuh"

namespace tulle::spgemm {
namespace {

constexpr int threads = 256;

// For leaders, the sum over the lanes with the same column, in order.
template <class V>
__device__ V sum_of_peers(V value, unsigned peers, bool leads)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    unsigned left = leads ? peers & ~(1u << lane) : 0;
    V sum = value;
    while (__any_sync(all_lanes, left != 0)) {
        const V other = __shfl_sync(all_lanes, value, left != 0 ? __ffs(static_cast<int>(left)) - 1 : lane);
        if (left != 0) sum += other;
        left &= left - 1;
    }
    return sum;
}

// How many different columns of the slice are smaller.
template <int Lanes>
__device__ int rank_among(index_t col, unsigned leaders)
{
    int rank = 0;
    for (int k = 0; k < Lanes; ++k) {
        const index_t other = __shfl_sync(all_lanes, col, k, Lanes);
        rank += (leaders >> k & 1) != 0 && other < col ? 1 : 0;
    }
    return rank;
}

// A slice of lanes per row.
//   grid: ceil(rows * Lanes / 256)      shared memory: a word a thread      c: every entry of the group's rows, once
template <int Lanes, class V>
__global__ void __launch_bounds__(threads) fill_short_kernel(CsrView<V> a, CsrView<V> b, Task t, Stretch<V> c)
{
    TULLE_SHARED(int, owner, threads);
    const offset_t number = team_number<Lanes>();
    const index_t row = number < t.rows ? t.list[number] : -1;
    const auto p = lane_product<Lanes, true>(a, b, row, owner + threadIdx.x / Lanes * Lanes);
    const unsigned peers = peers_of<Lanes>(p.col, b.cols), leaders = leaders_of<Lanes>(p.col, peers);
    const bool leads = (leaders >> threadIdx.x % Lanes & 1) != 0;
    const V sum = sum_of_peers(p.value, peers, leads);
    const int rank = rank_among<Lanes>(p.col, leaders);
    if (!leads) return;
    const offset_t at = c.row_begin[row] - c.base + rank;
    c.col[at] = p.col;
    c.value[at] = sum;
}

constexpr offset_t long_copy = 128;          // entries; longer rows are copied by a whole warp

template <class V>
__device__ void copy_scaled(const CsrView<V>& b, offset_t from, offset_t length, V factor, const Stretch<V>& c, offset_t to, int lane, int lanes)
{
    for (offset_t k = lane; k < length; k += lanes) {
        c.col[to + k] = b.col[from + k];
        c.value[to + k] = factor * b.value[from + k];
    }
}

// Eight lanes per row.
//   grid: ceil(rows * 8 / 256)      c: every entry of the group's rows, once
template <class V>
__global__ void __launch_bounds__(threads) fill_copied_kernel(CsrView<V> a, CsrView<V> b, Task t, Stretch<V> c)
{
    const offset_t number = team_number<8>();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool exists = number < t.rows;
    const index_t row = exists ? t.list[number] : 0;
    const offset_t only = exists ? a.row_begin[row] : 0;
    const V factor = exists ? a.value[only] : V(0);
    const offset_t from = exists ? b.row_begin[a.col[only]] : 0, length = exists ? b.row_begin[a.col[only] + 1] - from : 0;
    const offset_t to = exists ? c.row_begin[row] - c.base : 0;
    if (length <= long_copy) copy_scaled(b, from, length, factor, c, to, lane % 8, 8);
    for (unsigned left = __ballot_sync(all_lanes, length > long_copy && lane % 8 == 0); left != 0; left &= left - 1) {
        const int owner = __ffs(static_cast<int>(left)) - 1;
        copy_scaled(b, __shfl_sync(all_lanes, from, owner), __shfl_sync(all_lanes, length, owner), __shfl_sync(all_lanes, factor, owner), c,
                    __shfl_sync(all_lanes, to, owner), lane, 32);
    }
}

}  // namespace

template <class V>
void fill_short(const FillArguments<V>& f, int lanes)
{
    with_constant<8, 16, 32>(lanes, [&](auto n) {
        launch(f.q, one_thread_each(f.task.rows * n(), threads), fill_short_kernel<n(), V>, f.a, f.b, f.task, f.c);
    });
}

template <class V>
void fill_copied(const FillArguments<V>& f)
{
    launch(f.q, one_thread_each(f.task.rows * 8, threads), fill_copied_kernel<V>, f.a, f.b, f.task, f.c);
}

template void fill_short(const FillArguments<float>&, int);
template void fill_short(const FillArguments<double>&, int);
template void fill_copied(const FillArguments<float>&);
template void fill_copied(const FillArguments<double>&);

}  // namespace tulle::spgemm
