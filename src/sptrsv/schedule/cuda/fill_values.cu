// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Values to where rows and tasks want them, and the merged nodes' matrices: (I + S)^-1 in place of S, and its product
// with F in place of F.
//
// A lane solves one column of the inverse by substitution, in registers: all of S is gone through, since to look for
// its entries takes longer than to multiply with zeros, which changes no bit of a sum of finite numbers; an inverse
// with others is not used. The growth of a merged node, the largest row sum of
// |(I + S)^-1| |I + S|, bounds how much less accurate the inverse is; where it is too large, S and F stay as they are
// (docs/design/sptrsv.md). What is written is written once: a solve reads as much.
#include "base/math.hpp"
#include "device/cuda/pinned_readback.hpp"
#include "device/cuda/share_work.cuh"
#include "sptrsv/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// --- Reciprocals of the diagonal, formed once per set of values: solving multiplies ---

constexpr int fill_threads = 256;

// diagonal null: ones. first_zero: beyond all rows before, the first row with a zero after.
template <class V>
__device__ V reciprocal_of(const offset_t* diagonal, offset_t i, const V* value, unsigned* first_zero)
{
    const V d = diagonal ? value[diagonal[i]] : V(1);
    if (d == V(0) && first_zero) atomicMin(first_zero, static_cast<unsigned>(i));
    return V(1) / d;
}

// Where kernels tell of zeros. They are rare, so that nobody minds how far away that is.
class FirstZero {
public:
    explicit FirstZero(const CudaQueue& q) : queue_(q), box_(q) { *box_.there() = ~0u; }
    unsigned* there() const { return box_.there(); }

    // The row of op(A) with the first zero in the order of solving, or -1.
    index_t wait(const Buffer<index_t>& row)
    {
        const unsigned first = box_.wait();
        return first < static_cast<unsigned>(row.size()) ? read_value(queue_, row.data() + first) : -1;
    }

private:
    const CudaQueue& queue_;
    cuda::PinnedReadback<unsigned> box_;
};

// --- Rows ---

struct RowsView {
    index_t rows;
    const index_t* row;
    const offset_t *begin, *source;
};

//   grid: one thread per row      reciprocal: every row written once
template <class V>
__global__ void __launch_bounds__(fill_threads)
    fill_reciprocals_kernel(const offset_t* diagonal, index_t rows, const V* value, V* reciprocal, unsigned* first_zero)
{
    const offset_t i = global_thread();
    if (i < rows) reciprocal[i] = reciprocal_of(diagonal, i, value, first_zero);
}

// A warp for each row.      grid: one warp per row      value: every entry written once
template <class V>
__global__ void __launch_bounds__(fill_threads)
    fill_rows_kernel(RowsView rows, const V* __restrict__ from, const V* __restrict__ reciprocal, V* __restrict__ to)
{
    const offset_t i = global_thread() / lanes;
    if (i >= rows.rows) return;
    for (offset_t k = rows.begin[i] + threadIdx.x % lanes; k < rows.begin[i + 1]; k += lanes)
        to[k] = from[rows.source[k]] * reciprocal[i];
}

// --- Tasks ---

template <int Team>
constexpr int invert_warps = Team == 1 ? 2 : Team;  // of a block
template <int Team>
[[maybe_unused]] constexpr int invert_blocks =
    Team == 1 ? 6 : 5;      // of a multiprocessor, whose shared memory has room for so many
constexpr int at_once = 4;  // loads of a lane that are on their way together: they come before all stores
constexpr int gathered_at_once = 8;
constexpr int column_step =
    lanes + 1;  // one more than a column, so that lanes on different columns meet different banks
constexpr unsigned whole_warp = 0xffffffffu;

// What a kernel reads, for all tasks.
template <class V>
struct Filling {
    const Task* task;
    offset_t tasks;
    int of_block;  // tasks
    int team;
    const offset_t *diagonal, *source;  // diagonal null: ones
    const V* from;
    V *reciprocal, *to;
    unsigned* first_zero;
};

