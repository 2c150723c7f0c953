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
    unsigned long long warps;
    unsigned patience;
};

template <class V>
SharedView<V> view_of(const Shared<V>& s)
{
    auto* words = reinterpret_cast<Word<V>*>(const_cast<V*>(s.unknown.data()));
    return {words, const_cast<unsigned long long*>(s.ticket.data()), const_cast<int*>(s.fault.data()), s.half, static_cast<unsigned long long>(s.warps), s.patience};
}

template <class V>
LaunchShape shape_of(const Shared<V>& s)
{
    return {s.warps / warps_per_block, threads_per_block};
}

// A warp's way through the tickets. Every warp takes one beyond the last task, so a launch uses tasks + warps tickets, whoever takes how many:
// the count never has to be reset, and tells which half of the unknowns this launch uses, also when it is replayed from a graph.
template <class V>
struct Turn {
    unsigned long long first;        // ticket of this launch's first task
    Word<V>*mine, *other;

    __device__ static unsigned long long take(const SharedView<V>& s, int lane) { return lane == 0 ? atomicAdd(s.ticket, 1ull) : 0ull; }
    __device__ offset_t task(unsigned long long taken) const { return static_cast<offset_t>(__shfl_sync(whole_warp, taken, 0) - first); }
};

template <class V>
__device__ Turn<V> begin_turn(const SharedView<V>& s, unsigned long long taken, offset_t tasks)
{
    const unsigned long long of_a_launch = static_cast<unsigned long long>(tasks) + s.warps;
    const unsigned long long launches = __shfl_sync(whole_warp, taken, 0) / of_a_launch;
    const bool odd = launches % 2 == 1;
    return {launches * of_a_launch, s.unknown + (odd ? s.half : 0), s.unknown + (odd ? 0 : s.half)};
}

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
        if (polls > waits.patience) atomicMax(waits.fault, waits.row + 1);
#pragma unroll
        for (int n = 0; n < N; ++n) {
            if (word[n] != armed<V>) continue;
            word[n] = polls > waits.patience ? ordinary_nan<V> : load_relaxed(at(n));
        }
    }
}

// Tells everybody; and arms the word's twin for the next solve. Returns what was told: never the bits of `armed`.
template <class V>
__device__ V publish(const Turn<V>& turn, offset_t at, V value)
{
    const Word<V> word = word_of(value);
    store_relaxed(turn.mine + at, word);
    turn.other[at] = armed<V>;
    return number<V>(word);
}

}  // namespace tulle::sptrsv
