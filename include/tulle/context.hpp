// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a user holds: where work is done, with how much memory, and how repeatable.
//
//     auto ctx = tulle::Context::best();                  // a GPU if one can be used, else the CPU
//     ctx.budget(8_GiB).deterministic();
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

// What GPUs there are, and why there is none.

namespace tulle::inline TULLE_ABI {

struct GpuInfo {
    std::string name;
    int device = 0;
    int major = 0, minor = 0;  // compute capability
    int multiprocessors = 0;
    std::size_t bytes = 0;  // free_bytes({Space::device, device}) tells how many are free
    std::size_t l2_bytes = 0;
    std::size_t shared_bytes_per_block = 0;  // the largest a kernel may ask for
    bool simulated = false;
};

TULLE_API std::vector<GpuInfo> cuda_devices();  // usable ones; empty without a CUDA backend, driver or GPU
TULLE_API std::string why_no_cuda();            // one sentence; empty when there is a usable GPU

// Told how far long work has come, 0 … 1, now and then, from the calling thread. May be empty.
using Progress = std::function<void(double)>;

enum class Backend { cpu, cuda };

class TULLE_API Context {
public:
    static Context cpu(int threads = 0);  // 0: all threads of this process; ValueError below 0 and above most_threads()
    static Context cuda(int device = 0);  // on a stream of its own
    static Context cuda(int device,
                        CUstream_st* stream);  // on the caller's stream, which must outlive all data made with it
    static Context best();

    // Bytes that may be held at once where the work is done (host for cpu, device for cuda).
    Context& budget(std::size_t bytes);
    // The same bits every time, also where that costs speed.
    Context& deterministic(bool on = true)
    {
        deterministic_ = on;
        return *this;
    }
    bool is_deterministic() const { return deterministic_; }

    Backend backend() const { return std::holds_alternative<CpuQueue>(queue_) ? Backend::cpu : Backend::cuda; }
    std::string name() const;  // "cpu:8", "cuda:0"
    Memory& memory() const;
    std::size_t peak_bytes() const;  // in the space the budget speaks of
    void synchronize() const;
    Context for_work(
        offset_t work) const;  // this one, with no more CPU threads than so many entries are worth (threads_for)
    CpuQueue host() const;     // this context's host side, counted in the same memory

    // The one place where a backend is chosen: f is called with a CpuQueue or a CudaQueue.
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

// 8_GiB
constexpr std::size_t operator""_KiB(unsigned long long n) { return static_cast<std::size_t>(n) << 10; }
constexpr std::size_t operator""_MiB(unsigned long long n) { return static_cast<std::size_t>(n) << 20; }
constexpr std::size_t operator""_GiB(unsigned long long n) { return static_cast<std::size_t>(n) << 30; }

}  // namespace tulle::inline TULLE_ABI