// A warp's share of a task; the first of them writes the reciprocals of its rows, which all form.
template <class V>
__device__ void fill_task(const Filling<V>& f, const Task& task, int lane, int member, int members)
{
    const int i = lane % task.width;
    const bool tells = member == 0 && lane < task.width;
    const V scale = i < task.rows
                        ? reciprocal_of(f.diagonal, offset_t{task.first} + i, f.from, tells ? f.first_zero : nullptr)
                        : V(0);
    if (member == 0 && lane < task.rows) f.reciprocal[task.first + lane] = scale;
    const offset_t end = (task.step + units_of(task, f.team)) * lanes;
    for (offset_t first = (task.step + member * at_once) * lanes + lane; first < end;
         first += members * at_once * lanes) {
        V value[at_once];
#pragma unroll
        for (int n = 0; n < at_once; ++n) {
            const offset_t source = first + n * lanes < end ? f.source[first + n * lanes] : -1;
            value[n] = source < 0 ? V(0) : f.from[source] * scale;
        }
#pragma unroll
        for (int n = 0; n < at_once; ++n)
            if (first + n * lanes < end) f.to[first + n * lanes] = value[n];
    }
}

//   grid: shape_for(tasks)      value: every lane of every step written once      reciprocal: every row written once
template <class V>
__global__ void __launch_bounds__(sharers* lanes) fill_tasks_kernel(Filling<V> f)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    share_tasks(
        f.tasks, f.of_block, [&](offset_t t) { return units_of(f.task[t], f.team) * lanes; },
        [&](offset_t t, int member, int members) { fill_task(f, f.task[t], lane, member, members); });
}

// The entries of a task's matrices, row after row as they are stored; `at` counts from the task's first.
template <class V>
struct Entries {
    const offset_t *at, *source;
    const V* from;
    offset_t begin, end;
};

template <class V>
__device__ void clear_columns(int lane, V* to)
{
    for (int k = 0; k < lanes; ++k) to[k * column_step + lane] = V(0);
}

// Columns of a task's matrices are numbered as if the inverse had 32, whatever its width: late ones from 32 on. Those
// from `first` on, `count` of them, to shared memory, (i, k) at to[(k - first) * column_step + i]: a warp's share of
// their entries, one of `members`. scale: the reciprocal of each row.
template <class V>
__device__ void gather_columns(const Entries<V>& e, const Task& task, int first, int count, int lane, int member,
                               int members, const V* scale, V* to)
{
    const int shift = __ffs(task.width) - 1;
    const int step = members * gathered_at_once * lanes;
    for (offset_t entry = e.begin + member * gathered_at_once * lanes + lane; entry < e.end; entry += step) {
        int at[gathered_at_once];
        offset_t source[gathered_at_once];
        V value[gathered_at_once];
#pragma unroll
        for (int n = 0; n < gathered_at_once; ++n) {
            const bool there = entry + n * lanes < e.end;
            at[n] = there ? static_cast<int>(e.at[entry + n * lanes] - task.dense) : -1;
            source[n] = there ? e.source[entry + n * lanes] : 0;
        }
#pragma unroll
        for (int n = 0; n < gathered_at_once; ++n) {
            const int column = at[n] >> shift, k = (column < task.width ? column : column - task.width + lanes) - first,
                      i = at[n] & (task.width - 1);
            const bool wanted = at[n] >= 0 && k >= 0 && k < count;
            at[n] = wanted ? k * column_step + i : -1;
            value[n] = wanted ? e.from[source[n]] * scale[i] : V(0);
        }
#pragma unroll
        for (int n = 0; n < gathered_at_once; ++n)
            if (at[n] >= 0) to[at[n]] = value[n];
    }
}

// Column `lane` of (I + S)^-1, by substitution: as soon as a number is known, it is taken off all that need it. S and
// the inverse stand column after column.
template <int Width, class V>
__device__ void invert(const V* s, V* inverse, int lane)
{
    V z[Width];
#pragma unroll
    for (int i = 0; i < Width; ++i) z[i] = i == lane ? V(1) : V(0);
#pragma unroll
    for (int k = 0; k < Width; ++k)
#pragma unroll
        for (int i = k + 1; i < Width; ++i) z[i] -= s[k * column_step + i] * z[k];
#pragma unroll
    for (int i = 0; i < Width; ++i) inverse[lane * column_step + i] = z[i];
    __syncwarp(whole_warp);
}

template <class V>
__device__ V magnitude(V value)
{
    return value < V(0) ? -value : value;
}

// Row `lane` of |(I + S)^-1| |I + S| summed up; `box` has a number for each lane. NaN where a NaN is.
template <int Width, class V>
__device__ V row_growth(const V* s, const V* inverse, int lane, V* box)
{
    V sum = 1, growth = 0;
#pragma unroll
    for (int k = 0; k < Width; ++k) sum += lane < Width ? magnitude(s[k * column_step + lane]) : V(0);
    box[lane] = sum;
    __syncwarp(whole_warp);
#pragma unroll
    for (int k = 0; k < Width; ++k) growth += lane < Width ? magnitude(inverse[k * column_step + lane]) * box[k] : V(0);
    __syncwarp(whole_warp);
    return growth;
}

