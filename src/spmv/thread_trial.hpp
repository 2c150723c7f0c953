// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One thread or all of them? What a parallel region costs depends on the machine, on what else it does, on whether two
// threads share a core, and on whether the threads sleep between products. So a plan measures both in its first runs,
// which are products like any other, and keeps the faster; it asks again soon, and more and more seldom while the
// answer stays: another program may have had one of the cores for all of a trial. The kernels for which this is done
// give the same bits on any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::spmv {

class ThreadTrial {
public:
    // Runs of a turn before the other side has one; the first of them moves data between caches and does not count.
    static constexpr int runs_per_turn = 5, turns = 4, runs = runs_per_turn * turns;
    static constexpr std::int64_t first_rest = 60, longest_rest = 1'000'000;  // runs until both are tried again
    // All threads must be this much faster than one, which nobody can hold up.
    static constexpr double gain_for_all = 1.02;

    // No trial: all threads, or one.
    explicit ThreadTrial(bool all) : all_(all) {}
    static ThreadTrial of_both()
    {
        ThreadTrial trial(true);
        trial.begin();
        return trial;
    }

    // Whether the next run is by all threads.
    bool by_all() const { return all_; }
    bool is_open() const { return open_; }
    // Whether both are compared at all.
    bool is_held() const { return open_ || next_rest_ > 0; }
    // Asked once before every run: whether its time is wanted.
    bool wants_time()
    {
        if (!open_ && --rest_ == 0) begin();
        return open_;
    }
    // Whether the next run is by one thread and nobody wants its time; it is counted then, as by wants_time().
    bool passes_by_one()
    {
        if (all_ || open_ || rest_ <= 1) return false;
        --rest_;
        return true;
    }
    void note(double seconds)
    {
        if (run_ > 0) seconds_of_[all_ ? 1 : 0][counted(turn_, run_)] = seconds;
        if (++run_ < runs_per_turn) return;
        run_ = 0;
        all_ = !all_;
        if (++turn_ == turns) settle();
    }

private:
    static constexpr std::size_t counted_runs = (runs_per_turn - 1) * turns / 2;
    using Seconds = std::array<double, counted_runs>;

    static std::size_t counted(int turn, int run)
    {
        return static_cast<std::size_t>(turn / 2 * (runs_per_turn - 1) + run - 1);
    }
    static double median(Seconds seconds)
    {
        std::nth_element(seconds.begin(), seconds.begin() + counted_runs / 2, seconds.end());
        return seconds[counted_runs / 2];
    }
    void begin()
    {
        open_ = all_ = true;
        turn_ = run_ = 0;
    }
    void settle()
    {
        all_ = median(seconds_of_[1]) * gain_for_all < median(seconds_of_[0]);
        next_rest_ = all_ == answer_ ? std::min(longest_rest, 4 * next_rest_) : first_rest;
        answer_ = all_;
        open_ = false;
        rest_ = next_rest_;
    }

    bool all_, open_ = false;
    std::optional<bool> answer_;  // of the trial before
    int turn_ = 0, run_ = 0;
    std::int64_t rest_ = std::numeric_limits<std::int64_t>::max(), next_rest_ = 0;
    std::array<Seconds, 2> seconds_of_{};
};

}  // namespace tulle::inline TULLE_ABI::spmv
