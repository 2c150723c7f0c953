// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the kernels of SpGEMM share: a team of threads (a warp, or a whole block) that owns a row of C, hash tables and
// bitmaps in its shared memory, and walks over the columns that a row of A asks for.
#pragma once

#include "device/cuda/kernel.cuh"

#include <cmath>

#include "spgemm/adaptive/groups.hpp"
#include "spgemm/hash_slots.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

inline constexpr unsigned all_lanes = 0xffffffffu;
inline constexpr index_t vacant = -1;

// Rows of a group, and what is known of them.
struct Task {
    const index_t* list;  // the group's rows
    offset_t rows;
    const RowStats* facts;
    const unsigned char* runs_a;  // may be null
    const unsigned char* runs_b;  // may be null
    bool facts_listed = false;    // the facts stand as the list does, not as the rows
};

__device__ inline const RowStats& facts_of(const Task& t, offset_t number, index_t row)
{
    return t.facts[t.facts_listed ? number : row];
}

__device__ inline RunByte run_of(const unsigned char* runs, index_t row)
{
    return runs ? unpack(runs[row]) : RunByte{false, 0, 1};
}

// The same for a stretch of rows: a run that reaches beyond it is cut there.
__device__ inline RunByte run_inside(const unsigned char* runs, index_t row, index_t first, index_t rows)
{
    const RunByte run = run_of(runs, row);
    const index_t begin = max(row - run.place, first), end = min(row - run.place + run.length, first + rows);
    return {run.like, row - begin, end - begin};
}

// The row's count, and that of rows with equal columns behind it.
__device__ inline void write_count(const Task& t, index_t row, int nonzeros, offset_t* count)
{
    const RunByte run = run_of(t.runs_a, row);
    for (int r = 0; r < run.length; ++r) count[row + r] = nonzeros;
}

// a b + sum, rounded once. Written out because a compiler fuses or not as it likes, and sums shall have the same bits
// whichever kernel adds them up.
__device__ inline float fused(float a, float b, float sum) { return fmaf(a, b, sum); }
__device__ inline double fused(double a, double b, double sum) { return fma(a, b, sum); }

// A word of shared memory that other threads may be changing by atomics.
template <class T>
__device__ inline T peek(const T* from)
{
    static_assert(sizeof(T) == 4);
#ifdef TULLE_SIM
    T value;
    __atomic_load(const_cast<T*>(from), &value, __ATOMIC_RELAXED);
    return value;
#else
    std::uint32_t bits;
    asm volatile("ld.relaxed.cta.shared.b32 %0, [%1];"
                 : "=r"(bits)
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from)))
                 : "memory");
    return __builtin_bit_cast(T, bits);
#endif
}

// A team is a warp (Team == 32, several to a block) or a block.
template <int Team>
__device__ inline void team_sync()
{
    if constexpr (Team == 32) __syncwarp();
    else __syncthreads();
}

template <int Team>
__device__ inline int team_rank()
{
    return static_cast<int>(threadIdx.x) % Team;
}

// The number of this team in the grid.
template <int Team>
__device__ inline offset_t team_number()
{
    return (static_cast<offset_t>(blockIdx.x) * blockDim.x + threadIdx.x) / Team;
}

// The sum over a team, for its first thread. `cell` is a word of shared memory of the block; not needed by warps.
template <int Team>
__device__ inline int team_sum(int value, int* cell)
{
    value = __reduce_add_sync(all_lanes, value);
    if constexpr (Team == 32) return value;
    if (threadIdx.x == 0) *cell = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicAdd(cell, value);
    __syncthreads();
    return *cell;
}

// What stands before `end`, word by word and by the whole block: for the host.
template <class T>
__device__ inline void tell(const T* from, const void* end, T* told)
{
    const auto* word = reinterpret_cast<const unsigned*>(from);
    const auto words = static_cast<const unsigned*>(end) - word;
    for (auto w = threadIdx.x; w < words; w += blockDim.x) reinterpret_cast<unsigned*>(told)[w] = word[w];
}

struct Found {
    int slot;  // -1: not found, and no room for it
    bool is_new;
};

