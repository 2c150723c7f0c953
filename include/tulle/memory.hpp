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
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>

#include "tulle/api.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

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

// Where work goes, in order. Steps are overloaded on the queue's type; Context::run hands the right one to a story.

// OpenMP threads of this process. Work is done when the call returns.
struct TULLE_API CpuQueue {
    explicit CpuQueue(int threads = 0);  // 0: available_threads(); ValueError below 0 and above most_threads()
    CpuQueue(int threads, std::shared_ptr<Memory> memory);

    int threads;
    std::shared_ptr<Memory> memory;
    offset_t work_per_thread;  // entries, rows or bytes touched that make another thread worth starting;
                               // TULLE_WORK_PER_THREAD

    Place place() const { return {}; }
};

// A stream of one GPU. Work is done when somebody waits for it.
struct TULLE_API CudaQueue {
    CudaQueue(int device, CUstream_st* stream, std::shared_ptr<Memory> memory);

    int device;
    CUstream_st* stream;
    std::shared_ptr<Memory> memory;

    Place place() const { return {Space::device, device, stream}; }
};

// Threads that so much work is worth, one to all of the queue's: starting a second one takes as long as thousands of
// entries (docs/design/spmv.md).
TULLE_API int threads_for(const CpuQueue& q, offset_t work);

inline void synchronize(const CpuQueue&) {}
TULLE_API void synchronize(const CudaQueue& q);

// Host threads this process may use: OMP_NUM_THREADS, or the processors it is allowed to run on; most_threads() at
// most.
TULLE_API int available_threads();

// Threads that a queue may have: eight for every processor but no fewer than 256, and no more than OMP_THREAD_LIMIT.
TULLE_API int most_threads();

// Owns an array in the memory of one queue. Moves, never copies; not initialised.

template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Buffer() = default;

    template <class Queue>
    Buffer(const Queue& q, offset_t size) : Buffer(q.memory, q.place(), size)
    {}

    Buffer(std::shared_ptr<Memory> memory, Place place, offset_t size)
        : memory_(std::move(memory)),
          place_(place),
          size_(size)
    {
        require<ValueError>(size >= 0 && static_cast<std::size_t>(size) <=
                                             std::numeric_limits<std::size_t>::max() / 2 / sizeof(T),
                            [&] {
                                return concat("an array of ", size, " entries of ", sizeof(T), " bytes cannot exist");
                            });
        data_ = static_cast<T*>(memory_->allocate(place_, bytes()));
    }

    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept
    {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~Buffer()
    {
        if (data_) memory_->release(place_, data_, bytes());
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    offset_t size() const { return size_; }
    std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
    bool empty() const { return size_ == 0; }
    std::span<T> span() & { return {data_, static_cast<std::size_t>(size_)}; }
    std::span<const T> span() const& { return {data_, static_cast<std::size_t>(size_)}; }
    std::span<const T> span() const&& = delete;  // a temporary is gone before its span: give it a name
    const Place& place() const { return place_; }

private:
    void swap(Buffer& other) noexcept
    {
        std::swap(memory_, other.memory_);
        std::swap(place_, other.place_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    std::shared_ptr<Memory> memory_;
    Place place_;
    T* data_ = nullptr;
    offset_t size_ = 0;
};

// Moving bytes between the host and a queue's memory, and inside it. Order is the queue's order.

TULLE_API void copy_bytes(const CpuQueue& q, const void* from, void* to, std::size_t bytes);
TULLE_API void copy_bytes(const CudaQueue& q, const void* from, void* to, std::size_t bytes);  // inside the device
TULLE_API void upload_bytes(const CpuQueue& q, const void* host, void* to, std::size_t bytes);
TULLE_API void upload_bytes(const CudaQueue& q, const void* host, void* to,
                            std::size_t bytes);  // `host` may be reused on return
TULLE_API void download_bytes(const CpuQueue& q, const void* from, void* host, std::size_t bytes);
TULLE_API void download_bytes(const CudaQueue& q, const void* from, void* host, std::size_t bytes);  // waits
TULLE_API void fill_bytes(const CpuQueue& q, void* to, unsigned char value, std::size_t bytes);
TULLE_API void fill_bytes(const CudaQueue& q, void* to, unsigned char value, std::size_t bytes);

template <class Queue, class T>
void copy(const Queue& q, const T* from, T* to, offset_t n)
{
    copy_bytes(q, from, to, static_cast<std::size_t>(n) * sizeof(T));
}

template <class Queue, class T>
void upload(const Queue& q, const T* host, T* to, offset_t n)
{
    upload_bytes(q, host, to, static_cast<std::size_t>(n) * sizeof(T));
}

template <class Queue, class T>
void download(const Queue& q, const T* from, T* host, offset_t n)  // waits
{
    download_bytes(q, from, host, static_cast<std::size_t>(n) * sizeof(T));
}

template <class Queue, class T>
void fill_zero(const Queue& q, T* to, offset_t n)
{
    fill_bytes(q, to, 0, static_cast<std::size_t>(n) * sizeof(T));
}

// One value from a queue's memory; waits.
template <class T, class Queue>
T read_value(const Queue& q, const T* from)
{
    T value;
    download(q, from, &value, 1);
    return value;
}

// A new array on the queue with the contents of a host array.
template <class T, class Queue>
Buffer<T> to_queue(const Queue& q, const T* host, offset_t n)
{
    Buffer<T> there(q, n);
    upload(q, host, there.data(), n);
    return there;
}

}  // namespace tulle::inline TULLE_ABI
