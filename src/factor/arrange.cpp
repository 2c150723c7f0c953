// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/arrange.hpp"

#include <algorithm>
#include <numeric>

#include "factor/matching.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

// Neighbours of each row of B in the pattern of B + B^T, without itself; some are listed twice.
struct Graph {
    Buffer<offset_t> begin;
    Buffer<index_t> list;

    offset_t degree(index_t i) const { return begin.data()[i + 1] - begin.data()[i]; }
    std::span<const index_t> of(index_t i) const
    {
        return {list.data() + begin.data()[i], static_cast<std::size_t>(degree(i))};
    }
};

// Calls work(i, j) for each entry of B outside its diagonal; `place` is the column of B of each column of A.
template <class V, class F>
void each_edge(const CsrView<V>& a, const Buffer<index_t>& place, F&& work)
{
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            if (place.data()[a.col[k]] != i) work(i, place.data()[a.col[k]]);
}

template <class V>
Graph graph_of(const CpuQueue& q, const CsrView<V>& a, const Buffer<index_t>& place)
{
    Graph g{Buffer<offset_t>(q, offset_t{a.rows} + 2), {}};
    offset_t* const begin = g.begin.data();
    std::fill_n(begin, g.begin.size(), offset_t{0});
    each_edge(a, place, [&](index_t i, index_t j) { ++begin[i + 2], ++begin[j + 2]; });
    std::partial_sum(begin, begin + g.begin.size(), begin);
    g.list = Buffer<index_t>(q, begin[a.rows + 1]);
    each_edge(a, place, [&](index_t i, index_t j) {
        g.list.data()[begin[i + 1]++] = j;
        g.list.data()[begin[j + 1]++] = i;
    });
    return g;
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
    Arrangement all{Buffer<index_t>(q, a.rows), Buffer<index_t>(q, a.rows), Buffer<double>(q, a.rows),
                    Buffer<double>(q, a.rows)};
    std::iota(all.row.data(), all.row.data() + a.rows, index_t{0});
    std::iota(all.col.data(), all.col.data() + a.rows, index_t{0});
    std::fill_n(all.row_scale.data(), a.rows, 1.0);
    std::fill_n(all.col_scale.data(), a.rows, 1.0);
    if (match) {
        const Matching<V> pairs(q, a);
        for (index_t i = 0; i < a.rows; ++i) {
            const index_t j = all.col.data()[i] = pairs.column_of(i);
            all.row_scale.data()[i] = pairs.row_scale(i);
            all.col_scale.data()[i] = pairs.column_scale(j);
        }
    }
    if (order == Order::natural) return all;
    const Graph graph = graph_of(q, a, inverse_of(q, all.col));
    permute(q, CuthillMcKee(q, graph, a.rows).order(), all);
    return all;
}

template <class V>
ArrangedMatrix<V> make_arranged(const CpuQueue& q, const CsrView<V>& a, const Arrangement& by)
{
    ArrangedMatrix<V> b{.rows = a.rows,
                        .row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1),
                        .col = Buffer<index_t>(q, a.nonzeros),
                        .value = {},
                        .from_matrix = {Buffer<offset_t>(q, a.nonzeros), Buffer<V>(q, a.nonzeros)},
                        .from_rhs = {Buffer<offset_t>(q, a.rows), Buffer<V>(q, a.rows)},
                        .to_solution = {Buffer<offset_t>(q, a.rows), Buffer<V>(q, a.rows)},
                        .work = {}};
    const Buffer<index_t> place = inverse_of(q, by.col);
    std::vector<std::pair<index_t, offset_t>> row;
    offset_t to = 0;
    for (index_t i = 0; i < a.rows; ++i) {
        b.row_begin.data()[i] = to;
        const index_t from = by.row.data()[i];
        row.clear();
        for (offset_t k = a.row_begin[from]; k < a.row_begin[from + 1]; ++k)
            row.emplace_back(place.data()[a.col[k]], k);
        std::sort(row.begin(), row.end());
        for (const auto& [j, k] : row) {
            b.col.data()[to] = j;
            b.from_matrix.index.data()[to] = k;
            b.from_matrix.scale.data()[to++] = static_cast<V>(by.row_scale.data()[i] * by.col_scale.data()[j]);
        }
        b.from_rhs.index.data()[i] = from;
        b.from_rhs.scale.data()[i] = static_cast<V>(by.row_scale.data()[i]);
        b.to_solution.index.data()[i] = place.data()[i];
        b.to_solution.scale.data()[i] = static_cast<V>(by.col_scale.data()[place.data()[i]]);
    }
    b.row_begin.data()[a.rows] = to;
    return b;
}

template Arrangement arrange(const CpuQueue&, const CsrView<float>&, bool, Order);
template Arrangement arrange(const CpuQueue&, const CsrView<double>&, bool, Order);
template ArrangedMatrix<float> make_arranged(const CpuQueue&, const CsrView<float>&, const Arrangement&);
template ArrangedMatrix<double> make_arranged(const CpuQueue&, const CsrView<double>&, const Arrangement&);

}  // namespace tulle::inline TULLE_ABI::factor
