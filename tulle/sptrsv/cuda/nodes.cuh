// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a triangle's rows, as kernels see them: chains, or rows alone.
#pragma once

#include "tulle/device/cuda/kernel.cuh"
#include "tulle/sptrsv/steps.hpp"

namespace tulle::sptrsv {

using Standing = unsigned long long;                       // level, first row of the chain, place in it; 0: not known yet
constexpr Standing most_place = (1ull << place_bits) - 1;  // of a row that nobody may follow
constexpr Standing chain_mask = (Standing{most_rows_there} - 1) << place_bits;

__device__ inline Standing standing_of(index_t level, index_t first, Standing place)
{
    return (static_cast<Standing>(level) << (place_bits + chain_bits)) | (static_cast<Standing>(first) << place_bits) | place;
}
__device__ inline index_t level_of(Standing s) { return static_cast<index_t>(s >> (place_bits + chain_bits)); }
__device__ inline index_t first_of(Standing s) { return static_cast<index_t>((s & chain_mask) >> place_bits); }
__device__ inline Standing place_of(Standing s) { return s & most_place; }

struct NodesView {
    const index_t* level;                                  // of each row alone; null where there are chains
    const Standing* standing;
    const index_t* size;

    __device__ index_t level_of(index_t row) const { return standing ? sptrsv::level_of(standing[row]) : level[row]; }
    __device__ index_t first_of(index_t row) const { return standing ? sptrsv::first_of(standing[row]) : row; }
    __device__ index_t rows_of(index_t first) const { return standing && size[first] > 0 ? size[first] : 1; }
    __device__ index_t place_of(index_t row) const { return first_of(row) == row ? 0 : static_cast<index_t>(sptrsv::place_of(standing[row])); }
};

inline NodesView view_of(const NodesThere& nodes)
{
    if (nodes.chains) return {nullptr, nodes.chains->standing.data(), nodes.chains->size.data()};
    return {nodes.level, nullptr, nullptr};
}

}  // namespace tulle::sptrsv
