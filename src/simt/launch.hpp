// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What travels from a kernel's launch to the machine that runs it, and what kernels may ask of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simt/cuda_runtime.hpp"

namespace tulle::inline TULLE_ABI::simt {

// A place in a kernel's source.
struct Where {
    const char* file = "-";
    int line = 0;
};

// A pointer among a kernel's arguments, inside a struct or not.
struct PointerArgument {
    const void* pointer = nullptr;
    int argument = 0;  // which one, from 1
};

// One argument of a kernel, its type forgotten but for where that has pointers (null: nowhere).
struct Argument {
    const void* value = nullptr;
    std::size_t bytes = 0;
    void (*find_pointers)(const void* value, int argument, std::vector<PointerArgument>& found) = nullptr;
};

// A kernel with its arguments. What knows their types is compiled again for every kernel, so it shall be little: all
// else is done behind this.
struct Call {
    const void* kernel = nullptr;
    void (*run)(const void* kernel, const void* const* value) = nullptr;  // value[i]: a copy of argument i
    const Argument* arguments = nullptr;
    std::size_t count = 0;
};

struct Grid {
    unsigned blocks, threads;
    std::size_t shared_bytes = 0;
    unsigned cluster = 1;
    bool early = false;  // may begin before the kernel ahead of it ends
};

struct Launch {
    const void* kernel = nullptr;
    std::string task;  // the name of what is no kernel
    unsigned blocks = 0, threads = 0;
    unsigned cluster = 1;  // so many blocks run together; divides their number
    std::size_t shared_bytes = 0;
    std::vector<PointerArgument> pointers;
    std::function<void()> body;  // one thread of it
    bool early = false;
    std::function<void()> earlier;  // the kernel ahead of it, where that has not run yet
    int device = 0;
    std::uint64_t number = 0;  // of this stream's launches
};

cudaError_t enqueue_launch(CUstream_st* stream, Launch launch);
cudaError_t enqueue_call(CUstream_st* stream, const Grid& grid, const Call& call);  // copies the arguments
std::vector<PointerArgument> pointers_of(const Call& call);
void add_pointer(const void* pointer, int argument,
                 std::vector<PointerArgument>& found);  // a call in place of a vector's many lines

// Host work in the order of a stream, such as the plain twin of a library's kernel: a kernel of one thread. `pointers`
// are checked as a kernel's arguments are.
cudaError_t enqueue_task(CUstream_st* stream, const char* name, const std::vector<const void*>& pointers,
                         std::function<void()> task);

// For such a twin, where the library leaves something open: heads or tails, and what memory holds that it has used for
// itself.
bool flip_coin();
void spoil(void* data, std::size_t bytes);  // inside a task

// What a warp collective does once all lanes are there: lane i's variable is slot[i], for the lanes in `lanes`.
struct Exchange {
    unsigned lanes;
    void* const* slot;
    template <class S>
    S& at(int lane) const
    {
        return *static_cast<S*>(slot[lane]);
    }
    bool has(int lane) const { return lane >= 0 && lane < 32 && (lanes >> lane & 1u); }
};
using Resolve = std::string (*)(const Exchange&);  // empty, or what is wrong

// For the thread that runs.
int meet_at_barrier(bool predicate, const Where& at);
void named_barrier_sync(int number, int threads, const Where& at);
void meet_in_warp(unsigned mask, void* slot, Resolve resolve, const Where& at);
void* shared_array(const void* site, std::size_t bytes, std::size_t alignment);
void* dynamic_shared();
int current_lane();
unsigned active_lanes();
void before_atomic(const void* address, std::size_t bytes, const Where& at);
void after_atomic(const void* address, std::uint64_t value, bool changed);
void after_load(const void* address, std::uint64_t value, const Where& at);
void sleep_a_little(const Where& at);

// A copy to shared memory that the kernel does not wait for yet. The GPU may do it at any time up to the wait: chance
// decides between at once and then.
struct Copy {
    void* to;
    const void* from;
    unsigned bytes;
};
bool put_off(const Copy& copy, const Where& at);  // false: the caller does it now
void end_group();
bool next_due(unsigned newest_left,
              Copy& copy);  // the next of those that must be done, except in so many groups that were ended last

// Until the kernel ahead of this one on the stream has ended.
void wait_for_earlier_kernels(const Where& at);

// Blocks of a cluster: a barrier in two halves, and somebody else's shared memory.
void arrive_in_cluster(const Where& at);
void wait_for_cluster(const Where& at);
void* in_cluster(const void* mine, int block, const Where& at);

}  // namespace tulle::inline TULLE_ABI::simt
