// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of cutting a matrix, each once per backend. Arrays are in the queue's memory.
#pragma once

#include <span>

#include "prim/search.hpp"
#include "tulle/api.hpp"
#include "tulle/memory.hpp"
#include "tulle/partition.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::partition {

// total * before / all, rounded down, without forming the product. 0 <= before <= all < 2^31.
constexpr offset_t fair_position(offset_t total, offset_t before, offset_t all)
{
    return total / all * before + total % all * before / all;
}

// What stands around a position in a prefix.
struct SplitCandidate {
    offset_t at = 0;     // the position
    offset_t item = 0;   // the first item that begins there or behind it
    offset_t below = 0;  // where the item before it begins (0 if there is none)
    offset_t above = 0;  // where it begins
};

constexpr SplitCandidate around(const offset_t* prefix, offset_t items, offset_t position)
{
    const offset_t item = prim::lower_bound(prefix, items, position);
    return {position, item, item == 0 ? 0 : prefix[item - 1], prefix[item]};
}

// The same for the items of line numbers in ascending order (coordinates sorted by row): item i begins where the
// numbers reach i.
constexpr SplitCandidate around(const index_t* line, offset_t entries, offset_t position)
{
    if (position == 0) return {};
    const index_t before = line[position - 1];
    return {position, offset_t{before} + 1, prim::lower_bound(line, entries, before),
            prim::lower_bound(line, entries, before + 1)};
}

constexpr offset_t total_of(const offset_t* prefix, offset_t items) { return prefix[items]; }
constexpr offset_t total_of(const index_t*, offset_t entries) { return entries; }

// found[i] = around(prefix, items, wanted[i]); without `wanted`, around the fair positions of count - 1 equal parts, so
// that nobody need know the total beforehand. Prefix is offset_t (a prefix of items + 1 entries) or index_t (ascending
// line numbers).
template <class Prefix>
TULLE_API void find_split_candidates(const CpuQueue& q, const Prefix* prefix, offset_t items, const offset_t* wanted,
                                     offset_t count, SplitCandidate* found);
template <class Prefix>
TULLE_API void find_split_candidates(const CudaQueue& q, const Prefix* prefix, offset_t items, const offset_t* wanted,
                                     offset_t count, SplitCandidate* found);

template <class Prefix>
constexpr SplitCandidate around_nth(const Prefix* prefix, offset_t items, const offset_t* wanted, offset_t count,
                                    offset_t i)
{
    return around(prefix, items, wanted ? wanted[i] : fair_position(total_of(prefix, items), i, count - 1));
}

// The local pointer of a part, part.lines() + 1 entries: local[j] = clamp(line_begin[j], part.begin, part.end) -
// part.begin, where line_begin is the slice of the whole pointer that begins at the part's first line. In place (local
// == line_begin) is allowed.
TULLE_API void write_pointer(const CpuQueue& q, const offset_t* line_begin, const Part& part, offset_t* local);
TULLE_API void write_pointer(const CudaQueue& q, const offset_t* line_begin, const Part& part, offset_t* local);

// The local pointers of several parts, one after the other, from the whole pointer.
TULLE_API void write_pointers(const CpuQueue& q, const offset_t* line_begin, std::span<const Part> parts,
                              offset_t* local);
TULLE_API void write_pointers(const CudaQueue& q, const offset_t* line_begin, std::span<const Part> parts,
                              offset_t* local);

// The local pointer of a part from the line numbers of its entries, which ascend.
TULLE_API void find_pointer(const CpuQueue& q, const index_t* line, const Part& part, offset_t* local);
TULLE_API void find_pointer(const CudaQueue& q, const index_t* line, const Part& part, offset_t* local);

// The other way, for the lines the part owns: whole[j] = local[j + (part.head ? 1 : 0)] + part.begin.
TULLE_API void restore_pointer(const CpuQueue& q, const offset_t* local, const Part& part, offset_t* whole);
TULLE_API void restore_pointer(const CudaQueue& q, const offset_t* local, const Part& part, offset_t* whole);

}  // namespace tulle::inline TULLE_ABI::partition
