// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The virtual devices behind the stand-in runtime: their streams, their memories, and what went wrong on them.
//
// Everything here is used by one host thread at a time (Runtime::Lock); the thread that waits runs the work of all
// streams, in random order, until what it waits for is done.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simt/config.hpp"
#include "simt/cuda_runtime.hpp"
#include "simt/graphs.hpp"
#include "simt/launch.hpp"
#include "simt/memory.hpp"
#include "simt/random.hpp"
#include "simt/sanitizers.hpp"

namespace tulle::inline TULLE_ABI::simt {

// What streams are given while they are captured, in the order of the calls, and what was wrong with it.
struct Capture {
    CUstream_st* origin = nullptr;
    std::vector<CUstream_st*> streams;  // the origin, and those that came to wait for one of its events
    std::vector<std::function<void()>> nodes;
    std::string broken;  // a call that cannot be captured
};

// One cudaEventRecord. Who waits keeps it, also when the event is recorded again or destroyed.
struct Recording {
    bool done = false;
    std::chrono::steady_clock::time_point time;
    Token reached;
    std::shared_ptr<Capture> capture = {};  // of the stream it was recorded on
    CUstream_st* stream = nullptr;          // … and that stream, if captured
};

// One piece of a stream's work.
struct Work {
    std::function<void()> body;           // may throw Fault; null: nothing to do
    std::shared_ptr<Recording> after;     // may not start before this is done
    bool always = false;                  // also on a device that has faulted: records, allocations, frees
    std::unique_ptr<Token> enqueued;      // the host call happened before
    std::shared_ptr<Launch> launch = {};  // what the body runs, if it is a kernel
};

}  // namespace tulle::inline TULLE_ABI::simt

struct CUstream_st {
    int device = 0;
    unsigned number = 0;  // among the streams of its device
    std::uint64_t launches = 0;
    bool destroyed = false;                         // by the user; goes when its work is done
    std::shared_ptr<tulle::simt::Capture> capture;  // work goes there instead
    bool unjoined = false;                          // captured work that the origin has not waited for
    std::deque<tulle::simt::Work> work;
    void* identity = nullptr;     // for ThreadSanitizer, as if the stream were a thread
    tulle::simt::Token progress;  // who waits for the stream comes after its work
};

// Pools share their device's memory and keep nothing back; only their attributes are their own.
struct CUmemPoolHandle_st {
    int device = 0;
    std::uint64_t release_threshold = 0;
    std::uint64_t allocations = 0;  // made from it so far
};

struct CUevent_st {
    int device = 0;
    bool timed = true;
    std::shared_ptr<tulle::simt::Recording> last;
};

namespace tulle::inline TULLE_ABI::simt {

struct Device {
    std::string fault;  // not yet reported
    CUstream_st* default_stream = nullptr;
    unsigned streams = 0;      // numbers given out
    std::set<int> peers;       // whose memory kernels here may use
    bool has_context = false;  // somebody made it current, or asked for a stream, an event or its memory
    std::unique_ptr<CUmemPoolHandle_st> default_pool;
};

class Runtime {
public:
    static Runtime& get();

    // Streams.
    CUstream_st* open_stream(int device);
    void touch(int device)
    {
        devices[static_cast<std::size_t>(device)].has_context = true;
    }  // a call that makes a context there
    CUstream_st* stream_of(CUstream_st* stream,
                           int device);  // the device's default stream for null; null when there is no such stream
    void enqueue(CUstream_st& stream, Work work);
    // A call that waits, allocates or frees: refused on a captured stream, or of a device with one (null: any stream).
    bool breaks_capture(const char* call, int device, const CUstream_st* stream = nullptr);
    template <class Done>
    void run_until(Done&& done)
    {
        while (!done() && step()) {}
    }
    bool step();                      // one piece of work; false when there is none that could run
    void drain(CUstream_st& stream);  // to the end, and the caller after it
    void drain_device(int device);

    // Rules: what is wrong with the use of a pointer on a device now; empty when nothing is.
    std::string problem_with(const void* pointer, int device) const;
    std::string problem_with(const void* pointer, std::size_t bytes, int device) const;
    void run_launch(CUstream_st& stream, Launch& launch);
    [[noreturn]] void fault(const std::string& what) const;  // with the seed

    Config config;
    std::vector<Device> devices;
    std::vector<std::unique_ptr<CUstream_st>> streams;
    DeviceMemory memory;
    Random random;
    std::recursive_mutex mutex;

private:
    Runtime();
    void perform(CUstream_st& stream);
    Work take(CUstream_st& stream);
    void run_work(CUstream_st& stream, const Work& work);
};

// Why the last call of this thread failed, and the call's answer.
cudaError_t fail(cudaError_t error, const std::string& why);
cudaError_t take_last_error();
cudaError_t peek_last_error();

// The fault of a device, reported once.
cudaError_t report(int device);

}  // namespace tulle::inline TULLE_ABI::simt
