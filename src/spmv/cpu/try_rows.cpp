// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row kernels tried on parts of the matrix that will be multiplied: what costs measured beforehand (measure_rows.cpp)
// cannot know are its own lengths and columns. Every part is multiplied once by each kernel, because a branch predictor
// learns lengths that it sees again, and after its data and x were read once, because the first kernel would otherwise
// pay for the others. The parts that took longest do not count: a thread may have been interrupted there.
#include <algorithm>
#include <vector>

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

}  // namespace

template <class V, class M>
std::array<double, RowCosts::lanes.size()> try_rows(const CpuQueue& q, const CsrView<M>& a)
{
    std::array<double, RowCosts::lanes.size()> costs;
    costs.fill(RowCosts::never);
    const offset_t work = a.rows + a.nonzeros;
    if (work < worth_trying || !may_calibrate()) return costs;
    Buffer<V> x(q, a.cols), y(q, a.rows);
    std::fill_n(x.data(), a.cols, V(1));
    const Vectors<V> v{V(1), x.data(), V(0), y.data()};
    const auto point_at = [&](offset_t step) {
        const offset_t row = prim::merge_point(a.row_begin, a.rows, a.nonzeros, step).row;
        return prim::MergePoint{row, a.row_begin[row]};
    };
    std::array<std::vector<double>, RowCosts::lanes.size()> seconds;
    for (int part = 0; part < parts; ++part) {
        const offset_t step = (work - part_steps) / parts * part;
        const prim::MergePoint from = point_at(step), to = point_at(step + part_steps);
        y.data()[0] = touch(a, from, to, x.data());  // so that it is read indeed
        for (std::size_t turn = 0; turn < costs.size(); ++turn) {
            const std::size_t lane = (turn + static_cast<std::size_t>(part)) % costs.size();
            if (RowCosts::lanes[lane] == 8 && !has_gathers()) continue;
            const double before = thread_seconds();
            multiply_stretch(a, {}, from, to, RowCosts::lanes[lane], v);
            seconds[lane].push_back(thread_seconds() - before);
        }
    }
    for (std::size_t lane = 0; lane < costs.size(); ++lane) {
        if (seconds[lane].empty()) continue;
        std::sort(seconds[lane].begin(), seconds[lane].end());
        double sum = 0;
        for (int k = 0; k < parts_that_count; ++k) sum += seconds[lane][static_cast<std::size_t>(k)];
        costs[lane] = sum / (parts_that_count * part_steps) * 1e9;
    }
    return costs;
}

template std::array<double, RowCosts::lanes.size()> try_rows<float>(const CpuQueue&, const CsrView<float>&);
template std::array<double, RowCosts::lanes.size()> try_rows<double>(const CpuQueue&, const CsrView<double>&);
template std::array<double, RowCosts::lanes.size()> try_rows<double>(const CpuQueue&, const CsrView<float>&);

}  // namespace tulle::inline TULLE_ABI::spmv
