// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Kernels tried on parts of the matrix that will be multiplied: what costs measured beforehand (measure_rows.cpp)
// cannot know are its own lengths and columns. Every part is multiplied once by each kernel, because a branch predictor
// learns lengths that it sees again, and after its data and x were read once, because the first kernel would otherwise
// pay for the others. The parts that took longest do not count: a thread may have been interrupted there.
//
// A matrix that the caches of a core do not hold comes from further away in every product, where gathers, slices and
// more sums gain less, or lose. There a kernel multiplies all parts, more than such a cache holds, before the next one
// does. A small matrix, on the other hand, is multiplied as a whole, several times by each kernel: its rows are learnt
// in the many runs of a plan. This is done where there are gathers, which gain most.
//
// A trial is remembered, so that all plans of a process for one pattern choose the same kernel and give the same bits.
#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/math.hpp"
#include "device/calibrate.hpp"
#include "device/fork_locks.hpp"
#include "prim/merge_path.hpp"
#include "spmv/cpu/multiply_alone.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr offset_t most_steps = 16384;               // rows and nonzeros of a part: 200 KB in double
constexpr int parts = 8, far_parts = 32;             // 32: 6 MB
constexpr offset_t worth_trying = 2 * parts * 4096;  // smaller parts are done before a clock has told
// Those with RowCosts::lanes, and one sum with the rows sorted.
constexpr std::size_t sorted_kernel = RowCosts::lanes.size(), row_kernels = sorted_kernel + 1;
using RowKernelCosts = std::array<double, row_kernels>;
constexpr offset_t beyond_caches = far_parts * most_steps;  // the second cache of a core has 2 MB at most
// As a whole: from this on, and up to what the second cache of a core holds. Slices of less are slow on several
// threads. A clock has to run for a while, so that what is done in less is done several times in a row.
constexpr offset_t worth_trying_whole = 512, most_of_whole = 4 * worth_trying, least_timed = 4096;
// A trial has an x of its own: no more columns than this for a row or nonzero.
constexpr offset_t most_columns = 8;
constexpr int runs_of_small = 8, runs_of_whole = 3;  // small: less than is tried in parts
// A branch predictor learns rows by and by: more runs of what is soon done.
constexpr int most_runs = 24;
constexpr offset_t steps_to_learn = most_runs * least_timed;

// Reads what a product of these rows reads, so that it is in the cache.
template <class V, class M>
V touch(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, const V* x)
{
    V sum = 0;
    for (offset_t k = from.nonzero; k < to.nonzero; ++k) sum += static_cast<V>(a.value[k]) * x[a.col[k]];
    return sum;
}

// Slices have two kinds of vectors.
constexpr std::array lanes_of_slices{4, 8};
constexpr std::size_t slice_kinds = lanes_of_slices.size();
using SliceCosts = std::array<double, slice_kinds>;
constexpr SliceCosts no_slices{RowCosts::never, RowCosts::never};

// Of every kernel.
struct Seconds {
    RowKernelCosts rows;
    SliceCosts sell = no_slices;
};

void keep_rows(const RowKernelCosts& rows, KernelTrial& costs)
{
    std::copy_n(rows.begin(), costs.rows.size(), costs.rows.begin());
    costs.sorted_rows = rows[sorted_kernel];
}

void keep_best(const SliceCosts& sell, KernelTrial& costs)
{
    const auto best = std::min_element(sell.begin(), sell.end());
    costs.sell = *best;
    costs.sell_lanes = lanes_of_slices[static_cast<std::size_t>(best - sell.begin())];
}

constexpr double padding_to_keep = 1.25;  // places a nonzero: a plan may keep half as much again as its matrix has

template <class M>
CsrView<M> rows_between(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to)
{
    CsrView<M> part = a;
    part.rows = static_cast<index_t>(to.row - from.row);
    part.nonzeros = to.nonzero - from.nonzero;
    part.row_begin = a.row_begin + from.row;
    return part;
}

