// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Our own kernel: warps, or warp groups of four, take tasks by ticket; what a task needs last is kept apart, so that
// between the arrival of the last number and the departure of the result lie a few multiplications. Order of additions:
// fixed by the tasks; the same bits every time, and in every execution_scope: the whole GPU, one block, or one cluster
// of blocks, which differ in who takes tasks and where unknowns live.
#include <algorithm>

#include "base/math.hpp"
#include "sptrsv/solve/cuda/waiting.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int steps_at_once = 4;

// Where a thread stands in its warp group, and the warp group's shared memory: a number for each thread in each part.
template <class V>
struct Member {
    int lane, warp;
    int barrier;  // of the warp group; 0: that of the block
    V *vector, *sums, *totals;
};

// A lane's entries of some steps.
template <int N, class V>
struct Entries {
    index_t col[N];
    V value[N];

    template <int Team>
    __device__ void load(const TasksView<V>& view, const Task& task, index_t step, const Member<V>& me)
    {
#pragma unroll
        for (int n = 0; n < N; ++n) {
            const bool there = step + n < task.steps;
            const offset_t at = (task.step + offset_t{step + n} * Team + me.warp) * lanes + me.lane;
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

// Sum over the lanes of a warp that work on the same row, which stand `width` apart; every lane gets it.
template <class V>
__device__ V sum_of_row(V sum, int width)
{
    for (int distance = width; distance < lanes; distance *= 2) sum += __shfl_xor_sync(whole_warp, sum, distance);
    return sum;
}

// … and over the warps of the warp group, in their order.
template <int Team, class V>
__device__ V sum_of_team(V sum, const Member<V>& me, V* box)
{
    if constexpr (Team == 1) return sum;
    box[me.warp * lanes + me.lane] = sum;
    meet<Team>(me.barrier);
    V total = box[me.lane];
#pragma unroll
    for (int w = 1; w < Team; ++w) total += box[w * lanes + me.lane];
    return total;
}

// The early entries; the next steps are on their way while these are waited for.
template <int Team, class V, class Unknowns>
__device__ V take_early(const TasksView<V>& view, const Task& task, const Waits<V, Unknowns>& waits,
                        const Member<V>& me, V sum)
{
    Entries<steps_at_once, V> now, next;
    now.template load<Team>(view, task, 0, me);
    for (index_t step = 0; step < task.steps; step += steps_at_once) {
        next.template load<Team>(view, task, step + steps_at_once, me);
        Word<V> word[steps_at_once];
        wait_for<1>(waits, now.col, word);
        sum = subtract(sum, now.value, word);
        now = next;
    }
    return sum_of_team<Team>(sum_of_row(sum, task.width), me, me.sums);
}

// Late entries of rows alone: lane j * width + i of the first warp has read entry j of row i; every lane of the row
// gets all of them.
template <class V>
__device__ void share_late(const Task& task, int lane, index_t col, V value, Entries<most_late, V>& late)
{
#pragma unroll
    for (int j = 0; j < most_late; ++j) {
        late.col[j] = -1;
        late.value[j] = 0;
        if (j >= task.late) continue;  // the whole warp
        const int from = j * task.width + lane % task.width;
        late.col[j] = __shfl_sync(whole_warp, col, from);
        late.value[j] = __shfl_sync(whole_warp, value, from);
    }
}

// The first warp has the result.
template <int Team, class V, class Unknowns>
__device__ V solve_alone(const TasksView<V>& view, const Task& task, const Waits<V, Unknowns>& waits,
                         const Member<V>& me, V sum)
{
    Entries<most_late, V> late;
    const offset_t at = (task.step + offset_t{task.steps} * Team) * lanes + me.lane;
    const bool has_late = task.late > 0 && me.warp == 0;
    share_late(task, me.lane, has_late ? view.col[at] : -1, has_late ? view.value[at] : V(0), late);
    sum = take_early<Team>(view, task, waits, me, sum);
    if (!has_late) return sum;
    Word<V> word[most_late];
    wait_for<1>(waits, late.col, word);
    return subtract(sum, late.value, word);
}

// A merged node: with the inverse before the late columns arrive and their product after, or by substitution at the
// end. Every warp takes its share of the columns of both matrices.
template <int Team, class V, class Unknowns>
__device__ V solve_cluster(const TasksView<V>& view, const Task& task, const Waits<V, Unknowns>& waits,
                           bool by_substitution, const Member<V>& me, V sum)
{
    constexpr int share = lanes / Team;
    const int width = task.width, i = me.lane % width;
    const int late_count = (task.late - me.warp + Team - 1) / Team;
    const V* matrix = view.dense + task.dense;
    MatrixRow<share, V> block;
    MatrixRow<lanes, V> late;
    block.load(matrix, width, me.warp * share, 1, width, i);
    late.load(matrix + width * width, width, me.warp, Team, task.late, i);
    const index_t late_col[1] = {me.lane < late_count ? view.late_col[task.late_first + me.lane * Team + me.warp] : -1};
    V* vector = me.vector + me.warp * lanes;

    sum = take_early<Team>(view, task, waits, me, sum);
    if (!by_substitution) {
        vector[me.lane] = sum;
        __syncwarp(whole_warp);
        sum = block.times(vector + me.warp * share, width - me.warp * share);
        __syncwarp(whole_warp);
    } else if (me.warp > 0) {
        sum = 0;
    }
    Word<V> word[1];
    wait_for<1>(waits, late_col, word);
    vector[me.lane] = number<V>(word[0]);
    __syncwarp(whole_warp);
    sum = sum_of_team<Team>(sum - late.times(vector, late_count), me, me.totals);
    if (by_substitution && me.warp == 0) sum = substitute(matrix, width, i, sum);
    __syncwarp(whole_warp);
    return sum;
}

template <int Team, bool Clusters, class V, class Unknowns>
__device__ void solve_task(const TasksView<V>& view, const SharedView<V>& shared, offset_t number,
                           const Unknowns& unknown, const RhsView<V>& sides, const Member<V>& me)
{
    const Task task = view.task[number];
    const int i = me.lane % task.width;
    const index_t place = task.first + i;
    const bool has_row = i < task.rows, first_lane = me.warp == 0 && me.lane < task.width;
    const index_t row = has_row ? view.row[place] : 0;
    const V right = has_row && first_lane ? sides.alpha * sides.b[row * sides.b_row] * view.reciprocal[place] : V(0);
    const Waits<V, Unknowns> waits{unknown, shared.spin_limit, shared.fault, row};
    V x;
    if (Clusters && task.cluster != 0)
        x = solve_cluster<Team>(view, task, waits, view.substitute[number] != 0, me, right);
    else x = solve_alone<Team>(view, task, waits, me, right);
    if (has_row && first_lane) sides.x[row * sides.x_row] = publish(unknown, view.unknown(place, row), x);
}

template <int Team, bool Clusters, class V, class Unknowns>
__device__ void solve_all(const TasksView<V>& view, const SharedView<V>& shared, Tickets<Team>& tickets,
                          const Unknowns& unknown, const RhsView<V>& sides, const Member<V>& me)
{
    for (; tickets.task() < view.tasks; tickets.next()) {
        const offset_t task = tickets.task();
        tickets.take();
        solve_task<Team, Clusters>(view, shared, task, unknown, sides, me);
    }
}

// All blocks of the execution_scope have come this far.
template <ExecutionScope R>
__device__ void meet_regime()
{
    if constexpr (R == ExecutionScope::block) return __syncthreads();
    arrive_in_cluster();
    wait_for_cluster();
}

template <ExecutionScope R, class V>
__device__ auto shared_unknowns(Word<V>* words, int shift)
{
    if constexpr (R == ExecutionScope::block) return BlockUnknowns<V>{words};
    else return ClusterUnknowns<V>{words, shift};
}

// Registers decide: a warp alone holds two matrices of a merged node.
template <ExecutionScope R, int Team, bool Clusters>
constexpr int most_threads = R == ExecutionScope::device ? threads_per_block
                                                         : lanes* most_warps_in_block(Team, Clusters);

//   grid: the whole GPU: any number of warp groups, the same for all launches of a plan; else one block or cluster
//   x: every row written once
//   shared memory: three numbers a thread; with one block or cluster also the unknowns
template <ExecutionScope R, int Team, bool Clusters, class V>
__global__ void __launch_bounds__((most_threads<R, Team, Clusters>))
    solve_tasks_kernel(TasksView<V> view, SharedView<V> shared, RhsView<V> sides)
{
    constexpr int threads = most_threads<R, Team, Clusters>;
    TULLE_SHARED(V, vector, threads);
    TULLE_SHARED(V, sums, threads);
    TULLE_SHARED(V, totals, threads);
    TULLE_SHARED(unsigned long long, ticket_box, threads / lanes);
    const int thread = static_cast<int>(threadIdx.x), team = thread / (lanes * Team), first = team * lanes * Team;
    const Member<V> me{thread % lanes,
                       (thread - first) / lanes,
                       R == ExecutionScope::device ? 0 : team + 1,
                       vector + first,
                       sums + first,
                       totals + first};
    if constexpr (R == ExecutionScope::device) {
        Tickets<Team> tickets = take_tickets<Team>(shared, view.tasks, thread == first, ticket_box);
        solve_all<Team, Clusters>(view, shared, tickets, unknowns_of(shared, tickets), sides, me);
    } else {
        TULLE_SHARED(unsigned long long, ticket, 1);
        TULLE_DYNAMIC_SHARED(Word<V>, words);
        for (offset_t u = thread; u < shared.half; u += blockDim.x) words[u] = sentinel<V>;
        if (thread == 0) *ticket = 0;
        meet_regime<R>();
        Tickets<Team> tickets(R == ExecutionScope::block ? ticket : in_cluster(ticket, 0), 0, thread == first,
                              me.barrier, ticket_box + team);
        solve_all<Team, Clusters>(view, shared, tickets, shared_unknowns<R, V>(words, shared.shift), sides, me);
        meet_regime<R>();  // a block's unknowns stay until nobody asks for them
    }
}

template <ExecutionScope R, int Team, class V>
void launch_tasks(const CudaQueue& q, const Tasks& tasks, const TasksView<V>& view, const SolveScratch<V>& shared,
                  const RhsView<V>& sides)
{
    const LaunchShape shape = shape_of(shared, Team);
    if (tasks.dense_size > 0) launch(q, shape, solve_tasks_kernel<R, Team, true, V>, view, view_of(shared), sides);
    else launch(q, shape, solve_tasks_kernel<R, Team, false, V>, view, view_of(shared), sides);
}

template <int Team, class V>
void launch_regime(const CudaQueue& q, const Tasks& tasks, const TasksView<V>& view, const SolveScratch<V>& shared,
                   const RhsView<V>& sides)
{
    switch (shared.execution_scope) {
    case ExecutionScope::device: return launch_tasks<ExecutionScope::device, Team>(q, tasks, view, shared, sides);
    case ExecutionScope::block: return launch_tasks<ExecutionScope::block, Team>(q, tasks, view, shared, sides);
    case ExecutionScope::cluster: return launch_tasks<ExecutionScope::cluster, Team>(q, tasks, view, shared, sides);
    }
}

}  // namespace

template <class V>
void solve_tasks(const CudaQueue& q, const Tasks& tasks, const TaskValues<V>& values, const SolveScratch<V>& shared,
                 const RhsView<V>& sides)
{
    const TasksView<V> view = view_of(tasks, values);
    for (index_t j = 0; j < sides.columns; ++j) {
        RhsView<V> one = sides;
        one.b += j * sides.b_col;
        one.x += j * sides.x_col;
        if (tasks.team == 1) launch_regime<1>(q, tasks, view, shared, one);
        else launch_regime<most_team>(q, tasks, view, shared, one);
    }
}

template void solve_tasks(const CudaQueue&, const Tasks&, const TaskValues<float>&, const SolveScratch<float>&,
                          const RhsView<float>&);
template void solve_tasks(const CudaQueue&, const Tasks&, const TaskValues<double>&, const SolveScratch<double>&,
                          const RhsView<double>&);

template <class V>
SolveScratch<V> make_shared(const CudaQueue& q, offset_t unknowns, offset_t tasks, int warps, int team, int bundles)
{
    const offset_t wanted =
        std::min(tasks, std::max<offset_t>(1, offset_t{multiprocessors(q)} * warps / (team * bundles)));
    SolveScratch<V> s{.unknown = Buffer<V>(q, 2 * unknowns),
                      .turns = Buffer<TicketState>(q, bundles),
                      .half = unknowns,
                      .takers = static_cast<int>(round_up(wanted, offset_t{warps_per_block / team}))};
    fill_bytes(q, s.unknown.data(), 0xff, s.unknown.bytes());
    fill_zero(q, s.turns.data(), bundles);
    return s;
}

template <class V>
SolveScratch<V> make_shared(const CudaQueue& q, index_t unknowns, const Policy& s)
{
    const int blocks = blocks_of(s);
    SolveScratch<V> shared{.unknown = {},
                           .turns = Buffer<TicketState>(q, 1),
                           .half = unknowns_of_a_block(s, unknowns),
                           .takers = blocks * s.warps / s.warps_per_task,
                           .execution_scope = s.execution_scope,
                           .blocks = blocks};
    fill_zero(q, shared.turns.data(), 1);
    return shared;
}

template SolveScratch<float> make_shared(const CudaQueue&, index_t, const Policy&);
template SolveScratch<double> make_shared(const CudaQueue&, index_t, const Policy&);
template SolveScratch<float> make_shared(const CudaQueue&, offset_t, offset_t, int, int, int);
template SolveScratch<double> make_shared(const CudaQueue&, offset_t, offset_t, int, int, int);

}  // namespace tulle::inline TULLE_ABI::sptrsv
