// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row; each thread has rows with about as many nonzeros, and short rows count too, until a plan has cut the rows
// by measured times (part_balance.hpp).
#include <algorithm>
#include <vector>

#include "prim/cpu/pieces.hpp"
#include "spmv/cpu/checked_rows.hpp"
#include "spmv/cpu/multiply_alone.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

// Where a thread's part begins: with the row that begins nearest to its fair share, whatever the offsets are. The ends
// are not looked for: a small product would notice the divisions.
template <class View>
prim::MergePoint part_begin(const CpuQueue& q, const View& a, int part)
{
    if (part == 0) return {0, a.row_begin[0]};
    if (part == q.threads) return {a.rows, a.row_begin[a.rows]};
    const offset_t work = a.rows + a.nonzeros;
    const offset_t share = work / q.threads * part + work % q.threads * part / q.threads;
    offset_t row = prim::merge_row(a.row_begin, a.rows, a.nonzeros, share);
    const auto step_of = [&](offset_t i) { return i + std::clamp<offset_t>(a.row_begin[i], 0, a.nonzeros); };
    if (row < a.rows && step_of(row + 1) - share < share - step_of(row)) ++row;
    return {row, a.row_begin[row]};
}

}  // namespace

template <class M>
Narrow make_narrow(const CpuQueue& q, const CsrView<M>& a)
{
    Narrow n{Buffer<std::int32_t>(q, offset_t{a.rows} + 1), Buffer<std::uint16_t>(q, a.nonzeros), {}};
    if (a.cols > columns_of_16_bits) n.base = Buffer<index_t>(q, a.rows);
    n.row_begin.data()[a.rows] = static_cast<std::int32_t>(a.nonzeros);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < a.rows; ++i) {
        const offset_t begin = a.row_begin[i], end = a.row_begin[i + 1];
        const index_t from = n.base.empty() || begin == end ? 0 : a.col[begin];
        n.row_begin.data()[i] = static_cast<std::int32_t>(begin);
        if (!n.base.empty()) n.base.data()[i] = from;
        for (offset_t k = begin; k < end; ++k) n.col.data()[k] = static_cast<std::uint16_t>(a.col[k] - from);
    }
    return n;
}

template <class M>
Narrow make_short_offsets(const CpuQueue& q, const CsrView<M>& a)
{
    Narrow n{Buffer<std::int32_t>(q, offset_t{a.rows} + 1), {}, {}};
    std::int32_t* const to = n.row_begin.data();
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t i = 0; i <= a.rows; ++i) to[i] = static_cast<std::int32_t>(a.row_begin[i]);
    return n;
}

template <class M>
Buffer<prim::MergePoint> make_parts(const CpuQueue& q, const CsrView<M>& a)
{
    if (q.threads == 1) return {};
    Buffer<prim::MergePoint> point(q, offset_t{q.threads} + 1);
    for (int t = 0; t <= q.threads; ++t) point.data()[t] = part_begin(q, a, t);
    return point;
}

template <class M>
offset_t largest_part(const CpuQueue& q, const CsrView<M>& a)
{
    if (q.threads == 1 || a.rows == 0) return 0;
    offset_t largest = 0;
    prim::MergePoint from = part_begin(q, a, 0);
    for (int t = 1; t <= q.threads; ++t) {
        const prim::MergePoint to = part_begin(q, a, t);
        largest = std::max(largest, to.row - from.row + to.nonzero - from.nonzero);
        from = to;
    }
    return largest;
}

namespace {

template <class V, class M>
void multiply_part(const CsrView<M>& a, int lanes, const Workspace<V, M>& work, const prim::MergePoint& from,
                   const prim::MergePoint& to, const Vectors<V>& v)
{
    if (!work.window.empty() && !work.parts_in_order)
        return multiply_windows(a, work.narrow, work.window.data(), from.row, to.row, v);
    multiply_interval(a, work.narrow, from, to, lanes, v);
}

}  // namespace