template <class V>
Vectors<V> from_row(Vectors<V> v, offset_t row)
{
    v.y += row;
    return v;
}

// The rows between two points, for the row kernels. Windows are made before a clock runs.
template <class V, class M>
class RowsOfPart {
public:
    RowsOfPart(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, const Vectors<V>& v)
        : part_(rows_between(a, from, to)),
          v_(from_row(v, from.row))
    {
        work_.window = make_windows(CpuQueue(1), part_);
    }
    // Of one of several products.
    double seconds(std::size_t kernel, offset_t times = 1) const
    {
        if (kernel < sorted_kernel && RowCosts::lanes[kernel] == 8 && !has_gathers()) return RowCosts::never;
        const Workspace<V, M>& work = kernel == sorted_kernel ? work_ : no_work_;
        const int lanes = kernel == sorted_kernel ? 1 : RowCosts::lanes[kernel];
        const IntervalLoop<V, M> loop = interval_loop<V>(part_, work.narrow, lanes);
        const double before = thread_seconds();
        for (offset_t time = 0; time < times; ++time) multiply_alone(part_, loop, work, v_);
        return (thread_seconds() - before) / static_cast<double>(times);
    }

private:
    CsrView<M> part_;
    Vectors<V> v_;
    Workspace<V, M> work_, no_work_;
};

// Slices of the rows between two points. They are made before a clock runs, and multiplied once before it for their own
// data.
template <class V, class M>
class SlicesOfPart {
public:
    SlicesOfPart(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, bool sort, const Vectors<V>& v)
        : part_(rows_between(a, from, to)),
          v_(from_row(v, from.row)),
          sell_(make_sell(one_, part_, sort, 0))
    {}
    // Too much memory for what they gain.
    bool are_padded() const
    {
        return static_cast<double>(sell_.value.size()) > padding_to_keep * static_cast<double>(part_.nonzeros);
    }
    double seconds(std::size_t kind) const
    {
        if (lanes_of_slices[kind] == 8 && !has_gathers()) return RowCosts::never;
        const double before = thread_seconds();
        multiply_sell(one_, part_, lanes_of_slices[kind], sell_, v_);
        return thread_seconds() - before;
    }

private:
    CpuQueue one_{1};
    CsrView<M> part_;
    Vectors<V> v_;
    Sell<M> sell_;
};

// Seconds of slices on the rows between two points; never where they would need too much memory.
template <class V, class M>
SliceCosts seconds_of_slices(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, bool sort,
                             const Vectors<V>& v)
{
    const SlicesOfPart<V, M> slices(a, from, to, sort, v);
    if (slices.are_padded()) return no_slices;
    slices.seconds(0);
    return {slices.seconds(0), slices.seconds(1)};
}

// Seconds of every kernel on the rows between two points; the order changes with `first`.
template <class V, class M>
Seconds seconds_of(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, std::size_t first, Slices slices,
                   const Vectors<V>& v)
{
    Seconds seconds;
    const RowsOfPart<V, M> rows(a, from, to, v);
    v.y[0] = touch(a, from, to, v.x);  // so that it is read indeed
    for (std::size_t turn = 0; turn < row_kernels; ++turn) {
        const std::size_t kernel = (turn + first) % row_kernels;
        seconds.rows[kernel] = rows.seconds(kernel);
    }
    if (slices != Slices::none && has_avx2())
        seconds.sell = seconds_of_slices(a, from, to, slices == Slices::sorted, v);
    return seconds;
}

// Nanoseconds a step, from the three quarters of the parts that took least.
double cost_of_parts(std::span<double> seconds, offset_t part_steps)
{
    const auto that_count = static_cast<offset_t>(seconds.size() * 3 / 4);
    std::sort(seconds.begin(), seconds.end());
    const double sum = std::accumulate(seconds.begin(), seconds.begin() + that_count, 0.0);
    return sum / static_cast<double>(that_count * part_steps) * 1e9;
}

