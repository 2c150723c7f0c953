// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Timing. A Stopwatch knows how a backend is timed; measure() times several contenders in turn, round after round, so
// that whatever else the machine does meanwhile falls on all of them alike.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/contender.hpp"
#include "tulle/context.hpp"

namespace tulle::bench {

using Work = std::function<void()>;

// Seconds of one run, several times.
struct Series {
    std::vector<double> seconds;

    bool empty() const { return seconds.empty(); }
    double median() const;  // 0 when empty
    double least() const;   // 0 when empty
};

class Stopwatch {
public:
    virtual ~Stopwatch() = default;
    // Seconds of one run when `times` of them follow each other; caches keep what the run before left there.
    virtual double warm(const Work& run, int times) = 0;
    // Seconds of one run after the last-level cache was overwritten.
    virtual double cold(const Work& run) = 0;
    // As warm, but launched all at once as a CUDA graph: what remains is the device's own time. 0 where there is no
    // such thing.
    virtual double replayed(const Work&, int) { return 0; }
};

std::unique_ptr<Stopwatch> make_stopwatch(const Context& ctx);

struct Wish {
    int repeat = 0;        // samples of each contender; 0: as many as fit `seconds`
    double seconds = 0.3;  // for each contender and each way of timing
    bool cold = false;
};

struct Measured {
    Series warm, cold, replayed;
    std::string failure = {};    // why there are no times
    std::string no_replay = {};  // why there is no graph, where there could be one
};

// One entry per contender, in order. A contender that throws is left out from then on and says why.
std::vector<Measured> measure(Stopwatch& watch, const std::vector<Contender>& contenders, const Wish& wish);

}  // namespace tulle::bench
