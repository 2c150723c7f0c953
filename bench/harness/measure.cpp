// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/measure.hpp"

#include <algorithm>
#include <cmath>
#include <exception>

#include "bench/cuda/stopwatch.hpp"
#include "bench/harness/machine.hpp"
#include "device/calibrate.hpp"
#include "tulle/memory.hpp"
#include "tulle/trace.hpp"

namespace tulle::bench {
namespace {

constexpr int turns_each = 5;             // every contender gets its turn this many times
constexpr int least_samples = 2;          // of each in a round, however slow
constexpr double batch_seconds = 200e-6;  // a sample lasts at least this long, so that clock and launches weigh little
constexpr int most_in_a_batch = 100;
constexpr int settle_tries = 12;
constexpr double settled = 0.05;  // two successive samples differ by less: caches, clocks and threads are awake

class CpuStopwatch final : public Stopwatch {
public:
    explicit CpuStopwatch(const CpuQueue& q) : q_(q) {}

    double warm(const Work& run, int times) override
    {
        const double begin = now();
        for (int k = 0; k < times; ++k) run();
        return (now() - begin) / times;
    }

    double cold(const Work& run) override
    {
        overwrite_cache();
        return warm(run, 1);
    }

private:
    // One thread is timed by its own clock, which stands still while others have the processor; several by the clock on
    // the wall.
    double now() const { return q_.threads > 1 ? trace::now() : thread_seconds(); }

    void overwrite_cache()
    {
        if (junk_.empty())
            junk_ =
                Buffer<std::uint64_t>(q_, static_cast<offset_t>(2 * last_level_cache_bytes() / sizeof(std::uint64_t)));
        std::uint64_t* junk = junk_.data();
        const offset_t n = junk_.size();
        ++mark_;
#pragma omp parallel for num_threads(q_.threads) schedule(static)
        for (offset_t i = 0; i < n; ++i) junk[i] = mark_ + static_cast<std::uint64_t>(i);
    }

    CpuQueue q_;
    Buffer<std::uint64_t> junk_;
    std::uint64_t mark_ = 0;
};

// Runs until two samples agree; says how many runs make a sample long enough.
int settle(Stopwatch& watch, const Work& run)
{
    int times = 1;
    double before = watch.warm(run, times);
    for (int k = 0; k < settle_tries; ++k) {
        const double wanted = std::ceil(batch_seconds / std::max(before, 1e-9));
        times = static_cast<int>(std::clamp(wanted, 1.0, double{most_in_a_batch}));
        const double now = watch.warm(run, times);
        if (std::abs(now - before) <= settled * now) break;
        before = now;
    }
    return times;
}

// Takes samples for one turn.
template <class Sample>
void take(Series& series, const Wish& wish, const Sample& sample)
{
    const int wanted = wish.repeat > 0 ? std::max(1, (wish.repeat + turns_each - 1) / turns_each) : 0;
    const double end = trace::now() + wish.seconds / turns_each;
    for (int k = 0; wanted > 0 ? k < wanted : (k < least_samples || trace::now() < end); ++k)
        series.seconds.push_back(sample());
}

struct Turn {
    const Contender* contender;
    Measured* measured;
    int times = 1;
};

// Calls f; a failure ends the contender's part in the comparison.
template <class F>
void attempt(const Turn& turn, const F& f)
{
    if (!turn.measured->failure.empty()) return;
    try {
        f();
    } catch (const std::exception& fault) {
        turn.measured->failure = fault.what();
    }
}

void take_replay(Stopwatch& watch, const Turn& turn)
{
    if (!turn.measured->no_replay.empty()) return;
    try {
        const double seconds = watch.replayed(turn.contender->run, turn.times);
        if (seconds > 0) turn.measured->replayed.seconds.push_back(seconds);
    } catch (const std::exception& fault) {  // some libraries cannot be captured; their other times still count
        turn.measured->no_replay = fault.what();
    }
}

void take_turn(Stopwatch& watch, const Turn& turn, const Wish& wish)
{
    const Work& run = turn.contender->run;
    settle(watch, run);  // the contender before left its own data in the caches
    take(turn.measured->warm, wish, [&] { return watch.warm(run, turn.times); });
    take_replay(watch, turn);
    if (wish.cold) take(turn.measured->cold, wish, [&] { return watch.cold(run); });
}

}  // namespace

double Series::median() const
{
    if (empty()) return 0;
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Series::least() const { return empty() ? 0 : *std::min_element(seconds.begin(), seconds.end()); }

std::unique_ptr<Stopwatch> make_stopwatch(const Context& ctx)
{
    return ctx.run([](const auto& q) -> std::unique_ptr<Stopwatch> {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CpuQueue>)
            return std::make_unique<CpuStopwatch>(q);
        else return make_cuda_stopwatch(q);
    });
}

std::vector<Measured> measure(Stopwatch& watch, const std::vector<Contender>& contenders, const Wish& wish)
{
    std::vector<Measured> measured(contenders.size());
    std::vector<Turn> turns;
    for (std::size_t k = 0; k < contenders.size(); ++k) turns.push_back({&contenders[k], &measured[k]});

    for (Turn& turn : turns) attempt(turn, [&] { turn.times = settle(watch, turn.contender->run); });
    for (int round = 0; round < turns_each; ++round) {
        for (const Turn& turn : turns) attempt(turn, [&] { take_turn(watch, turn, wish); });
        std::reverse(turns.begin(), turns.end());  // nobody always follows the same contender
    }
    return measured;
}

}  // namespace tulle::bench
