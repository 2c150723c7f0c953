// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tickets and waits, shared by the solving kernels.
//
// Progress: tasks are handed out by ticket in an order in which every task comes after those it needs. Whoever is waited for has therefore been
// taken by a warp that runs, and the first unfinished task waits for nobody. Nothing depends on how many blocks fit, or which start first.
// A wait that lasts too long all the same (a schedule that is wrong, memory overwritten) writes its row down, goes on with NaN, and so ends.
#pragma once

#include "tulle/device/cuda/value_flag.cuh"
#include "tulle/sptrsv/steps.hpp"

namespace tulle::sptrsv {

constexpr unsigned whole_warp = 0xffffffffu;
constexpr int warps_per_block = 4;
constexpr int threads_per_block = warps_per_block * lanes;

// The device side of Shared.
template <class V>
struct SharedView {
    Word<V>* unknown;
    unsigned long long* ticket;
    int* fault;
    offset_t half;
    unsigned long long takers;
    unsigned patience;
};

template <class V>
SharedView<V> view_of(const Shared<V>& s)
{
    auto* words = reinterpret_cast<Word<V>*>(const_cast<V*>(s.unknown.data()));
    return {words, const_cast<unsigned long long*>(s.ticket.data()), const_cast<int*>(s.fault.data()), s.half, static_cast<unsigned long long>(s.takers), s.patience};
}

template <class V>
LaunchShape shape_of(const Shared<V>& s, int team)
{
    return {s.takers / (warps_per_block / team), threads_per_block};
}

// All threads of a team have come this far, and see what the others wrote to shared memory. A team of four is a whole block.
template <int Team>
__device__ void meet()
{
    static_assert(Team == 1 || Team == warps_per_block);
    if constexpr (Team == 1) __syncwarp(whole_warp);
    else __syncthreads();
}

// A team's way through the tickets. Every team takes one beyond the last task, so a launch uses tasks + takers tickets, whoever takes how many:
// the count never has to be reset, and tells which half of the unknowns this launch uses, also when it is replayed from a graph.
// The next ticket is taken while the present task is worked on.
template <int Team, class V>
class Tickets {
public:
    Word<V>*mine, *other;            // this launch's unknowns, and those to be armed for the next

    __device__ Tickets(const SharedView<V>& s, offset_t tasks, int lane_of_team, unsigned long long* box) : shared_(s), box_(box), leader_(lane_of_team == 0)
    {
        take();
        const unsigned long long first = tell(), of_a_launch = static_cast<unsigned long long>(tasks) + s.takers;
        const unsigned long long launches = first / of_a_launch;
        first_ = launches * of_a_launch;
        mine = s.unknown + (launches % 2 == 1 ? s.half : 0);
        other = s.unknown + (launches % 2 == 1 ? 0 : s.half);
        task_ = static_cast<offset_t>(first - first_);
    }

    __device__ offset_t task() const { return task_; }
    __device__ void take() { taken_ = leader_ ? atomicAdd(shared_.ticket, 1ull) : 0ull; }
    __device__ void next() { task_ = static_cast<offset_t>(tell() - first_); }

private:
    __device__ unsigned long long tell()
    {
        if constexpr (Team == 1) return __shfl_sync(whole_warp, taken_, 0);
        meet<Team>();
        if (leader_) *box_ = taken_;
        meet<Team>();
        return *box_;
    }

    SharedView<V> shared_;
    unsigned long long* box_;        // in shared memory, for teams of several warps
    bool leader_;
    unsigned long long taken_ = 0, first_ = 0;
    offset_t task_ = 0;
};

template <class V>
struct Waits {
    const Word<V>* unknown;
    unsigned patience;
    int* fault;
    index_t row;                     // of op(A), to be named if a wait fails
};

template <int N, class V>
__device__ bool any_armed(const Word<V> (&word)[N])
{
    bool any = false;
    for (int n = 0; n < N; ++n) any = any || word[n] == armed<V>;
    return any;
}

// The words of N unknowns, once all are there; a negative column is zero. Stride: words from one unknown to the next.
template <int Stride, int N, class V>
__device__ void wait_for(const Waits<V>& waits, const index_t (&col)[N], Word<V> (&word)[N])
{
    const auto at = [&](int n) { return waits.unknown + static_cast<offset_t>(col[n]) * Stride; };
#pragma unroll
    for (int n = 0; n < N; ++n) word[n] = col[n] >= 0 ? load_relaxed(at(n)) : Word<V>{0};
    for (unsigned polls = 0; any_armed<N, V>(word); ++polls) {
        if (polls > waits.patience) atomicCAS(waits.fault, 0, waits.row + 1);      // the first to give up is named
#pragma unroll
        for (int n = 0; n < N; ++n) {
            if (word[n] != armed<V>) continue;
            word[n] = polls > waits.patience ? ordinary_nan<V> : load_relaxed(at(n));
        }
    }
}

// Tells everybody; and arms the word's twin for the next solve. Returns what was told: never the bits of `armed`.
template <class V>
__device__ V publish(Word<V>* mine, Word<V>* other, offset_t at, V value)
{
    const Word<V> word = word_of(value);
    store_relaxed(mine + at, word);
    other[at] = armed<V>;
    return number<V>(word);
}

}  // namespace tulle::sptrsv
