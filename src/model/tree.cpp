// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reading checks everything that choosing relies on: children come after their parents and exist, so every walk ends at
// a leaf.
#include "model/tree.hpp"

#include <algorithm>
#include <utility>

#include "model/lines.hpp"

namespace tulle::inline TULLE_ABI::model {

struct TreeReader {
    Lines lines;
    Tree tree = {};
    std::vector<bool> is_child = {true};  // the root needs no parent

    static constexpr std::size_t most_nodes = (std::size_t{2} << Tree::most_depth) - 1;
    static constexpr std::size_t most_names = 64;

    std::vector<std::string> names(std::string_view what)
    {
        if (!lines.next() || lines.word(0) != what) lines.fail(concat("a line '", what, " …' belongs here"));
        if (lines.words().size() < 2) lines.fail(concat("no ", what));
        if (lines.words().size() - 1 > most_names) lines.fail(concat("more than ", most_names, " ", what));
        std::vector<std::string> all(lines.words().begin() + 1, lines.words().end());
        for (std::size_t k = 0; k < all.size(); ++k)
            if (std::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(k), all[k]) !=
                all.begin() + static_cast<std::ptrdiff_t>(k))
                lines.fail(concat("'", all[k], "' twice"));
        return all;
    }

    // A child of the node that is being read.
    int child(std::size_t word, int depth)
    {
        const int node = lines.number<int>(word);
        if (node <= static_cast<int>(tree.nodes_.size()) || node >= static_cast<int>(most_nodes))
            lines.fail(concat("node ", node, " cannot be a child of node ", tree.nodes_.size()));
        const auto at = static_cast<std::size_t>(node);
        if (is_child.size() <= at) {
            is_child.resize(at + 1, false);
            depths.resize(at + 1, 0);
        }
        if (is_child[at]) lines.fail(concat("node ", node, " is the child of two nodes"));
        is_child[at] = true;
        depths[at] = depth;
        return node;
    }

    void split(int depth)
    {
        lines.expect(6);
        if (depth >= Tree::most_depth) lines.fail(concat("deeper than ", Tree::most_depth, " splits"));
        Tree::Node node{.feature = static_cast<int>(lines.find(tree.features_, 2, "feature")),
                        .limit = lines.number<double>(3),
                        .depth = depth};
        node.low = child(4, depth + 1);
        node.high = child(5, depth + 1);
        tree.nodes_.push_back(node);
    }

    void leaf(int depth)
    {
        lines.expect(3);
        tree.nodes_.push_back({.low = static_cast<int>(lines.find(tree.classes_, 2, "class")), .depth = depth});
    }

    void node()
    {
        const std::size_t number = tree.nodes_.size();
        if (lines.number<std::size_t>(1) != number) lines.fail(concat("node ", number, " belongs here"));
        if (number >= is_child.size() || !is_child[number]) lines.fail(concat("node ", number, " is nobody's child"));
        const int depth = depths[number];
        if (lines.word(0) == "split") split(depth);
        else if (lines.word(0) == "leaf") leaf(depth);
        else lines.fail(concat("'", lines.word(0), "' is neither split nor leaf"));
    }

    Tree read()
    {
        if (!lines.next() || lines.words() != std::vector<std::string_view>{"tulle", "tree", "1"})
            lines.fail("not a decision tree: the first line must be 'tulle tree 1'");
        tree.features_ = names("features");
        tree.classes_ = names("classes");
        while (lines.next()) node();
        if (tree.nodes_.size() < is_child.size()) lines.fail(concat("node ", tree.nodes_.size(), " is missing"));
        return std::move(tree);
    }

    std::vector<int> depths = {0};
};

Tree Tree::parse(std::string_view text, std::string_view name) { return TreeReader{.lines = Lines(text, name)}.read(); }

Tree Tree::load(const std::string& path) { return parse(read_text(path), path); }

int Tree::choose(std::span<const double> features) const
{
    require(features.size() == features_.size(),
            [&] { return concat("the tree asks for ", features_.size(), " features, not ", features.size()); });
    std::size_t at = 0;
    while (nodes_[at].feature >= 0) {
        const Node& node = nodes_[at];
        at = static_cast<std::size_t>(features[static_cast<std::size_t>(node.feature)] <= node.limit ? node.low
                                                                                                     : node.high);
    }
    return nodes_[at].low;
}

int Tree::depth() const
{
    int most = 0;
    for (const Node& node : nodes_) most = std::max(most, node.depth);
    return most;
}

}  // namespace tulle::inline TULLE_ABI::model
