// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The computation graph: rows are merged into nodes, a node needs the nodes its rows need, and its level is one above
// the highest of those.
#pragma once

#include <cstdint>

#include "sptrsv/analysis/triangle.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

inline constexpr int most_rows = 32;       // of a node: a warp's lanes
inline constexpr offset_t long_row = 256;  // rows with more entries stay alone: one would hold up 31 others

// Rows of a node ascend. Consecutive merges number nodes in the order of their rows, clusters and chains in the order
// of their first rows.
struct Graph {
    index_t nodes = 0, levels = 0;
    Buffer<index_t> node_of;         // of each row
    Buffer<index_t> level;           // of each node, from 1: first `nodes` entries
    Buffer<index_t> size;            // rows of each node, likewise; empty where each row is alone
    Buffer<std::uint16_t> position;  // of each row among its node's; empty likewise

    index_t level_of(index_t row) const { return level.data()[node_of.data()[row]]; }
};

Graph merge(const CpuQueue& host, const Triangle& t, Merge how, int rows = 1, int limit = 0);

// Each row alone, from the level of each.
Graph rows_alone(const CpuQueue& host, Buffer<index_t> level);

// The ten features; `graph` is the one without merging.
Features features_of(const Triangle& t, const Graph& graph);

// … from whole numbers that can be added up in any order: over all rows, and the entries of each level, diagonals
// included.
inline constexpr unsigned long long near_unit = 1ull << 32;
struct RowSums {
    unsigned long long squares, dependency_nearness;  // dependency_nearness in parts of near_unit, each rounded down
    unsigned long long longest, levels;
};
Features features_from(index_t rows, offset_t nonzeros, const RowSums& sums,
                       const std::vector<unsigned long long>& of_level);

// Things in the order of their bins, ascending inside each: bin b holds item[begin[b]] … item[begin[b+1]-1].
struct Bins {
    Buffer<index_t> begin, item;
};
Bins sort_into(const CpuQueue& host, const index_t* bin, index_t items, index_t bins);

// The rows of each node.
Bins rows_of_nodes(const CpuQueue& host, const Graph& graph);

}  // namespace tulle::inline TULLE_ABI::sptrsv
