// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C with few products, held by the lanes of a warp, and rows that are one scaled row of B.
#include "base/constant.hpp"
#include "spgemm/adaptive/cuda/copied_rows.cuh"
#include "spgemm/adaptive/cuda/fill_steps.hpp"
#include "spgemm/adaptive/cuda/short_rows.cuh"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int threads = 256;

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
__global__ void __launch_bounds__(threads) fill_short_kernel(CsrView<V> a, CsrView<V> b, Task t, RowRange<V> c)
{
    TULLE_SHARED(int, owner, threads);
    const offset_t number = team_number<Lanes>();
    const index_t row = number < t.rows ? t.list[number] : -1;
    const auto p = lane_product<Lanes, true>(a, b, row, owner + threadIdx.x / Lanes * Lanes);
    const unsigned peers = peers_of<Lanes>(p.col, b.cols), leaders = leaders_of<Lanes>(p.col, peers);
    const bool leads = (leaders >> threadIdx.x % Lanes & 1) != 0;
    const V sum = sum_of_peers(p, peers, leads);
    const int rank = rank_among<Lanes>(p.col, leaders);
    if (!leads) return;
    const offset_t at = c.row_begin[row] - c.base + rank;
    c.col[at] = p.col;
    c.value[at] = sum;
}

// Eight lanes per row.
//   grid: ceil(rows * 8 / 256)      c: every entry of the group's rows, once
template <class V>
__global__ void __launch_bounds__(threads) fill_copied_kernel(CsrView<V> a, CsrView<V> b, Task t, RowRange<V> c)
{
    copy_rows<true>(a, b, t, c);
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

}  // namespace tulle::inline TULLE_ABI::spgemm
