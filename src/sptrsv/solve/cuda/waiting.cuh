// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Unknowns, tickets and waits, shared by the solving kernels, and tasks as they see them.
//
// Progress: tasks are handed out by ticket in an order in which every task comes after those it needs. Whoever is
// waited for has therefore been taken by a warp that runs, and the first unfinished task waits for nobody. Nothing
// depends on how many blocks fit, or which start first. A wait that lasts too long all the same (a schedule that is
// wrong, memory overwritten) writes its row down, goes on with NaN, and so ends.
#pragma once

#include <bit>

#include "device/cuda/cluster.cuh"
#include "sptrsv/steps.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// Where unknowns live while a kernel works: words that are their own flags (value_flag.cuh), in the memory that all who
// wait for them share. The farther that memory, the longer a hop: another multiprocessor's answer comes through the L2,
// a neighbour's of the same cluster from its shared memory, that of the same block from one's own. load(u) polls,
// tell(u, word) publishes.

// For the whole GPU, twice: a solve arms the other half for the next one.
template <class V>
struct GlobalUnknowns {
    Word<V>*mine, *other;

    __device__ Word<V> load(offset_t u) const { return load_relaxed(mine + u); }
    __device__ void tell(offset_t u, Word<V> word) const
    {
        store_relaxed(mine + u, word);
        other[u] = sentinel<V>;
    }
};

// For one block, which arms them when it starts.
template <class V>
struct BlockUnknowns {
    Word<V>* word;

    __device__ Word<V> load(offset_t u) const { return load_shared(word + u); }
    __device__ void tell(offset_t u, Word<V> value) const { store_shared(word + u, value); }
};

// For one cluster of 2^shift blocks: 32 neighbours in each block in turn, so that what a warp reads or writes together
// mostly lies together.
template <class V>
struct ClusterUnknowns {
    Word<V>* word;  // of this block
    int shift;

    __device__ int block(offset_t u) const { return (static_cast<int>(u) / lanes) & ((1 << shift) - 1); }
    __device__ int place(offset_t u) const
    {
        return (static_cast<int>(u) / lanes >> shift) * lanes + static_cast<int>(u) % lanes;
    }
    __device__ Word<V> load(offset_t u) const { return load_in_cluster(word + place(u), block(u)); }
    __device__ void tell(offset_t u, Word<V> value) const { store_in_cluster(word + place(u), block(u), value); }
};

constexpr unsigned whole_warp = 0xffffffffu;
constexpr int warps_per_block = 4;
constexpr int threads_per_block = warps_per_block * lanes;

// The device side of SolveScratch.
template <class V>
struct SharedView {
    Word<V>* unknown;
    unsigned long long* ticket;
    int* fault;
    offset_t half;
    unsigned long long takers;
    unsigned spin_limit;
    int shift;  // ExecutionScope::cluster: logarithm of its blocks
};

template <class V>
SharedView<V> view_of(const SolveScratch<V>& s)
{
    auto* words = reinterpret_cast<Word<V>*>(const_cast<V*>(s.unknown.data()));
    auto* turns = const_cast<TicketState*>(s.turns.data());
    return {words,
            &turns->ticket,
            &turns->fault,
            s.half,
            static_cast<unsigned long long>(s.takers),
            s.spin_limit,
            std::countr_zero(static_cast<unsigned>(s.blocks))};
}

template <class V>
LaunchShape shape_of(const SolveScratch<V>& s, int team)
{
    if (s.execution_scope == ExecutionScope::device) return {s.takers / (warps_per_block / team), threads_per_block};
    return {s.blocks, s.takers * team / s.blocks * lanes, static_cast<std::size_t>(s.half) * sizeof(V), s.blocks};
}

// All threads of a warp group have come this far, and see what the others wrote to shared memory. Barrier 0: the warp
// group is the whole block; else one of several, which have a number each.
template <int Team>
__device__ void meet(int barrier)
{
    if constexpr (Team == 1) __syncwarp(whole_warp);
    else if (barrier == 0) __syncthreads();
    else named_barrier_sync(barrier, Team * lanes);
}

// A warp group's way through the tickets. Every warp group takes one beyond the last task, so a launch uses tasks +
// takers tickets, whoever takes how many: the count never has to be reset, and tells which half of the unknowns this
// launch uses, also when it is replayed from a graph. The next ticket is taken while the present task is worked on.
template <int Team>
class Tickets {
public:
    // counter: where all who take tickets find it. of_a_launch: 0 if it starts anew with every launch. box: in shared
    // memory, for warp groups.
    __device__ Tickets(unsigned long long* counter, unsigned long long of_a_launch, bool leader, int barrier,
                       unsigned long long* box)
        : counter_(counter),
          box_(box),
          leader_(leader),
          barrier_(barrier)
    {
        take();
        const unsigned long long first = tell(), launches = of_a_launch == 0 ? 0 : first / of_a_launch;
        odd_ = launches % 2 == 1;
        first_ = launches * of_a_launch;
        task_ = static_cast<offset_t>(first - first_);
    }

    __device__ bool odd() const { return odd_; }  // every other launch
    __device__ offset_t task() const { return task_; }
    __device__ void take() { taken_ = leader_ ? atomicAdd(counter_, 1ull) : 0ull; }
    __device__ void next() { task_ = static_cast<offset_t>(tell() - first_); }

private:
    __device__ unsigned long long tell()
    {
        if constexpr (Team == 1) return __shfl_sync(whole_warp, taken_, 0);
        meet<Team>(barrier_);
        if (leader_) *box_ = taken_;
        meet<Team>(barrier_);
        return *box_;
    }

