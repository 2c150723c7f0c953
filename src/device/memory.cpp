// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "base/math.hpp"
#include "device/cuda_memory.hpp"
#include "device/fork_locks.hpp"
#include "device/host_memory.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/version.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

// One for all resources: a resource is counted in for a few nanoseconds, and a fork must find it free.
std::mutex& counts_mutex() { return host::fork_safe_mutex(host::Guards::counts); }

std::string name_of(const Place& place)
{
    if (place.space == Space::device) return concat("cuda:", place.device);
    return place.space == Space::pinned ? "pinned host memory" : "host memory";
}

struct HostBlock {
    std::size_t bytes, alignment;
    bool large;
};

// The block that an array of so many bytes is given: whole lines of the cache, or whole huge pages.
HostBlock block_for(std::size_t bytes)
{
    const bool large = bytes >= 2 * huge_page;
    const std::size_t alignment = large ? huge_page : cache_line;
    return {large ? round_up(bytes, alignment) : bytes, alignment,
            large};  // not rounded up elsewhere: AddressSanitizer sees the end of the array
}

void* allocate_host(std::size_t bytes)
{
    if (bytes > Memory::unlimited - huge_page) return nullptr;
    const HostBlock block = block_for(bytes);
    void* data = host::allocate(block.bytes, block.alignment);
    if (data && block.large) madvise(data, block.bytes, MADV_HUGEPAGE);
    return data;
}

void* take(const Place& place, std::size_t bytes)
{
    if constexpr (build::has_cuda) {
        if (place.space == Space::device) return cuda::allocate_device(place, bytes);
        if (place.space == Space::pinned) {
            host::require_room(name_of(place), bytes);
            return cuda::allocate_pinned(bytes);
        }
    }
    return allocate_host(bytes);
}

void give(const Place& place, void* data, std::size_t bytes) noexcept
{
    if constexpr (build::has_cuda) {
        if (place.space == Space::device) return cuda::release_device(place, data);
        if (place.space == Space::pinned) return cuda::release_pinned(data);
    }
    host::release(data, block_for(bytes).bytes);
}

// Rounded up, so that a budget of what the text says is no less.
std::string human_bytes_above(std::size_t bytes)
{
    std::size_t unit = 1;
    while (bytes / unit >= 1024 && unit < std::size_t{1} << 50) unit *= 1024;
    return human_bytes(bytes + unit / 20);
}

// What an empty array takes: an address of its own. It is not counted.
std::size_t room_for(std::size_t bytes) { return bytes == 0 ? 1 : bytes; }

// Where there is no such memory although enough is free, it is in pieces, or the system does not overcommit.
OutOfMemory refusal(const Place& place, std::size_t bytes)
{
    const std::size_t free = free_bytes(place);
    const std::string asked = concat("out of memory on ", name_of(place), ": ", human_bytes(bytes), " needed");
    const char* hint = "free other data on this device, or work with a smaller matrix";
    if (free < bytes) return OutOfMemory(concat(asked, ", ", human_bytes(free), " available"), bytes, free, hint);
    return OutOfMemory(concat(asked, " in one piece, which the system does not have"), bytes, 0, hint);
}

}  // namespace

void* Memory::allocate(const Place& place, std::size_t bytes)
{
    admit(place, bytes);
    try {
        void* const data = take(place, room_for(bytes));
        if (!data) throw refusal(place, bytes);
        note_peak(place.space);
        return data;
    } catch (...) {
        forget(place.space, bytes);
        throw;
    }
}

void Memory::release(const Place& place, void* data, std::size_t bytes) noexcept
{
    if (!data) return;
    give(place, data, room_for(bytes));
    forget(place.space, bytes);
}

// Counts the bytes before they are taken, so that several threads together stay inside the budget.
void Memory::admit(const Place& place, std::size_t bytes)
{
    const std::lock_guard lock(counts_mutex());
    ++allocations_;
    if (fail_at_ >= 0) {
        const bool now = fail_at_ == 0;
        if (!now || fail_ == Fail::once) --fail_at_;
        if (now)
            throw OutOfMemory(concat("out of memory on ", name_of(place), ": told to fail, ", bytes, " bytes"), bytes,
                              0);
    }
    Count& c = count(place.space);
    if (bytes > c.budget - std::min(c.budget, c.live))
        throw OutOfMemory(concat("over budget on ", name_of(place), ": ", human_bytes(bytes), " asked for, ",
                                 human_bytes(c.live), " held, budget ", human_bytes(c.budget)),
                          bytes, c.budget - std::min(c.budget, c.live),
                          concat("raise the budget to more than ", human_bytes_above(c.live + bytes)));
    c.live += bytes;
    ++blocks_;
}

// After the bytes were taken: what the machine refuses was never held.
void Memory::note_peak(Space space)
{
    const std::lock_guard lock(counts_mutex());
    Count& c = count(space);
    c.peak = std::max(c.peak, c.live);
}

void Memory::forget(Space space, std::size_t bytes) noexcept
{
    const std::lock_guard lock(counts_mutex());
    count(space).live -= bytes;
    --blocks_;
}

void Memory::budget(Space space, std::size_t bytes)
{
    const std::lock_guard lock(counts_mutex());
    count(space).budget = bytes;
}

std::size_t Memory::budget(Space space) const
{
    const std::lock_guard lock(counts_mutex());
    return count(space).budget;
}

std::size_t Memory::live(Space space) const
{
    const std::lock_guard lock(counts_mutex());
    return count(space).live;
}

std::size_t Memory::peak(Space space) const
{
    const std::lock_guard lock(counts_mutex());
    return count(space).peak;
}

void Memory::reset_peak()
{
    const std::lock_guard lock(counts_mutex());
    for (Count& c : counts_) c.peak = c.live;
}

std::int64_t Memory::allocations() const
{
    const std::lock_guard lock(counts_mutex());
    return allocations_;
}

std::int64_t Memory::live_blocks() const
{
    const std::lock_guard lock(counts_mutex());
    return blocks_;
}

void Memory::keep(std::shared_ptr<void> thing)
{
    const std::lock_guard lock(counts_mutex());
    kept_.swap(thing);  // what was kept goes without the lock
}

void Memory::fail_at(std::int64_t n, Fail how)
{
    const std::lock_guard lock(counts_mutex());
    fail_at_ = n;
    fail_ = how;
}

std::size_t free_bytes(const Place& place)
{
    if constexpr (build::has_cuda) {
        if (place.space == Space::device) return cuda::free_device_bytes(place.device);
    }
    return host::available().bytes;
}

}  // namespace tulle::inline TULLE_ABI
