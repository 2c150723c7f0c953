// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Values to where tasks want them, and the clusters' matrices: (I + S)^-1 in place of S, and its product with F in place of F.
//
// A lane solves one column of the inverse by substitution. Both matrices have few entries, so only rows and columns that have some are gone through; a zero
// left out changes no bit of a sum. The growth of a cluster, the largest row sum of |(I + S)^-1| |I + S|, bounds how much less accurate the inverse is;
// where it is too large, S and F stay as they are (docs/design/sptrsv.md). What is written is written once: a solve reads as much.
#include "tulle/sptrsv/cuda/fill.cuh"

namespace tulle::sptrsv {
namespace {

constexpr int invert_warps = 2;
constexpr int column_step = lanes + 1;                     // one more than a column, so that lanes on different columns meet different banks
constexpr unsigned whole_warp = 0xffffffffu;

// A warp for each task.      grid: one warp per task      value: every lane of every step written once
template <class V>
__global__ void __launch_bounds__(fill_threads)
fill_tasks_kernel(const Task* tasks, offset_t n, int team, const offset_t* __restrict__ source, const V* __restrict__ from, const V* __restrict__ reciprocal, V* __restrict__ to)
{
    const offset_t t = global_thread() / lanes;
    if (t >= n) return;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const Task task = tasks[t];
    const int i = lane % task.width;
    const V scale = i < task.rows ? reciprocal[task.first + i] : V(0);
    const int more = task.cluster == 0 && task.late > 0 ? 1 : 0;
    for (offset_t at = task.step * lanes + lane; at < (task.step + offset_t{task.steps} * team + more) * lanes; at += lanes) to[at] = source[at] < 0 ? V(0) : from[source[at]] * scale;
}

// The entries of a task's matrices, in the order lay_out_tasks gave them; `at` counts from the task's first.
template <class V>
struct Entries {
    const offset_t *at, *source;
    const V *from, *reciprocal;
    offset_t begin, end;
};

// Columns first … first + 31 of a task's matrices to shared memory, (i, k) at to[k * column_step + i], by all lanes.
template <class V>
__device__ void gather_columns(const Entries<V>& e, const Task& task, int first, int lane, V* to)
{
    for (int k = 0; k < lanes; ++k) to[k * column_step + lane] = V(0);
    __syncwarp(whole_warp);
    for (offset_t n = e.begin + lane; n < e.end; n += lanes) {
        const int at = static_cast<int>(e.at[n] - task.dense), i = at % task.width, k = at / task.width - first;
        if (k >= 0 && k < lanes) to[k * column_step + i] = e.from[e.source[n]] * e.reciprocal[task.first + i];
    }
    __syncwarp(whole_warp);
}

// Rows of the set, from the lowest: f(row).
template <class F>
__device__ void each_row(unsigned set, F&& f)
{
    for (; set != 0; set &= set - 1) f(__ffs(static_cast<int>(set)) - 1);
}

// Column `lane` of (I + S)^-1, by substitution, all lanes together. S and the inverse stand column after column.
template <class V>
__device__ void invert(const V* s, V* inverse, int width, int lane)
{
    V* z = inverse + lane * column_step;
    for (int i = 0; i < width; ++i) {
        const V mine = s[lane * column_step + i];
        V sum = i == lane ? V(1) : V(0);
        each_row(__ballot_sync(whole_warp, lane < i && mine != V(0)), [&](int k) {
            const V one = __shfl_sync(whole_warp, mine, k);
            if (k >= lane) sum -= one * z[k];
        });
        z[i] = sum;
    }
    __syncwarp(whole_warp);
}

template <class V>
__device__ V magnitude(V value)
{
    return value < V(0) ? -value : value;
}

// Row `lane` of |(I + S)^-1| |I + S| summed up; `box` has a number for each lane. NaN where a NaN is.
template <class V>
__device__ V row_growth(const V* s, const V* inverse, int width, int lane, V* box)
{
    V sum = 1;
    for (int k = 0; k < width; ++k) sum += lane < width ? magnitude(s[k * column_step + lane]) : V(0);
    box[lane] = sum;
    __syncwarp(whole_warp);
    V growth = 0;
    for (int k = 0; k < width; ++k) growth += lane < width ? magnitude(inverse[k * column_step + lane]) * box[k] : V(0);
    __syncwarp(whole_warp);
    return growth;
}

// Row `lane` of (I + S)^-1 f, where f is one column.
template <class V>
__device__ V apply_inverse(const V* inverse, const V* f, int lane)
{
    const V mine = f[lane];
    V sum = 0;
    each_row(__ballot_sync(whole_warp, mine != V(0)), [&](int k) { sum += inverse[k * column_step + lane] * __shfl_sync(whole_warp, mine, k); });
    return sum;
}

// A warp for each task; tasks that are no clusters are passed over.
//   grid: one warp per task      shared memory: two matrices of 32 x 33 and 32 numbers a warp      dense: every number written once
template <class V>
__global__ void __launch_bounds__(invert_warps* lanes)
fill_clusters_kernel(const Task* tasks, offset_t n, const offset_t* dense_first, Entries<V> entries, V limit, V* dense, index_t* substitute)
{
    TULLE_SHARED(V, s_of_warp, invert_warps * lanes * column_step);
    TULLE_SHARED(V, inverse_of_warp, invert_warps * lanes * column_step);
    TULLE_SHARED(V, box_of_warp, invert_warps * lanes);
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    const offset_t t = global_thread() / lanes;
    if (t >= n || tasks[t].cluster == 0) return;           // the whole warp
    const Task task = tasks[t];
    const int width = task.width;
    V *s = s_of_warp + warp * lanes * column_step, *inverse = inverse_of_warp + warp * lanes * column_step, *box = box_of_warp + warp * lanes;
    V *block = dense + task.dense, *late = block + width * width;
    entries.begin = dense_first[t];
    entries.end = dense_first[t + 1];
    gather_columns(entries, task, 0, lane, s);
    invert(s, inverse, width, lane);
    const V growth = row_growth(s, inverse, width, lane, box);
    const bool keep = __any_sync(whole_warp, lane < width && !(growth <= limit));      // NaN: keep
    if (lane == 0) substitute[t] = keep ? 1 : 0;
    for (int k = 0; k < width; ++k)
        if (lane < width) block[k * width + lane] = keep ? s[k * column_step + lane] : inverse[k * column_step + lane];
    for (int first = 0; first < task.late; first += lanes) {
        __syncwarp(whole_warp);
        gather_columns(entries, task, width + first, lane, s);
        for (int j = 0; j < lanes && first + j < task.late; ++j) {
            const V* f = s + j * column_step;
            const V product = keep ? f[lane] : apply_inverse(inverse, f, lane);
            if (lane < width) late[(first + j) * width + lane] = product;
        }
    }
}

}  // namespace

template <class V>
index_t fill_tasks(const CudaQueue& q, const Tasks& tasks, const V* value, TaskValues<V>& to)
{
    const Buffer<unsigned> zero = fill_reciprocals(q, tasks.diagonal, tasks.rows, value, to.reciprocal);
    const offset_t n = tasks.task.size();
    launch(q, one_thread_each(n * lanes, fill_threads), fill_tasks_kernel<V>, tasks.task.data(), n, tasks.team, tasks.source.data(), value, to.reciprocal.data(), to.value.data());
    if (tasks.dense_size > 0)
        launch(q, one_thread_each(n * lanes, invert_warps * lanes), fill_clusters_kernel<V>, tasks.task.data(), n, tasks.dense_first.data(),
               Entries<V>{tasks.dense_at.data(), tasks.dense_source.data(), value, to.reciprocal.data(), 0, 0}, static_cast<V>(most_growth), to.dense.data(), to.substitute.data());
    const unsigned first = read_value(q, zero.data());
    return first < static_cast<unsigned>(tasks.rows) ? read_value(q, tasks.row.data() + first) : -1;
}

template index_t fill_tasks(const CudaQueue&, const Tasks&, const float*, TaskValues<float>&);
template index_t fill_tasks(const CudaQueue&, const Tasks&, const double*, TaskValues<double>&);

}  // namespace tulle::sptrsv
