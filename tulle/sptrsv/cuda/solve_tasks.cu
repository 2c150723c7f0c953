// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Our own kernel: warps take tasks by ticket; what a task needs last is kept apart, so that between the arrival of the last number and the
// departure of the result lie a few multiplications and no sum over lanes. Order of additions: fixed by the tasks; the same bits every time.
#include "tulle/sptrsv/cuda/waiting.cuh"

namespace tulle::sptrsv {
namespace {

constexpr int steps_at_once = 4;

template <class V>
struct TasksView {
    offset_t tasks;
    index_t rows;
    bool reversed, reordered;
    const Task* task;
    const index_t *row, *col, *late_col;
    const V *reciprocal, *value, *dense;
    const index_t* substitute;

    __device__ offset_t unknown(index_t place, index_t of_row) const { return reordered ? place : reversed ? rows - 1 - of_row : of_row; }
};

// A lane's entries of some steps.
template <int N, class V>
struct Entries {
    index_t col[N];
    V value[N];

    __device__ void load(const TasksView<V>& view, const Task& task, index_t step, int lane)
    {
#pragma unroll
        for (int n = 0; n < N; ++n) {
            const bool there = step + n < task.steps;
            const offset_t at = (task.step + step + n) * lanes + lane;
            col[n] = there ? view.col[at] : -1;
            value[n] = there ? view.value[at] : V(0);
        }
    }
};

template <int N, class V>
__device__ V subtract(V sum, const V (&value)[N], const Word<V> (&word)[N])
{
#pragma unroll
    for (int n = 0; n < N; ++n) sum -= value[n] * number<V>(word[n]);
    return sum;
}

// The early entries; the next steps are on their way while these are waited for.
template <class V>
__device__ V take_early(const TasksView<V>& view, const Task& task, const Waits<V>& waits, int lane, V sum)
{
    Entries<steps_at_once, V> now, next;
    now.load(view, task, 0, lane);
    for (index_t step = 0; step < task.steps; step += steps_at_once) {
        next.load(view, task, step + steps_at_once, lane);
        Word<V> word[steps_at_once];
        wait_for<1>(waits, now.col, word);
        sum = subtract(sum, now.value, word);
        now = next;
    }
    return sum;
}

// Sum over the lanes of a row, which stand `width` apart; every lane gets it.
template <class V>
__device__ V sum_of_row(V sum, int width)
{
    for (int distance = width; distance < lanes; distance *= 2) sum += __shfl_xor_sync(whole_warp, sum, distance);
    return sum;
}

// Late entries of rows alone: lane j * width + i has read entry j of row i; every lane of the row gets all of them.
template <class V>
__device__ void share_late(const Task& task, int lane, index_t col, V value, Entries<most_late, V>& late)
{
#pragma unroll
    for (int j = 0; j < most_late; ++j) {
        late.col[j] = -1;
        late.value[j] = 0;
        if (j >= task.late) continue;                      // the whole warp
        const int from = j * task.width + lane % task.width;
        late.col[j] = __shfl_sync(whole_warp, col, from);
        late.value[j] = __shfl_sync(whole_warp, value, from);
    }
}

template <class V>
__device__ V solve_alone(const TasksView<V>& view, const Task& task, const Waits<V>& waits, int lane, V sum)
{
    Entries<most_late, V> late;
    const offset_t at = (task.step + task.steps) * lanes + lane;
    const bool has_late = task.late > 0;
    share_late(task, lane, has_late ? view.col[at] : -1, has_late ? view.value[at] : V(0), late);
    sum = sum_of_row(take_early(view, task, waits, lane, sum), task.width);
    if (!has_late) return sum;
    Word<V> word[most_late];
    wait_for<1>(waits, late.col, word);
    return subtract(sum, late.value, word);
}

// A lane's row of a matrix with up to 32 columns, in registers.
template <class V>
struct MatrixRow {
    V value[lanes];

    __device__ void load(const V* matrix, int width, int columns, int i)
    {
#pragma unroll
        for (int j = 0; j < lanes; ++j) value[j] = j < columns ? matrix[j * width + i] : V(0);
    }

    // The row times a vector in shared memory. Zeros are not entries: where NaN or infinity came out they are left out.
    __device__ V times(const V* vector, int columns) const
    {
        const V sum = sum_of_products<false>(vector, columns);
        return sum - sum == V(0) ? sum : sum_of_products<true>(vector, columns);
    }

