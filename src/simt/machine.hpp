// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One simulated GPU at work on one kernel: blocks, warps and threads, every thread a fiber of the host thread that
// waits for the kernel.
//
// A thread runs until it meets a barrier, a warp collective, an atomic operation that chance makes a switch, or its
// end. Barriers and collectives are meetings: the last to arrive does the work and lets the others go. Kernels reach
// all this through kernel.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simt/config.hpp"
#include "simt/context.hpp"
#include "simt/cuda_runtime.hpp"
#include "simt/fault.hpp"
#include "simt/launch.hpp"
#include "simt/random.hpp"
#include "simt/sanitizers.hpp"

namespace tulle::inline TULLE_ABI::simt {

struct Block;
struct Warp;

enum class State : std::uint8_t { fresh, ready, at_barrier, in_collective, in_cluster, before_others, done };

struct Identity;

// A stack to run on, and who ThreadSanitizer thinks is running there. Both are used again by later threads.
struct Stack {
    char* bottom = nullptr;
    std::size_t bytes = 0;
    Identity* identity = nullptr;
    bool abandoned = false;  // the last thread on it never ended
};

// A thread in ThreadSanitizer's eyes, and the last kernel it had a part in: only the first of the GPU's threads that go
// by it there has to learn what was before.
struct Identity {
    void* handle = nullptr;
    std::uint64_t kernel = 0;
    std::vector<Stack> free_stacks = {};
};
inline constexpr unsigned most_names = 200;  // identities; see Machine::deal_out_names

struct Thread {
    StackContext context;
    Stack stack;
    unsigned name = 0;  // the number of its identity
    uint3 index{};
    int lane = 0;
    Block* block = nullptr;
    Warp* warp = nullptr;
    State state = State::fresh;
    Where at;                      // the last barrier, collective or atomic operation
    const void* polled = nullptr;  // what a waiting loop looks at
    std::uint64_t polled_value = 0;
    std::vector<std::pair<unsigned, Copy>> copies;  // put off, with their group
    unsigned groups = 0;                            // ended
    bool in_cluster = false;                        // has arrived at the cluster's barrier and not waited for it
    unsigned cluster_turn = 0;                      // which barrier that was
    unsigned barrier = 0;                           // the number of the block's barrier it waits at
    unsigned barrier_turn = 0;                      // which of its generations
};

// Lanes that meet under one mask. The slots are the lanes' own variables; resolve() reads all and writes all.
struct Meeting {
    unsigned mask = 0;
    unsigned arrived = 0;
    unsigned generation = 0;
    Resolve resolve = nullptr;
    Where at;
    void* slot[32] = {};
    Token passed[2];  // by generation: the next meeting may begin before the last lane has left this one
};

struct Warp {
    Thread* lane[32] = {};
    unsigned live = 0;
    unsigned names = 0;                              // which group of names its threads have
    std::vector<std::unique_ptr<Meeting>> meetings;  // one per mask in use
};

inline constexpr unsigned most_barriers = 16;  // of a block

struct Barrier {
    unsigned arrived = 0;
    unsigned generation = 0;
    Where at;
    int count = 0;       // of predicates that hold, so far
    int result[2] = {};  // by generation
    Token passed[2];
};

// One declaration of shared memory.
struct SharedArray {
    const void* site = nullptr;
    std::size_t size = 0, alignment = 1;
    std::unique_ptr<unsigned char[]> room;
    unsigned char* data = nullptr;
};

// Blocks that run together. Their barrier has two halves, so that work can be done between them.
struct Cluster {
    std::vector<Block*> block;  // null: it has ended
    unsigned live = 0;          // threads
    unsigned arrived = 0;
    unsigned generation = 0;
    Token passed[2];
};

struct Block {
    uint3 index{};
    std::shared_ptr<Cluster> cluster;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<SharedArray> shared;
    std::unique_ptr<unsigned char[]> dynamic_shared;
    std::size_t shared_bytes = 0;
    unsigned live = 0;
    std::array<Barrier, most_barriers> barrier;  // the first is __syncthreads'
};

class Machine {
public:
    // Runs a kernel to its end; Fault when it breaks a rule.
    void run(const Launch& launch, const Config& config, std::uint64_t seed);

