// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/arrange.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "factor/matching.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

// Neighbours of each row of B in the pattern of B + B^T; some are listed twice, and a row may be its own neighbour.
struct Graph {
    const offset_t* begin;
    const index_t* list;
    Buffer<offset_t> own_begin = {};  // unless the arrays are those of A
    Buffer<index_t> own_list = {};

    offset_t degree(index_t i) const { return begin[i + 1] - begin[i]; }
    std::span<const index_t> of(index_t i) const { return {list + begin[i], static_cast<std::size_t>(degree(i))}; }
};

// Whether the pattern of a matrix with sorted rows is symmetric. Rows come in ascending order, so that the entries of a
// column meet those of the row of the same number one after the other: a position in each row, no searches.
template <class V>
bool is_mirrored(const CpuQueue& q, const CsrView<V>& a)
{
    Buffer<offset_t> next(q, a.rows);
    copy(q, a.row_begin, next.data(), a.rows);
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const index_t j = a.col[k];
            const offset_t at = next.data()[j]++;
            if (at == a.row_begin[j + 1] || a.col[at] != i) return false;
        }
    return true;
}

// Calls work(i, j) for each entry of B outside its diagonal; `place` is the column of B of each column of A.
template <class V, class F>
void each_edge(const CsrView<V>& a, const Buffer<index_t>& place, F&& work)
{
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            if (place.data()[a.col[k]] != i) work(i, place.data()[a.col[k]]);
}

template <class V>
Graph both_directions(const CpuQueue& q, const CsrView<V>& a, const Buffer<index_t>& place)
{
    Buffer<offset_t> begins(q, offset_t{a.rows} + 2);
    offset_t* const begin = begins.data();
    std::fill_n(begin, begins.size(), offset_t{0});
    each_edge(a, place, [&](index_t i, index_t j) { ++begin[i + 2], ++begin[j + 2]; });
    std::partial_sum(begin, begin + begins.size(), begin);
    Buffer<index_t> list(q, begin[a.rows + 1]);
    each_edge(a, place, [&](index_t i, index_t j) {
        list.data()[begin[i + 1]++] = j;
        list.data()[begin[j + 1]++] = i;
    });
    return {begin, list.data(), std::move(begins), std::move(list)};
}

// A's own arrays where they list every neighbour.
template <class V>
Graph graph_of(const CpuQueue& q, const CsrView<V>& a, const Buffer<index_t>& place, bool match)
{
    if (!match && a.sorted && is_mirrored(q, a)) return {a.row_begin, a.col};
    return both_directions(q, a, place);
}

// Breadth-first searches that visit neighbours of low degree first.
class CuthillMcKee {
public:
    CuthillMcKee(const CpuQueue& q, const Graph& graph, index_t rows)
        : graph_(graph),
          rows_(rows),
          order_(q, rows),
          seen_(q, rows)
    {
        std::fill_n(seen_.data(), rows, index_t{-1});
    }

    // Reversed: entry i is the row that comes to place i.
    Buffer<index_t> order()
    {
        index_t done = 0;
        for (index_t i = 0; i < rows_; ++i)
            if (seen_.data()[i] != finished) {
                index_t root = i;
                for (int k = 0; k < 2; ++k) root = order_.data()[search(root, done, k) - 1];
                done = search(root, done, finished);
            }
        std::reverse(order_.data(), order_.data() + rows_);
        return std::move(order_);
    }

private:
    static constexpr index_t finished = max_index;

    // Puts what can be reached from the root to order_[begin...]; returns the end. The last one is far from the root.
    index_t search(index_t root, index_t begin, index_t mark)
    {
        index_t* const order = order_.data();
        index_t end = begin;
        const auto take = [&](index_t i) {
            index_t& seen = seen_.data()[i];
            if (seen == mark || seen == finished) return;
            seen = mark;
            order[end++] = i;
        };
        take(root);
        for (index_t at = begin; at < end; ++at) {
            const index_t first = end;
            for (const index_t j : graph_.of(order[at])) take(j);
            if (end - first < 2) continue;
            std::sort(order + first, order + end, [&](index_t x, index_t y) {
                return std::pair(graph_.degree(x), x) < std::pair(graph_.degree(y), y);
            });
        }
        return end;
    }

    const Graph& graph_;
    index_t rows_;
    Buffer<index_t> order_, seen_;
};

Buffer<index_t> inverse_of(const CpuQueue& q, const Buffer<index_t>& permutation)
{
    Buffer<index_t> inverse(q, permutation.size());
    for (offset_t i = 0; i < permutation.size(); ++i) inverse.data()[permutation.data()[i]] = static_cast<index_t>(i);
    return inverse;
}

void permute(const CpuQueue& q, const Buffer<index_t>& order, Arrangement& all)
{
    const auto one = [&]<class T>(Buffer<T>& array) {
        Buffer<T> moved(q, array.size());
        for (offset_t i = 0; i < array.size(); ++i) moved.data()[i] = array.data()[order.data()[i]];
        array = std::move(moved);
    };
    one(all.row), one(all.col), one(all.row_scale), one(all.col_scale);
}

}  // namespace

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
    const Graph graph = graph_of(q, a, inverse_of(q, all.col), match);
    permute(q, CuthillMcKee(q, graph, a.rows).order(), all);
    return all;
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

template Arrangement arrange(const CpuQueue&, const CsrView<float>&, bool, Order);
template Arrangement arrange(const CpuQueue&, const CsrView<double>&, bool, Order);
template ArrangedMatrix<float> make_arranged(const CpuQueue&, const CsrView<float>&, const Arrangement&, bool);
template ArrangedMatrix<double> make_arranged(const CpuQueue&, const CsrView<double>&, const Arrangement&, bool);

}  // namespace tulle::inline TULLE_ABI::factor
