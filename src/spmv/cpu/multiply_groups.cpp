// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Neighbouring rows with the same columns together: columns and entries of x are read once for two, three or four rows.
#include <algorithm>
#include <array>
#include <vector>

#include "matrix/equal_rows.hpp"
#include "prim/cpu/pieces.hpp"
#include "spmv/group_size.hpp"
#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

// The end of the run of rows with the columns of `row`.
template <class M>
index_t run_end(const CsrView<M>& a, index_t row)
{
    index_t end = row + 1;
    while (end < a.rows && matrix::equals_predecessor(a.row_begin, a.col, end)) ++end;
    return end;
}

template <class M>
GroupCounts count_groups(const CsrView<M>& a)
{
    GroupCounts groups{};
    for (index_t row = 0, end = 0; row < a.rows; row = end) {
        end = run_end(a, row);
        for (int k = 0; k < group_sizes; ++k)
            groups[static_cast<std::size_t>(k)] +=
                static_cast<unsigned long long>(groups_of(end - row, smallest_group + k));
    }
    return groups;
}

template <int Rows, class V, class M>
void multiply_group(const CsrView<M>& a, const RowGroup& g, const Vectors<V>& v)
{
    const offset_t length = g.length();
    const M* value = a.value + g.begin;
    const index_t* col = a.col + g.begin;
    std::array<V, Rows> sum{};
    for (offset_t k = 0; k < length; ++k) {
        const V x = v.x[col[k]];
        for (std::size_t i = 0; i < Rows; ++i)
            sum[i] += static_cast<V>(value[k + static_cast<offset_t>(i) * length]) * x;
    }
    for (std::size_t i = 0; i < Rows; ++i) {
        V* y = v.y + g.row + i;
        *y = scaled(v.alpha, sum[i], v.beta, y);
    }
}

}  // namespace

template <class M>
Groups make_groups(const CpuQueue& q, const CsrView<M>& a)
{
    const GroupCounts counts = count_groups(a);
    const int most = best_group(counts);
    Groups made{Buffer<RowGroup>(q, static_cast<offset_t>(counts[static_cast<std::size_t>(most - smallest_group)])),
                most};
    RowGroup* to = made.group.data();
    for (index_t row = 0, end = 0; row < a.rows; row = end) {
        end = run_end(a, row);
        const auto length = static_cast<std::int32_t>(a.row_begin[row + 1] - a.row_begin[row]);
        for (index_t first = row; first < end; first += most)
            *to++ = {a.row_begin[first], first, length * 8 + std::min(most, end - first)};
    }
    return made;
}

template <class V, class M>
void multiply_groups(const CpuQueue& q, const CsrView<M>& a, int, const Groups& groups, const Vectors<V>& v)
{
    const RowGroup* group = groups.group.data();
    const offset_t n = groups.group.size();
    // Groups that begin in this thread's share of the nonzeros.
    const auto first_of = [&](int part) {
        const offset_t begin = a.nonzeros / q.threads * part + a.nonzeros % q.threads * part / q.threads;
        return part == q.threads
                   ? n
                   : std::partition_point(group, group + n, [&](const RowGroup& g) { return g.begin < begin; }) - group;
    };
    prim::each_thread(q, [&](int t) {
        for (offset_t g = t == 0 ? 0 : first_of(t), last = first_of(t + 1); g < last; ++g) switch (group[g].rows()) {
            case 1: multiply_group<1>(a, group[g], v); break;
            case 2: multiply_group<2>(a, group[g], v); break;
            case 3: multiply_group<3>(a, group[g], v); break;
            default: multiply_group<4>(a, group[g], v);
            }
    });
}

template Groups make_groups(const CpuQueue&, const CsrView<float>&);
template Groups make_groups(const CpuQueue&, const CsrView<double>&);
template void multiply_groups(const CpuQueue&, const CsrView<float>&, int, const Groups&, const Vectors<float>&);
template void multiply_groups(const CpuQueue&, const CsrView<double>&, int, const Groups&, const Vectors<double>&);
template void multiply_groups(const CpuQueue&, const CsrView<float>&, int, const Groups&, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
