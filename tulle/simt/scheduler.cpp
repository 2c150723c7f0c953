// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Who runs: blocks come and go, threads take turns as the seed says, and those that wait for ever are found.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>
#include <utility>

#include "tulle/base/text.hpp"
#include "tulle/simt/machine.hpp"

uint3 threadIdx{};
uint3 blockIdx{};
dim3 blockDim;
dim3 gridDim;

namespace tulle::simt {
namespace {

constexpr unsigned most_names = 200;           // for ThreadSanitizer
constexpr std::size_t stack_bytes = under_asan || under_tsan ? 256 * 1024 : 128 * 1024;
constexpr std::size_t page = 4096;
constexpr std::uint64_t stack_mark = 0x7a11e57ac4edfeedu;    // at the lower end; gone when a thread used more

void put_mark(char* stack) { std::memcpy(stack, &stack_mark, sizeof stack_mark); }
bool has_mark(const char* stack) { return std::memcmp(stack, &stack_mark, sizeof stack_mark) == 0; }

}  // namespace

Machine& machine()
{
    static Machine* const the_machine = new Machine;    // never destroyed: static objects may still wait for their streams
    return *the_machine;
}

void Machine::run(const Launch& launch, const Config& config, std::uint64_t seed)
{
    const Quiet quiet;
    config_ = config;
    random_ = Random(seed);
    launch_ = &launch;
    gridDim = dim3(launch.blocks);
    blockDim = dim3(launch.threads);
    fault_.clear();
    ready_.clear();
    ready_.reserve(std::size_t{config.resident} * launch.threads);
    live_ = 0;
    idle_ = switches_ = 0;
    host_.stack.identity = current_identity();
    launched_.release();
    deal_out_names(seed);

    start_blocks();
    run_threads();

    ended_.acquire();
    for (auto& block : resident_) give_stacks_back(*block, true);
    resident_.clear();
    current_ = nullptr;
    launch_ = nullptr;
    if (!fault_.empty()) throw Fault(std::exchange(fault_, {}));
}

// ---- blocks ----

void Machine::start_blocks()
{
    order_.resize(launch_->blocks / launch_->cluster);
    std::iota(order_.begin(), order_.end(), 0u);
    if (config_.order == Order::descending) std::reverse(order_.begin(), order_.end());
    if (config_.order == Order::random)
        for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
    started_ = 0;
    start_clusters();
}

void Machine::start_clusters()
{
    const unsigned size = launch_->cluster, room = std::max(config_.resident, size);
    while (started_ < order_.size() && resident_.size() + size <= room) {
        const unsigned first = order_[started_++] * size;
        const auto cluster = std::make_shared<Cluster>();
        cluster->live = size * launch_->threads;
        for (unsigned i = 0; i < size; ++i) {
            Block& block = start_block(first + i);
            block.cluster = cluster;
            cluster->block.push_back(&block);
        }
    }
}

Block& Machine::start_block(unsigned number)
{
    auto block = std::make_unique<Block>();
    const unsigned threads = launch_->threads;
    block->index = {number, 0, 0};
    block->live = threads;
    block->threads.resize(threads);
    block->warps.resize((threads + 31) / 32);
    for (Warp& warp : block->warps) warp.names = take_names();
    block->shared_bytes = launch_->shared_bytes;
    if (launch_->shared_bytes > 0) block->dynamic_shared = garbage(launch_->shared_bytes);
    for (unsigned i = 0; i < threads; ++i) {
        Thread& thread = block->threads[i];
        thread.index = {i, 0, 0};
        thread.lane = static_cast<int>(i % 32);
        thread.block = block.get();
        thread.warp = &block->warps[i / 32];
        thread.warp->lane[i % 32] = &thread;
        thread.warp->live |= 1u << (i % 32);
        ready_.push_back(&thread);
    }
    live_ += threads;
    resident_.push_back(std::move(block));
    return *resident_.back();
}

void Machine::finish_block(Block& block)
{
    give_stacks_back(block, false);
    std::erase_if(resident_, [&](const auto& b) { return b.get() == &block; });
    start_clusters();
}

// ---- turns ----

void Machine::run_threads()
{
    while (live_ > 0 && fault_.empty()) {
        if (ready_.empty()) {
            fault_ = concat("deadlock: no thread can go on; ", place_of(someone_waiting()), waiting());
            return;
        }
        Thread& thread = *pick();
        resume(thread);
        check_stuck();
        if (thread.state == State::done) finish(thread);
    }
}

Thread* Machine::pick()
{
    std::size_t i = random_.below(ready_.size());
    if (config_.policy == Policy::first) i = 0;
    if (config_.policy == Policy::last) i = ready_.size() - 1;
    Thread* const thread = ready_[i];
    if (config_.policy == Policy::first) {
        ready_.erase(ready_.begin());
    } else {
        ready_[i] = ready_.back();
        ready_.pop_back();
    }
    return thread;
}

void Machine::resume(Thread& thread)
{
    if (thread.state == State::fresh) {
        thread.stack = take_stack(*thread.warp);
        prepare(thread.context, thread.stack.bottom, stack_bytes, thread_main);
        thread.state = State::ready;
    }
    ++switches_;
    current_ = &thread;
    threadIdx = thread.index;
    blockIdx = thread.block->index;
    become(thread.stack.identity);
#ifdef TULLE_SIMT_ASAN
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, thread.stack.bottom, stack_bytes);
#endif
    switch_stacks(host_.context, thread.context);
#ifdef TULLE_SIMT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

// Back to the scheduler, which decides when this thread goes on. Outside of any Quiet: that is not for others with the same identity.
void Machine::leave(bool for_ever)
{
    Thread& thread = *current_;
    become(host_.stack.identity);
#ifdef TULLE_SIMT_ASAN
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(for_ever ? nullptr : &fake_stack, host_stack_, host_stack_bytes_);
#else
    (void)for_ever;
#endif
    switch_stacks(thread.context, host_.context);
#ifdef TULLE_SIMT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Machine::thread_main()
{
    Machine& m = machine();
#ifdef TULLE_SIMT_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &m.host_stack_, &m.host_stack_bytes_);
#endif
    m.launched_.acquire();
    std::string thrown;
    try {
        m.launch_->body();
    } catch (const std::exception& e) {
        thrown = concat("the kernel threw: ", e.what());
    }
    if (!thrown.empty() || !has_mark(m.current_->stack.bottom)) {
        const Quiet quiet;
        m.stop(!thrown.empty() ? std::move(thrown) : concat("the thread used more than its stack of ", stack_bytes, " bytes"));
    }
    m.note_change();
    m.ended_.release();
    m.current_->state = State::done;
    for (;;) m.leave(true);
}

// An exited lane no longer counts in collectives; leaving others in a barrier is a mistake.
void Machine::finish(Thread& thread)
{
    Block& block = *thread.block;
    Warp& warp = *thread.warp;
    warp.live &= ~(1u << thread.lane);
    --block.live;
    --live_;
    leave_cluster(thread);
    if (block.live > 0 && block.barrier.front().arrived > 0) {
        fault_ = concat("a thread exited while others wait in __syncthreads; ", place_of(thread), waiting());
        return;
    }
    for (std::size_t i = 0; i < warp.meetings.size(); ++i)
        if (warp.meetings[i]->arrived) complete(warp, *warp.meetings[i]);
    if (block.live == 0) finish_block(block);
}

void Machine::make_ready(Thread& thread)
{
    thread.state = State::ready;
    ready_.push_back(&thread);
}

void Machine::yield()
{
    {
        const Quiet quiet;
        make_ready(*current_);
    }
    leave(false);
}

void Machine::maybe_switch(const Where& at)
{
    current_->at = at;
    if (random_.chance(config_.switch_chance)) yield();
}

// The thread is never resumed, so that nothing on its stack is destroyed: nothing may be left there, but for the Quiet in which this is called.
void Machine::stop(std::string&& what)
{
    note_fault(std::move(what), *current_);
    Quiet::end();
    for (;;) leave(false);
}

void Machine::note_fault(std::string&& what, const Thread& thread)
{
    if (!fault_.empty()) return;
    fault_ = std::move(what);
    fault_ += "; " + place_of(thread);
}

// ---- stacks ----

// The one used last, which the processor's caches still hold. Which of its warp's names a thread has is left to chance, and drawn everywhere, so that a seed
// means the same schedule.
Stack Machine::take_stack(const Warp& warp)
{
    const std::uint64_t drawn = random_();
    const unsigned name = under_tsan ? static_cast<unsigned>(warp.names * names_each_ + drawn % names_each_) : 0;
    if (!identities_[name]) identities_[name] = new_identity();
    std::vector<Stack>& stacks = free_stacks_[name];
    if (stacks.empty()) stacks.push_back({static_cast<char*>(std::aligned_alloc(page, stack_bytes)), identities_[name], name, false});
    Stack stack = stacks.back();
    stacks.pop_back();
    // Red zones that nobody took away: of a thread that was abandoned anywhere, of one that ended only those of its first functions.
    const std::size_t touched = std::exchange(stack.abandoned, false) ? stack_bytes : page;
    unpoison(stack.bottom + stack_bytes - touched, touched);
    put_mark(stack.bottom);
    return stack;
}

void Machine::give_stacks_back(Block& block, bool abandoned)
{
    for (Thread& thread : block.threads) {
        if (!thread.stack.bottom) continue;
        if (abandoned && thread.state != State::done) abandon(thread);
        free_stacks_[thread.stack.name].push_back(std::exchange(thread.stack, {}));
    }
    for (const Warp& warp : block.warps) free_names_.push_back(warp.names);
}

// The thread never ended: order what it did before what the stream does next.
void Machine::abandon(Thread& thread)
{
    thread.stack.abandoned = true;
    become(thread.stack.identity);
    become_after(host_.stack.identity);
}

// ThreadSanitizer keeps 255 threads apart. It goes on with more, but finds next to nothing any more (seen from 384 on; the planted bug shared_used_again
// has 512). So there are fewer names, and threads share them. Two threads with one name are in order in its eyes, and with them, by the collectives of warps,
// all that their warps do before and after; so only threads of one warp share (the planted bug warps_write_one_word). How many names a warp has is drawn for each
// launch: many find races between its lanes, few leave others for the warps of blocks that come later.
void Machine::deal_out_names(std::uint64_t seed)
{
    Random chance(~seed);
    const unsigned warps = std::max(1u, std::min(std::max(config_.resident, launch_->cluster), launch_->blocks) * ((launch_->threads + 31) / 32));
    const unsigned share = std::clamp(most_names / warps, 1u, 32u), drawn = static_cast<unsigned>(chance.below(3));
    names_each_ = drawn == 0 ? share : drawn == 1 ? (share + 3) / 4 : 1;
    const unsigned groups = std::min(most_names / names_each_, 4 * warps);
    free_names_.clear();
    for (unsigned k = 0, first = static_cast<unsigned>(chance.below(groups)); k < groups; ++k) free_names_.push_back((first + k) % groups);
    identities_.resize(most_names);
    free_stacks_.resize(most_names);
}

// Of a warp that begins. More warps at a time than names: they share after all.
unsigned Machine::take_names()
{
    if (free_names_.empty()) return static_cast<unsigned>(started_) % most_names;
    const unsigned names = free_names_.front();
    free_names_.pop_front();
    return names;
}

// ---- waiting for ever ----

void Machine::note_change() { idle_ = 0; }

void Machine::note_idle() { ++idle_; }

// A loop that sees the same value at the same address again waits for somebody: let others go first.
void Machine::note_poll(const void* address, std::uint64_t value)
{
    Thread& thread = *current_;
    note_idle();
    const bool again = thread.polled == address && thread.polled_value == value;
    thread.polled = address;
    thread.polled_value = value;
    if (again || random_.chance(config_.switch_chance)) yield();
}

void Machine::check_stuck()
{
    if (!fault_.empty()) return;
    if (idle_ > config_.patience + 256 * live_)
        fault_ = concat("livelock: threads poll, and nothing changes any more; ", place_of(*current_), waiting());
    else if (switches_ > config_.max_switches)
        fault_ = concat("the kernel does not end: ", switches_, " switches; ", place_of(*current_), waiting());
}

const Thread& Machine::someone_waiting() const
{
    for (const auto& block : resident_)
        for (const Thread& thread : block->threads)
            if (thread.state != State::done) return thread;
    return resident_.front()->threads.front();
}

std::string Machine::waiting() const
{
    constexpr int shown = 6;
    std::string text;
    int found = 0;
    for (const auto& block : resident_)
        for (const Thread& thread : block->threads) {
            if (thread.state == State::done || thread.state == State::fresh || found++ >= shown) continue;
            const char* why = thread.state == State::at_barrier      ? (thread.barrier == 0 ? "in __syncthreads" : "in a barrier of some warps")
                              : thread.state == State::in_collective ? "in a warp collective"
                              : thread.state == State::in_cluster    ? "in the barrier of a cluster"
                                                                     : "polling";
            text += concat("\n    block ", block->index.x, ", thread ", thread.index.x, ": ", why, ", ", short_path(thread.at.file), ":", thread.at.line);
        }
    if (found > shown) text += concat("\n    and ", found - shown, " more");
    return text;
}

std::string Machine::place_of(const Thread& thread) const
{
    const std::string place = thread.at.line > 0 ? concat(", ", short_path(thread.at.file), ":", thread.at.line) : std::string();
    return concat(name_of(*launch_), ", block ", thread.block->index.x, ", thread ", thread.index.x, place, " (device ",
                  launch_->device, ", launch ", launch_->number, "; ", replay(config_), ")");
}

std::string Machine::whereabouts() const { return current_ && launch_ ? place_of(*current_) : std::string(); }

}  // namespace tulle::simt
