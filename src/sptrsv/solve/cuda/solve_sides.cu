// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Many right-hand sides with merged rows: a warp group takes a task for eight sides at once, and what a task's
// matrices hold is read once for all eight. 32 sides are four bundles that need nothing of each other: each has tickets
// and unknowns of its own, and all of them work side by side on other multiprocessors. Order of additions: fixed by the
// tasks; the same bits every time.
//
// The sides of an unknown stand beside each other. A warp reads those of four unknowns at once, so that each thread
// has one side, and every fourth of the 32 entries, late columns or rows it goes through.
#include "base/math.hpp"
#include "sptrsv/solve/cuda/waiting.cuh"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int at_once = lanes / bundle_sides;    // unknowns a warp reads together
constexpr int rows_of_warp = lanes / most_team;  // whose results its threads have
constexpr int results = rows_of_warp / at_once;  // of a thread
constexpr int steps_together = 2;                // of early entries
constexpr int total_step = lanes + 1;            // sides of a row meet different banks

// An unknown, or what is known of it, for the sides of a bundle.
template <class V>
struct alignas(16) SideValues {
    V of[bundle_sides];
};

// Where a thread stands, and the warp group's shared memory.
template <class V>
struct Member {
    int lane, warp, side;
    bool has_side;
    SideValues<V>*sums,  // of each warp, for 32 entries
        *solved,         // for 32 rows
        *late;           // of each warp, for its late columns
    V* totals;           // of each warp, side after side

    __device__ int unknown(int n) const { return n * at_once + lane / bundle_sides; }  // the n-th of a thread's
    __device__ int row(int k) const { return warp * rows_of_warp + unknown(k); }       // of its k-th result
};

// A lane's entries of some steps. The last entries of rows alone come as one more step of the first warp.
template <class V>
struct StepEntries {
    index_t col[steps_together];
    V value[steps_together];

    __device__ void load(const TasksView<V>& view, const Task& task, index_t step, index_t end, const Member<V>& me)
    {
#pragma unroll
        for (int n = 0; n < steps_together; ++n) {
            const bool there = step + n < end;
            const offset_t at = (task.step + offset_t{step + n} * most_team + me.warp) * lanes + me.lane;
            col[n] = there ? view.col[at] : -1;
            value[n] = there ? view.value[at] : V(0);
        }
    }
};

// Subtracts a warp's early entries: sum[n] is that of entry me.unknown(n) of all steps.
template <class V>
__device__ void take_entries(const TasksView<V>& view, const Task& task, const Waits<V, GlobalUnknowns<V>>& waits,
                             const Member<V>& me, V (&sum)[bundle_sides])
{
    constexpr int words = steps_together * bundle_sides;
    const index_t end = task.steps + (me.warp == 0 && task.cluster == 0 && task.late > 0 ? 1 : 0);
    StepEntries<V> now, next;
    now.load(view, task, 0, end, me);
    for (index_t step = 0; step < end; step += steps_together) {
        next.load(view, task, step + steps_together, end, me);
        index_t col[words];
        Word<V> word[words];
#pragma unroll
        for (int n = 0; n < words; ++n) {
            col[n] = __shfl_sync(whole_warp, now.col[n / bundle_sides], me.unknown(n % bundle_sides));
            if (!me.has_side) col[n] = -1;
        }
        wait_for<bundle_sides>(waits, col, word);
#pragma unroll
        for (int n = 0; n < words; ++n)
            sum[n % bundle_sides] -=
                __shfl_sync(whole_warp, now.value[n / bundle_sides], me.unknown(n % bundle_sides)) * number<V>(word[n]);
        now = next;
    }
}

// Sums of entries that stand `width` apart, which are of one row; those of the first `width` are right.
template <class V>
__device__ void fold_rows(V (&sum)[bundle_sides], int width)
{
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        if (distance < width) break;
        if (distance < at_once) sum[0] += __shfl_xor_sync(whole_warp, sum[0], distance * bundle_sides);
        for (int n = 0; n < distance / at_once; ++n) sum[n] += sum[n + distance / at_once];
    }
}

// b less all early entries, for the thread's results.
template <class V>
__device__ void take_early(const TasksView<V>& view, const Task& task, const Waits<V, GlobalUnknowns<V>>& waits,
                           const Member<V>& me, V (&x)[results])
{
    V sum[bundle_sides] = {};
    take_entries(view, task, waits, me, sum);
    fold_rows(sum, task.width);
#pragma unroll
    for (int n = 0; n < bundle_sides; ++n) me.sums[me.warp * lanes + me.unknown(n)].of[me.side] = sum[n];
    meet<most_team>(0);
#pragma unroll
    for (int k = 0; k < results; ++k)
        for (int w = 0; w < most_team && me.row(k) < task.width; ++w)
            x[k] += me.sums[w * lanes + me.row(k)].of[me.side];
}

