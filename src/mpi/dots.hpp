// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Several reproducible dot products with one reduction.
#pragma once

#include <span>

#include "solve/parts/part.hpp"
#include "tulle/cluster.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::mpi {

// Local parts of two vectors.
template <class V>
using VectorPair = solve::parts::VectorPair<const V*>;

// result[k] = x · y of the k-th pair; local parts have n entries. Collective; waits.
template <class V>
void dots(const Cluster& cluster, offset_t n, std::span<const VectorPair<V>> pairs, double* result);

}  // namespace tulle::inline TULLE_ABI::mpi
