// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Parts of rows that take threads equally long. Rows and nonzeros are counted alike when a plan is made, but what one
// of them costs depends on where its x lies and on how well the end of a row is foreseen. So a plan measures its
// threads in some of its runs, cuts the rows anew by these times, and keeps the cuts that were faster; more and more
// seldom it measures again, as another program may have had one of the cores. Rows have the same bits in every part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "prim/merge_path.hpp"

namespace tulle::inline TULLE_ABI::spmv {

class PartBalance {
public:
    // Runs of a round, whose first moves data between caches and does not count; cuts that are tried in a row.
    static constexpr int runs_per_round = 6, most_rounds = 4;
    static constexpr double uneven = 1.04;  // the longest over the mean time from which on new cuts are tried
    static constexpr double gain = 1.01;    // they are kept if the longest time is less by so much
    static constexpr std::int64_t first_rest = 1000, longest_rest = 1'000'000;  // runs until threads are measured again

    enum class Step {
        wait,     // for more runs
        cut,      // the rows anew, by least_seconds()
        restore,  // the cuts before these
        rest
    };

    // No parts, nothing to balance.
    PartBalance() = default;
    explicit PartBalance(std::size_t parts) : least_(parts), rest_(0) { begin_round(); }

    // Asked once before every run by all threads: whether their times are wanted.
    bool wants_times()
    {
        if (rest_ > 0 && --rest_ == 0) begin_measurement();
        return rest_ == 0;
    }

    // What to do after a run in which the threads took so long.
    Step note(std::span<const double> seconds)
    {
        if (run_ > 0)
            for (std::size_t t = 0; t < least_.size(); ++t) least_[t] = std::min(least_[t], seconds[t]);
        return ++run_ < runs_per_round ? Step::wait : judge();
    }

    // Of every part in the round that has ended.
    const std::vector<double>& least_seconds() const { return least_of_round_; }

private:
    Step judge()
    {
        least_of_round_ = least_;
        const double longest = *std::max_element(least_.begin(), least_.end());
        const double mean = std::accumulate(least_.begin(), least_.end(), 0.0) / static_cast<double>(least_.size());
        begin_round();
        if (round_ > 0 && longest * gain > longest_before_) return rest(Step::restore);
        longest_before_ = longest;
        return longest > uneven * mean && ++round_ < most_rounds ? Step::cut : rest(Step::rest);
    }
    Step rest(Step step)
    {
        rest_ = next_rest_;
        next_rest_ = std::min(longest_rest, 4 * next_rest_);
        return step;
    }
    void begin_measurement()
    {
        round_ = 0;
        begin_round();
    }
    void begin_round()
    {
        run_ = 0;
        std::fill(least_.begin(), least_.end(), std::numeric_limits<double>::infinity());
    }

    std::vector<double> least_, least_of_round_;
    double longest_before_ = 0;
    int run_ = 0, round_ = 0;
    std::int64_t rest_ = -1, next_rest_ = first_rest;  // -1: never
};

// Cuts between whole rows at which parts would take equally long, if the steps of each old part took equally long.
inline std::vector<prim::MergePoint> cut_by_times(const offset_t* row_begin, offset_t rows, offset_t nonzeros,
                                                  std::span<const prim::MergePoint> old,
                                                  std::span<const double> seconds)
{
    std::vector<prim::MergePoint> cut(old.begin(), old.end());
    const double share = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    std::size_t part = 0;
    double before = 0;  // seconds of the parts in front of `part`
    for (std::size_t k = 1; k + 1 < cut.size(); ++k) {
        const double target = share * static_cast<double>(k);
        while (part + 1 < seconds.size() && before + seconds[part] < target) before += seconds[part++];
        const offset_t begin = old[part].row + old[part].nonzero, end = old[part + 1].row + old[part + 1].nonzero;
        const double inside = seconds[part] > 0 ? std::clamp((target - before) / seconds[part], 0.0, 1.0) : 0;
        const offset_t step = begin + static_cast<offset_t>(inside * static_cast<double>(end - begin));
        const offset_t row = std::max(prim::merge_row(row_begin, rows, nonzeros, step), cut[k - 1].row);
        cut[k] = {row, row_begin[row]};
    }
    return cut;
}

}  // namespace tulle::inline TULLE_ABI::spmv
