// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Kernels tried on parts of the matrix that will be multiplied: what costs measured beforehand (measure_rows.cpp)
// cannot know are its own lengths and columns. Every part is multiplied once by each kernel, because a branch predictor
// learns lengths that it sees again, and after its data and x were read once, because the first kernel would otherwise
// pay for the others. The parts that took longest do not count: a thread may have been interrupted there.
//
// A trial is remembered, so that all plans of a process for one pattern choose the same kernel and give the same bits.
#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "device/calibrate.hpp"
#include "spmv/cpu/merge_interval.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr offset_t most_steps = 16384;  // rows and nonzeros of a part: 200 KB in double
constexpr int parts = 8, parts_that_count = 6;
constexpr offset_t worth_trying = 2 * parts * 4096;  // smaller parts are done before a clock has told

// Reads what a product of these rows reads, so that it is in the cache.
template <class V, class M>
V touch(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, const V* x)
{
    V sum = 0;
    for (offset_t k = from.nonzero; k < to.nonzero; ++k) sum += static_cast<V>(a.value[k]) * x[a.col[k]];
    return sum;
}

constexpr double padding_to_keep = 1.25;  // places a nonzero: a plan may keep half as much again as its matrix has

// Seconds of slices on the rows between two points; never where they would need too much memory. They are made before
// the clock runs, and multiplied once before it for their own data.
template <class V, class M>
double seconds_of_slices(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, bool sort,
                         const Vectors<V>& v)
{
    CsrView<M> part = a;
    part.rows = static_cast<index_t>(to.row - from.row);
    part.nonzeros = to.nonzero - from.nonzero;
    part.row_begin = a.row_begin + from.row;
    const CpuQueue one(1);
    const Sell<M> sell = make_sell(one, part, sort, 0);
    if (static_cast<double>(sell.value.size()) > padding_to_keep * static_cast<double>(part.nonzeros))
        return RowCosts::never;
    Vectors<V> of_part = v;
    of_part.y += from.row;
    multiply_sell(one, part, 8, sell, of_part);
    const double before = thread_seconds();
    multiply_sell(one, part, 8, sell, of_part);
    return thread_seconds() - before;
}

// Seconds of every kernel on the rows between two points; the order changes with `first`.
template <class V, class M>
KernelTrial seconds_of(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, std::size_t first,
                       Slices slices, const Vectors<V>& v)
{
    KernelTrial seconds;
    v.y[0] = touch(a, from, to, v.x);  // so that it is read indeed
    for (std::size_t turn = 0; turn < seconds.rows.size(); ++turn) {
        const std::size_t lane = (turn + first) % seconds.rows.size();
        if (RowCosts::lanes[lane] == 8 && !has_gathers()) continue;
        const double before = thread_seconds();
        multiply_interval(a, {}, from, to, RowCosts::lanes[lane], v);
        seconds.rows[lane] = thread_seconds() - before;
    }
    if (slices != Slices::none && has_gathers())
        seconds.sell = seconds_of_slices(a, from, to, slices == Slices::sorted, v);
    return seconds;
}

// Nanoseconds a step, from the parts that took least.
double cost_of_parts(std::array<double, parts> seconds, offset_t part_steps)
{
    std::sort(seconds.begin(), seconds.end());
    const double sum = std::accumulate(seconds.begin(), seconds.begin() + parts_that_count, 0.0);
    return sum / static_cast<double>(parts_that_count * part_steps) * 1e9;
}

// Seconds of all kernels on parts of the matrix; nothing where a part is inside a very long row.
template <class V, class M>
KernelTrial try_on_parts(const CpuQueue& q, const CsrView<M>& a, Slices slices)
{
    const offset_t work = a.rows + a.nonzeros;
    const offset_t part_steps = std::min(most_steps, work / (2 * parts));
    Buffer<V> x(q, a.cols), y(q, a.rows);
    std::fill_n(x.data(), a.cols, V(1));
    const auto point_at = [&](offset_t step) {
        const offset_t row = prim::merge_point(a.row_begin, a.rows, a.nonzeros, step).row;
        return prim::MergePoint{row, a.row_begin[row]};
    };
    std::array<std::array<double, parts>, RowCosts::lanes.size()> seconds;
    std::array<double, parts> of_slices;
    for (std::size_t part = 0; part < parts; ++part) {
        const offset_t step = (work - part_steps) / parts * static_cast<offset_t>(part);
        const prim::MergePoint from = point_at(step), to = point_at(step + part_steps);
        if (to.row - from.row + to.nonzero - from.nonzero < part_steps / 2) return {};  // a very long row
        const KernelTrial tried = seconds_of(a, from, to, part, slices, Vectors<V>{V(1), x.data(), V(0), y.data()});
        for (std::size_t lane = 0; lane < tried.rows.size(); ++lane) seconds[lane][part] = tried.rows[lane];
        of_slices[part] = tried.sell;
    }
    KernelTrial costs;
    std::transform(seconds.begin(), seconds.end(), costs.rows.begin(),
                   [&](const auto& of_parts) { return cost_of_parts(of_parts, part_steps); });
    costs.sell = cost_of_parts(of_slices, part_steps);
    return costs;
}

// A number for the types, the slices and the pattern, from 256 of its rows: two patterns with the same number share a
// trial, which may cost speed and nothing else.
template <class V, class M>
std::uint64_t fingerprint(const CsrView<M>& a, Slices slices)
{
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    const auto add = [&](std::int64_t number) { hash = (hash ^ static_cast<std::uint64_t>(number)) * 1099511628211u; };
    for (const std::int64_t number : {std::int64_t{sizeof(V)}, std::int64_t{sizeof(M)}, std::int64_t(slices),
                                      std::int64_t{a.rows}, std::int64_t{a.cols}, std::int64_t{a.nonzeros}})
        add(number);
    for (std::int64_t sample = 0; sample < 256; ++sample) {
        const std::int64_t row = sample * a.rows / 256;
        add(a.row_begin[row]);
        if (a.row_begin[row] < a.row_begin[row + 1]) add(a.col[a.row_begin[row]]);
    }
    return hash;
}

class Trials {
public:
    std::optional<KernelTrial> find(std::uint64_t pattern)
    {
        const std::lock_guard lock(mutex_);
        const auto place = of_pattern_.find(pattern);
        return place != of_pattern_.end() ? std::optional(place->second) : std::nullopt;
    }

    // What is kept, which is another thread's trial if that was first.
    KernelTrial keep(std::uint64_t pattern, const KernelTrial& trial)
    {
        const std::lock_guard lock(mutex_);
        return of_pattern_.size() < most ? of_pattern_.try_emplace(pattern, trial).first->second : trial;
    }

private:
    static constexpr std::size_t most = 65536;  // some megabytes
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, KernelTrial> of_pattern_;
};

}  // namespace

template <class V, class M>
KernelTrial try_kernels(const CpuQueue& q, const CsrView<M>& a, Slices slices)
{
    static Trials trials;
    if (a.rows + a.nonzeros < worth_trying || !may_calibrate()) return {};
    const std::uint64_t pattern = fingerprint<V>(a, slices);
    const std::optional<KernelTrial> known = trials.find(pattern);
    return known ? *known : trials.keep(pattern, try_on_parts<V>(q, a, slices));
}

template KernelTrial try_kernels<float>(const CpuQueue&, const CsrView<float>&, Slices);
template KernelTrial try_kernels<double>(const CpuQueue&, const CsrView<double>&, Slices);
template KernelTrial try_kernels<double>(const CpuQueue&, const CsrView<float>&, Slices);

}  // namespace tulle::inline TULLE_ABI::spmv
