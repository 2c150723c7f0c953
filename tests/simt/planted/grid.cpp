// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Mistakes between blocks: tables, flags, and waiting for one another.
#include "simt/planted/planted.hpp"

namespace tulle::test {
namespace {

constexpr int empty = 0;  // results start at zero; keys are from 1

// Puts a key into a table; false when it was there already, or when there is no room in `probes` tries.
template <bool Broken>
__device__ bool insert(int* table, int size, int key, int probes)
{
    for (int probe = 0; probe < probes; ++probe) {
        int* slot = table + (key * 7 + probe) % size;
        int held = empty;
        if (Broken) {
            held = load_relaxed(slot);
            if (held == empty) atomicExch(slot, key);
        } else {
            held = atomicCAS(slot, empty, key);
        }
        if (held == empty) return true;
        if (held == key) return false;
    }
    return false;
}

// table[64] counts the keys that were new.
template <bool Broken>
__global__ void fill_table(int* table)
{
    const int key = static_cast<int>(threadIdx.x) / 4 + 1;
    if (insert<Broken>(table, 64, key, 64)) atomicAdd(table + 64, 1);
}

const Plant test_then_set("test_then_set", [](bool broken) {
    return results_of<int>(65, {2, 128}, broken ? fill_table<true> : fill_table<false>)[64] == 32;
});

// More keys than slots: a search that nothing bounds never ends.
template <bool Broken>
__global__ void overfill_table(int* table)
{
    const int size = 16, probes = Broken ? max_index : size;
    if (insert<false>(table, size, static_cast<int>(threadIdx.x) + 1, probes)) atomicAdd(table + size, 1);
}

const Plant full_hash_table("full_hash_table", [](bool broken) {
    return results_of<int>(17, {1, 32}, broken ? overfill_table<true> : overfill_table<false>)[16] == 16;
});

// Block 0 writes a value, then raises a flag; the others wait for the flag, then read.
template <bool Broken>
__global__ void hand_over(int* out, int* flag, int* value)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *value = 42;
        if (Broken) atomicExch(flag, 1);
        else store_release(flag, 1);
    } else {
        while ((Broken ? load_relaxed(flag) : load_acquire(flag)) == 0) {}
        out[blockIdx.x] = *value;
    }
}

const Plant relaxed_flag("relaxed_flag", [](bool broken) {
    simt::Config config = simt::config();
    config.order = simt::Order::ascending;  // the waiting itself is in order here
    const WithConfig with(config);
    DeviceArray<int> flag(std::vector<int>{0}), value(std::vector<int>{0});
    const auto values =
        results_of<int>(4, {4, 32}, broken ? hand_over<true> : hand_over<false>, flag.data(), value.data());
    return values == std::vector<int>{0, 42, 42, 42};
});

// Rows of a triangular solve: each waits for the one before. The bug: one row waits for itself.
template <bool Broken>
__global__ void chain_of_rows(int* done, int rows)
{
    const int row = static_cast<int>(global_thread());
    if (row >= rows) return;
    const int before = Broken && row == 5 ? row : row - 1;
    if (before >= 0)
        while (load_acquire(done + before) == 0) __nanosleep(20);
    store_release(done + row, 1);
}

const Plant waits_for_itself("waits_for_itself", [](bool broken) {
    return results_of<int>(40, {1, 64}, broken ? chain_of_rows<true> : chain_of_rows<false>, 40) ==
           std::vector<int>(40, 1);
});

// Blocks that wait for the block before. Which one that is must come from a ticket: nobody promises that low numbers
// start first.
template <bool Broken>
__global__ void chain_of_blocks(int* done, int* ticket)
{
    if (threadIdx.x != 0) return;
    const int mine = Broken ? static_cast<int>(blockIdx.x) : atomicAdd(ticket, 1);
    if (mine > 0)
        while (load_acquire(done + mine - 1) == 0) {}
    store_release(done + mine, 1);
}

const Plant block_order("block_order", [](bool broken) {
    for (const auto order : {simt::Order::ascending, simt::Order::descending, simt::Order::random}) {
        simt::Config config = simt::config();
        config.order = order;
        config.resident = 2;
        const WithConfig with(config);
        DeviceArray<int> ticket(std::vector<int>{0});
        const auto done =
            results_of<int>(20, {20, 32}, broken ? chain_of_blocks<true> : chain_of_blocks<false>, ticket.data());
        if (done != std::vector<int>(20, 1)) return false;
    }
    return true;
});

// Two blocks end in the same row.
template <bool Broken>
__global__ void add_to_a_shared_row(double* y)
{
    if (threadIdx.x != 0) return;
    if (Broken) y[0] += 1.0;
    else atomicAdd(y, 1.0);
}

const Plant plain_add_by_two_blocks("plain_add_by_two_blocks", [](bool broken) {
    return results_of<double>(1, {2, 32}, broken ? add_to_a_shared_row<true> : add_to_a_shared_row<false>) ==
           std::vector<double>{2.0};
});

template <bool Broken>
__global__ void count_in_packed(int* out)
{
    auto* bytes = reinterpret_cast<char*>(out);
    auto* at = static_cast<void*>(bytes + (Broken ? 2 : 4));
    atomicAdd(static_cast<int*>(at), 1);
}

const Plant misaligned_atomic("misaligned_atomic", [](bool broken) {
    return results_of<int>(2, {1, 32}, broken ? count_in_packed<true> : count_in_packed<false>) ==
           std::vector<int>{0, 32};
});

}  // namespace
}  // namespace tulle::test
