// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Phases of an operation: who wants to know times puts a Recorder on the stack; otherwise a Phase costs a branch.
//
//     trace::Recorder recorder;                  // collects the phases of this thread while it lives
//     { trace::Phase phase{"symbolic"}; … }
//     recorder.phases();                         // {{"symbolic", 0.0012}}
//
// With the CUDA backend each phase is also an NVTX range (domain "tulle").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::trace {

struct Timing {
    std::string name;
    double seconds;
    int depth;  // phases inside phases
};

class TULLE_API Recorder {
public:
    // `settle` is called at both ends of every phase, so that work still in flight on a device is counted where it
    // belongs.
    explicit Recorder(std::function<void()> settle = {});
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    const std::vector<Timing>& phases() const noexcept { return phases_; }

private:
    friend class Phase;
    std::function<void()> settle_;
    std::vector<Timing> phases_;
    Recorder* outer_;
    int depth_ = 0;
};

class TULLE_API Phase {
public:
    explicit Phase(const char* name);
    ~Phase();
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;

private:
    std::size_t slot_ = 0;
    double begin_ = 0;
    Recorder* recorder_;
};

// Called by a backend that has a profiler to tell.
struct Ranges {
    void (*push)(const char*) = nullptr;
    void (*pop)() = nullptr;
};
TULLE_API void set_ranges(Ranges ranges);

// Seconds on a steady clock.
TULLE_API double now();

}  // namespace tulle::inline TULLE_ABI::trace
