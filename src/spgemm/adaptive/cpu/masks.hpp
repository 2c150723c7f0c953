// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The pattern of B in words: all columns of a row that lie in the same 64 are one mask. Rows of meshes have runs of
// neighbouring columns; what only concerns columns is then done for several of them at once.
//
//     columns of a row     3 4 5 63 64 70          masks     word 0: bits 3 4 5 63     word 1: bits 0 6
#pragma once

#include <cstdint>

#include "spgemm/steps.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// Masks are kept where there is at most one for so many columns (reasoned: a mask takes 12 bytes to read, two columns
// take 8).
inline constexpr offset_t columns_per_mask = 2;

struct MaskView {
    const offset_t* begin;  // null: there are none
    const index_t* word;
    const std::uint64_t* mask;
};

inline MaskView masks_of(const Workspace& work)
{
    return {work.mask.empty() ? nullptr : work.mask_begin.data(), work.mask_word.data(), work.mask.data()};
}

// visit(word, mask) for every word that a row of B has columns in, ascending. The row is sorted.
template <class V, class Visit>
void for_each_mask(const CsrView<V>& b, offset_t row, Visit&& visit)
{
    const offset_t end = b.row_begin[row + 1];
    for (offset_t l = b.row_begin[row]; l < end;) {
        const index_t word = b.col[l] / 64;
        std::uint64_t mask = 0;
        for (; l < end && b.col[l] / 64 == word; ++l) mask |= std::uint64_t{1} << b.col[l] % 64;
        visit(word, mask);
    }
}

// Makes them, if they are few enough.
template <class V>
void find_masks(const CpuQueue& q, const CsrView<V>& b, Workspace& work);

}  // namespace tulle::inline TULLE_ABI::spgemm
