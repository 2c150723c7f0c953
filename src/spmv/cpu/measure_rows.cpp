// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What row kernels cost on this machine: each multiplies small matrices a few times, and its fastest run counts. Two
// kinds of rows, because a kernel's time is spent on arithmetic where all are equally long, and on branches nobody can
// foresee where they are not. A predictor learns even random lengths when it sees them often enough, so that every run
// has others.
#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "base/hash.hpp"
#include "device/calibrate.hpp"
#include "device/fork_locks.hpp"
#include "spmv/cpu/merge_interval.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr offset_t trial_nonzeros = 16384;  // 200 KB in double: beyond the first cache, inside the second
constexpr index_t trial_cols = 2048;
constexpr int trial_runs = 6;
constexpr double typical_sell = 0.3;

// Row offsets over the same nonzeros, again and again others.
std::vector<offset_t> trial_rows(int mean, bool changing, std::uint64_t seed)
{
    std::vector<offset_t> begin{0};
    for (std::uint64_t i = 0; begin.back() < trial_nonzeros; ++i) {
        const offset_t length =
            changing ? 1 + static_cast<offset_t>(hash_of(seed, i) % (2 * static_cast<std::uint64_t>(mean) - 1)) : mean;
        begin.push_back(std::min(trial_nonzeros, begin.back() + length));
    }
    return begin;
}

template <class V>
class Trial {
public:
    Trial() : col_(trial_nonzeros), value_(trial_nonzeros, V(0.5)), x_(trial_cols, V(1)), y_(trial_nonzeros)
    {
        for (std::size_t k = 0; k < col_.size(); ++k) col_[k] = static_cast<index_t>(hash_of(3, k) % trial_cols);
    }

    // Nanoseconds a nonzero of every kernel; those that the machine has not are left out.
    std::array<double, RowCosts::lanes.size()> costs(int mean, bool changing)
    {
        std::array<double, RowCosts::lanes.size()> best;
        best.fill(RowCosts::never);
        for (int run = 0; run < trial_runs; ++run)
            for (std::size_t lane = 0; lane < best.size(); ++lane) {
                if (RowCosts::lanes[lane] == 8 && !has_gathers()) continue;
                const auto begin =
                    trial_rows(mean, changing,
                               hash_of(static_cast<std::uint64_t>(mean), run, static_cast<std::int64_t>(lane)));
                best[lane] = std::min(best[lane], nanoseconds(view(begin), RowCosts::lanes[lane]));
            }
        return best;
    }

    // Slices, and the best row kernel, where every row is the row before moved by one.
    void compare_slices(RowCosts& costs)
    {
        constexpr std::array<index_t, 8> diagonal{0, 1, 2, 3, 700, 701, 702, 703};
        const auto begin = trial_rows(static_cast<int>(diagonal.size()), false, 0);
        CsrView<V> a = view(begin);
        a.cols = a.rows + 704;
        x_.assign(static_cast<std::size_t>(a.cols), V(1));
        for (std::size_t k = 0; k < col_.size(); ++k)
            col_[k] = static_cast<index_t>(k / diagonal.size()) + diagonal[k % diagonal.size()];
        const CpuQueue q(1);
        const Sell<V> sell = make_sell(q, a, false, trial_nonzeros);
        const Vectors<V> v{V(1), x_.data(), V(0), y_.data()};
        costs.sell = costs.sell_rows = RowCosts::never;
        for (int run = 0; run < trial_runs; ++run) {
            const double before = thread_seconds();
            multiply_sell(q, a, 8, sell, v);
            costs.sell = std::min(costs.sell, (thread_seconds() - before) / trial_nonzeros * 1e9);
            for (const int lanes : RowCosts::lanes) costs.sell_rows = std::min(costs.sell_rows, nanoseconds(a, lanes));
        }
    }

private:
    CsrView<V> view(const std::vector<offset_t>& begin) const
    {
        return {.rows = static_cast<index_t>(begin.size()) - 1,
                .cols = trial_cols,
                .nonzeros = trial_nonzeros,
                .row_begin = begin.data(),
                .col = col_.data(),
                .value = value_.data()};
    }

    double nanoseconds(const CsrView<V>& a, int lanes)
    {
        const Vectors<V> v{V(1), x_.data(), V(0), y_.data()};
        const double before = thread_seconds();
        multiply_interval(a, {}, prim::MergePoint{0, 0}, prim::MergePoint{a.rows, a.nonzeros}, lanes, v);
        return (thread_seconds() - before) / trial_nonzeros * 1e9;
    }

    std::vector<index_t> col_;
    std::vector<V> value_, x_, y_;
};

bool is_usable(const RowCosts& costs)
{
    const auto positive = [](const auto& of_mean) {
        return std::all_of(of_mean.begin(), of_mean.end(),
                           [](const auto& of_lane) { return *std::min_element(of_lane.begin(), of_lane.end()) > 0; });
    };
    return positive(costs.steady) && positive(costs.changing) && costs.sell > 0 && costs.sell_rows > 0;
}

template <class V>
RowCosts measure()
{
    if (!may_calibrate()) return typical_costs();
    const trace::Phase phase{"calibrate"};
    try {
        RowCosts costs;
        Trial<V> trial;
        for (std::size_t k = 0; k < RowCosts::mean.size(); ++k) {
            costs.steady[k] = trial.costs(RowCosts::mean[k], false);
            costs.changing[k] = trial.costs(RowCosts::mean[k], true);
        }
        trial.compare_slices(costs);
        costs.measured = true;
        if (is_usable(costs)) return costs;
    } catch (const std::exception&) {  // no memory for a trial: then without
    }
    return typical_costs();
}

// Not a static variable's initialisation: a process made by fork() meanwhile would wait for its end for ever.
template <class V>
const RowCosts& measured_once()
{
    static constinit std::optional<RowCosts> costs;
    const std::lock_guard lock(host::fork_safe_mutex(host::Guards::costs));
    if (!costs) costs = measure<V>();
    return *costs;
}

}  // namespace

RowCosts typical_costs()
{
    RowCosts costs;
    if (has_gathers()) costs.sell = typical_sell;  // its vectors, which read x in pieces, not its gathers
    return costs;
}

const RowCosts& measured_costs(std::size_t value_bytes)
{
    return value_bytes == sizeof(float) ? measured_once<float>() : measured_once<double>();
}

}  // namespace tulle::inline TULLE_ABI::spmv
