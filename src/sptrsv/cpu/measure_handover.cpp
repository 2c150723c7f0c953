// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Threads that wait for each other in rounds, as those of a solve by levels do. An idle machine takes a microsecond a
// round; one where others have the processors takes milliseconds, until the waiting thread gets its turn.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "device/calibrate.hpp"
#include "sptrsv/cpu/spin.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int most_rounds = 64;
constexpr double most_seconds = 1e-3;

struct alignas(64) Arrived {
    std::atomic<int> round{0};
};

void wait_for(const Arrived& other, int round)
{
    spin_until([&] { return other.round.load(std::memory_order_acquire) >= round; });
}

// Rounds made. Thread 0 says which is the last before it arrives there, so that all leave together.
int make_rounds(Arrived* arrived, std::atomic<int>& last, int threads, double begin)
{
    const int me = omp_get_thread_num();
    int round = 0;
    while (round < last.load(std::memory_order_relaxed)) {
        ++round;
        if (me == 0 && trace::now() - begin > most_seconds) last.store(round, std::memory_order_relaxed);
        arrived[me].round.store(round, std::memory_order_release);
        for (int other = 0; other < threads; ++other) wait_for(arrived[other], round);
    }
    return round;
}

}  // namespace

double measure_handover(int threads)
{
    if (threads < 2 || !may_calibrate()) return Limits{}.handover;
    const auto arrived = std::make_unique<Arrived[]>(static_cast<std::size_t>(threads));
    std::atomic<int> last{most_rounds};
    int rounds = 0;
    const double begin = trace::now();
#pragma omp parallel num_threads(threads)
    if (omp_get_num_threads() == threads) {
        const int made = make_rounds(arrived.get(), last, threads, begin);
        if (omp_get_thread_num() == 0) rounds = made;
    }
    return rounds > 0 ? (trace::now() - begin) / rounds : Limits{}.handover;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
