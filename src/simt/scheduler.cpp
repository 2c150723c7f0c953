// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Who runs: blocks come and go, threads take turns as the seed says, and those that wait for ever are found.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>
#include <utility>

#include "simt/machine.hpp"
#include "tulle/text.hpp"

uint3 threadIdx{};
uint3 blockIdx{};
dim3 blockDim;
dim3 gridDim;

namespace tulle::inline TULLE_ABI::simt {
namespace {

constexpr std::size_t stack_bytes = under_asan || under_tsan ? 256 * 1024 : 128 * 1024;
constexpr std::size_t page = 4096;
constexpr std::size_t soiled =
    2048;  // of a stack, when a thread begins: what the first functions have not set holds nothing of another thread's
constexpr std::size_t filled_when_made = 64 * 1024;        // of a stack, from its upper end; few kernels come deeper
constexpr std::uint64_t stack_mark = 0x7a11e57ac4edfeedu;  // at the lower end; gone when a thread used more

void put_mark(char* stack) { std::memcpy(stack, &stack_mark, sizeof stack_mark); }
bool has_mark(const char* stack) { return std::memcmp(stack, &stack_mark, sizeof stack_mark) == 0; }

// Garbage for every thread that begins: words of one table, changed by one number. Drawing each word anew took a fifth
// of the time of all tests; a plain copy is a call that sanitizers look at.
void soil(char* data, std::uint64_t change)
{
    static const auto table = [] {
        std::array<std::uint64_t, soiled / 8> words;
        Random random(soiled);
        fill_with_garbage(words.data(), soiled, random);
        return words;
    }();
    for (std::size_t i = 0; i < table.size(); ++i) {
        const std::uint64_t word = table[i] ^ change;
        std::memcpy(data + 8 * i, &word, 8);
    }
}

}  // namespace

// One, and another for a kernel that has to run while the next one already waits for it.
static bool nested = false;
Machine& machine()
{
    static Machine* const both = new Machine[2];  // never destroyed: static objects may still wait for their streams
    return both[nested ? 1 : 0];
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
    ready_.reserve(std::size_t{std::max(config.resident, launch.cluster)} *
                   launch.threads);  // all there can be at once: kernels must not see it grow
    first_ = nullptr;
    live_ = 0;
    idle_ = switches_ = 0;
    host_.state = State::ready;
    host_identity_.handle = current_identity();
    host_.stack.identity = &host_identity_;
    ++kernels_;
    launched_.release();
    deal_out_names(seed);

    earlier_has_run_ = !launch.earlier;
    waiting_for_earlier_.clear();
    start_blocks();
    run_threads();
    run_earlier_kernel();  // a kernel that did not wait for it

    end_identities();
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
        thread.name =
            under_tsan ? static_cast<unsigned>(thread.warp->names * names_each_ + names_.below(names_each_)) : 0;
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

// A thread that waits goes over to the next one by itself. It comes back here, to the stack of the host, when it has
// ended, when somebody needs a stack that does not exist yet, and when nobody can go on.
void Machine::run_threads()
{
    while (live_ > 0 && fault_.empty()) {
        if (!first_ && ready_.empty()) {
            if (run_earlier_kernel()) continue;
            fault_ = concat("deadlock: no thread can go on; ", place_of(someone_waiting()), waiting());
            return;
        }
        switch_stack(host_, first_ ? *std::exchange(first_, nullptr) : *pick(), false);
        if (current_->state != State::done) continue;
        check_stuck();
        finish(*current_);
    }
}

// Whoever waits for the kernel ahead lets it run at the last moment: then everybody has read what may be read before.
bool Machine::run_earlier_kernel()
{
    if (std::exchange(earlier_has_run_, true)) return false;
    const dim3 grid = gridDim, block = blockDim;
    nested = true;
    try {
        launch_->earlier();
    } catch (const Fault& e) {
        if (fault_.empty()) fault_ = e.what();
    }
    nested = false;
    gridDim = grid;
    blockDim = block;
    for (Thread* thread : std::exchange(waiting_for_earlier_, {})) make_ready(*thread);
    return true;
}

void Machine::wait_for_earlier_kernels(const Where& at)
{
    if (earlier_has_run_) return;
    current_->at = at;
    current_->state = State::before_others;
    waiting_for_earlier_.push_back(current_);
    leave();
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

void Machine::switch_stack(Thread& from, Thread& to, bool for_ever)
{
    if (to.state == State::fresh) {
        to.stack = take_stack(to.name);
        prepare(to.context, to.stack.bottom, to.stack.bytes, thread_main);
        to.state = State::ready;
    }
    if (to.block) {  // not the host
        ++switches_;
        current_ = &to;
        threadIdx = to.index;
        blockIdx = to.block->index;
    }
    from_host_ = &from == &host_;
    become(to.stack.identity->handle);
#ifdef TULLE_SIMT_ASAN
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(for_ever ? nullptr : &fake_stack, to.block ? to.stack.bottom : host_stack_,
                                   to.block ? to.stack.bytes : host_stack_bytes_);
#else
    (void)for_ever;
#endif
    switch_stacks(from.context, to.context);
#ifdef TULLE_SIMT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

// Somebody else's turn. Outside of any Quiet: that is not for others with the same identity.
void Machine::leave()
{
    Thread& thread = *current_;
    check_stuck();
    if (!fault_.empty() || ready_.empty()) return switch_stack(thread, host_, false);
    Thread& next = *pick();
    if (next.state == State::fresh && identities_[next.name].free_stacks.empty()) {
        first_ = &next;
        return switch_stack(thread, host_, false);
    }
    if (&next == &thread) ++switches_;
    else switch_stack(thread, next, false);
}

void Machine::thread_main()
{
    Machine& m = machine();
#ifdef TULLE_SIMT_ASAN
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (m.from_host_) m.host_stack_ = bottom, m.host_stack_bytes_ = bytes;
#endif
    m.begin_as(*m.current_->stack.identity);
    std::string thrown;
    try {
        m.launch_->body();
    } catch (const std::exception& e) {
        thrown = concat("the kernel threw: ", e.what());
    }
    if (!thrown.empty() || !has_mark(m.current_->stack.bottom)) {
        const Quiet quiet;
        m.stop(!thrown.empty() ? std::move(thrown)
                               : concat("the thread used more than its stack of ", stack_bytes, " bytes"));
    }
    m.note_change();
    m.current_->state = State::done;
    for (;;) m.switch_stack(*m.current_, m.host_, true);
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
    make_ready(*current_);
    leave();
}

void Machine::maybe_switch(const Where& at)
{
    current_->at = at;
    if (random_.chance(config_.switch_chance)) yield();
}

// The thread is never resumed, so that nothing on its stack is destroyed: nothing may be left there, but for the Quiet
// in which this is called.
void Machine::stop(std::string&& what)
{
    note_fault(std::move(what), *current_);
    Quiet::end();
    for (;;) leave();
}

void Machine::note_fault(std::string&& what, const Thread& thread)
{
    if (!fault_.empty()) return;
    fault_ = std::move(what);
    fault_ += "; " + place_of(thread);
}

// ---- stacks ----

// Stacks end at different distances from the ends of their pages: the innermost frames of all threads would otherwise
// share a few lines of every cache.
Stack Machine::new_stack(Identity& identity)
{
    constexpr std::size_t distances = 61, step = 448;
    if (!identity.handle) identity.handle = new_identity();
    char* const bottom = static_cast<char*>(std::aligned_alloc(page, stack_bytes));
    fill_with_garbage(bottom + stack_bytes - filled_when_made, filled_when_made, stack_contents_);
    put_mark(bottom);
    return {bottom, stack_bytes - stacks_++ % distances * step, &identity, false};
}

// The one used last, which the processor's caches still hold; before ThreadSanitizer one that is left to chance. The
// number is drawn everywhere, so that a seed means the same schedule.
Stack Machine::take_stack(unsigned name)
{
    std::vector<Stack>& stacks = identities_[name].free_stacks;
    if (stacks.empty()) stacks.push_back(new_stack(identities_[name]));
    const std::size_t drawn = random_.below(stacks.size());
    if (under_tsan) std::swap(stacks[drawn], stacks.back());
    Stack stack = stacks.back();
    stacks.pop_back();
    // Red zones that nobody took away: of a thread that was abandoned anywhere, of one that ended only those of its
    // first functions.
    const bool abandoned = std::exchange(stack.abandoned, false);
    const std::size_t touched = abandoned ? stack.bytes : page;
    unpoison(stack.bottom + stack.bytes - touched, touched);
    soil(stack.bottom + stack.bytes - soiled, stack_contents_());
    if (abandoned) put_mark(stack.bottom);  // may be gone: the thread has not come to its end, where it is looked at
    return stack;
}

void Machine::give_stacks_back(Block& block, bool abandoned)
{
    for (Thread& thread : block.threads) {
        if (!thread.stack.bottom) continue;
        thread.stack.abandoned = abandoned && thread.state != State::done;
        identities_[thread.name].free_stacks.push_back(std::exchange(thread.stack, {}));
    }
    for (const Warp& warp : block.warps) free_names_.push_back(warp.names);
}

// ThreadSanitizer keeps 255 threads apart. It goes on with more, but finds next to nothing any more (seen from 384 on;
// the planted bug shared_used_again has 512). So there are fewer names, and threads share them. Two threads with one
// name are in order in its eyes, and with them, by the collectives of warps, all that their warps do before and after;
// so only threads of one warp share (the planted bug warps_write_one_word). How many names a warp has is drawn for each
// launch: many find races between its lanes, few leave others for the warps of blocks that come later.
void Machine::deal_out_names(std::uint64_t seed)
{
    names_ = Random(~seed);
    stack_contents_ = Random(mix(seed, kernels_));
    const unsigned warps = std::max(1u, std::min(std::max(config_.resident, launch_->cluster), launch_->blocks) *
                                            ((launch_->threads + 31) / 32));
    const unsigned share = std::clamp(most_names / warps, 1u, 32u), drawn = static_cast<unsigned>(names_.below(3));
    names_each_ = drawn == 0 ? share : drawn == 1 ? (share + 3) / 4 : 1;
    const unsigned groups = std::min(most_names / names_each_, 4 * warps);
    free_names_.clear();
    for (unsigned k = 0, first = static_cast<unsigned>(names_.below(groups)); k < groups; ++k)
        free_names_.push_back((first + k) % groups);
}

// Of a warp that begins. More warps at a time than names: they share after all.
unsigned Machine::take_names()
{
    if (free_names_.empty()) return static_cast<unsigned>(started_) % most_names;
    const unsigned names = free_names_.front();
    free_names_.pop_front();
    return names;
}

// What the stream did before the kernel happened before what its threads do.
void Machine::begin_as(Identity& identity)
{
    if (std::exchange(identity.kernel, kernels_) != kernels_) launched_.acquire();
}

// And what they did, ended or not, before what the stream does next.
void Machine::end_identities()
{
    if (!under_tsan) return;
    for (const Identity& identity : identities_) {
        if (identity.kernel != kernels_) continue;
        become(identity.handle);
        ended_.release();
    }
    become(host_identity_.handle);
    ended_.acquire();
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
    if (!fault_.empty() || (idle_ <= config_.patience + 256 * live_ && switches_ <= config_.max_switches)) return;
    const Quiet quiet;
    if (idle_ > config_.patience + 256 * live_)
        fault_ = concat("livelock: threads poll, and nothing changes any more; ", place_of(*current_), waiting());
    else fault_ = concat("the kernel does not end: ", switches_, " switches; ", place_of(*current_), waiting());
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
            const char* why = thread.state == State::at_barrier
                                  ? (thread.barrier == 0 ? "in __syncthreads" : "in a barrier of some warps")
                              : thread.state == State::in_collective ? "in a warp collective"
                              : thread.state == State::in_cluster    ? "in the barrier of a cluster"
                              : thread.state == State::before_others ? "for the kernel ahead"
                                                                     : "polling";
            text += concat("\n    block ", block->index.x, ", thread ", thread.index.x, ": ", why, ", ",
                           short_path(thread.at.file), ":", thread.at.line);
        }
    if (found > shown) text += concat("\n    and ", found - shown, " more");
    return text;
}

std::string Machine::place_of(const Thread& thread) const
{
    const std::string place =
        thread.at.line > 0 ? concat(", ", short_path(thread.at.file), ":", thread.at.line) : std::string();
    return concat(name_of(*launch_), ", block ", thread.block->index.x, ", thread ", thread.index.x, place, " (device ",
                  launch_->device, ", launch ", launch_->number, "; ", replay(config_), ")");
}

std::string Machine::whereabouts() const { return current_ && launch_ ? place_of(*current_) : std::string(); }

void wait_for_earlier_kernels(const Where& at) { machine().wait_for_earlier_kernels(at); }

}  // namespace tulle::inline TULLE_ABI::simt
