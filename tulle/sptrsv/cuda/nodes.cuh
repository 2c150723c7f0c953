// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a sweep finds of each row, in one word, and the nodes of a triangle's rows as kernels see them: chains, or rows alone.
#pragma once

#include "tulle/device/cuda/kernel.cuh"
#include "tulle/sptrsv/steps.hpp"

namespace tulle::sptrsv {

// From the top: level of the chain, its first row, place in it, level of the row alone. The latest of a chain is the largest; 0: not known yet.
using Standing = unsigned long long;
constexpr int level_bits = 16, place_bits = 5, first_bits = 27;
constexpr Standing most_place = (1ull << place_bits) - 1;  // nobody can follow
constexpr Standing chain_bits = level_bits + place_bits, first_mask = ((1ull << first_bits) - 1) << chain_bits;
static_assert(2 * level_bits + place_bits + first_bits == 64 && most_rows == most_place + 1);
static_assert(most_levels_swept == (1 << level_bits) - 1 && most_rows_swept == (1 << first_bits));

__device__ inline Standing standing_of(Standing chain_level, index_t first, Standing place, Standing level)
{
    return (chain_level << (first_bits + chain_bits)) | (static_cast<Standing>(first) << chain_bits) | (place << level_bits) | level;
}
__device__ inline Standing level_of(Standing s) { return s & most_levels_swept; }
__device__ inline Standing place_of(Standing s) { return (s >> level_bits) & most_place; }
__device__ inline index_t first_of(Standing s) { return static_cast<index_t>((s & first_mask) >> chain_bits); }
__device__ inline Standing chain_level_of(Standing s) { return s >> (first_bits + chain_bits); }

struct NodesView {
    const Standing* standing;
    const index_t* size;                                   // null: rows alone

    __device__ index_t level_of(index_t row) const { return static_cast<index_t>(size ? chain_level_of(standing[row]) : sptrsv::level_of(standing[row])); }
    __device__ index_t first_of(index_t row) const { return size ? sptrsv::first_of(standing[row]) : row; }
    __device__ index_t rows_of(index_t first) const { return size && size[first] > 0 ? size[first] : 1; }
    __device__ index_t place_of(index_t row) const { return first_of(row) == row ? 0 : static_cast<index_t>(sptrsv::place_of(standing[row])); }
};

inline NodesView view_of(const Swept& swept, bool chains) { return {swept.standing.data(), chains ? swept.size.data() : nullptr}; }

}  // namespace tulle::sptrsv