// Adds a lane's row of M columns times their unknowns.
template <int M, bool WithoutZeros, int N, class V>
__device__ void add_columns(const MatrixRow<N, V>& row, const SideValues<V>* vector, V (&sum)[bundle_sides])
{
#pragma unroll
    for (int j = 0; j < M; ++j) {
        if (WithoutZeros && row.value[j] == V(0)) continue;
        const SideValues<V> x = vector[j];
#pragma unroll
        for (int s = 0; s < bundle_sides; ++s) sum[s] += row.value[j] * x.of[s];
    }
}

template <int N, class V>
__device__ void add_product(const MatrixRow<N, V>& row, const SideValues<V>* vector, int count, V (&sum)[bundle_sides])
{
    if (count > 16) add_columns<N, false>(row, vector, sum);
    else if (count > 8) add_columns<(N < 16 ? N : 16), false>(row, vector, sum);
    else if (count > 0) add_columns<(N < 8 ? N : 8), false>(row, vector, sum);
}

template <class V>
__device__ bool all_finite(const V (&sum)[bundle_sides])
{
    bool all = true;
    for (int s = 0; s < bundle_sides; ++s) all = all && sum[s] - sum[s] == V(0);
    return all;
}

// A task's matrices, as far as they are a thread's: its row of the warp's share of the columns. Loaded before anything
// is waited for.
template <class V>
struct TaskMatrices {
    MatrixRow<rows_of_warp, V> block;
    MatrixRow<lanes, V> late;
    index_t late_col[bundle_sides];
    int late_count;

    __device__ void load(const TasksView<V>& view, const Task& task, const Member<V>& me)
    {
        const V* matrix = view.dense + task.dense;
        late_count = (task.late - me.warp + most_team - 1) / most_team;
        block.load(matrix, task.width, me.warp * rows_of_warp, 1, task.width, me.lane % task.width);
        late.load(matrix + task.width * task.width, task.width, me.warp, most_team, task.late, me.lane % task.width);
#pragma unroll
        for (int n = 0; n < bundle_sides; ++n)
            late_col[n] = me.has_side && me.unknown(n) < late_count
                              ? view.late_col[task.late_first + me.unknown(n) * most_team + me.warp]
                              : -1;
    }

    // The inverse's product with what is known without the late columns: the warp's part of it.
    __device__ void invert(const Task& task, const Member<V>& me, const V (&x)[results], V (&sum)[bundle_sides]) const
    {
#pragma unroll
        for (int k = 0; k < results; ++k) me.solved[me.row(k)].of[me.side] = x[k];
        __syncwarp(whole_warp);
        const int first = me.warp * rows_of_warp;
        add_product(block, me.solved + first, task.width - first, sum);
    }

    // Less the product with the late columns, once they are there. Zeros are not entries: where NaN or infinity came
    // out they are left out, of the inverse as well.
    __device__ void subtract_late(const Waits<V, GlobalUnknowns<V>>& waits, const Member<V>& me, bool inverted,
                                  V (&sum)[bundle_sides]) const
    {
        SideValues<V>* const vector = me.late + me.warp * lanes;
        Word<V> word[bundle_sides];
        wait_for<bundle_sides>(waits, late_col, word);
#pragma unroll
        for (int n = 0; n < bundle_sides; ++n) vector[me.unknown(n)].of[me.side] = -number<V>(word[n]);
        __syncwarp(whole_warp);
        add_product(late, vector, late_count, sum);
        if (all_finite(sum)) return;
        for (int s = 0; s < bundle_sides; ++s) sum[s] = 0;
        if (inverted) add_columns<rows_of_warp, true>(block, me.solved + me.warp * rows_of_warp, sum);
        add_columns<lanes, true>(late, vector, sum);
    }
};

// Adds what all warps have of the thread's results.
template <class V>
__device__ void add_totals(const Task& task, const Member<V>& me, const V (&sum)[bundle_sides], V (&x)[results])
{
#pragma unroll
    for (int s = 0; s < bundle_sides; ++s)
        if (me.lane < task.width) me.totals[(me.warp * bundle_sides + s) * total_step + me.lane] = sum[s];
    meet<most_team>(0);
#pragma unroll
    for (int k = 0; k < results; ++k)
        for (int w = 0; w < most_team && me.row(k) < task.width; ++w)
            x[k] += me.totals[(w * bundle_sides + me.side) * total_step + me.row(k)];
}

// (I + S) x = what is in x: every warp takes some sides, a lane a row of them.
template <class V>
__device__ void substitute_rows(const V* matrix, int width, const Member<V>& me, V (&x)[results])
{
#pragma unroll
    for (int k = 0; k < results; ++k) me.solved[me.row(k)].of[me.side] = x[k];
    meet<most_team>(0);
    const int i = me.lane % width;
    for (int side = me.warp; side < bundle_sides; side += most_team) {
        const V solved = substitute(matrix, width, i, me.solved[i].of[side]);
        __syncwarp(whole_warp);
        if (me.lane < width) me.solved[i].of[side] = solved;
    }
    meet<most_team>(0);
#pragma unroll
    for (int k = 0; k < results; ++k) x[k] = me.solved[me.row(k)].of[me.side];
}

