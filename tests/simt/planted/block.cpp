// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Mistakes among the threads of one block.
#include <numeric>

#include "simt/planted/planted.hpp"

namespace tulle::test {
namespace {

constexpr int threads = 64;

// Every thread adds up what all have put into shared memory.
template <bool Broken>
__global__ void add_up(int* out)
{
    TULLE_SHARED(int, part, threads);
    part[threadIdx.x] = static_cast<int>(threadIdx.x);
    if (!Broken) __syncthreads();
    int sum = 0;
    for (int i = 0; i < threads; ++i) sum += part[i];
    out[threadIdx.x] = sum;
}

const Plant missing_barrier("missing_barrier", [](bool broken) {
    const auto sums = results_of<int>(threads, {1, threads}, broken ? add_up<true> : add_up<false>);
    return sums == std::vector<int>(threads, threads * (threads - 1) / 2);
});

// Tiles go through the same shared array one after the other; a thread must not refill it while others still read.
template <bool Broken>
__global__ void add_up_tiles(int* out, int tiles)
{
    TULLE_SHARED(int, part, threads);
    int sum = 0;
    for (int tile = 0; tile < tiles; ++tile) {
        part[threadIdx.x] = tile * static_cast<int>(threadIdx.x);
        __syncthreads();
        for (int i = 0; i < threads; ++i) sum += part[i];
        if (!Broken) __syncthreads();
    }
    out[threadIdx.x] = sum;
}

const Plant missing_second_barrier("missing_second_barrier", [](bool broken) {
    const auto sums = results_of<int>(threads, {1, threads}, broken ? add_up_tiles<true> : add_up_tiles<false>, 4);
    return sums == std::vector<int>(threads, (0 + 1 + 2 + 3) * threads * (threads - 1) / 2);
});

template <bool Broken>
__global__ void barrier_in_a_branch(int* out)
{
    TULLE_SHARED(int, first, 1);
    if (threadIdx.x == 0) first[0] = 7;
    if (Broken) {
        if (threadIdx.x % 2) __syncthreads();
        else __syncthreads();
    } else {
        __syncthreads();
    }
    out[threadIdx.x] = first[0];
}

const Plant divergent_barrier("divergent_barrier", [](bool broken) {
    const auto values =
        results_of<int>(threads, {1, threads}, broken ? barrier_in_a_branch<true> : barrier_in_a_branch<false>);
    return values == std::vector<int>(threads, 7);
});

// The last block has more threads than rows: guard the work, not the barrier.
template <bool Broken>
__global__ void leave_early(int* out, int rows)
{
    TULLE_SHARED(int, part, threads);
    const int row = static_cast<int>(global_thread());
    if (Broken && row >= rows) return;
    part[threadIdx.x] = row < rows ? 1 : 0;
    __syncthreads();
    if (row < rows) out[row] = part[threadIdx.x ^ 1u];
}

const Plant barrier_after_exit("barrier_after_exit", [](bool broken) {
    const auto values = results_of<int>(100, {2, threads}, broken ? leave_early<true> : leave_early<false>, 100);
    return values == std::vector<int>(100, 1);
});

// A table that is cleared only in part.
template <bool Broken>
__global__ void count_empty(int* out)
{
    TULLE_SHARED(int, table, 128);
    for (int i = static_cast<int>(threadIdx.x); i < (Broken ? 96 : 128); i += threads) table[i] = -1;
    __syncthreads();
    int empty = 0;
    for (int i = static_cast<int>(threadIdx.x); i < 128; i += threads) empty += table[i] == -1;
    atomicAdd(out, empty);
}

const Plant uninitialised_shared("uninitialised_shared", [](bool broken) {
    return results_of<int>(1, {1, threads}, broken ? count_empty<true> : count_empty<false>) == std::vector<int>{128};
});

template <bool Broken>
__global__ void neighbours(int* out)
{
    TULLE_SHARED(int, part, threads);
    part[threadIdx.x] = 1;
    __syncthreads();
    const unsigned next = threadIdx.x + 1;
    if (next < threads + (Broken ? 1u : 0u)) out[threadIdx.x] = part[next];
}

const Plant shared_off_by_one("shared_off_by_one", [](bool broken) {
    const auto values = results_of<int>(threads, {1, threads}, broken ? neighbours<true> : neighbours<false>);
    return std::accumulate(values.begin(), values.end() - 1, 0) == threads - 1;
});

template <bool Broken>
__global__ void count_in_shared(int* out)
{
    TULLE_SHARED(int, count, 1);
    if (threadIdx.x == 0) count[0] = 0;
    __syncthreads();
    if (Broken) count[0] += 1;
    else atomicAdd(&count[0], 1);
    __syncthreads();
    if (threadIdx.x == 0) out[0] = count[0];
}

const Plant shared_increment("shared_increment", [](bool broken) {
    return results_of<int>(1, {1, threads}, broken ? count_in_shared<true> : count_in_shared<false>) ==
           std::vector<int>{threads};
});

// A word that all have read is used again, for a sum, while warps that are late still read it. They read what they
// would have read later: no result tells.
template <bool Broken>
__global__ void used_again(int* out)
{
    TULLE_SHARED(int, cell, 2);
    if (threadIdx.x == 0) cell[0] = 0;
    __syncthreads();
    const int first = cell[0];
    const int sum = __reduce_add_sync(~0u, 1);
    if (threadIdx.x == 0) cell[Broken ? 0 : 1] = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicAdd(&cell[Broken ? 0 : 1], sum);
    __syncthreads();
    if (threadIdx.x == 0) out[0] = first + cell[Broken ? 0 : 1];
}

const Plant shared_used_again("shared_used_again", [](bool broken) {
    return results_of<int>(1, {1, 512}, broken ? used_again<true> : used_again<false>) == std::vector<int>{512};
});

// The same with structs, which compilers copy by memcpy.
struct Several {
    int word[24];
};

template <bool Broken>
__global__ void copied_again(int* out)
{
    TULLE_SHARED(Several, part, 64);
    const int t = static_cast<int>(threadIdx.x);
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        Several mine{};
        mine.word[t % 24] = 1;
        part[t] = mine;
        __syncthreads();
        const Several other = part[63 - t];
        sum += other.word[(63 - t) % 24];
        if (!Broken) __syncthreads();
    }
    out[t] = sum;
}

const Plant structs_used_again("structs_used_again", [](bool broken) {
    return results_of<int>(64, {1, 64}, broken ? copied_again<true> : copied_again<false>) == std::vector<int>(64, 3);
});

// Two warps write one word, the same number, long apart: what their lanes do together in between orders nothing between
// the two.
template <bool Broken>
__global__ void write_one_word(int* out)
{
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    int sum = 0;
    for (int round = 0; round < 20; ++round) {
        if ((warp == 0 || warp == 15) && round == warp && lane == 5) out[Broken ? 0 : warp] = 1;
        sum += __reduce_add_sync(~0u, 1);
        __syncwarp();
    }
    if (lane == 0) out[16 + warp] = sum;
}

const Plant warps_write_one_word("warps_write_one_word", [](bool broken) {
    return results_of<int>(32, {1, 512}, broken ? write_one_word<true> : write_one_word<false>)[31] == 640;
});

// Two teams of 64 threads turn their numbers round; the barrier's number and size are what may be wrong.
__global__ void turn_round(int* out, int barrier, int size)
{
    TULLE_SHARED(int, part, 128);
    const int t = static_cast<int>(threadIdx.x), team = t / 64;
    part[t] = t;
    named_barrier_sync(barrier + team, size);
    out[t] = part[team * 64 + 63 - t % 64];
}

bool turns_round(int barrier, int size) { return results_of<int>(128, {1, 128}, turn_round, barrier, size)[127] == 64; }

const Plant some_warps_without_a_number("some_warps_without_a_number",
                                        [](bool broken) { return turns_round(broken ? 15 : 14, 64); });
const Plant some_warps_and_a_half("some_warps_and_a_half",
                                  [](bool broken) { return turns_round(1, broken ? 40 : 64); });
const Plant some_warps_not_all_there("some_warps_not_all_there",
                                     [](bool broken) { return turns_round(1, broken ? 96 : 64); });

__global__ void mirror(int* out)
{
    TULLE_DYNAMIC_SHARED(int, part);
    part[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = part[threads - 1 - threadIdx.x];
}

const Plant dynamic_shared_too_short("dynamic_shared_too_short", [](bool broken) {
    const std::size_t bytes = (threads - (broken ? 1 : 0)) * sizeof(int);
    return results_of<int>(threads, {1, threads, bytes}, mirror)[0] == threads - 1;
});

// An array of ints promises room for ints: four at a time need more.
template <bool Broken>
__global__ void load_four(int* out)
{
    struct alignas(16) Four {
        int number[4];
    };
    TULLE_SHARED(int, four, 4);
    TULLE_SHARED(Four, promised, 1);
    if (threadIdx.x < 4) (Broken ? four : promised[0].number)[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    const Four* all = reinterpret_cast<const Four*>(Broken ? four : promised[0].number);
    if (threadIdx.x < 4) out[threadIdx.x] = all->number[threadIdx.x];
}

const Plant shared_wider_than_aligned("shared_wider_than_aligned", [](bool broken) {
    return results_of<int>(4, {1, 32}, broken ? load_four<true> : load_four<false>) == std::vector<int>{0, 1, 2, 3};
});

__global__ void use_both(int* out)
{
    TULLE_DYNAMIC_SHARED(int, dynamic);
    TULLE_SHARED(int, fixed, 1024);
    if (threadIdx.x == 0) dynamic[0] = fixed[1023] = 3;
    __syncthreads();
    out[threadIdx.x] = dynamic[0];
}

const Plant shared_static_and_dynamic_too_large("shared_static_and_dynamic_too_large", [](bool broken) {
    return results_of<int>(32, {1, 32, (broken ? 225u : 223u) * 1024}, use_both) == std::vector<int>(32, 3);
});

// The last of eight sums is set by nobody.
__global__ void add_sums(int* out, int set)
{
    int sum[8];
    for (int i = 0; i < set; ++i) sum[i] = 1;
    int all = 0;
    for (int i = 0; i < 8; ++i) all += sum[i] & 0xfff;
    out[global_thread()] = all;
}

const Plant variable_not_set("variable_not_set", [](bool broken) {
    return results_of<int>(64, {2, 32}, add_sums, broken ? 7 : 8) == std::vector<int>(64, 8);
});

}  // namespace
}  // namespace tulle::test
