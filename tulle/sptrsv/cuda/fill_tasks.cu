// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Values to where tasks want them, and the clusters' matrices: (I + S)^-1 in place of S, and its product with F in place of F.
//
// A lane solves one column of the inverse by substitution. The growth of a cluster, the largest row sum of |(I + S)^-1| |I + S|, bounds how much
// less accurate the inverse is; where it is too large, S and F stay as they are (docs/design/sptrsv.md).
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

// dense: zero before.
template <class V>
__global__ void __launch_bounds__(fill_threads)
fill_dense_kernel(offset_t n, const offset_t* at, const offset_t* source, const index_t* row, const V* __restrict__ from, const V* __restrict__ reciprocal, V* __restrict__ dense)
{
    const offset_t k = global_thread();
    if (k < n) dense[at[k]] = from[source[k]] * reciprocal[row[k]];
}

// Column `lane` of (I + S)^-1, by substitution. S and the inverse stand column after column, S(i, k) at s[k * column_step + i].
template <class V>
__device__ void invert_column(const V* s, V* inverse, int width, int lane)
{
    V* z = inverse + lane * column_step;
    for (int i = 0; i < width; ++i) {
        V sum = i == lane ? V(1) : V(0);
        for (int k = lane; k < i; ++k) sum -= s[k * column_step + i] * z[k];
        z[i] = sum;
    }
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

// f becomes (I + S)^-1 f, by all lanes; row `lane` is returned.
template <class V>
__device__ V apply_inverse(const V* inverse, int width, int lane, V f, V* box)
{
    box[lane] = f;
    __syncwarp(whole_warp);
    V sum = 0;
    for (int k = 0; k < width; ++k) sum += lane < width ? inverse[k * column_step + lane] * box[k] : V(0);
    __syncwarp(whole_warp);
    return sum;
}

// A warp for each task; tasks that are no clusters are passed over.
//   grid: one warp per task      shared memory: two matrices of 32 x 33 and 32 numbers a warp
template <class V>
__global__ void __launch_bounds__(invert_warps* lanes) invert_clusters_kernel(const Task* tasks, offset_t n, V limit, V* dense, index_t* substitute)
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
    for (int k = 0; k < width; ++k)
        if (lane < width) s[k * column_step + lane] = block[k * width + lane];
    __syncwarp(whole_warp);
    if (lane < width) invert_column(s, inverse, width, lane);
    __syncwarp(whole_warp);
    const V growth = row_growth(s, inverse, width, lane, box);
    const bool keep = __any_sync(whole_warp, lane < width && !(growth <= limit));      // NaN: keep
    if (lane == 0) substitute[t] = keep ? 1 : 0;
    if (keep) return;
    for (int k = 0; k < width; ++k)
        if (lane < width) block[k * width + lane] = inverse[k * column_step + lane];
    for (int j = 0; j < task.late; ++j) {
        const V product = apply_inverse(inverse, width, lane, lane < width ? late[j * width + lane] : V(0), box);
        if (lane < width) late[j * width + lane] = product;
    }
}

}  // namespace

template <class V>
index_t fill_tasks(const CudaQueue& q, const Tasks& tasks, const V* value, TaskValues<V>& to)
{
    const offset_t zero = fill_reciprocals(q, tasks.diagonal, tasks.rows, value, to.reciprocal);
    const offset_t n = tasks.task.size(), entries = tasks.dense_at.size();
    launch(q, one_thread_each(n * lanes, fill_threads), fill_tasks_kernel<V>, tasks.task.data(), n, tasks.team, tasks.source.data(), value, to.reciprocal.data(), to.value.data());
    if (tasks.dense_size > 0) {
        fill_zero(q, to.dense.data(), tasks.dense_size);
        launch(q, one_thread_each(entries, fill_threads), fill_dense_kernel<V>, entries, tasks.dense_at.data(), tasks.dense_source.data(), tasks.dense_row.data(), value,
               to.reciprocal.data(), to.dense.data());
        launch(q, one_thread_each(n * lanes, invert_warps * lanes), invert_clusters_kernel<V>, tasks.task.data(), n, static_cast<V>(most_growth), to.dense.data(),
               to.substitute.data());
    }
    return zero < tasks.rows ? read_value(q, tasks.row.data() + zero) : -1;
}

template index_t fill_tasks(const CudaQueue&, const Tasks&, const float*, TaskValues<float>&);
template index_t fill_tasks(const CudaQueue&, const Tasks&, const double*, TaskValues<double>&);

}  // namespace tulle::sptrsv