    unsigned long long *counter_, *box_;
    bool leader_, odd_ = false;
    int barrier_;
    unsigned long long taken_ = 0, first_ = 0;
    offset_t task_ = 0;
};

// Tickets of the whole GPU, and the unknowns of this launch.
template <int Team, class V>
__device__ Tickets<Team> take_tickets(const SharedView<V>& s, offset_t tasks, bool leader, unsigned long long* box)
{
    return {s.ticket, static_cast<unsigned long long>(tasks) + s.takers, leader, 0, box};
}
template <int Team, class V>
__device__ GlobalUnknowns<V> unknowns_of(const SharedView<V>& s, const Tickets<Team>& tickets)
{
    return {s.unknown + (tickets.odd() ? s.half : 0), s.unknown + (tickets.odd() ? 0 : s.half)};
}

// Unknowns: GlobalUnknowns, BlockUnknowns or ClusterUnknowns.
template <class V, class Unknowns>
struct Waits {
    Unknowns unknown;
    unsigned spin_limit;
    int* fault;
    index_t row;  // of op(A), to be named if a wait fails
};

template <int N, class V>
__device__ bool any_armed(const Word<V> (&word)[N])
{
    bool any = false;
    for (int n = 0; n < N; ++n) any = any || word[n] == sentinel<V>;
    return any;
}

// The words of N unknowns, once all are there; a negative column is zero. Stride: words from one unknown to the next.
template <int Stride, int N, class V, class Unknowns>
__device__ void wait_for(const Waits<V, Unknowns>& waits, const index_t (&col)[N], Word<V> (&word)[N])
{
    const auto at = [&](int n) { return static_cast<offset_t>(col[n]) * Stride; };
#pragma unroll
    for (int n = 0; n < N; ++n) word[n] = col[n] >= 0 ? waits.unknown.load(at(n)) : Word<V>{0};
    for (unsigned polls = 0; any_armed<N, V>(word); ++polls) {
        if (polls > waits.spin_limit) atomicCAS(waits.fault, 0, waits.row + 1);  // the first to give up is named
#pragma unroll
        for (int n = 0; n < N; ++n) {
            if (word[n] != sentinel<V>) continue;
            word[n] = polls > waits.spin_limit ? ordinary_nan<V> : waits.unknown.load(at(n));
        }
    }
}

// Tells everybody. Returns what was told: never the bits of `sentinel`.
template <class V, class Unknowns>
__device__ V publish(const Unknowns& unknown, offset_t at, V value)
{
    const Word<V> word = word_of(value);
    unknown.tell(at, word);
    return number<V>(word);
}

// --- Tasks as kernels see them: solve_tasks.cu for one right-hand side, solve_sides.cu for many ---

namespace {  // a part of the kernels' names, which are of one file

template <class V>
struct TasksView {
    offset_t tasks;
    index_t rows;
    bool reversed, reordered;
    const Task* task;
    const index_t *row, *col, *late_col;
    const V *reciprocal, *value, *dense;
    const index_t* substitute;

    __device__ offset_t unknown(index_t place, index_t of_row) const
    {
        return reordered ? place : reversed ? rows - 1 - of_row : of_row;
    }
};

// A lane's row of some columns of a matrix, in registers.
template <int N, class V>
struct MatrixRow {
    V value[N];

    // Columns first, first + step, … below `columns`.
    __device__ void load(const V* matrix, int width, int first, int step, int columns, int i)
    {
#pragma unroll
        for (int j = 0; j < N; ++j)
            value[j] = first + j * step < columns ? matrix[(first + j * step) * width + i] : V(0);
    }

    // The row times a vector in shared memory, which has a number for every lane; `count` of the columns are there.
    // Zeros are not entries: where NaN or infinity came out they are left out.
    __device__ V times(const V* vector, int count) const
    {
        V sum = 0;
        if (count > 16) sum = add<N, false>(vector);
        else if (count > 8) sum = add<(N < 16 ? N : 16), false>(vector);
        else if (count > 0) sum = add<(N < 8 ? N : 8), false>(vector);
        return sum - sum == V(0) ? sum : add<N, true>(vector);
    }

    // Four sums side by side. No branches: all loads are on their way at once.
    template <int M, bool WithoutZeros>
    __device__ V add(const V* vector) const
    {
        V sum[4] = {};
#pragma unroll
        for (int j = 0; j < M; ++j)
            if (!WithoutZeros || value[j] != V(0)) sum[j % 4] += value[j] * vector[j];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
};

// (I + S) x = sum, one unknown after the other; S stands in memory, column after column.
template <class V>
__device__ V substitute(const V* s, int width, int i, V sum)
{
    for (int j = 0; j < width; ++j) {
        const V x = __shfl_sync(whole_warp, sum, j), factor = s[j * width + i];
        if (i > j && factor != V(0)) sum -= factor * x;
    }
    return sum;
}

template <class V>
TasksView<V> view_of(const Tasks& tasks, const TaskValues<V>& values)
{
    return {tasks.task.size(),        tasks.rows,          tasks.reversed,      tasks.reordered,
            tasks.task.data(),        tasks.row.data(),    tasks.col.data(),    tasks.late_col.data(),
            values.reciprocal.data(), values.value.data(), values.dense.data(), values.substitute.data()};
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