// Late columns, so many of them at most 32, times the inverse unless that is not to be used. Lanes take rows of several
// columns side by side.
template <int Width, class V>
__device__ void fill_late(const V* inverse, const V* f, bool keep, int lane, int columns, V* to)
{
    constexpr int side_by_side = lanes / Width, together = Width < at_once ? Width : at_once;
    static_assert(lanes % (side_by_side * together) == 0);
    const int i = lane % Width;
    V row[Width];
#pragma unroll
    for (int k = 0; k < Width; ++k) row[k] = keep ? V(k == i ? 1 : 0) : inverse[k * column_step + i];
    for (int j = lane / Width; j < columns; j += side_by_side * together) {
        V sum[together] = {};
#pragma unroll
        for (int k = 0; k < Width; ++k)
#pragma unroll
            for (int n = 0; n < together; ++n) sum[n] += row[k] * f[(j + n * side_by_side) * column_step + k];
#pragma unroll
        for (int n = 0; n < together; ++n) {
            const int column = j + n * side_by_side;
            if (column < columns) to[column * Width + i] = keep ? f[column * column_step + i] : sum[n];
        }
    }
}

// The matrices of one warp, or of a warp group that shares them, in shared memory.
template <class V>
struct Matrices {
    V *columns, *inverse;  // columns: of each warp
    V *scale, *box;        // of each warp
    int* keep;
};

// All warps of a warp group have come this far.
template <int Team>
__device__ void meet()
{
    if constexpr (Team == 1) __syncwarp(whole_warp);
    else __syncthreads();
}

// The inverse, by one warp, in place of S, which is in its columns: where it may be used. Tells the others whether it
// may.
template <int Width, class V>
__device__ void fill_block(V limit, const Matrices<V>& m, int lane, V* block, index_t* substitute)
{
    invert<Width>(m.columns, m.inverse, lane);
    const V growth = row_growth<Width>(m.columns, m.inverse, lane, m.box);
    const bool keep = __any_sync(whole_warp, lane < Width && !(growth <= limit));  // NaN: keep
    if (lane == 0) *substitute = *m.keep = keep ? 1 : 0;
    const V* from = keep ? m.columns : m.inverse;
#pragma unroll
    for (int n = lane; n < Width * Width; n += lanes) block[n] = from[n / Width * column_step + n % Width];
    __syncwarp(whole_warp);
}

// One task, by one of the warps of its group.
template <int Team, int Width, class V>
__device__ void fill_cluster(const Entries<V>& entries, const Task& task, V limit, const Matrices<V>& m, int lane,
                             int member, V* block, index_t* substitute)
{
    const int first = (member + Team - 1) % Team *
                      lanes;  // of this warp's late columns: the one that inverts has the last, which there seldom are
    clear_columns(lane, m.columns);
    meet<Team>();
    gather_columns(entries, task, 0, Team * lanes, lane, member, Team, m.scale,
                   m.columns - member * (lanes * column_step));
    meet<Team>();
    if (member == 0) {
        fill_block<Width>(limit, m, lane, block, substitute);
        if (first < task.late) {
            clear_columns(lane, m.columns);
            __syncwarp(whole_warp);
            gather_columns(entries, task, lanes + first, lanes, lane, 0, 1, m.scale, m.columns);
        }
    }
    meet<Team>();
    const int columns = task.late - first < lanes ? task.late - first : lanes;
    if (columns > 0)
        fill_late<Width>(m.inverse, m.columns, *m.keep != 0, lane, columns, block + Width * (Width + first));
}

