// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Times of the phases of an operation. Without a Recorder a Phase costs a branch.
/// @code
/// trace::Recorder recorder;                  // collects the phases of this thread while it lives
/// { trace::Phase phase{"symbolic"}; … }
/// recorder.phases();                         // {{"symbolic", 0.0012}}
/// @endcode
/// With the CUDA backend each phase is also an NVTX range (domain "tulle").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tulle/api.hpp"

/// Times of the phases of an operation.
namespace tulle::inline TULLE_ABI::trace {

/// The time of one phase.
struct Timing {
    std::string name;  ///< name of the phase
    double seconds;    ///< from its beginning to its end
    int depth;         ///< number of phases around it
};

/// Collects the phases of the calling thread from construction to destruction. Recorders nest: the innermost collects.
/// Destroy it in the thread that made it.
class TULLE_API Recorder {
public:
    /// @param settle called at both ends of every phase, so that asynchronous work on a device is counted in the right
    /// phase: [&] { ctx.synchronize(); }. May be empty.
    explicit Recorder(std::function<void()> settle = {});
    ~Recorder();
    Recorder(const Recorder&) = delete;             ///< not copyable
    Recorder& operator=(const Recorder&) = delete;  ///< not copyable
    /// The phases so far, in the order in which they began.
    const std::vector<Timing>& phases() const noexcept { return phases_; }

private:
    friend class Phase;
    std::function<void()> settle_;
    std::vector<Timing> phases_;
    Recorder* outer_;
    int depth_ = 0;
};

/// A phase: from construction to destruction, in one thread.
class TULLE_API Phase {
public:
    /// @param name must stay valid while the phase lasts.
    explicit Phase(const char* name);
    ~Phase();
    Phase(const Phase&) = delete;             ///< not copyable
    Phase& operator=(const Phase&) = delete;  ///< not copyable

private:
    std::size_t slot_ = 0;
    double begin_ = 0;
    Recorder* recorder_;
};

/// Functions that tell a profiler of phases; both or none.
struct Ranges {
    void (*push)(const char*) = nullptr;  ///< a phase begins
    void (*pop)() = nullptr;              ///< the innermost phase ends
};

/// Sets the functions that are called for every phase of every thread; used by the CUDA backend. Thread safe.
TULLE_API void set_ranges(Ranges ranges);

/// Seconds on a steady clock.
TULLE_API double now();

}  // namespace tulle::inline TULLE_ABI::trace
