// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Memory resource, queues and arrays: what contexts are made of.
///
/// All memory of a context comes from one Memory, which counts, keeps a budget, and can be told to fail for tests. Host
/// memory is aligned (huge pages for large blocks); large blocks that the machine cannot give are refused. Device
/// memory comes from a stream-ordered pool of tulle's own, or from plain allocations where there is no pool or it is
/// exhausted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "tulle/api.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

struct CUstream_st;  ///< a CUDA stream, declared without any CUDA header

namespace tulle::inline TULLE_ABI {

/// Kinds of memory.
enum class Space {
    host,    ///< pageable host memory
    pinned,  ///< page-locked host memory
    device   ///< memory of a GPU
};

/// Where memory is, and the stream that orders its allocation and release.
struct Place {
    Space space = Space::host;      ///< kind of memory
    int device = 0;                 ///< number of the GPU
    CUstream_st* stream = nullptr;  ///< stream that orders allocation and release; null on the host
    bool plain = false;             ///< memory of a GPU for others, such as MPI and NCCL: never from a pool
};

/// Allocates and counts the memory of a context. All members are thread safe.
class TULLE_API Memory {
public:
    /// A budget that allows everything.
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    /// A resource without budget that holds nothing.
    Memory() = default;
    Memory(const Memory&) = delete;             ///< not copyable
    Memory& operator=(const Memory&) = delete;  ///< not copyable

    /// Allocates; never null, also for zero bytes, which count as none.
    /// @throws OutOfMemory (with the numbers) if the budget or the device does not allow it.
    void* allocate(const Place& place, std::size_t bytes);
    /// Releases what allocate() gave for the same place and size; null is ignored.
    void release(const Place& place, void* data, std::size_t bytes) noexcept;

    /// Limits the bytes that are held at once in a space.
    void budget(Space space, std::size_t bytes);
    /// The limit of a space, in bytes.
    std::size_t budget(Space space) const;
    /// Bytes held now in a space.
    std::size_t live(Space space) const;
    /// The most bytes held at once in a space since the beginning or reset_peak(), refused ones not included.
    std::size_t peak(Space space) const;
    /// Sets the peak of every space to what is held now.
    void reset_peak();
    /// Number of allocations so far, failed ones included.
    std::int64_t allocations() const;
    /// Number of allocations not yet released.
    std::int64_t live_blocks() const;

    /// Keeps an object alive as long as this resource, such as the stream that orders it; replaces the one before.
    void keep(std::shared_ptr<void> thing);

    /// Whether fail_at() means one allocation or all from then on.
    enum class Fail {
        once,     ///< one allocation fails
        for_ever  ///< that allocation and all later ones fail
    };
    /// For tests: the n-th allocation from now (0 is the next) fails with OutOfMemory; n < 0 switches it off.
    void fail_at(std::int64_t n, Fail how = Fail::once);

private:
    struct Count {
        std::size_t live = 0, peak = 0, budget = unlimited;
    };
    Count& count(Space space) { return counts_[static_cast<std::size_t>(space)]; }
    const Count& count(Space space) const { return counts_[static_cast<std::size_t>(space)]; }
    void admit(const Place& place, std::size_t bytes);
    void note_peak(Space space);
    void forget(Space space, std::size_t bytes) noexcept;

    std::shared_ptr<void> kept_;
    std::array<Count, 3> counts_{};
    std::int64_t allocations_ = 0, blocks_ = 0;
    std::int64_t fail_at_ = -1;
    Fail fail_ = Fail::once;
};

/// Bytes that are free now in a space, as the machine reports.
TULLE_API std::size_t free_bytes(const Place& place);

/// OpenMP threads of this process. Work is done when a call returns.
struct TULLE_API CpuQueue {
    /// A queue with a memory resource of its own.
    /// @param threads number of threads; 0: available_threads().
    /// @throws ValueError below 0 and above most_threads(), and if TULLE_WORK_PER_THREAD is not a number above zero.
    explicit CpuQueue(int threads = 0);
    /// A queue with the given memory resource.
    /// @throws ValueError as above.
    CpuQueue(int threads, std::shared_ptr<Memory> memory);

    int threads;                     ///< number of threads
    std::shared_ptr<Memory> memory;  ///< memory resource
    /// Entries, rows or bytes touched that make another thread worth starting; the environment variable
    /// TULLE_WORK_PER_THREAD sets it.
    offset_t work_per_thread;

    /// Host memory.
    Place place() const { return {}; }
};

/// A stream of one GPU. Work is asynchronous: synchronize() waits for it.
struct TULLE_API CudaQueue {
    /// @param device number of the GPU.
    /// @param stream must outlive the queue and all arrays made with it.
    /// @param memory memory resource.
    CudaQueue(int device, CUstream_st* stream, std::shared_ptr<Memory> memory);

    int device;                      ///< number of the GPU
    CUstream_st* stream;             ///< the stream
    std::shared_ptr<Memory> memory;  ///< memory resource

