// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One resource behind all memory of a context: it counts, keeps a budget, and can be told to fail for tests.
//
// Host memory is aligned (huge pages where large); large blocks that the machine cannot give are refused
// (host_memory.hpp). Device memory comes from a stream-ordered pool of our own, or from plain allocations where there
// is no pool or the pool is exhausted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>

#include "tulle/api.hpp"

struct CUstream_st;  // a CUDA stream, without any CUDA header

namespace tulle::inline TULLE_ABI {

enum class Space { host, pinned, device };

// Where memory lives and on whose stream its life is ordered.
struct Place {
    Space space = Space::host;
    int device = 0;
    CUstream_st* stream = nullptr;
};

class TULLE_API Memory {
public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // Never null, also for zero bytes; OutOfMemory with the numbers otherwise.
    void* allocate(const Place& place, std::size_t bytes);
    void release(const Place& place, void* data, std::size_t bytes) noexcept;

    // No more than this many bytes are held at once in a space.
    void budget(Space space, std::size_t bytes);
    std::size_t budget(Space space) const;
    std::size_t live(Space space) const;
    std::size_t peak(Space space) const;
    void reset_peak();
    std::int64_t allocations() const;  // made so far, failed ones included
    std::int64_t live_blocks() const;

    // Keeps something alive as long as this memory, such as the stream that orders it.
    void keep(std::shared_ptr<void> thing);

    // For tests: the n-th allocation from now (0 is the next) fails, once or from then on; n < 0 switches it off.
    enum class Fail { once, for_ever };
    void fail_at(std::int64_t n, Fail how = Fail::once);

private:
    struct Count {
        std::size_t live = 0, peak = 0, budget = unlimited;
    };
    Count& count(Space space) { return counts_[static_cast<std::size_t>(space)]; }
    const Count& count(Space space) const { return counts_[static_cast<std::size_t>(space)]; }
    void admit(const Place& place, std::size_t bytes);
    void forget(Space space, std::size_t bytes) noexcept;

    mutable std::mutex mutex_;
    std::shared_ptr<void> kept_;
    std::array<Count, 3> counts_{};
    std::int64_t allocations_ = 0, blocks_ = 0;
    std::int64_t fail_at_ = -1;
    Fail fail_ = Fail::once;
};

// Bytes that can be had right now in a space, as the machine says.
TULLE_API std::size_t free_bytes(const Place& place);

}  // namespace tulle::inline TULLE_ABI
