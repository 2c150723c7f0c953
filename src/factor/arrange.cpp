// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/arrange.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "factor/matching.hpp"
#include "factor/orders.hpp"
#include "matrix/inspect_steps.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::factor {

Buffer<index_t> inverse_of(const CpuQueue& q, const Buffer<index_t>& permutation)
{
    Buffer<index_t> inverse(q, permutation.size());
    for (offset_t i = 0; i < permutation.size(); ++i) inverse.data()[permutation.data()[i]] = static_cast<index_t>(i);
    return inverse;
}

Arrangement reordered(const CpuQueue& q, const Arrangement& by, const Buffer<index_t>& order)
{
    const auto one = [&]<class T>(const Buffer<T>& array) {
        Buffer<T> moved(q, array.size());
        for (offset_t i = 0; i < array.size(); ++i) moved.data()[i] = array.data()[order.data()[i]];
        return moved;
    };
    return {one(by.row), one(by.col), one(by.row_scale), one(by.col_scale)};
}

template <class V>
Arrangement arrange(const CpuQueue& q, const CsrView<V>& a, bool match, Order order)
{
    Arrangement all{Buffer<index_t>(q, a.rows), Buffer<index_t>(q, a.rows), {}, {}};
    std::iota(all.row.data(), all.row.data() + a.rows, index_t{0});
    std::iota(all.col.data(), all.col.data() + a.rows, index_t{0});
    if (match) {
        all.row_scale = Buffer<double>(q, a.rows);
        all.col_scale = Buffer<double>(q, a.rows);
        const Matching<V> pairs(q, a);
        for (index_t i = 0; i < a.rows; ++i) {
            const index_t j = all.col.data()[i] = pairs.column_of(i);
            all.row_scale.data()[i] = pairs.row_scale(i);
            all.col_scale.data()[i] = pairs.column_scale(j);
        }
    }
    if (order == Order::natural) return all;
    const Buffer<index_t> place = inverse_of(q, all.col);
    return reordered(q, all, find_order(q, graph_of(q, a, place, match), order));
}

namespace {

template <class V>
ArrangedMatrix<V> room_for(const CpuQueue& q, index_t rows, offset_t nonzeros, bool scaled)
{
    const auto gather_of = [&](offset_t n) {
        return Gather<V>{Buffer<offset_t>(q, n), scaled ? Buffer<V>(q, n) : Buffer<V>{}};
    };
    return {.rows = rows,
            .row_begin = Buffer<offset_t>(q, offset_t{rows} + 1),
            .col = Buffer<index_t>(q, nonzeros),
            .value = {},
            .from_matrix = gather_of(nonzeros),
            .from_rhs = gather_of(rows),
            .to_solution = gather_of(rows),
            .work = {}};
}

// Entries of row `from` of A as columns of B, those up to `last`, and places in the row: ascending.
template <class V>
void list_row(const CsrView<V>& a, index_t from, const Buffer<index_t>& place, index_t last,
              std::vector<std::uint64_t>& row)
{
    row.clear();
    const offset_t begin = a.row_begin[from];
    for (offset_t k = begin; k < a.row_begin[from + 1]; ++k) {
        const index_t j = place.data()[a.col[k]];
        if (j <= last) row.push_back(static_cast<std::uint64_t>(j) << 32 | static_cast<std::uint64_t>(k - begin));
    }
    std::sort(row.begin(), row.end());
}

template <class V>
offset_t count_lower(const CsrView<V>& a, const Arrangement& by, const Buffer<index_t>& place)
{
    offset_t n = 0;
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[by.row.data()[i]]; k < a.row_begin[by.row.data()[i] + 1]; ++k)
            n += place.data()[a.col[k]] <= i ? 1 : 0;
    return n;
}

}  // namespace

template <class V>
ArrangedMatrix<V> make_arranged(const CpuQueue& q, const CsrView<V>& a, const Arrangement& by, bool lower)
{
    const bool scaled = !by.row_scale.empty();
    const Buffer<index_t> place = inverse_of(q, by.col);
    ArrangedMatrix<V> b = room_for<V>(q, a.rows, lower ? count_lower(a, by, place) : a.nonzeros, scaled);
    std::vector<std::uint64_t> row;
    offset_t to = 0;
    for (index_t i = 0; i < a.rows; ++i) {
        b.row_begin.data()[i] = to;
        const index_t from = by.row.data()[i];
        list_row(a, from, place, lower ? i : a.rows, row);
        for (const std::uint64_t key : row) {
            const auto j = static_cast<index_t>(key >> 32);
            b.col.data()[to] = j;
            b.from_matrix.index.data()[to] = a.row_begin[from] + static_cast<std::uint32_t>(key);
            if (scaled)
                b.from_matrix.scale.data()[to] = static_cast<V>(by.row_scale.data()[i] * by.col_scale.data()[j]);
            ++to;
        }
        b.from_rhs.index.data()[i] = from;
        b.to_solution.index.data()[i] = place.data()[i];
        if (!scaled) continue;
        b.from_rhs.scale.data()[i] = static_cast<V>(by.row_scale.data()[i]);
        b.to_solution.scale.data()[i] = static_cast<V>(by.col_scale.data()[place.data()[i]]);
    }
    b.row_begin.data()[a.rows] = to;
    return b;
}

template <class V>
index_t levels_before(const CpuQueue& q, const CsrView<V>& b, const offset_t* row, bool symmetric)
{
    const auto each_entry = [&](const auto& work) {
        for (index_t i = 0; i < b.rows; ++i)
            for (offset_t k = b.row_begin[i]; k < b.row_begin[i + 1]; ++k) {
                const auto u = static_cast<index_t>(row[i]), v = static_cast<index_t>(row[b.col[k]]);
                if (v < u) work(u, v);
                else if (symmetric && u < v) work(v, u);
            }
    };
    Buffer<offset_t> begin(q, offset_t{b.rows} + 2);
    std::fill_n(begin.data(), begin.size(), offset_t{0});
    each_entry([&](index_t i, index_t) { ++begin.data()[i + 2]; });
    std::partial_sum(begin.data(), begin.data() + begin.size(), begin.data());
    Buffer<index_t> col(q, begin.data()[b.rows + 1]), level(q, b.rows);
    each_entry([&](index_t i, index_t j) { col.data()[begin.data()[i + 1]++] = j; });
    inspect::find_levels(q, begin.data(), col.data(), b.rows, level.data());
    return b.rows == 0 ? 0 : *std::max_element(level.data(), level.data() + b.rows);
}

template index_t levels_before(const CpuQueue&, const CsrView<float>&, const offset_t*, bool);
template index_t levels_before(const CpuQueue&, const CsrView<double>&, const offset_t*, bool);
template Arrangement arrange(const CpuQueue&, const CsrView<float>&, bool, Order);
template Arrangement arrange(const CpuQueue&, const CsrView<double>&, bool, Order);
template ArrangedMatrix<float> make_arranged(const CpuQueue&, const CsrView<float>&, const Arrangement&, bool);
template ArrangedMatrix<double> make_arranged(const CpuQueue&, const CsrView<double>&, const Arrangement&, bool);

}  // namespace tulle::inline TULLE_ABI::factor
