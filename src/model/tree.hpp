// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A decision tree: features in, one of a few classes out. Trees are learned by tools/train from measured runs and kept
// as text in data/models/.
//
//     # why these numbers: density.md
//     tulle tree 1
//     features density row_mean
//     classes plain grouped
//     split 0 density 0.076 1 2          node 0: to node 1 where density <= 0.076, else to node 2
//     leaf 1 plain
//     leaf 2 grouped
//
// Nodes are numbered in the order of their lines, the root is 0, every other node is the child of exactly one node
// before it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::model {

class TULLE_API Tree {
public:
    static constexpr int most_depth =
        4;  // splits between the root and a leaf (DeltaSPARSE, section on the decision tree)

    // FormatError names the file (`name`) and the line. A tree that parses chooses for any finite features.
    static Tree parse(std::string_view text, std::string_view name);
    static Tree load(const std::string& path);  // from a file, for experiments

    // The class, as a place in classes(). A NaN goes where larger numbers go. ShapeError unless there are as many
    // numbers as features().
    int choose(std::span<const double> features) const;

    const std::vector<std::string>& features() const { return features_; }
    const std::vector<std::string>& classes() const { return classes_; }
    int depth() const;  // of the deepest leaf; 0: a leaf alone
    std::size_t nodes() const { return nodes_.size(); }

private:
    struct Node {
        int feature = -1;  // -1: a leaf
        double limit = 0;
        int low = -1, high = -1;  // children; of a leaf: `low` is its class
        int depth = 0;
    };
    std::vector<std::string> features_, classes_;
    std::vector<Node> nodes_;

    friend struct TreeReader;
};

}  // namespace tulle::inline TULLE_ABI::model
