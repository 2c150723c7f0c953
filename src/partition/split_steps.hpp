// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of split() where a queue is at hand: positions of the cuts, what stands around them, and the choice.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "partition/cutting.hpp"
#include "tulle/memory.hpp"
#include "tulle/partition.hpp"

namespace tulle::inline TULLE_ABI::partition {

// The fair positions of all cuts: parts + 1 of them, from 0 to total. ValueError for no parts, or shares that cannot
// be.
TULLE_API std::vector<offset_t> fair_positions(offset_t total, int parts, const SplitOptions& options = {});

// The cuts at those positions, given what stands around them; pure.
TULLE_API std::vector<Cut> choose_cuts(std::span<const SplitCandidate> around, offset_t items,
                                       const SplitOptions& options = {});

// What stands around the fair positions: one look at the prefix, or two where shares differ. Prefix as in
// find_split_candidates; waits.
template <class Queue, class Prefix>
std::vector<SplitCandidate> find_all_candidates(const Queue& q, const Prefix* prefix, offset_t items, int parts,
                                                const SplitOptions& options)
{
    std::vector<offset_t> fair = fair_positions(0, parts, options);  // refuses what cannot be
    Buffer<offset_t> wanted;
    if (!options.shares.empty()) {
        if constexpr (std::is_same_v<Prefix, offset_t>)
            fair = fair_positions(read_value(q, prefix + items), parts, options);
        else fair = fair_positions(items, parts, options);
        wanted = to_queue(q, fair.data(), std::ssize(fair));
    }
    Buffer<SplitCandidate> found(q, std::ssize(fair));
    find_split_candidates(q, prefix, items, wanted.data(), found.size(), found.data());
    std::vector<SplitCandidate> around(fair.size());
    download(q, found.data(), around.data(), found.size());
    return around;
}

// parts + 1 cuts, from the first item to the last; parts may be empty, and there may be more of them than items.
// `prefix` is in the queue's memory; waits.
template <class Queue>
std::vector<Cut> split(const Queue& q, const offset_t* prefix, offset_t items, int parts,
                       const SplitOptions& options = {})
{
    return choose_cuts(find_all_candidates(q, prefix, items, parts, options), items, options);
}

}  // namespace tulle::inline TULLE_ABI::partition