    Thread* current() const { return current_; }
    const Launch* launch() const { return launch_; }

    // What threads call.
    int meet_at_barrier(bool predicate, const Where& at);
    void named_barrier_sync(int number, int threads, const Where& at);
    void meet_in_warp(unsigned mask, void* slot, Resolve resolve, const Where& at);
    void* shared_array(const void* site, std::size_t bytes, std::size_t alignment);
    void arrive_in_cluster(const Where& at);
    void wait_for_cluster(const Where& at);
    void* in_cluster(const void* mine, int block, const Where& at);
    void wait_for_earlier_kernels(const Where& at);
    void maybe_switch(const Where& at);  // before an atomic operation
    bool flip_coin() { return random_.chance(128); }
    void spoil(void* data, std::size_t bytes) { fill_with_garbage(data, bytes, random_); }
    void note_change();  // memory has changed: nobody is stuck
    void note_poll(const void* address, std::uint64_t value);
    void yield();
    [[noreturn]] void stop(std::string&& what);  // a fault of the running thread

    // "kernel f<3>, block 1, thread 17, f.cu:80" for whoever runs.
    std::string whereabouts() const;

private:
    void start_blocks();
    void start_clusters();  // as many as there is room for
    Block& start_block(unsigned number);
    void run_threads();
    bool run_earlier_kernel();  // false: there is none, or it has run
    Thread* pick();
    void switch_stack(Thread& from, Thread& to, bool for_ever);
    void leave();  // somebody else's turn
    void finish(Thread& thread);
    void finish_block(Block& block);
    void give_stacks_back(Block& block, bool abandoned);
    void deal_out_names(std::uint64_t seed);
    unsigned take_names();
    Stack new_stack(Identity& identity);
    Stack take_stack(unsigned name);
    void begin_as(Identity& identity);
    void end_identities();
    void make_ready(Thread& thread);
    void arrive_at_barrier(unsigned number, unsigned threads, bool predicate, const Where& at);
    int pass_barrier();  // the one the thread has arrived at
    void open_barrier(Block& block, unsigned number);
    void open_cluster_barrier(Cluster& cluster);  // if all have arrived
    void leave_cluster(Thread& thread);
    SharedArray& array_of(Block& block, const void* site, std::size_t bytes, std::size_t alignment);
    bool complete(Warp& warp, Meeting& meeting);
    Meeting& meeting_of(Warp& warp, unsigned mask);
    std::unique_ptr<unsigned char[]> garbage(std::size_t bytes);
    void note_idle();
    void check_stuck();
    void note_fault(std::string&& what, const Thread& thread);
    const Thread& someone_waiting() const;
    std::string waiting() const;
    std::string place_of(const Thread& thread) const;
    static void thread_main();

    Config config_;
    Random random_;
    const Launch* launch_ = nullptr;
    std::vector<unsigned> order_;
    std::size_t started_ = 0;
    std::vector<std::unique_ptr<Block>> resident_;
    std::vector<Thread*> ready_;
    std::size_t live_ = 0;
    std::vector<Thread*> waiting_for_earlier_;
    bool earlier_has_run_ = false;
    Thread* current_ = nullptr;
    Thread host_;
    Thread* first_ = nullptr;  // picked, but has no stack yet
    bool from_host_ = false;   // the last switch
    const void* host_stack_ = nullptr;
    std::size_t host_stack_bytes_ = 0;
    std::array<Identity, most_names> identities_;
    unsigned names_each_ = 1;          // of a warp
    std::deque<unsigned> free_names_;  // groups of so many; the one given back longest ago is first
    Random names_;                     // which of its warp's names a thread has
    Random stack_contents_;            // what a thread's variables hold before they are set
    Identity host_identity_;
    std::uint64_t kernels_ = 0;  // run so far
    std::size_t stacks_ = 0;     // made so far
    std::string fault_;
    std::uint64_t idle_ = 0, switches_ = 0;
    Token launched_, ended_;
};

Machine& machine();

}  // namespace tulle::inline TULLE_ABI::simt
