// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Items with weights, cut into consecutive parts of like weight: rows by their nonzeros, rows of a product by their
// multiplications, anything by a user's numbers. The weights come as a prefix: prefix[i] is the weight of the items
// before i (items + 1 entries, never falling, first 0), which is what row_begin of a CSR matrix is and what
// prim::exclusive_scan makes.
//
//     const auto cuts = partition::split(ctx, a.row_begin, a.rows, 8);
//     // part p: rows cuts[p].item … cuts[p+1].item - 1
//
// Only O(parts log items) entries of the prefix are read, where it lies. Offsets are 64-bit and no product of two of
// them is ever formed, so nothing overflows.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI::partition {

// Where one part ends and the next begins.
struct Cut {
    offset_t at = 0;    // in the weights: a position among the nonzeros when items are rows
    offset_t item = 0;  // the first item that begins at or behind `at`
    bool inside =
        false;  // `at` lies inside the item before: its beginning belongs to the part before, its rest to the next

    bool operator==(const Cut&) const = default;
};

enum class Rule {
    exact,     // every part has its share to the unit; items are cut where that is needed (the paper's way)
    whole,     // no item is cut: the border nearest to the fair position
    tolerant,  // the nearest border if it is close enough, else the item is cut
};

struct SplitOptions {
    Rule rule = Rule::whole;
    double tolerance = 0.01;       // tolerant: no part exceeds its share by more than this fraction
    std::vector<int> shares = {};  // of every part, if they are not alike: {1, 3} gives the second three quarters
};

// parts + 1 cuts, from the first item to the last; parts may be empty, and there may be more of them than items.
// `prefix` is in the context's memory; waits.
TULLE_API std::vector<Cut> split(const Context& ctx, const offset_t* prefix, offset_t items, int parts,
                                 const SplitOptions& options = {});

// Items of equal weight: as many in every part as the shares say.
TULLE_API std::vector<Cut> split_evenly(offset_t items, int parts, const SplitOptions& options = {});

// Cuts between the same items in another prefix: rows dealt out by their products become a cut of the nonzeros. Cuts
// must be whole.
TULLE_API std::vector<Cut> carry_over(const Context& ctx, std::span<const Cut> cuts, const offset_t* prefix);

// The largest part beside the mean, 1 if all are alike or there is nothing.
TULLE_API double imbalance(std::span<const Cut> cuts);

TULLE_API std::string_view to_text(Rule rule);

}  // namespace tulle::inline TULLE_ABI::partition