// The column's slot in a table of `slots` (a power of two) with linear probing from `at` on, inserted if it is not
// there; -1 after `probes` slots. look(slot) reads a key that others may be changing.
template <class Count, class Look>
__device__ inline Found insert_from(unsigned at, unsigned slots, Count probes, index_t* key, index_t col, Look&& look)
{
#pragma unroll 1
    for (Count probe = 0; probe < probes; ++probe) {
        index_t found = look(at);
        if (found == vacant) {
            found = atomicCAS(key + at, vacant, col);
            if (found == vacant) return {static_cast<int>(at), true};
        }
        if (found == col) return {static_cast<int>(at), false};
        at = (at + 1) & (slots - 1);
    }
    return {-1, false};
}

// The same in shared memory, searching from where the hash says.
template <int Slots>
__device__ inline Found insert(index_t* key, index_t col, int probes = Slots)
{
    return insert_from(first_slot(col, bits_of(Slots)), Slots, probes, key, col,
                       [&](unsigned at) { return peek(key + at); });
}

// The slot of a column that is in the table. Nobody may be inserting.
template <int Slots>
__device__ inline unsigned slot_of(const index_t* key, index_t col)
{
    unsigned at = first_slot(col, bits_of(Slots));
    for (int probe = 0; probe < Slots && key[at] != col; ++probe) at = (at + 1) % Slots;
    return at;
}

template <int Team, class T>
__device__ inline void team_fill(T* data, int n, T value)
{
    for (int k = team_rank<Team>(); k < n; k += Team) data[k] = value;
}

// Whether nonzero k of a row of A asks for a row of B that equals the one asked for before it.
__device__ inline bool repeats(const index_t* col, offset_t begin, offset_t k, const unsigned char* runs_b)
{
    return runs_b && k > begin && col[k - 1] == col[k] - 1 && is_like(runs_b[col[k]]);
}

// Lanes for one row of B of about this length: a power of two, 4 to 32.
__device__ inline int slice_for(std::uint32_t products, offset_t rows)
{
    const auto mean = static_cast<offset_t>(products) / (rows > 0 ? rows : 1);
    return mean <= 6 ? 4 : mean <= 12 ? 8 : mean <= 24 ? 16 : 32;
}

// visit(column) for the columns a row of C may have, many of them more than once: slices of the team take a row of B
// each. Where the next rows begin and end is asked for while one is visited: these loads wait for each other.
template <int Team, class V, class Visit>
__device__ inline void walk_columns(const CsrView<V>& a, const CsrView<V>& b, const unsigned char* runs_b, index_t row,
                                    std::uint32_t pattern, Visit&& visit)
{
    const offset_t begin = a.row_begin[row], end = a.row_begin[row + 1];
    const int slice = slice_for(pattern, end - begin), rank = team_rank<Team>(), step = Team / slice;
    offset_t k = begin + rank / slice, from = 0, last = 0;
    index_t next = 0;
    const auto ask = [&](offset_t ahead) {
        if (ahead < end) {
            from = b.row_begin[next];
            last = b.row_begin[next + 1];
        }
        if (ahead + step < end) next = a.col[ahead + step];
    };
    if (k < end) next = a.col[k];
    ask(k);
    for (; k < end; k += step) {
        const offset_t first = from + rank % slice, behind = last;
        ask(k + step);
        if (repeats(a.col, begin, k, runs_b)) continue;
        for (offset_t l = first; l < behind; l += slice) visit(b.col[l]);
    }
}

// Sets bits of the columns inside first … first + columns - 1. The words must be cleared before, and the team must meet
// after.
template <int Team, class V>
__device__ inline void mark_columns(const CsrView<V>& a, const CsrView<V>& b, const unsigned char* runs_b, index_t row,
                                    std::uint32_t pattern, index_t first, index_t columns, unsigned* word)
{
    walk_columns<Team>(a, b, runs_b, row, pattern, [&](index_t col) {
        const auto at = static_cast<unsigned>(col) - static_cast<unsigned>(first);
        if (at >= static_cast<unsigned>(columns)) return;
        const unsigned bit = 1u << at % 32;
        if ((peek(word + at / 32) & bit) == 0) atomicOr(word + at / 32, bit);
    });
}

}  // namespace tulle::inline TULLE_ABI::spgemm
