// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Barriers of a block, collectives of a warp, shared memory, and the doors through which a kernel comes here.
#include <cstring>

#include "simt/machine.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::simt {
namespace {

constexpr std::size_t static_shared_limit = 48 * 1024, shared_limit = 227 * 1024;

bool same_place(const Where& a, const Where& b)
{
    return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}  // sanitizers make strcmp dear

std::string text_of(const Where& at) { return concat(short_path(at.file), ":", at.line); }

std::string hex(unsigned mask)
{
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[mask >> shift & 15u];
    return text;
}

}  // namespace

// ---- barriers ----

// Nothing that a thread does here on its usual way is seen by ThreadSanitizer, as the simulator is not instrumented;
// only words for a fault need a Quiet.
int Machine::meet_at_barrier(bool predicate, const Where& at)
{
    const Block& block = *current_->block;
    const Barrier& barrier = block.barrier.front();
    current_->at = at;
    if (barrier.arrived > 0 && !same_place(barrier.at, at)) {
        const Quiet quiet;
        stop(concat("divergent __syncthreads: other threads of the block wait at ", text_of(barrier.at)));
    }
    if (block.live != block.threads.size()) {
        const Quiet quiet;
        stop(concat("__syncthreads after ", block.threads.size() - block.live, " threads of the block have exited"));
    }
    arrive_at_barrier(0, block.live, predicate, at);
    return pass_barrier();
}

// Some warps of the block at a barrier of their own; different calls may meet, as on a GPU.
void Machine::named_barrier_sync(int number, int threads, const Where& at)
{
    current_->at = at;
    if (number < 1 || number >= static_cast<int>(most_barriers)) {
        const Quiet quiet;
        stop(concat("there is no barrier ", number, " of some warps"));
    }
    if (threads < 1 || threads % 32 != 0 || static_cast<std::size_t>(threads) > current_->block->threads.size()) {
        const Quiet quiet;
        stop(concat("a barrier of ", threads, " of the ", current_->block->threads.size(), " threads of a block"));
    }
    arrive_at_barrier(static_cast<unsigned>(number), static_cast<unsigned>(threads), false, at);
    pass_barrier();
}

void Machine::arrive_at_barrier(unsigned number, unsigned threads, bool predicate, const Where& at)
{
    Thread& thread = *current_;
    Barrier& barrier = thread.block->barrier[number];
    barrier.at = at;
    thread.barrier = number;
    thread.barrier_turn = barrier.generation & 1u;
    barrier.passed[thread.barrier_turn].release();
    barrier.count += predicate;
    ++barrier.arrived;
    thread.state = State::at_barrier;
    if (barrier.arrived == threads) open_barrier(*thread.block, number);
}

int Machine::pass_barrier()
{
    Thread& thread = *current_;
    Barrier& barrier = thread.block->barrier[thread.barrier];
    const unsigned turn = thread.barrier_turn;
    leave();
    barrier.passed[turn].acquire();
    return barrier.result[turn];
}

void Machine::open_barrier(Block& block, unsigned number)
{
    Barrier& barrier = block.barrier[number];
    barrier.result[barrier.generation & 1u] = barrier.count;
    barrier.count = 0;
    barrier.arrived = 0;
    ++barrier.generation;
    for (Thread& thread : block.threads)
        if (thread.state == State::at_barrier && thread.barrier == number) make_ready(thread);
}

// ---- warp collectives: every lane of the mask that has not exited must come to the same call with the same mask ----

void Machine::meet_in_warp(unsigned mask, void* slot, Resolve resolve, const Where& at)
{
    const bool orders_memory = !resolve;  // __syncwarp, which has nothing to hand over; nobody else promises that lanes
                                          // see each other's memory
    Thread& thread = *current_;
    thread.at = at;
    if (!(mask >> thread.lane & 1u)) {
        const Quiet quiet;
        stop(concat("lane ", thread.lane, " calls a warp collective whose mask ", hex(mask), " does not name it"));
    }
    Meeting& meeting = meeting_of(*thread.warp, mask);
    if (meeting.arrived && (meeting.resolve != resolve || !same_place(meeting.at, at))) {
        const Quiet quiet;
        stop(concat("divergent warp collective: other lanes wait at ", text_of(meeting.at), " with the same mask ",
                    hex(mask)));
    }
    meeting.resolve = resolve;
    meeting.at = at;
    meeting.slot[thread.lane] = slot;
    meeting.arrived |= 1u << thread.lane;
    Token& passed = meeting.passed[meeting.generation & 1u];
    if (orders_memory) passed.release();
    thread.state = State::in_collective;
    complete(*thread.warp, meeting);
    leave();
    if (orders_memory) passed.acquire();
}

Meeting& Machine::meeting_of(Warp& warp, unsigned mask)
{
    for (auto& meeting : warp.meetings)
        if (meeting->mask == mask) return *meeting;
    const Quiet quiet;
    warp.meetings.push_back(std::make_unique<Meeting>());
    warp.meetings.back()->mask = mask;
    return *warp.meetings.back();
}

