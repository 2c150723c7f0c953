// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spgemm/deltasparse/deltasparse.hpp"

#include <algorithm>
#include <optional>

#include "model/embedded.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {
namespace {

constexpr std::string_view model_name = "deltasparse_grouping";

const model::Tree* built_in_tree()
{
    static const std::optional<model::Tree> tree = [] {
        const std::string_view text = model::embedded(model_name);
        return text.empty() ? std::nullopt : std::optional(model::Tree::parse(text, model_name));
    }();
    return tree ? &*tree : nullptr;
}

double feature(const Features& f, const std::string& name)
{
    if (name == "density") return f.density;
    if (name == "row_mean") return f.row_mean;
    require<ValueError>(
        name == "row_longest", [&] { return concat("a tree for DeltaSPARSE's groups asks for '", name, "'"); },
        "it may ask for density, row_mean and row_longest");
    return f.row_longest;
}

}  // namespace

bool group_pays(const Features& features, const model::Tree* tree)
{
    if (!tree) return seems_to_pay(features);
    std::vector<double> numbers;
    for (const std::string& name : tree->features()) numbers.push_back(feature(features, name));
    return tree->classes()[static_cast<std::size_t>(tree->choose(numbers))] == "grouped";
}

bool group_pays(const Features& features) { return group_pays(features, built_in_tree()); }

bool shall_group(const Features& features, Grouping grouping)
{
    return grouping == Grouping::learned ? group_pays(features) : grouping == Grouping::grouped;
}

std::string name_of(Phase phase, int group)
{
    const bool counts = phase == Phase::count;
    const Group g =
        counts ? counting[static_cast<std::size_t>(group - 1)] : filling[static_cast<std::size_t>(group - 1)];
    if (g.table == 0) return counts ? "bitmap, a block each" : "array and bitmap, a block each";
    return concat("up to ", g.up_to, counts ? " products" : " nonzeros", ", hash table of ", g.table);
}

std::vector<RowGroup> one_group(const Sizes& sizes, const Features& features)
{
    const auto longest = static_cast<offset_t>(features.row_longest), mean = static_cast<offset_t>(features.row_mean);
    const bool counts = sizes.phase == Phase::count;
    int group = by_size(groups_in(sizes.phase), counts ? std::min(longest, offset_t{sizes.cols}) : longest);
    if (is_dense(mean, sizes.cols, sizes.dense_share)) group = groups_in(sizes.phase);
    std::vector<RowGroup> all(static_cast<std::size_t>(groups_in(sizes.phase)));
    if (longest > 0)
        all[static_cast<std::size_t>(group - 1)] = {concat("all of them alike: ", name_of(sizes.phase, group)), 0,
                                                    sizes.rows};
    return all;
}

std::vector<RowGroup> named_groups(Phase phase, const std::vector<offset_t>& rows)
{
    std::vector<RowGroup> all;
    offset_t begin = rows.front();
    for (std::size_t g = 1; g < rows.size(); ++g) {
        all.push_back({name_of(phase, static_cast<int>(g)), begin, rows[g]});
        begin += rows[g];
    }
    return all;
}

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
