// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row kernels tried on parts of the matrix that will be multiplied: what costs measured beforehand (measure_rows.cpp)
// cannot know are its own lengths and columns. Every part is multiplied once by each kernel, because a branch predictor
// learns lengths that it sees again, and after its data and x were read once, because the first kernel would otherwise
// pay for the others. The parts that took longest do not count: a thread may have been interrupted there.
#include <algorithm>
#include <array>
#include <numeric>

#include "device/calibrate.hpp"
#include "spmv/cpu/stretch.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr offset_t part_steps = 16384;  // rows and nonzeros: 200 KB in double
constexpr int parts = 8, parts_that_count = 6;
constexpr offset_t worth_trying = 2 * parts * part_steps;

// Reads what a product of these rows reads, so that it is in the cache.
template <class V, class M>
V touch(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, const V* x)
{
    V sum = 0;
    for (offset_t k = from.nonzero; k < to.nonzero; ++k) sum += static_cast<V>(a.value[k]) * x[a.col[k]];
    return sum;
}

using Costs = std::array<double, RowCosts::lanes.size()>;

constexpr Costs nothing_tried()
{
    Costs costs{};
    costs.fill(RowCosts::never);
    return costs;
}

// Seconds of every kernel on the rows between two points; the order changes with `first`.
template <class V, class M>
Costs seconds_of(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, std::size_t first,
                 const Vectors<V>& v)
{
    Costs seconds = nothing_tried();
    v.y[0] = touch(a, from, to, v.x);  // so that it is read indeed
    for (std::size_t turn = 0; turn < seconds.size(); ++turn) {
        const std::size_t lane = (turn + first) % seconds.size();
        if (RowCosts::lanes[lane] == 8 && !has_gathers()) continue;
        const double before = thread_seconds();
        multiply_stretch(a, {}, from, to, RowCosts::lanes[lane], v);
        seconds[lane] = thread_seconds() - before;
    }
    return seconds;
}

// Nanoseconds a step, from the parts that took least.
double cost_of_parts(std::array<double, parts> seconds)
{
    std::sort(seconds.begin(), seconds.end());
    const double sum = std::accumulate(seconds.begin(), seconds.begin() + parts_that_count, 0.0);
    return sum / (parts_that_count * part_steps) * 1e9;
}

}  // namespace

template <class V, class M>
Costs try_rows(const CpuQueue& q, const CsrView<M>& a)
{
    const offset_t work = a.rows + a.nonzeros;
    if (work < worth_trying || !may_calibrate()) return nothing_tried();
    Buffer<V> x(q, a.cols), y(q, a.rows);
    std::fill_n(x.data(), a.cols, V(1));
    const auto point_at = [&](offset_t step) {
        const offset_t row = prim::merge_point(a.row_begin, a.rows, a.nonzeros, step).row;
        return prim::MergePoint{row, a.row_begin[row]};
    };
    std::array<std::array<double, parts>, RowCosts::lanes.size()> seconds;
    for (std::size_t part = 0; part < parts; ++part) {
        const offset_t step = (work - part_steps) / parts * static_cast<offset_t>(part);
        const prim::MergePoint from = point_at(step), to = point_at(step + part_steps);
        if (to.row - from.row + to.nonzero - from.nonzero < part_steps / 2) return nothing_tried();  // a very long row
        const Costs tried = seconds_of(a, from, to, part, Vectors<V>{V(1), x.data(), V(0), y.data()});
        for (std::size_t lane = 0; lane < tried.size(); ++lane) seconds[lane][part] = tried[lane];
    }
    Costs costs{};
    std::transform(seconds.begin(), seconds.end(), costs.begin(), cost_of_parts);
    return costs;
}

template std::array<double, RowCosts::lanes.size()> try_rows<float>(const CpuQueue&, const CsrView<float>&);
template std::array<double, RowCosts::lanes.size()> try_rows<double>(const CpuQueue&, const CsrView<double>&);
template std::array<double, RowCosts::lanes.size()> try_rows<double>(const CpuQueue&, const CsrView<float>&);

}  // namespace tulle::inline TULLE_ABI::spmv