bool Machine::complete(Warp& warp, Meeting& meeting)
{
    const unsigned expected = meeting.mask & warp.live;
    if (expected == 0 || meeting.arrived != expected) return false;
    if (meeting.resolve) {
        std::string wrong = meeting.resolve({expected, meeting.slot});
        if (!wrong.empty()) {
            const Quiet quiet;
            note_fault(std::move(wrong), *current_);
        }
    }
    meeting.arrived = 0;
    ++meeting.generation;
    for (int lane = 0; lane < 32; ++lane)
        if (expected >> lane & 1u) make_ready(*warp.lane[lane]);
    return true;
}

// ---- shared memory: a block of its own for every declaration, so that AddressSanitizer sees its ends ----

std::unique_ptr<unsigned char[]> Machine::garbage(std::size_t bytes)
{
    auto block = std::make_unique_for_overwrite<unsigned char[]>(bytes);
    fill_with_garbage(block.get(), bytes, random_);
    return block;
}

void* Machine::shared_array(const void* site, std::size_t bytes, std::size_t alignment)
{
    return array_of(*current_->block, site, bytes, alignment).data;
}

// Aligned as its type asks, and half of the time not more than that: wider loads need an array that promises it. (Else
// AddressSanitizer sees its start sharply.)
SharedArray& Machine::array_of(Block& block, const void* site, std::size_t bytes, std::size_t alignment)
{
    constexpr std::size_t before = 16;  // what the heap aligns to
    for (SharedArray& array : block.shared)
        if (array.site == site) return array;
    const Quiet quiet;
    block.shared_bytes += bytes;
    if (block.shared_bytes - launch_->shared_bytes > static_shared_limit)
        stop(concat("more than ", static_shared_limit, " bytes of static shared memory"));
    if (block.shared_bytes > shared_limit)
        stop(concat("more than ", shared_limit, " bytes of static and dynamic shared memory"));
    const std::size_t beside = alignment < before && flip_coin() ? alignment : 0;
    block.shared.push_back({site, bytes, alignment, garbage(before + beside + bytes), nullptr});
    SharedArray& array = block.shared.back();
    array.data = array.room.get() + before + beside;
    poison(array.room.get(), before + beside);
    return array;
}

// ---- doors ----

int meet_at_barrier(bool predicate, const Where& at) { return machine().meet_at_barrier(predicate, at); }

void named_barrier_sync(int number, int threads, const Where& at) { machine().named_barrier_sync(number, threads, at); }

void meet_in_warp(unsigned mask, void* slot, Resolve resolve, const Where& at)
{
    machine().meet_in_warp(mask, slot, resolve, at);
}

void* shared_array(const void* site, std::size_t bytes, std::size_t alignment)
{
    return machine().shared_array(site, bytes, alignment);
}

void spoil(void* data, std::size_t bytes) { machine().spoil(data, bytes); }

void* dynamic_shared() { return machine().current()->block->dynamic_shared.get(); }

int current_lane() { return machine().current()->lane; }

// The weakest answer a GPU may give: nobody but the caller is known to run along.
unsigned active_lanes() { return 1u << machine().current()->lane; }

void before_atomic(const void* address, std::size_t bytes, const Where& at)
{
    Machine& m = machine();
    m.maybe_switch(at);
    if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
    const Quiet quiet;
    m.stop(concat("an atomic operation on a misaligned address, ", bytes, " bytes"));
}

void after_atomic(const void* address, std::uint64_t value, bool changed)
{
    if (changed) machine().note_change();
    else machine().note_poll(address, value);
}

bool put_off(const Copy& copy, const Where& at)
{
    const Quiet quiet;
    Machine& m = machine();
    m.current()->at = at;
    if (reinterpret_cast<std::uintptr_t>(copy.to) % copy.bytes != 0 ||
        reinterpret_cast<std::uintptr_t>(copy.from) % copy.bytes != 0)
        m.stop(concat("a copy of ", copy.bytes, " bytes from or to a misaligned address"));
    if (m.flip_coin()) return false;
    m.current()->copies.emplace_back(m.current()->groups, copy);
    return true;
}

void end_group() { ++machine().current()->groups; }

bool next_due(unsigned newest_left, Copy& copy)
{
    const Quiet quiet;
    Thread& thread = *machine().current();
    if (thread.copies.empty() || thread.copies.front().first + newest_left >= thread.groups) return false;
    copy = thread.copies.front().second;
    thread.copies.erase(thread.copies.begin());
    return true;
}

void after_load(const void* address, std::uint64_t value, const Where& at)
{
    machine().current()->at = at;
    machine().note_poll(address, value);
}

void sleep_a_little(const Where& at)
{
    Machine& m = machine();
    m.current()->at = at;
    m.yield();
}

}  // namespace tulle::inline TULLE_ABI::simt
