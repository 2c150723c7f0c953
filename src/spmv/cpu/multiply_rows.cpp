// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row; each thread has rows with about as many nonzeros, and short rows count too.
#include <algorithm>

#include "spmv/cpu/columns.hpp"
#include "spmv/cpu/stretch.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

// Where a thread's part begins, in whole rows.
template <class M>
prim::MergePoint part_begin(const CpuQueue& q, const CsrView<M>& a, int part)
{
    const offset_t work = a.rows + a.nonzeros;
    const offset_t row = prim::merge_point(a.row_begin, a.rows, a.nonzeros,
                                           work / q.threads * part + work % q.threads * part / q.threads)
                             .row;
    return {row, a.row_begin[row]};
}

constexpr offset_t nonzeros_in_cache = 2048;  // 8 KB of columns: still in the first cache when they are multiplied

// The rows first … last-1, some at a time; stops before those that are not sound and returns false.
template <class V, class M>
bool multiply_checked(const CsrView<M>& a, offset_t first, offset_t last, int lanes, const Vectors<V>& v)
{
    const Pattern pattern = pattern_of(a);
    const offset_t step = std::max<offset_t>(1, nonzeros_in_cache * a.rows / std::max<offset_t>(1, a.nonzeros));
    for (offset_t row = first; row < last; row += step) {
        const offset_t next = std::min(last, row + step);
        if (!columns_are_sound(pattern, row, next)) return false;
        multiply_stretch(a, {}, {row, a.row_begin[row]}, {next, a.row_begin[next]}, lanes, v);
    }
    return true;
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

template <class V, class M>
void multiply_rows(const CpuQueue& q, const CsrView<M>& a, int lanes, const Narrow& narrow, const Vectors<V>& v)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (int t = 0; t < q.threads; ++t)
        multiply_stretch(a, narrow, part_begin(q, a, t), part_begin(q, a, t + 1), lanes, v);
}

template <class V, class M>
bool multiply_rows_checked(const CpuQueue& q, const CsrView<M>& a, int lanes, const Vectors<V>& v)
{
    bool sound = true;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(&& : sound)
    for (int t = 0; t < q.threads; ++t)
        sound = multiply_checked(a, part_begin(q, a, t).row, part_begin(q, a, t + 1).row, lanes, v);
    return sound;
}

template Narrow make_narrow(const CpuQueue&, const CsrView<float>&);
template Narrow make_narrow(const CpuQueue&, const CsrView<double>&);
template void multiply_rows(const CpuQueue&, const CsrView<float>&, int, const Narrow&, const Vectors<float>&);
template void multiply_rows(const CpuQueue&, const CsrView<double>&, int, const Narrow&, const Vectors<double>&);
template void multiply_rows(const CpuQueue&, const CsrView<float>&, int, const Narrow&, const Vectors<double>&);
template bool multiply_rows_checked(const CpuQueue&, const CsrView<float>&, int, const Vectors<float>&);
template bool multiply_rows_checked(const CpuQueue&, const CsrView<double>&, int, const Vectors<double>&);
template bool multiply_rows_checked(const CpuQueue&, const CsrView<float>&, int, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
