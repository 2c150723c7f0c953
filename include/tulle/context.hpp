// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Context: the device that does the work, its memory, and whether results must be reproducible.
/// @code
/// auto ctx = tulle::Context::best();                  // a GPU if one can be used, else the CPU
/// ctx.budget(8_GiB).deterministic();
/// @endcode
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/error.hpp"
#include "tulle/memory.hpp"
#include "tulle/version.hpp"

namespace tulle::inline TULLE_ABI {

/// Properties of a GPU.
struct GpuInfo {
    std::string name;                        ///< "NVIDIA H200"
    int device = 0;                          ///< its number, for Context::cuda()
    int major = 0;                           ///< compute capability, first number
    int minor = 0;                           ///< compute capability, second number
    int multiprocessors = 0;                 ///< number of multiprocessors
    std::size_t bytes = 0;                   ///< memory in all; free_bytes({Space::device, device}) tells what is free
    std::size_t l2_bytes = 0;                ///< level-2 cache
    std::size_t shared_bytes_per_block = 0;  ///< shared memory that a kernel may ask for
    bool simulated = false;                  ///< a simulated GPU, for tests
    std::string uuid = {};                   ///< 32 hexadecimal digits; the same for all processes that use this GPU
};

/// The usable GPUs; empty without a CUDA backend, driver or GPU. Thread safe.
TULLE_API std::vector<GpuInfo> cuda_devices();
/// Why there is no usable GPU, in one sentence; empty when there is one. Thread safe.
TULLE_API std::string why_no_cuda();

/// Called from time to time with the fraction of a long operation that is done, 0 … 1, from the calling thread. May be
/// empty.
using Progress = std::function<void(double)>;

/// The kinds of devices.
enum class Backend {
    cpu,  ///< OpenMP threads of this process
    cuda  ///< a GPU, real or simulated
};

/// A device with its memory resource. All arrays given to an operation are in the memory of its context: host memory
/// for the CPU, memory of that GPU for CUDA (tulle/transfer.hpp copies matrices there and back).
///
/// Copies share the queue and the memory. On the CPU, work is done when a call returns. On a GPU, functions that return
/// host values wait; the others may return before the work is done, and work follows in the order of the stream.
/// Several threads may use copies of a context at once; on a GPU their work goes to the same stream.
class TULLE_API Context {
public:
    /// A context on the CPU.
    /// @param threads number of threads; 0: available_threads().
    /// @throws ValueError below 0 and above most_threads().
    static Context cpu(int threads = 0);
    /// A context on a GPU, with a stream of its own.
    /// @param device number of the GPU, from 0.
    /// @throws NotBuilt without the CUDA backend.
    /// @throws DeviceError if there is no such GPU or it cannot be used.
    static Context cuda(int device = 0);
    /// A context on a GPU, on the caller's stream: work follows what is queued there.
    /// @param device number of the GPU, from 0.
    /// @param stream a stream of that GPU, or null for its default stream; must outlive all data made with the context,
    /// which never destroys it.
    /// @throws NotBuilt without the CUDA backend.
    /// @throws DeviceError if there is no such GPU or it cannot be used.
    static Context cuda(int device, CUstream_st* stream);
    /// GPU 0 if there is a usable GPU, else the CPU with all threads.
    static Context best();

    /// Limits the bytes that may be held at once where the work is done: on the host for the CPU, on the GPU for CUDA.
    /// Holds for all copies of the context; allocations beyond it throw OutOfMemory.
    Context& budget(std::size_t bytes);
    /// Asks for the same bits every time, also where that costs speed.
    Context& deterministic(bool on = true)
    {
        deterministic_ = on;
        return *this;
    }
    /// Whether the same bits every time are asked for.
    bool is_deterministic() const { return deterministic_; }

    /// CPU or GPU.
    Backend backend() const { return std::holds_alternative<CpuQueue>(queue_) ? Backend::cpu : Backend::cuda; }
    /// "cpu:8" (threads), "cuda:0" (number of the GPU).
    std::string name() const;
    /// The memory resource, shared by all copies.
    Memory& memory() const;
    /// The most bytes that were held at once in the space that budget() limits.
    std::size_t peak_bytes() const;
    /// Waits for all work of the queue.
    /// @throws DeviceError if the work failed.
    void synchronize() const;
    /// On a GPU: work queued on this context from now on begins after what is queued on another stream of the same GPU
    /// until now; the host does not wait. On the CPU nothing happens.
    void start_after(CUstream_st* other) const;
    /// On a GPU: work queued on another stream of the same GPU from now on begins after what is queued on this context
    /// until now; the host does not wait. On the CPU nothing happens.
    void finish_before(CUstream_st* other) const;
    /// This context with no more CPU threads than pay off for so much work (threads_for()); on a GPU the same context.
    /// @param work entries, rows or bytes touched.
    Context for_work(offset_t work) const;
    /// This context on another stream of the same GPU, with the same memory; on the CPU the same context.
    /// @param stream must outlive all data made with the new context.
    Context on_stream(CUstream_st* stream) const;
    /// The host side of this context: its CPU queue, or for CUDA one with all threads; counted in the same memory.
    CpuQueue host() const;

    /// Calls f with the queue: a CpuQueue or a CudaQueue. The only place where the library selects a backend.
    template <class F>
    decltype(auto) run(F&& f) const
    {
        if constexpr (build::has_cuda) {
            if (const auto* q = std::get_if<CudaQueue>(&queue_)) return std::forward<F>(f)(*q);
        }
        return std::forward<F>(f)(std::get<CpuQueue>(queue_));
    }

private:
    explicit Context(std::variant<CpuQueue, CudaQueue> queue) : queue_(std::move(queue)) {}
    Space space() const { return backend() == Backend::cpu ? Space::host : Space::device; }

    std::variant<CpuQueue, CudaQueue> queue_;
    bool deterministic_ = false;
};

/// Bytes in KiB: 8_KiB.
constexpr std::size_t operator""_KiB(unsigned long long n) { return static_cast<std::size_t>(n) << 10; }
/// Bytes in MiB: 8_MiB.
constexpr std::size_t operator""_MiB(unsigned long long n) { return static_cast<std::size_t>(n) << 20; }
/// Bytes in GiB: 8_GiB.
constexpr std::size_t operator""_GiB(unsigned long long n) { return static_cast<std::size_t>(n) << 30; }

}  // namespace tulle::inline TULLE_ABI
