// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Many right-hand sides: a warp for each row, a lane for each side. Lanes never talk to each other, so nothing follows
// the last arrival but one multiplication. More than 32 sides go in portions, each arming the other half of the
// unknowns for the next.
#include "sptrsv/solve/cuda/waiting.cuh"

#include <algorithm>

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int entries_at_once = 8;

template <class V>
struct RowsView {
    index_t rows;
    const index_t *row, *col;
    const offset_t* begin;
    const V *value, *reciprocal;
};

// A row for the lane's side. Entries are the same for all lanes; lanes without a side wait for nothing.
template <class V>
__device__ V solve_row(const RowsView<V>& rows, index_t i, const Waits<V, GlobalUnknowns<V>>& waits, bool has_side,
                       V sum)
{
    for (offset_t k = rows.begin[i]; k < rows.begin[i + 1]; k += entries_at_once) {
        index_t col[entries_at_once];
        V value[entries_at_once];
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            const bool there = has_side && k + n < rows.begin[i + 1];
            col[n] = there ? rows.col[k + n] : -1;
            value[n] = there ? rows.value[k + n] : V(0);
        }
        Word<V> word[entries_at_once];
        wait_for<sides_at_once>(waits, col, word);
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) sum -= value[n] * number<V>(word[n]);
    }
    return sum;
}

//   grid: any number of warps, the same for all launches of a plan      x: every row of every side written once
template <class V>
__global__ void __launch_bounds__(threads_per_block)
    solve_many_kernel(RowsView<V> rows, SharedView<V> shared, RhsView<V> sides)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const bool has_side = lane < sides.columns;
    Tickets<1> tickets = take_tickets<1>(shared, rows.rows, lane == 0, nullptr);
    GlobalUnknowns<V> unknown = unknowns_of(shared, tickets);
    unknown = {unknown.mine + lane, unknown.other + lane};
    for (; tickets.task() < rows.rows; tickets.next()) {
        const auto i = static_cast<index_t>(tickets.task());
        tickets.take();
        const index_t row = rows.row[i];
        const Waits<V, GlobalUnknowns<V>> waits{unknown, shared.spin_limit, shared.fault, row};
        const V right =
            has_side ? sides.alpha * sides.b[row * sides.b_row + lane * sides.b_col] * rows.reciprocal[i] : V(0);
        const V x = publish(unknown, offset_t{i} * sides_at_once, solve_row(rows, i, waits, has_side, right));
        if (has_side) sides.x[row * sides.x_row + lane * sides.x_col] = x;
    }
}

}  // namespace

template <class V>
void solve_many(const CudaQueue& q, const Rows& rows, const RowValues<V>& values, const SolveScratch<V>& shared,
                const RhsView<V>& sides)
{
    const RowsView<V> view{rows.rows,         rows.row.data(),     rows.col.data(),
                           rows.begin.data(), values.value.data(), values.reciprocal.data()};
    for (index_t first = 0; first < sides.columns; first += sides_at_once) {
        RhsView<V> portion = sides;
        portion.b += first * sides.b_col;
        portion.x += first * sides.x_col;
        portion.columns = std::min(sides_at_once, sides.columns - first);
        launch(q, shape_of(shared, 1), solve_many_kernel<V>, view, view_of(shared), portion);
    }
}

template void solve_many(const CudaQueue&, const Rows&, const RowValues<float>&, const SolveScratch<float>&,
                         const RhsView<float>&);
template void solve_many(const CudaQueue&, const Rows&, const RowValues<double>&, const SolveScratch<double>&,
                         const RhsView<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
