// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What counting and filling share in nsparse: the hash table, and the walk over a row's products. A warp owns a row and
// takes one nonzero of A after the other, or a block does and each of its warps takes one.
#pragma once

#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/nsparse/groups.hpp"

namespace tulle::inline TULLE_ABI::spgemm::nsparse {

inline constexpr unsigned hash_constant = 0x9E3779B1u;

// A table in shared or in global memory; `entries` is a power of two.
template <bool Global>
struct Keys {
    index_t* key;
    unsigned entries;

    __device__ index_t look(unsigned at) const
    {
        if constexpr (Global) return load_relaxed(key + at);
        else return peek(key + at);
    }

    // Slot -1: the table is full.
    __device__ Found insert(index_t col) const
    {
        return insert_from(static_cast<unsigned>(col) * hash_constant & (entries - 1), entries, entries, key, col,
                           [&](unsigned at) { return look(at); });
    }
};

// visit(k, l) for every nonzero k of the row of A and every nonzero l of the row of B it asks for.
template <int Team, class V, class Visit>
__device__ inline void walk_products(const CsrView<V>& a, const CsrView<V>& b, index_t row, Visit&& visit)
{
    const int warp = team_rank<Team>() / 32, lane = team_rank<Team>() % 32;
    const offset_t end = a.row_begin[row + 1];
    for (offset_t k = a.row_begin[row] + warp; k < end; k += Team / 32) {
        const offset_t last = b.row_begin[a.col[k] + 1];
        for (offset_t l = b.row_begin[a.col[k]] + lane; l < last; l += 32) visit(k, l);
    }
}

}  // namespace tulle::inline TULLE_ABI::spgemm::nsparse