// A merged node: with the inverse before the late columns arrive and their product after, or by substitution at the
// end.
template <class V>
__device__ void solve_cluster(const TasksView<V>& view, const Task& task, const Waits<V, GlobalUnknowns<V>>& waits,
                              bool by_substitution, const Member<V>& me, V (&x)[results])
{
    TaskMatrices<V> matrices;
    matrices.load(view, task, me);
    take_early(view, task, waits, me, x);
    V sum[bundle_sides] = {};
    if (!by_substitution) {
        matrices.invert(task, me, x, sum);
        for (int k = 0; k < results; ++k) x[k] = 0;
    }
    matrices.subtract_late(waits, me, !by_substitution, sum);
    add_totals(task, me, sum, x);
    if (by_substitution) substitute_rows(view.dense + task.dense, task.width, me, x);
}

template <class V>
__device__ void solve_task(const TasksView<V>& view, const SharedView<V>& shared, offset_t number,
                           const GlobalUnknowns<V>& unknown, const RhsView<V>& sides, const Member<V>& me)
{
    const Task task = view.task[number];
    index_t row[results];
    V x[results];
#pragma unroll
    for (int k = 0; k < results; ++k) {
        const bool has_row = me.row(k) < task.rows;
        row[k] = has_row ? view.row[task.first + me.row(k)] : -1;
        x[k] = has_row && me.has_side ? sides.alpha * sides.b[row[k] * sides.b_row + me.side * sides.b_col] *
                                            view.reciprocal[task.first + me.row(k)]
                                      : V(0);
    }
    const Waits<V, GlobalUnknowns<V>> waits{unknown, shared.spin_limit, shared.fault, view.row[task.first]};
    if (task.cluster != 0) solve_cluster(view, task, waits, view.substitute[number] != 0, me, x);
    else take_early(view, task, waits, me, x);
#pragma unroll
    for (int k = 0; k < results; ++k) {
        if (row[k] < 0) continue;
        const offset_t u = view.unknown(task.first + me.row(k), row[k]);
        const V told =
            publish(unknown, u * bundle_sides, x[k]);  // also where there is no side: the next launch may have it
        if (me.has_side) sides.x[row[k] * sides.x_row + me.side * sides.x_col] = told;
    }
}

//   grid: warp groups of each bundle in turn, as many as in all launches of a plan
//   x: every row of every side written once
//   shared memory: 26 KB of doubles
template <class V>
__global__ void __launch_bounds__(threads_per_block, 2)
    solve_sides_kernel(TasksView<V> view, SharedView<V> shared, RhsView<V> all)
{
    TULLE_SHARED(SideValues<V>, sums, most_team * lanes);
    TULLE_SHARED(SideValues<V>, solved, lanes);
    TULLE_SHARED(SideValues<V>, late, most_team * lanes);
    TULLE_SHARED(V, totals, most_team * bundle_sides * total_step);
    TULLE_SHARED(unsigned long long, ticket_box, 1);
    const int thread = static_cast<int>(threadIdx.x), lane = thread % lanes;
    const auto bundles = static_cast<unsigned>(gridDim.x / shared.takers);
    const auto bundle = static_cast<index_t>(blockIdx.x % bundles);
    const RhsView<V> sides = all.from_column(bundle * bundle_sides, bundle_sides);
    const int side = lane % bundle_sides;
    const Member<V> me{lane, thread / lanes, side, side < sides.columns, sums, solved, late, totals};
    shared.ticket += offset_t{bundle} * static_cast<offset_t>(sizeof(TicketState) / sizeof(*shared.ticket));
    Tickets<most_team> tickets = take_tickets<most_team>(shared, view.tasks, thread == 0, ticket_box);
    GlobalUnknowns<V> unknown = unknowns_of(shared, tickets);
    const offset_t first = offset_t{bundle} * view.rows * bundle_sides + side;
    unknown = {unknown.mine + first, unknown.other + first};
    for (; tickets.task() < view.tasks; tickets.next()) {
        const offset_t task = tickets.task();
        tickets.take();
        solve_task(view, shared, task, unknown, sides, me);
    }
}

}  // namespace

template <class V>
void solve_sides(const CudaQueue& q, const Tasks& tasks, const TaskValues<V>& values, const SolveScratch<V>& shared,
                 const RhsView<V>& sides)
{
    const auto most = static_cast<index_t>(shared.turns.size()) * bundle_sides;
    for (index_t first = 0; first < sides.columns; first += most) {
        const RhsView<V> portion = sides.from_column(first, most);
        const offset_t bundles = ceil_div(portion.columns, index_t{bundle_sides});
        launch(q, {shared.takers * bundles, threads_per_block}, solve_sides_kernel<V>, view_of(tasks, values),
               view_of(shared), portion);
    }
}

template void solve_sides(const CudaQueue&, const Tasks&, const TaskValues<float>&, const SolveScratch<float>&,
                          const RhsView<float>&);
template void solve_sides(const CudaQueue&, const Tasks&, const TaskValues<double>&, const SolveScratch<double>&,
                          const RhsView<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
