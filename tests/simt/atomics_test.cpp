// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations lose nothing under any schedule, and give the old value.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "simt/run.hpp"

namespace tulle::test {
namespace {

constexpr int blocks = 5, threads = 96, all = blocks * threads;

template <class T>
__global__ void add_one(T* total)
{
    for (int i = 0; i < 3; ++i) atomicAdd(total, T(1));
}

template <class T>
void expect_all_counted()
{
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const WithConfig with(with_seed(seed));
        DeviceArray<T> total(std::vector<T>{0});
        run(blocks, threads, 0, add_one<T>, total.data());
        EXPECT_EQ(total.to_host()[0], T(3 * all));
    }
}

TEST(Atomics, AddLosesNothing)
{
    expect_all_counted<int>();
    expect_all_counted<unsigned>();
    expect_all_counted<unsigned long long>();
    expect_all_counted<float>();
    expect_all_counted<double>();
}

__global__ void bits_and_bounds(unsigned* out, long long* wide, int* sub)
{
    const unsigned thread = static_cast<unsigned>(global_thread());
    atomicOr(out + 0, 1u << (thread % 32));
    atomicAnd(out + 1, ~(1u << (thread % 8)));
    atomicXor(out + 2, 3u);
    atomicMin(out + 3, 1000u - thread);
    atomicMax(out + 4, thread);
    atomicMin(wide + 0, -static_cast<long long>(thread));
    atomicMax(wide + 1, static_cast<long long>(thread) << 33);
    atomicSub(sub, 2);
}

TEST(Atomics, BitsAndBounds)
{
    DeviceArray<unsigned> out(std::vector<unsigned>{0, 0xffu, 0, 5000, 0});
    DeviceArray<long long> wide(std::vector<long long>{0, 0});
    DeviceArray<int> sub(std::vector<int>{0});
    run(blocks, threads, 0, bits_and_bounds, out.data(), wide.data(), sub.data());
    EXPECT_EQ(out.to_host(), (std::vector<unsigned>{0xffffffffu, 0, 0, 1000 - (all - 1), all - 1}));
    EXPECT_EQ(wide.to_host(), (std::vector<long long>{-(all - 1), static_cast<long long>(all - 1) << 33}));
    EXPECT_EQ(sub.to_host()[0], -2 * all);
}

// Every thread pushes itself on a list; the old value it gets is the one below.
__global__ void push(int* head, int* below)
{
    const int mine = static_cast<int>(global_thread());
    below[mine] = atomicExch(head, mine);
}

TEST(Atomics, ExchangeGivesTheOldValue)
{
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const WithConfig with(with_seed(seed));
        DeviceArray<int> head(std::vector<int>{-1}), below(static_cast<std::size_t>(all));
        run(blocks, threads, 0, push, head.data(), below.data());
        const auto next = below.to_host();
        int length = 0;
        for (int at = head.to_host()[0]; at != -1 && length <= all; at = next[static_cast<std::size_t>(at)]) ++length;
        EXPECT_EQ(length, all);
    }
}

template <class T>
__global__ void multiply_by_cas(T* value, T factor)
{
    T old = load_relaxed(value), seen;
    do {
        seen = old;
        old = atomicCAS(value, seen, seen * factor);
    } while (old != seen);
}

TEST(Atomics, CompareAndSwapRetries)
{
    DeviceArray<unsigned> small(std::vector<unsigned>{1});
    DeviceArray<unsigned long long> wide(std::vector<unsigned long long>{1});
    run(1, 20, 0, multiply_by_cas<unsigned>, small.data(), 3u);
    run(2, 20, 0, multiply_by_cas<unsigned long long>, wide.data(), 3ull);
    unsigned expected = 1;
    unsigned long long expected_wide = 1;
    for (int i = 0; i < 20; ++i) expected *= 3;
    for (int i = 0; i < 40; ++i) expected_wide *= 3;
    EXPECT_EQ(small.to_host()[0], expected);
    EXPECT_EQ(wide.to_host()[0], expected_wide);
}

// Decoupled: a block waits for the one that took its ticket before, then publishes its own prefix.
__global__ void running_total(int* ticket, long long* prefix)
{
    TULLE_SHARED(int, mine, 1);
    if (threadIdx.x == 0) {
        mine[0] = atomicAdd(ticket, 1);
        long long before = 0;
        if (mine[0] > 0)
            while ((before = load_acquire(prefix + mine[0] - 1)) == 0) {}
        store_release(prefix + mine[0], before + 1 + mine[0]);
    }
    __syncthreads();
}

TEST(Atomics, BlocksWaitForEachOtherByTicket)
{
    for (const auto order : {simt::Order::ascending, simt::Order::descending, simt::Order::random})
        for (const unsigned resident : {1u, 2u, 4u}) {
            simt::Config config = simt::config();
            config.order = order;
            config.resident = resident;
            const WithConfig with(config);
            DeviceArray<int> ticket(std::vector<int>{0});
            DeviceArray<long long> prefix(std::vector<long long>(30, 0));
            run(30, 64, 0, running_total, ticket.data(), prefix.data());
            EXPECT_EQ(prefix.to_host()[29], 30 * 31 / 2);
        }
}

__global__ void count_bits(int* out)
{
    out[0] = __popc(0xf0f0u);
    out[1] = __popcll(0xf0f0f0f0f0ull);
    out[2] = __clz(1) * 100 + __clz(0);
    out[3] = __clzll(1) * 100 + __clzll(0);
    out[4] = __ffs(8) * 100 + __ffs(0);
    out[5] = __ffsll(1ll << 40) * 100 + __ffsll(0);
    out[6] = static_cast<int>(max(3, 5u) + min(3u, 5u)) + min(-1, 2);
}

TEST(Atomics, BitCounts)
{
    DeviceArray<int> out(7);
    run(1, 1, 0, count_bits, out.data());
    EXPECT_EQ(out.to_host(), (std::vector<int>{8, 20, 3132, 6364, 400, 4100, 7}));
}

}  // namespace
}  // namespace tulle::test
