// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Nodes of several unknowns each, numbered one after another: two nodes are connected if two of their unknowns are, as
// strongly as the strongest of these connections. Comparisons are exact: the same nodes on every backend.
#pragma once

#include "amg/rows.hpp"

namespace tulle::inline TULLE_ABI::amg {

// The connections of unknowns, columns in ascending order, of which the nodes are made.
template <class V>
struct UnknownGraph {
    Graph strong;
    const V* weight;
    index_t unknowns;  // of a node
    offset_t* at;      // room for a position in each row

    // visit(node, weight) for every other node that is connected to `node`, in ascending order.
    template <class Visit>
    constexpr void each_neighbour(offset_t node, const Visit& visit) const
    {
        const offset_t first = node * unknowns, last = first + unknowns;
        for (offset_t i = first; i < last; ++i) at[i] = strong.begin[i];
        for (index_t next = next_node(first, last); next != max_index; next = next_node(first, last)) {
            const V weight_of_next = take(first, last, next);
            if (next != node) visit(next, weight_of_next);
        }
    }

private:
    constexpr index_t next_node(offset_t first, offset_t last) const
    {
        index_t next = max_index;
        for (offset_t i = first; i < last; ++i) {
            if (at[i] == strong.begin[i + 1]) continue;
            const index_t node = strong.col[at[i]] / unknowns;
            next = node < next ? node : next;
        }
        return next;
    }
    // Goes past the connections to a node; the strongest of them.
    constexpr V take(offset_t first, offset_t last, index_t node) const
    {
        V most = 0;
        for (offset_t i = first; i < last; ++i)
            for (; at[i] < strong.begin[i + 1] && strong.col[at[i]] / unknowns == node; ++at[i])
                most = weight[at[i]] > most ? weight[at[i]] : most;
        return most;
    }
};

template <class V>
struct CountNodeNeighbours {
    UnknownGraph<V> graph;
    offset_t* count;

    constexpr void operator()(offset_t node) const
    {
        offset_t n = 0;
        graph.each_neighbour(node, [&n](index_t, V) { ++n; });
        count[node] = n;
    }
};

template <class V>
struct FillNodeNeighbours {
    UnknownGraph<V> graph;
    const offset_t* begin;
    index_t* col;
    V* weight;

    constexpr void operator()(offset_t node) const
    {
        offset_t to = begin[node];
        graph.each_neighbour(node, [&to, this](index_t neighbour, V w) {
            col[to] = neighbour;
            weight[to++] = w;
        });
    }
};

// Unknown i is where its node is.
struct SpreadAggregates {
    const index_t* of_node;
    index_t unknowns;
    index_t* of_row;

    constexpr void operator()(offset_t i) const { of_row[i] = of_node[i / unknowns]; }
};

// The near null space if none is given: a vector for each unknown of a node, 1 where that unknown is; row-major.
template <class V>
struct SetTranslations {
    index_t unknowns;
    V* to;

    constexpr void operator()(offset_t i) const
    {
        for (index_t c = 0; c < unknowns; ++c) to[i * unknowns + c] = i % unknowns == c ? V(1) : V(0);
    }
};

}  // namespace tulle::inline TULLE_ABI::amg
