// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The parts of a hierarchy, and how they are made.
#pragma once

#include <optional>

#include "tulle/amg.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/spmv.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::inline TULLE_ABI::amg {

// The way from a level to the next coarser one. P = (I - w D^-1 A) T, R = P^T, coarse matrix R (A P).
template <class V>
struct Transfer {
    Csr<V> tentative;                         // T
    Csr<V> product;                           // A T; released without prolongator damping
    Csr<V> prolongation, restriction, image;  // P, R, A P
    Buffer<offset_t> source;                  // position in P of each entry of R
    std::optional<spgemm::Plan<V>> smooth, right, left;
    std::optional<spmv::Plan<V>> down, up;

    std::size_t bytes() const;
};

// A level: its matrix, what its smoother needs, and vectors of a cycle.
template <class V>
struct LevelData {
    Csr<V> own;  // empty on the finest level, whose matrix is the caller's
    CsrView<V> a;
    std::optional<spmv::Plan<V>> multiply;
    Buffer<V> diagonal, inverse, bound;
    double spectral_radius = 0, largest = 0;      // of D^-1 A, estimated; upper end of the smoother's interval
    bool positive = true;                         // all diagonal entries are
    std::optional<sptrsv::Plan<V>> lower, upper;  // triangles of a, for Gauss-Seidel
    Buffer<V> r, z, residual, direction;
    Csr<V> solution;  // inverse of the coarsest matrix with all its entries; empty where that would be too large
    std::optional<spmv::Plan<V>> direct;  // multiplies with it
    std::optional<Transfer<V>> next;

    std::size_t bytes() const;
};

// Diagonal and bounds of a level; on the finest level every diagonal entry must be positive and every entry finite.
template <class V>
void inspect(const Context& ctx, LevelData<V>& level, const Options& options, bool finest);

// Triangular solves for Gauss-Seidel, where the diagonal allows them; new values where there are some already.
template <class V>
void prepare_triangles(const Context& ctx, LevelData<V>& level);

// Aggregates, and the tentative prolongator with the near null space of the next level (`near_null` is replaced); no
// entries where nothing can be aggregated.
template <class V>
Csr<V> aggregate(const Context& ctx, const LevelData<V>& level, double strength, index_t vectors, Buffer<V>& near_null);

// P, R and the matrix of the next level, whose patterns are new or, if `fresh` is not set, kept.
template <class V>
void coarsen(const Context& ctx, LevelData<V>& level, const Options& options, bool fresh, Csr<V>& coarse);

// The inverse of a small matrix, all entries stored; computed on the host. Directions in which the matrix is singular
// are left out.
template <class V>
Csr<V> invert_dense(const Context& ctx, const CsrView<V>& a);

}  // namespace tulle::inline TULLE_ABI::amg