// Whole rows of about `steps` steps from `step` on.
struct Part {
    prim::MergePoint from, to;
    bool in_long_row;  // most of it is inside a very long row, and there is little to multiply
};

template <class M>
Part part_at(const CsrView<M>& a, offset_t step, offset_t steps)
{
    const auto point_at = [&](offset_t at) {
        const offset_t row = prim::merge_point(a.row_begin, a.rows, a.nonzeros, at).row;
        return prim::MergePoint{row, a.row_begin[row]};
    };
    const prim::MergePoint from = point_at(step), to = point_at(step + steps);
    return {from, to, to.row - from.row + to.nonzero - from.nonzero < steps / 2};
}

using FarParts = std::array<Part, far_parts>;

// Parts for kernels that each multiply all of them before the next one does; nothing where one is inside a long row.
template <class M>
std::optional<FarParts> parts_afar(const CsrView<M>& a)
{
    FarParts part;
    for (std::size_t k = 0; k < far_parts; ++k) {
        part[k] = part_at(a, (a.rows + a.nonzeros) / far_parts * static_cast<offset_t>(k), most_steps);
        if (part[k].in_long_row) return std::nullopt;
    }
    return part;
}

template <class V, class M>
RowKernelCosts costs_from_afar(const CsrView<M>& a, const FarParts& part, const Vectors<V>& v)
{
    std::vector<RowsOfPart<V, M>> rows;
    rows.reserve(far_parts);
    for (const Part& p : part) {
        rows.emplace_back(a, p.from, p.to, v);
        v.y[0] = touch(a, p.from, p.to, v.x);
    }
    RowKernelCosts costs;
    costs.fill(RowCosts::never);
    for (std::size_t turn = 0; turn < 2 * row_kernels; ++turn) {  // there and back: the first one pays for pages
        const std::size_t kernel = turn < row_kernels ? turn : 2 * row_kernels - 1 - turn;
        std::array<double, far_parts> seconds;
        for (std::size_t k = 0; k < far_parts; ++k) seconds[k] = rows[k].seconds(kernel);
        costs[kernel] = std::min(costs[kernel], cost_of_parts(seconds, most_steps));
    }
    return costs;
}

template <class V, class M>
SliceCosts slices_from_afar(const CsrView<M>& a, const FarParts& part, bool sort, const Vectors<V>& v)
{
    std::vector<SlicesOfPart<V, M>> slices;
    slices.reserve(far_parts);
    for (const Part& p : part) {
        slices.emplace_back(a, p.from, p.to, sort, v);
        if (slices.back().are_padded()) return no_slices;
    }
    SliceCosts costs;
    std::array<double, far_parts> seconds;
    for (const std::size_t kind : {0u, 0u, 1u}) {  // the first brings them in
        for (std::size_t k = 0; k < far_parts; ++k) seconds[k] = slices[k].seconds(kind);
        costs[kind] = cost_of_parts(seconds, most_steps);
    }
    return costs;
}

