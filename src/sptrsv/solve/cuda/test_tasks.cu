// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Trials: a merged node whose inverse loses digits where numbers of their size cancel gets its entries back
// (docs/design/sptrsv.md, accuracy). A warp looks at one merged node; sums are added up in a fixed order.
#include "base/hash.hpp"
#include "base/math.hpp"
#include "prim/reduce.hpp"
#include "sptrsv/solve/cuda/waiting.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int test_warps = 4;  // of a block
constexpr int trial_threads = 256;

// random: numbers in [-1, 1), another one for each row and always the same.
//   random, ones: every row written once
template <class V>
__global__ void __launch_bounds__(trial_threads) draw_trials_kernel(index_t rows, V* random, V* ones)
{
    const offset_t i = offset_t{blockIdx.x} * trial_threads + threadIdx.x;
    if (i >= rows) return;
    random[i] = static_cast<V>(2 * unit(mix(static_cast<std::uint64_t>(i))) - 1);
    ones[i] = V(1);
}

template <class V>
struct TestView {
    offset_t tasks;
    index_t rows;
    bool reversed, reordered;
    int team;
    const Task* task;
    const index_t *row, *col, *late_col;
    const offset_t *diagonal, *source;  // diagonal null: ones
    const offset_t *dense_at, *dense_source, *dense_first;
    const V *from, *reciprocal;
    const V *b, *x;  // of a trial, by rows of op(A)
    V limit;
    V* dense;
    index_t* substitute;

    // The unknown that entries call by this number.
    __device__ V unknown(index_t number) const
    {
        return x[reordered ? row[number] : reversed ? rows - 1 - number : number];
    }
};

