// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which entries of x a part needs that others own. Columns are renumbered to the part's own x, which holds the entries
// it owns and its halo on both sides of them, in order, so that a part of a large matrix works with a small x and
// sorted rows stay sorted.
#pragma once

#include "partition/halo_steps.hpp"
#include "prim/scan.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::partition {

// The columns of a part that lie outside its own range: number[j] of them come before column j (cols + 1 entries).
struct Outside {
    ColumnRange own;
    Buffer<offset_t> number;
    offset_t count = 0, below = 0;  // all of them, and those below the range
};

// Finds them; waits for their number.
template <class Queue>
Outside find_outside(const Queue& q, const index_t* col, offset_t nonzeros, index_t cols, ColumnRange own)
{
    Outside outside{own, Buffer<offset_t>(q, offset_t{cols} + 1)};
    fill_zero(q, outside.number.data(), outside.number.size());
    mark_outside(q, col, nonzeros, own, outside.number.data());
    prim::exclusive_scan(q, outside.number.data(), outside.number.data(), cols);
    outside.count = read_value(q, outside.number.data() + cols);
    outside.below = read_value(q, outside.number.data() + own.begin);
    return outside;
}

// The halo itself, ascending.
template <class Queue>
Buffer<index_t> list_halo(const Queue& q, const Outside& outside)
{
    Buffer<index_t> halo(q, outside.count);
    list_marked(q, outside.number.data(), static_cast<index_t>(outside.number.size() - 1), halo.data());
    return halo;
}

}  // namespace tulle::inline TULLE_ABI::partition