// Costs on a small matrix as a whole.
template <class V, class M>
KernelTrial costs_of_whole(const CsrView<M>& a, Slices slices, const Vectors<V>& v)
{
    const prim::MergePoint from{0, a.row_begin[0]}, to{a.rows, a.row_begin[a.rows]};
    const offset_t work = a.rows + a.nonzeros;
    const bool small = work < worth_trying;
    const offset_t times = ceil_div(least_timed, work);
    const auto learning =
        static_cast<int>(std::clamp<offset_t>(steps_to_learn / (times * work), runs_of_small, most_runs));
    const int runs = small ? learning : runs_of_whole;
    const auto least_of_runs = [&](const auto& seconds_of_run) {
        double least = RowCosts::never;
        for (int run = 0; run < runs; ++run) least = std::min(least, seconds_of_run());
        return least / static_cast<double>(work) * 1e9;
    };
    const RowsOfPart<V, M> rows(a, from, to, v);
    RowKernelCosts of_rows;
    for (std::size_t kernel = 0; kernel < row_kernels; ++kernel)
        of_rows[kernel] = least_of_runs([&] { return rows.seconds(kernel, times); });
    KernelTrial costs;
    keep_rows(of_rows, costs);
    if (slices == Slices::none || !has_avx2() || small) return costs;
    const SlicesOfPart<V, M> sliced(a, from, to, slices == Slices::sorted, v);
    SliceCosts sell = no_slices;
    for (std::size_t kind = 0; kind < slice_kinds && !sliced.are_padded(); ++kind)
        sell[kind] = least_of_runs([&] { return sliced.seconds(kind); });
    keep_best(sell, costs);
    return costs;
}

// Costs on parts in a cache, of which those inside a very long row are left out; nothing where these are most.
template <class V, class M>
KernelTrial costs_in_cache(const CsrView<M>& a, Slices slices, const Vectors<V>& v)
{
    const offset_t work = a.rows + a.nonzeros, part_steps = std::min(most_steps, work / (2 * parts));
    std::array<std::array<double, parts>, row_kernels> seconds;
    std::array<std::array<double, parts>, slice_kinds> of_slices;
    std::size_t n = 0;
    for (offset_t k = 0; k < parts; ++k) {
        const Part part = part_at(a, (work - part_steps) / parts * k, part_steps);
        if (part.in_long_row) continue;
        const Seconds tried = seconds_of(a, part.from, part.to, n, slices, v);
        for (std::size_t kernel = 0; kernel < row_kernels; ++kernel) seconds[kernel][n] = tried.rows[kernel];
        for (std::size_t kind = 0; kind < slice_kinds; ++kind) of_slices[kind][n] = tried.sell[kind];
        ++n;
    }
    if (n < parts / 2) return {};
    RowKernelCosts rows;
    for (std::size_t kernel = 0; kernel < row_kernels; ++kernel)
        rows[kernel] = cost_of_parts({seconds[kernel].data(), n}, part_steps);
    KernelTrial costs;
    keep_rows(rows, costs);
    SliceCosts sell;
    for (std::size_t kind = 0; kind < slice_kinds; ++kind)
        sell[kind] = cost_of_parts({of_slices[kind].data(), n}, part_steps);
    keep_best(sell, costs);
    return costs;
}

// Costs of all kernels on parts of the matrix. Slices from afar are made only where they are best in the cache.
template <class V, class M>
KernelTrial costs_on_parts(const CsrView<M>& a, Slices slices, const Vectors<V>& v)
{
    KernelTrial costs = costs_in_cache(a, slices, v);
    if (a.rows + a.nonzeros < beyond_caches || costs.rows[0] >= RowCosts::never) return costs;
    if (const auto far = parts_afar(a)) {
        const bool sell = costs.sell < *std::min_element(costs.rows.begin(), costs.rows.end());
        keep_rows(costs_from_afar(a, *far, v), costs);
        keep_best(sell ? slices_from_afar(a, *far, slices == Slices::sorted, v) : no_slices, costs);
    }
    return costs;
}

// The first of as many parts as there are threads, as long as the others in rows and nonzeros: by how much it is faster
// with its rows sorted. A thread has it again and again, and learns rows that would be too many for one alone.
template <class V, class M>
double gain_on_first_part(const CpuQueue& q, const CsrView<M>& a)
{
    const offset_t work = a.rows + a.nonzeros, share = work / q.threads;
    const offset_t rows = prim::merge_row(a.row_begin, a.rows, a.nonzeros, share);
    Buffer<V> x(q, a.cols), y(q, a.rows);
    std::fill_n(x.data(), a.cols, V(1));
    std::fill_n(y.data(), a.rows, V(0));
    const RowsOfPart<V, M> part(a, {0, a.row_begin[0]}, {rows, a.row_begin[rows]},
                                Vectors<V>{V(1), x.data(), V(0), y.data()});
    const offset_t times = ceil_div(least_timed, std::max(offset_t{1}, share));
    std::array<double, 2> least{RowCosts::never, RowCosts::never};
    for (const std::size_t sorted : {0u, 1u})
        for (int run = 0; run < most_runs; ++run)
            least[sorted] = std::min(least[sorted], part.seconds(sorted == 1 ? sorted_kernel : 0, times));
    return least[0] / least[1];
}