// Entries of a merged node's matrices stand row after row: the first of row i or of a later one.
template <class V>
__device__ offset_t first_of_row(const TestView<V>& view, const Task& task, offset_t begin, offset_t end, int i)
{
    while (begin < end) {
        const offset_t middle = begin + (end - begin) / 2;
        if ((view.dense_at[middle] - task.dense) % task.width < i) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

template <class V>
__device__ V magnitude(V value)
{
    return value < V(0) ? -value : value;
}

// Row `lane` of a task times x, in parts; every lane that stands a multiple of the width apart gets E x.
template <class V>
struct RowProduct {
    V early = 0, inside = 0, late = 0;                 // E x, (D + S) x, F x
    V early_size = 0, inside_size = 0, late_size = 0;  // sums of magnitudes
};

template <class V>
__device__ V times_x(V value, V x, V& size)
{
    const V product = value * x;
    size += magnitude(product);
    return product;
}

// entry(column, value): for each of the merged node's own entries in row `lane`, without the diagonal.
template <class V, class Entry>
__device__ void for_entries(const TestView<V>& view, const Task& task, offset_t number, int lane, Entry&& entry)
{
    if (lane >= task.rows) return;
    const offset_t end = view.dense_first[number + 1],
                   first = first_of_row(view, task, view.dense_first[number], end, lane),
                   next = first_of_row(view, task, first, end, lane + 1);
    for (offset_t e = first; e < next; ++e)
        entry(static_cast<int>((view.dense_at[e] - task.dense) / task.width), view.from[view.dense_source[e]]);
}

template <class V>
__device__ RowProduct<V> multiply_row(const TestView<V>& view, const Task& task, offset_t number, int lane)
{
    RowProduct<V> p;
    const offset_t end = (task.step + units_of(task, view.team)) * lanes;
    for (offset_t at = task.step * lanes + lane; at < end; at += lanes)
        if (view.col[at] >= 0) p.early += times_x(view.from[view.source[at]], view.unknown(view.col[at]), p.early_size);
    for (int distance = task.width; distance < lanes; distance *= 2) {
        p.early += __shfl_xor_sync(whole_warp, p.early, distance);
        p.early_size += __shfl_xor_sync(whole_warp, p.early_size, distance);
    }
    if (lane < task.rows)
        p.inside = times_x(view.diagonal ? view.from[view.diagonal[task.first + lane]] : V(1),
                           view.x[view.row[task.first + lane]], p.inside_size);
    for_entries(view, task, number, lane, [&](int column, V value) {
        if (column < task.width) p.inside += times_x(value, view.x[view.row[task.first + column]], p.inside_size);
        else p.late += times_x(value, view.unknown(view.late_col[task.late_first + column - task.width]), p.late_size);
    });
    return p;
}

// A bound on the residual of row `lane` in units of roundoff, |I + S| |(I + S)^-1| (|b - E x| + |F| |x|), is beyond the
// limit: such times |b| + |T| |x|. All of the row divided by the diagonal. `box` has a number for each lane.
template <class V>
__device__ bool loses_digits(const TestView<V>& view, const Task& task, offset_t number, int lane, V* box)
{
    const RowProduct<V> p = multiply_row(view, task, number, lane);
    const V scale = lane < task.rows ? magnitude(view.reciprocal[task.first + lane]) : V(0),
            b = lane < task.rows ? view.b[view.row[task.first + lane]] : V(0),
            size = (magnitude(b) + p.early_size + p.inside_size + p.late_size) * scale,
            given = (magnitude(b - p.early) + p.late_size) * scale;
    V solved = 0;
    for (int k = 0; k < task.width; ++k) {
        const V other = __shfl_sync(whole_warp, given, k);
        if (lane < task.width) solved += magnitude(view.dense[task.dense + k * task.width + lane]) * other;
    }
    box[lane] = solved;
    __syncwarp(whole_warp);
    V bound = solved;
    for_entries(view, task, number, lane, [&](int column, V value) {
        if (column < task.width) bound += magnitude(value) * scale * box[column];
    });
    return lane < task.rows && !(bound <= view.limit * size);  // NaN: it does
}

// S and F in place of the inverse and its product with F.
template <class V>
__device__ void keep_entries(const TestView<V>& view, const Task& task, offset_t number, int lane)
{
    const offset_t size = dense_of(task);
    for (offset_t n = lane; n < size; n += lanes) view.dense[task.dense + n] = V(0);
    __syncwarp(whole_warp);
    for (offset_t e = view.dense_first[number] + lane; e < view.dense_first[number + 1]; e += lanes) {
        const offset_t at = view.dense_at[e];
        view.dense[at] = view.from[view.dense_source[e]] * view.reciprocal[task.first + (at - task.dense) % task.width];
    }
    if (lane == 0) view.substitute[number] = 1;
}

__device__ offset_t task_of_warp() { return offset_t{blockIdx.x} * test_warps + threadIdx.x / lanes; }
__device__ int lane_of_warp() { return static_cast<int>(threadIdx.x) % lanes; }

// b = T x.
//   grid: one warp per task      b: every row written once
template <class V>
__global__ void __launch_bounds__(test_warps* lanes) multiply_tasks_kernel(TestView<V> view, V* b)
{
    const int lane = lane_of_warp();
    const offset_t number = task_of_warp();
    if (number >= view.tasks) return;  // the whole warp
    const Task task = view.task[number];
    const RowProduct<V> p = multiply_row(view, task, number, lane);
    if (lane < task.rows) b[view.row[task.first + lane]] = p.early + p.late + p.inside;
}

//   grid: one warp per task
//   shared memory: a number for each thread
//   dense, substitute: of a merged node, read by its warp alone
template <class V>
__global__ void __launch_bounds__(test_warps* lanes) test_clusters_kernel(TestView<V> view)
{
    TULLE_SHARED(V, box, test_warps * lanes);
    const int lane = lane_of_warp();
    const offset_t number = task_of_warp();
    if (number >= view.tasks) return;  // the whole warp
    const Task task = view.task[number];
    if (task.cluster == 0 || view.substitute[number] != 0) return;
    const bool loses = loses_digits(view, task, number, lane, box + (threadIdx.x - lane));
    if (__any_sync(whole_warp, loses)) keep_entries(view, task, number, lane);
}

template <class V>
TestView<V> view_of(const Tasks& tasks, const V* value, const V* b, const V* x, TaskValues<V>& to)
{
    return {tasks.task.size(),
            tasks.rows,
            tasks.reversed,
            tasks.reordered,
            tasks.team,
            tasks.task.data(),
            tasks.row.data(),
            tasks.col.data(),
            tasks.late_col.data(),
            tasks.diagonal.empty() ? nullptr : tasks.diagonal.data(),
            tasks.source.data(),
            tasks.dense_at.data(),
            tasks.dense_source.data(),
            tasks.dense_first.data(),
            value,
            to.reciprocal.data(),
            b,
            x,
            V(most_trial_error),
            to.dense.data(),
            to.substitute.data()};
}

}  // namespace

// Two solutions are chosen, which takes no solve; where all blocks keep their digits for both, nothing else is tried.
template <class V>
void test_tasks(const CudaQueue& q, const Tasks& tasks, const V* value, const SolveScratch<V>& shared,
                TaskValues<V>& to)
{
    if (tasks.dense_size == 0) return;
    Buffer<V> random(q, tasks.rows), ones(q, tasks.rows), other(q, tasks.rows);
    const LaunchShape by_row{ceil_div(offset_t{tasks.rows}, offset_t{trial_threads}), trial_threads},
        by_task{ceil_div(tasks.task.size(), offset_t{test_warps}), test_warps * lanes};
    const auto test = [&](const V* b, const V* x) {
        launch(q, by_task, test_clusters_kernel<V>, view_of<V>(tasks, value, b, x, to));
    };
    launch(q, by_row, draw_trials_kernel<V>, tasks.rows, random.data(), ones.data());
    for (const V* x : {ones.data(), random.data()}) {
        launch(q, by_task, multiply_tasks_kernel<V>, view_of<V>(tasks, value, nullptr, x, to), other.data());
        test(other.data(), x);
    }
    if (prim::maximum(q, to.substitute.data(), to.substitute.size(), index_t{0}) == 0) return;
    for (const V* b : {ones.data(), random.data()}) {
        solve_tasks(q, tasks, to, shared, RhsView<V>{V(1), b, 1, 0, other.data(), 1, 0, 1});
        test(b, other.data());
    }
}

template void test_tasks(const CudaQueue&, const Tasks&, const float*, const SolveScratch<float>&, TaskValues<float>&);
template void test_tasks(const CudaQueue&, const Tasks&, const double*, const SolveScratch<double>&,
                         TaskValues<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