    /// Memory of the GPU, ordered by the stream.
    Place place() const { return {Space::device, device, stream}; }
};

/// Number of threads that pay off for so much work, one or all of the queue: starting a second one takes as long as
/// thousands of entries, and OpenMP regions whose number of threads changes take far longer (docs/design/spmv.md).
/// @param q the queue.
/// @param work entries, rows or bytes touched.
TULLE_API int threads_for(const CpuQueue& q, offset_t work);

/// Does nothing: work on a CPU queue is done when a call returns.
inline void synchronize(const CpuQueue&) {}
/// Waits for all work of the stream.
/// @throws DeviceError if the work failed.
TULLE_API void synchronize(const CudaQueue& q);

/// Host threads that this process may use: OMP_NUM_THREADS, or the processors it may run on; at most most_threads().
TULLE_API int available_threads();

/// The most threads of a queue: eight for every processor but no fewer than 256, and no more than OMP_THREAD_LIMIT.
TULLE_API int most_threads();

/// Owns an array in the memory of one queue. Moves, never copies; not initialised.
///
/// On a GPU, the array is released in the order of the stream, so that work queued before may still use it.
/// @tparam T trivially copyable.
template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    /// An empty array.
    Buffer() = default;

    /// Allocates `size` entries in the memory of the queue.
    /// @throws ValueError if the size is negative or no machine could hold it.
    /// @throws OutOfMemory if the budget or the device does not allow it.
    template <class Queue>
    Buffer(const Queue& q, offset_t size) : Buffer(q.memory, q.place(), size)
    {}

    /// Allocates `size` entries at a place.
    /// @throws ValueError if the size is negative or no machine could hold it.
    /// @throws OutOfMemory if the budget or the device does not allow it.
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

    /// Takes the array; `other` is empty afterwards.
    Buffer(Buffer&& other) noexcept { swap(other); }
    /// Releases the own array and takes that of `other`, which is empty afterwards.
    Buffer& operator=(Buffer&& other) noexcept
    {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~Buffer()
    {
        if (data_) memory_->release(place_, data_, bytes());
    }

    /// The first entry, in the memory of place().
    T* data() { return data_; }
    /// The first entry, in the memory of place().
    const T* data() const { return data_; }
    /// Number of entries.
    offset_t size() const { return size_; }
    /// Bytes of all entries.
    std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
    /// Whether there are no entries.
    bool empty() const { return size_ == 0; }
    /// The array; valid while the owner lives.
    std::span<T> span() & { return {data_, static_cast<std::size_t>(size_)}; }
    /// The array, read-only; valid while the owner lives.
    std::span<const T> span() const& { return {data_, static_cast<std::size_t>(size_)}; }
    /// Deleted: a span of a temporary would outlive it. Give the owner a name.
    std::span<const T> span() const&& = delete;
    /// Where the array is.
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

/// Copies bytes inside the memory of the queue, with all its threads; done on return.
TULLE_API void copy_bytes(const CpuQueue& q, const void* from, void* to, std::size_t bytes);
/// Copies bytes inside the memory of the GPU; asynchronous, in the order of the stream.
TULLE_API void copy_bytes(const CudaQueue& q, const void* from, void* to, std::size_t bytes);
/// Copies bytes from the host to the memory of the queue; done on return.
TULLE_API void upload_bytes(const CpuQueue& q, const void* host, void* to, std::size_t bytes);
/// Copies bytes from the host to the GPU, in the order of the stream; waits, so that `host` may be reused on return.
TULLE_API void upload_bytes(const CudaQueue& q, const void* host, void* to, std::size_t bytes);
/// Copies bytes from the memory of the queue to the host; done on return.
TULLE_API void download_bytes(const CpuQueue& q, const void* from, void* host, std::size_t bytes);
/// Copies bytes from the GPU to the host, in the order of the stream; waits.
TULLE_API void download_bytes(const CudaQueue& q, const void* from, void* host, std::size_t bytes);
/// Sets bytes in the memory of the queue; done on return.
TULLE_API void fill_bytes(const CpuQueue& q, void* to, unsigned char value, std::size_t bytes);
/// Sets bytes in the memory of the GPU; asynchronous, in the order of the stream.
TULLE_API void fill_bytes(const CudaQueue& q, void* to, unsigned char value, std::size_t bytes);

/// Copies n entries inside the memory of the queue; on a GPU asynchronous, in the order of the stream.
template <class Queue, class T>
void copy(const Queue& q, const T* from, T* to, offset_t n)
{
    copy_bytes(q, from, to, static_cast<std::size_t>(n) * sizeof(T));
}

/// Copies n entries from the host to the memory of the queue; waits.
template <class Queue, class T>
void upload(const Queue& q, const T* host, T* to, offset_t n)
{
    upload_bytes(q, host, to, static_cast<std::size_t>(n) * sizeof(T));
}

/// Copies n entries from the memory of the queue to the host; waits.
template <class Queue, class T>
void download(const Queue& q, const T* from, T* host, offset_t n)
{
    download_bytes(q, from, host, static_cast<std::size_t>(n) * sizeof(T));
}

/// Sets n entries to zero; on a GPU asynchronous, in the order of the stream.
template <class Queue, class T>
void fill_zero(const Queue& q, T* to, offset_t n)
{
    fill_bytes(q, to, 0, static_cast<std::size_t>(n) * sizeof(T));
}

/// One value from the memory of a queue; waits.
template <class T, class Queue>
T read_value(const Queue& q, const T* from)
{
    T value;
    download(q, from, &value, 1);
    return value;
}

/// A new array in the memory of the queue with the contents of a host array; waits.
/// @throws OutOfMemory if the budget or the device does not allow it.
template <class T, class Queue>
Buffer<T> to_queue(const Queue& q, const T* host, offset_t n)
{
    Buffer<T> there(q, n);
    upload(q, host, there.data(), n);
    return there;
}

}  // namespace tulle::inline TULLE_ABI