    // Four sums side by side.
    template <bool WithoutZeros>
    __device__ V sum_of_products(const V* vector, int columns) const
    {
        V sum[4] = {};
#pragma unroll
        for (int j = 0; j < lanes; j += 4) {
            if (j >= columns) continue;
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (j + k < columns && !(WithoutZeros && value[j + k] == V(0))) sum[k] += value[j + k] * vector[j + k];
        }
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
};

// (I + S) x = sum, one unknown after the other. `row` is the lane's row of S.
template <class V>
__device__ V substitute(const MatrixRow<V>& row, int width, int i, V sum)
{
#pragma unroll
    for (int j = 0; j < lanes; ++j) {
        if (j >= width) continue;                          // the whole warp
        const V x = __shfl_sync(whole_warp, sum, j);
        if (i > j && row.value[j] != V(0)) sum -= row.value[j] * x;
    }
    return sum;
}

// A cluster: with the inverse before the late columns arrive and their product after, or by substitution at the end.
template <class V>
__device__ V solve_cluster(const TasksView<V>& view, const Task& task, const Waits<V>& waits, bool by_substitution, int lane, V sum, V* box)
{
    const int width = task.width, i = lane % width;
    MatrixRow<V> block, late;
    block.load(view.dense + task.dense, width, width, i);
    late.load(view.dense + task.dense + width * width, width, task.late, i);
    const index_t late_col[1] = {lane < task.late ? view.late_col[task.late_first + lane] : -1};

    sum = sum_of_row(take_early(view, task, waits, lane, sum), width);
    if (!by_substitution) {
        box[lane] = sum;
        __syncwarp(whole_warp);
        sum = block.times(box, width);
        __syncwarp(whole_warp);
    }
    Word<V> word[1];
    wait_for<1>(waits, late_col, word);
    box[lane] = number<V>(word[0]);
    __syncwarp(whole_warp);
    sum -= late.times(box, task.late);
    __syncwarp(whole_warp);
    return by_substitution ? substitute(block, width, i, sum) : sum;
}

template <bool Clusters, class V>
__device__ void solve_task(const TasksView<V>& view, offset_t t, const SharedView<V>& shared, const Turn<V>& turn, const Sides<V>& sides, int lane, V* box)
{
    const Task task = view.task[t];
    const int i = lane % task.width;
    const index_t place = task.first + i;
    const bool has_row = i < task.rows, first_lane = lane < task.width;
    const index_t row = has_row ? view.row[place] : 0;
    const V right = has_row && first_lane ? sides.alpha * sides.b[row * sides.b_row] * view.reciprocal[place] : V(0);
    const Waits<V> waits{turn.mine, shared.patience, shared.fault, row};
    V x;
    if (Clusters && task.cluster != 0) x = solve_cluster(view, task, waits, view.substitute[t] != 0, lane, right, box);
    else x = solve_alone(view, task, waits, lane, right);
    if (has_row && first_lane) sides.x[row * sides.x_row] = publish(turn, view.unknown(place, row), x);
}

//   grid: any number of warps, the same for all launches of a plan      shared memory: 32 numbers a warp      x: every row written once
template <bool Clusters, class V>
__global__ void __launch_bounds__(threads_per_block) solve_tasks_kernel(TasksView<V> view, SharedView<V> shared, Sides<V> sides)
{
    TULLE_SHARED(V, box_of_warp, threads_per_block);
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    V* box = box_of_warp + (static_cast<int>(threadIdx.x) - lane);
    unsigned long long taken = Turn<V>::take(shared, lane);
    const Turn<V> turn = begin_turn(shared, taken, view.tasks);
    for (offset_t t = turn.task(taken); t < view.tasks; t = turn.task(taken)) {
        taken = Turn<V>::take(shared, lane);               // the next one, while this one is worked on
        solve_task<Clusters>(view, t, shared, turn, sides, lane, box);
    }
}

}  // namespace

template <class V>
void solve_tasks(const CudaQueue& q, const Tasks& tasks, const TaskValues<V>& values, const Shared<V>& shared, const Sides<V>& sides)
{
    const TasksView<V> view{tasks.task.size(),         tasks.rows,         tasks.reversed,        tasks.reordered,     tasks.task.data(),   tasks.row.data(), tasks.col.data(),
                            tasks.late_col.data(), values.reciprocal.data(), values.value.data(), values.dense.data(), values.substitute.data()};
    for (index_t j = 0; j < sides.columns; ++j) {
        Sides<V> one = sides;
        one.b += j * sides.b_col;
        one.x += j * sides.x_col;
        if (tasks.dense_size > 0) launch(q, shape_of(shared), solve_tasks_kernel<true, V>, view, view_of(shared), one);
        else launch(q, shape_of(shared), solve_tasks_kernel<false, V>, view, view_of(shared), one);
    }
}

template void solve_tasks(const CudaQueue&, const Tasks&, const TaskValues<float>&, const Shared<float>&, const Sides<float>&);
template void solve_tasks(const CudaQueue&, const Tasks&, const TaskValues<double>&, const Shared<double>&, const Sides<double>&);

}  // namespace tulle::sptrsv
