// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/medium_blocks.hpp"

#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <mutex>
#include <new>

#include "base/math.hpp"
#include "device/fork_locks.hpp"

#ifdef __has_feature
#define TULLE_HAS_FEATURE(x) __has_feature(x)
#else
#define TULLE_HAS_FEATURE(x) 0
#endif

namespace tulle::inline TULLE_ABI::host {
namespace {

#if defined(__SANITIZE_ADDRESS__) || TULLE_HAS_FEATURE(address_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

constexpr std::size_t chunk_bytes = std::size_t{8} << 20;
constexpr std::size_t unit = 4096;  // blocks take whole units
constexpr std::size_t units = chunk_bytes / unit, words = units / 64;
constexpr std::size_t line_bytes = 64, lines_of_unit = unit / line_bytes;

// At the beginning of its memory, in the first unit. Bits of units that are taken.
struct Chunk {
    Chunk* next;
    std::size_t free;
    std::uint64_t taken[words];

    // The first unit from `at` on that is taken, or is free.
    std::size_t find(std::size_t at, bool is_taken) const
    {
        for (std::size_t w = at / 64, skip = at % 64; w < words; ++w, skip = 0)
            if (const std::uint64_t bits = (is_taken ? taken[w] : ~taken[w]) >> skip << skip; bits != 0)
                return w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        return units;
    }
    // Where so many units are free; `units` if nowhere.
    std::size_t find_free(std::size_t count) const
    {
        for (std::size_t at = find(0, false); at + count <= units;) {
            const std::size_t end = find(at, true);
            if (end - at >= count) return at;
            at = find(end, false);
        }
        return units;
    }
    void flip(std::size_t at, std::size_t count)
    {
        for (std::size_t u = at; u < at + count; ++u) taken[u / 64] ^= std::uint64_t{1} << u % 64;
    }
    bool is_empty() const { return free == units - 1; }
};
static_assert(sizeof(Chunk) <= unit);

Chunk* chunks = nullptr;
std::size_t served = 0;

std::size_t address_of(const void* p) { return reinterpret_cast<std::size_t>(p); }

// Aligned to its own size: what is too much at both ends goes back.
void* map_chunk()
{
    void* all = mmap(nullptr, 2 * chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<std::byte*>(all);
    const std::size_t before = round_up(address_of(all), chunk_bytes) - address_of(all);
    if (before > 0) munmap(begin, before);
    munmap(begin + before + chunk_bytes, chunk_bytes - before);
    madvise(begin + before, chunk_bytes, MADV_HUGEPAGE);
    return begin + before;
}

Chunk* add_chunk()
{
    void* memory = map_chunk();
    if (!memory) return nullptr;
    auto* chunk = new (memory) Chunk{.next = chunks, .free = units - 1, .taken = {1}};
    chunks = chunk;
    return chunk;
}

void drop_chunk(Chunk* chunk)
{
    Chunk** link = &chunks;
    while (*link != chunk) link = &(*link)->next;
    *link = chunk->next;
    munmap(chunk, chunk_bytes);
}

void* take_from(Chunk& chunk, std::size_t count, std::size_t shift)
{
    const std::size_t at = chunk.free < count ? units : chunk.find_free(count);
    if (at == units) return nullptr;
    chunk.flip(at, count);
    chunk.free -= count;
    return reinterpret_cast<std::byte*>(&chunk) + at * unit + shift;
}

bool has_other_empty(const Chunk* than)
{
    for (const Chunk* c = chunks; c; c = c->next)
        if (c != than && c->is_empty()) return true;
    return false;
}

}  // namespace

bool is_medium(std::size_t bytes) { return !sanitized && bytes >= least_medium && bytes <= most_medium; }

// Arrays do not all begin at the same line of a page: the same entries of several would share few lines of the cache.
void* take_medium(std::size_t bytes)
{
    const std::lock_guard lock(fork_safe_mutex(Guards::chunks));
    const std::size_t shift = served++ * 5 % lines_of_unit * line_bytes, count = ceil_div(shift + bytes, unit);
    for (Chunk* c = chunks; c; c = c->next)
        if (void* data = take_from(*c, count, shift)) return data;
    Chunk* const added = add_chunk();
    return added ? take_from(*added, count, shift) : nullptr;
}

void give_medium(void* data, std::size_t bytes) noexcept
{
    const std::lock_guard lock(fork_safe_mutex(Guards::chunks));
    const std::size_t inside = address_of(data) % chunk_bytes, count = ceil_div(inside % unit + bytes, unit);
    auto* const chunk = reinterpret_cast<Chunk*>(static_cast<std::byte*>(data) - inside);
    chunk->flip(inside / unit, count);
    chunk->free += count;
    if (chunk->is_empty() && has_other_empty(chunk)) drop_chunk(chunk);
}

std::size_t bytes_of_chunks()
{
    const std::lock_guard lock(fork_safe_mutex(Guards::chunks));
    std::size_t bytes = 0;
    for (const Chunk* c = chunks; c; c = c->next) bytes += chunk_bytes;
    return bytes;
}

}  // namespace tulle::inline TULLE_ABI::host
