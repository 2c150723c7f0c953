// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The twin of rma10 (FEM/Harbor): a shallow-water mesh whose columns have one layer or three, with different numbers of
// unknowns.
#include <array>

#include "io/generators/kinds.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

constexpr index_t harbor_lines = 298, harbor_width = 33, harbor_rows = 46'835;

// Unknowns of the layers of a column; 0 where there is no such layer.
using Layers = std::array<index_t, 3>;

constexpr Layers layers_of(index_t y)
{
    return y < 4 ? Layers{5, 6, 5} : y < 26 ? Layers{3, 4, 3} : y < 66 ? Layers{4, 3, 4} : Layers{3, 0, 0};
}
constexpr index_t layer_count(index_t y) { return y < 66 ? 3 : 1; }
constexpr bool runs_back(index_t y) { return y % 2 == 1 && y >= 66 && y < 120; }

struct Node {
    index_t x, y, layer;
};

// Nodes in the order of their unknowns: line by line, column by column, layer by layer.
struct Harbor {
    std::vector<Node> node;
    std::vector<index_t> line_begin;  // first node of a line
    std::vector<index_t> first;       // first unknown of a node, and one past the last
    std::vector<index_t> owner;       // node of an unknown

    Harbor()
    {
        for (index_t y = 0; y < harbor_lines; ++y) {
            line_begin.push_back(static_cast<index_t>(node.size()));
            for (index_t k = 0; k < harbor_width; ++k)
                for (index_t layer = 0; layer < layer_count(y); ++layer)
                    add({runs_back(y) ? harbor_width - 1 - k : k, y, layer});
        }
        first.push_back(static_cast<index_t>(owner.size()));
    }

    index_t number(const Node& at) const
    {
        const index_t place = runs_back(at.y) ? harbor_width - 1 - at.x : at.x;
        return line_begin[static_cast<std::size_t>(at.y)] + place * layer_count(at.y) + at.layer;
    }
    index_t node_of(index_t unknown) const { return owner[static_cast<std::size_t>(unknown)]; }
    index_t begin(index_t at) const { return first[static_cast<std::size_t>(at)]; }

private:
    void add(const Node& at)
    {
        first.push_back(static_cast<index_t>(owner.size()));
        const index_t unknowns = layers_of(at.y)[static_cast<std::size_t>(at.layer)];
        owner.insert(owner.end(), static_cast<std::size_t>(unknowns), static_cast<index_t>(node.size()));
        node.push_back(at);
    }
};

// Nodes are linked if x, y and layer differ by at most 1.
Pattern harbor_graph(const Maker& m, const Harbor& harbor)
{
    const index_t nodes = static_cast<index_t>(harbor.node.size());
    return from_rows(m, nodes, nodes, [&](index_t u, auto&& emit) {
        const Node& at = harbor.node[static_cast<std::size_t>(u)];
        for (index_t y = std::max(0, at.y - 1); y <= std::min(harbor_lines - 1, at.y + 1); ++y)
            for (index_t x = std::max(0, at.x - 1); x <= std::min(harbor_width - 1, at.x + 1); ++x)
                for (index_t layer = std::max(0, at.layer - 1); layer <= std::min(layer_count(y) - 1, at.layer + 1);
                     ++layer)
                    emit(harbor.number({x, y, layer}));
    });
}

}  // namespace

Made make_rma10(const Maker& m)
{
    const Harbor harbor;
    return {expand(m, harbor_graph(m.quiet(), harbor), harbor, harbor_rows)};
}

}  // namespace tulle::inline TULLE_ABI::io::detail
