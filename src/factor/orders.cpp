// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/orders.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "partition/metis.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

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

// Breadth-first searches that visit neighbours of low degree first.
class CuthillMcKee {
public:
    CuthillMcKee(const CpuQueue& q, const Neighbours& graph)
        : graph_(graph),
          rows_(graph.rows),
          order_(q, rows_),
          seen_(q, rows_)
    {
        std::fill_n(seen_.data(), rows_, index_t{-1});
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

    const Neighbours& graph_;
    index_t rows_;
    Buffer<index_t> order_, seen_;
};

// The smallest colour that no neighbour has, for one row after the other.
Buffer<index_t> colour_rows(const CpuQueue& q, const Neighbours& graph)
{
    offset_t highest = 0;
    for (index_t i = 0; i < graph.rows; ++i) highest = std::max(highest, graph.degree(i));
    Buffer<index_t> colour(q, graph.rows), seen(q, highest + 1);  // seen: the last row with a neighbour of the colour
    std::fill_n(seen.data(), seen.size(), index_t{-1});
    for (index_t i = 0; i < graph.rows; ++i) {
        for (const index_t j : graph.of(i))
            if (j < i) seen.data()[colour.data()[j]] = i;
        index_t c = 0;
        while (seen.data()[c] == i) ++c;
        colour.data()[i] = c;
    }
    return colour;
}

// Rows by colour, ascending in each.
Buffer<index_t> order_by_colour(const CpuQueue& q, const Neighbours& graph)
{
    const Buffer<index_t> colour = colour_rows(q, graph);
    Buffer<index_t> order(q, graph.rows);
    const index_t* const of = colour.data();
    const index_t colours = graph.rows == 0 ? 0 : 1 + *std::max_element(of, of + graph.rows);
    std::vector<index_t> next(static_cast<std::size_t>(colours) + 1, 0);
    for (index_t i = 0; i < graph.rows; ++i) ++next[static_cast<std::size_t>(of[i]) + 1];
    for (std::size_t c = 1; c < next.size(); ++c) next[c] += next[c - 1];
    for (index_t i = 0; i < graph.rows; ++i) order.data()[next[static_cast<std::size_t>(of[i])]++] = i;
    return order;
}

Buffer<index_t> order_by_dissection(const CpuQueue& q, const Neighbours& graph)
{
    const std::vector<index_t> found = partition::nested_dissection(graph);
    Buffer<index_t> order(q, graph.rows);
    std::copy(found.begin(), found.end(), order.data());
    return order;
}

}  // namespace

template <class V>
Neighbours graph_of(const CpuQueue& q, const CsrView<V>& a, const Buffer<index_t>& place, bool match)
{
    if (!match && a.sorted && is_mirrored(q, a)) return {a.rows, a.row_begin, a.col};
    return partition::both_directions(q, a, [&](index_t j) { return place.data()[j]; });
}

Buffer<index_t> find_order(const CpuQueue& q, const Neighbours& graph, Order order)
{
    switch (order) {
    case Order::colour: return order_by_colour(q, graph);
    case Order::nested_dissection: return order_by_dissection(q, graph);
    default: return CuthillMcKee(q, graph).order();
    }
}

template Neighbours graph_of(const CpuQueue&, const CsrView<float>&, const Buffer<index_t>&, bool);
template Neighbours graph_of(const CpuQueue&, const CsrView<double>&, const Buffer<index_t>&, bool);

}  // namespace tulle::inline TULLE_ABI::factor