template <class V, class M>
KernelTrial try_on(const CpuQueue& q, const CsrView<M>& a, Slices slices, bool whole)
{
    Buffer<V> x(q, a.cols), y(q, a.rows);
    std::fill_n(x.data(), a.cols, V(1));
    std::fill_n(y.data(), a.rows, V(0));  // so that no kernel pays for pages that the system has yet to find
    const Vectors<V> v{V(1), x.data(), V(0), y.data()};
    const bool at_once = whole && a.rows + a.nonzeros < most_of_whole;
    return at_once ? costs_of_whole(a, slices, v) : costs_on_parts(a, slices, v);
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

template <class Trial>
class Trials {
public:
    std::optional<Trial> find(std::uint64_t pattern)
    {
        const std::lock_guard lock(host::fork_safe_mutex(host::Guards::trials));
        const auto place = of_pattern_.find(pattern);
        return place != of_pattern_.end() ? std::optional(place->second) : std::nullopt;
    }

    // What is kept, which is another thread's trial if that was first.
    Trial keep(std::uint64_t pattern, const Trial& trial)
    {
        const std::lock_guard lock(host::fork_safe_mutex(host::Guards::trials));
        return of_pattern_.size() < most ? of_pattern_.try_emplace(pattern, trial).first->second : trial;
    }

private:
    static constexpr std::size_t most = 65536;  // some megabytes
    std::unordered_map<std::uint64_t, Trial> of_pattern_;
};

}  // namespace

template <class V, class M>
KernelTrial try_kernels(const CpuQueue& q, const CsrView<M>& a, Slices slices, bool whole)
{
    static Trials<KernelTrial> trials;
    const offset_t work = a.rows + a.nonzeros;
    if (work < (whole ? worth_trying_whole : worth_trying) || a.cols > most_columns * work || !may_calibrate())
        return {};
    const std::uint64_t pattern = fingerprint<V>(a, slices);
    const std::optional<KernelTrial> known = trials.find(pattern);
    return known ? *known : trials.keep(pattern, try_on<V>(q, a, slices, whole));
}

template <class V, class M>
double gain_of_sorted_part(const CpuQueue& q, const CsrView<M>& a)
{
    static Trials<double> trials;
    if (!may_calibrate() || a.rows + a.nonzeros >= worth_trying) return RowCosts::never;
    const std::uint64_t pattern = fingerprint<V>(a, Slices::none) + static_cast<std::uint64_t>(q.threads);
    const std::optional<double> known = trials.find(pattern);
    return known ? *known : trials.keep(pattern, gain_on_first_part<V>(q, a));
}

template double gain_of_sorted_part<float>(const CpuQueue&, const CsrView<float>&);
template double gain_of_sorted_part<double>(const CpuQueue&, const CsrView<double>&);
template double gain_of_sorted_part<double>(const CpuQueue&, const CsrView<float>&);
template KernelTrial try_kernels<float>(const CpuQueue&, const CsrView<float>&, Slices, bool);
template KernelTrial try_kernels<double>(const CpuQueue&, const CsrView<double>&, Slices, bool);
template KernelTrial try_kernels<double>(const CpuQueue&, const CsrView<float>&, Slices, bool);

}  // namespace tulle::inline TULLE_ABI::spmv