// As many warps for each task as solve it: together they gather S, into the first one's shared memory, and 32
// late columns into that of each other; then the first inverts. Tasks that are no merged nodes are passed over.
//   grid: one warp group per task
//   shared memory: a matrix of 32 x 33 for each warp and each warp group, 64 numbers a warp
//   dense: every number written once
template <int Team, class V>
__global__ void __launch_bounds__(invert_warps<Team>* lanes, invert_blocks<Team>)
    fill_clusters_kernel(const Task* tasks, offset_t n, const offset_t* dense_first, Entries<V> entries,
                         const V* reciprocal, V limit, V* dense, index_t* substitute)
{
    constexpr int warps = invert_warps<Team>, matrix = lanes * column_step;
    TULLE_SHARED(V, columns_of_warp, warps * matrix);
    TULLE_SHARED(V, inverse_of_team, warps / Team * matrix);
    TULLE_SHARED(V, scale_of_warp, warps * lanes);
    TULLE_SHARED(V, box_of_warp, warps * lanes);
    TULLE_SHARED(int, keep_of_team, warps / Team);
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes,
              team = warp / Team, member = warp % Team;
    const offset_t t = offset_t{blockIdx.x} * (warps / Team) + team;
    if (t >= n || tasks[t].cluster == 0) return;  // the whole warp group
    const Task task = tasks[t];
    const Matrices<V> m{columns_of_warp + warp * matrix, inverse_of_team + team * matrix, scale_of_warp + warp * lanes,
                        box_of_warp + warp * lanes, keep_of_team + team};
    entries.begin = dense_first[t];
    entries.end = dense_first[t + 1];
    m.scale[lane] = lane < task.rows ? reciprocal[task.first + lane] : V(0);
    __syncwarp(whole_warp);
    V* const block = dense + task.dense;
    if (task.width == 2) fill_cluster<Team, 2>(entries, task, limit, m, lane, member, block, substitute + t);
    else if (task.width == 4) fill_cluster<Team, 4>(entries, task, limit, m, lane, member, block, substitute + t);
    else if (task.width == 8) fill_cluster<Team, 8>(entries, task, limit, m, lane, member, block, substitute + t);
    else if (task.width == 16) fill_cluster<Team, 16>(entries, task, limit, m, lane, member, block, substitute + t);
    else fill_cluster<Team, 32>(entries, task, limit, m, lane, member, block, substitute + t);
}

template <int Team, class V>
void fill_clusters(const CudaQueue& q, const Tasks& tasks, const V* value, double growth, TaskValues<V>& to)
{
    constexpr int tasks_of_block = invert_warps<Team> / Team;
    launch(q, {ceil_div(tasks.task.size(), offset_t{tasks_of_block}), invert_warps<Team> * lanes},
           fill_clusters_kernel<Team, V>, tasks.task.data(), tasks.task.size(), tasks.dense_first.data(),
           Entries<V>{tasks.dense_at.data(), tasks.dense_source.data(), value, 0, 0}, to.reciprocal.data(),
           static_cast<V>(growth), to.dense.data(), to.substitute.data());
}

}  // namespace

template <class V>
index_t fill_rows(const CudaQueue& q, const Rows& rows, const V* value, RowValues<V>& to)
{
    const offset_t* diagonal = rows.diagonal.empty() ? nullptr : rows.diagonal.data();
    FirstZero zero(q);
    launch(q, one_thread_each(rows.rows, fill_threads), fill_reciprocals_kernel<V>, diagonal, rows.rows, value,
           to.reciprocal.data(), zero.there());
    const RowsView view{rows.rows, rows.row.data(), rows.begin.data(), rows.source.data()};
    launch(q, one_thread_each(offset_t{rows.rows} * lanes, fill_threads), fill_rows_kernel<V>, view, value,
           to.reciprocal.data(), to.value.data());
    return zero.wait(rows.row);
}

template index_t fill_rows(const CudaQueue&, const Rows&, const float*, RowValues<float>&);
template index_t fill_rows(const CudaQueue&, const Rows&, const double*, RowValues<double>&);

template <class V>
index_t fill_tasks(const CudaQueue& q, const Tasks& tasks, const V* value, double growth, TaskValues<V>& to)
{
    const offset_t n = tasks.task.size();
    const offset_t* diagonal = tasks.diagonal.empty() ? nullptr : tasks.diagonal.data();
    FirstZero zero(q);
    const int of_block = tasks_of_block(n, tasks.col.size());
    launch(q, shape_for(n, of_block), fill_tasks_kernel<V>,
           Filling<V>{tasks.task.data(), n, of_block, tasks.team, diagonal, tasks.source.data(), value,
                      to.reciprocal.data(), to.value.data(), zero.there()});
    if (tasks.dense_size > 0 && tasks.team == 1) fill_clusters<1>(q, tasks, value, growth, to);
    else if (tasks.dense_size > 0) fill_clusters<most_team>(q, tasks, value, growth, to);
    return zero.wait(tasks.row);
}

template index_t fill_tasks(const CudaQueue&, const Tasks&, const float*, double, TaskValues<float>&);
template index_t fill_tasks(const CudaQueue&, const Tasks&, const double*, double, TaskValues<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