template <class V, class M>
void multiply_rows(const CpuQueue& q, const CsrView<M>& a, int lanes, const Workspace<V, M>& work, const Vectors<V>& v)
{
    if (q.threads == 1) return multiply_alone(a, interval_loop<V>(a, work.narrow, lanes), work, v);
    const prim::MergePoint* const point = work.point.empty() ? nullptr : work.point.data();
    double* const seconds = work.part_seconds;
    prim::each_thread(q, [&q, &a, &work, &v, lanes, point, seconds](int t) {
        const auto begin = [&](int part) { return point != nullptr ? point[part] : part_begin(q, a, part); };
        const double before = seconds != nullptr ? trace::now() : 0;
        multiply_part(a, lanes, work, begin(t), begin(t + 1), v);
        if (seconds != nullptr) seconds[t] = trace::now() - before;
    });
}

template <class V, class View>
bool multiply_rows_checked(const CpuQueue& q, const View& a, int lanes, const Vectors<V>& v)
{
    if (q.threads == 1) return multiply_checked(a, 0, a.rows, lanes, v);
    const auto parts = static_cast<std::size_t>(q.threads);
    std::vector<offset_t> cut(parts + 1, a.rows);
    bool sound = true;
#pragma omp parallel num_threads(q.threads) reduction(&& : sound)
    {
#pragma omp for schedule(static)
        for (std::size_t t = 0; t < parts; ++t) cut[t] = part_begin(q, a, static_cast<int>(t)).row;
        const bool apart = std::is_sorted(cut.begin(), cut.end());  // else offsets descend, and parts overlap
#pragma omp for schedule(static)
        for (std::size_t t = 0; t < parts; ++t)
            sound = sound && apart && multiply_checked(a, cut[t], cut[t + 1], lanes, v);
    }
    return sound;
}

template Narrow make_narrow(const CpuQueue&, const CsrView<float>&);
template Narrow make_narrow(const CpuQueue&, const CsrView<double>&);
template Narrow make_short_offsets(const CpuQueue&, const CsrView<float>&);
template Narrow make_short_offsets(const CpuQueue&, const CsrView<double>&);
template Buffer<prim::MergePoint> make_parts(const CpuQueue&, const CsrView<float>&);
template Buffer<prim::MergePoint> make_parts(const CpuQueue&, const CsrView<double>&);
template offset_t largest_part(const CpuQueue&, const CsrView<float>&);
template offset_t largest_part(const CpuQueue&, const CsrView<double>&);
template void multiply_rows(const CpuQueue&, const CsrView<float>&, int, const Workspace<float>&,
                            const Vectors<float>&);
template void multiply_rows(const CpuQueue&, const CsrView<double>&, int, const Workspace<double>&,
                            const Vectors<double>&);
template void multiply_rows(const CpuQueue&, const CsrView<float>&, int, const Workspace<double, float>&,
                            const Vectors<double>&);
template void multiply_rows(const CpuQueue&, const CsrView<Float16>&, int, const Workspace<float, Float16>&,
                            const Vectors<float>&);
template void multiply_rows(const CpuQueue&, const CsrView<Bfloat16>&, int, const Workspace<float, Bfloat16>&,
                            const Vectors<float>&);
template bool multiply_rows_checked(const CpuQueue&, const CsrView<float>&, int, const Vectors<float>&);
template bool multiply_rows_checked(const CpuQueue&, const CsrView<double>&, int, const Vectors<double>&);
template bool multiply_rows_checked(const CpuQueue&, const CsrView<float>&, int, const Vectors<double>&);
template bool multiply_rows_checked(const CpuQueue&, const Csr32View<float>&, int, const Vectors<float>&);
template bool multiply_rows_checked(const CpuQueue&, const Csr32View<double>&, int, const Vectors<double>&);
template bool multiply_rows_checked(const CpuQueue&, const Csr32View<float>&, int, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
