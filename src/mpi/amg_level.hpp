// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A distributed level of multigrid, and how the next one is made.
#pragma once

#include <optional>

#include "amg/setup.hpp"
#include "mpi/replicated.hpp"
#include "mpi/transposed.hpp"
#include "tulle/distributed_solve.hpp"

namespace tulle::inline TULLE_ABI::mpi {

inline constexpr auto amg_phase = "multigrid setup";

// The way to the next level: P, R = P^T, and R (A P). Without new values, only P, R and the products with vectors are
// kept.
template <class V>
struct AmgTransfer {
    std::optional<DistCsr<V>> tentative;   // T
    std::optional<SpgemmPlan<V>> product;  // A T; none without damping, where P is T
    std::optional<DistCsr<V>> prolongation, restriction;
    std::optional<Transposed<V>> source;  // of R
    std::optional<SpgemmPlan<V>> right, left;
    std::optional<DistCsr<V>> image;  // A P
    std::optional<SpmvPlan<V>> down, up;

    std::size_t bytes() const;
};

// What the cycle uses (amg/cycle.hpp). `a` is the diagonal block where Gauss-Seidel needs it, else it has no arrays.
template <class V>
struct AmgLevelData : amg::LevelRows<V> {
    explicit AmgLevelData(const DistCsr<V>& matrix) : whole(matrix) { this->a.rows = matrix.local().rows; }

    DistCsr<V> whole;
    Csr<V> block;
    std::optional<SpmvPlan<V>> multiply;
    std::optional<Replicated<V>> direct;
    std::optional<AmgTransfer<V>> next;

    // Collective.
    void store_dot(const Context& ctx, const Buffer<V>& x, const Buffer<V>& y, int to);
    // Without the matrix.
    std::size_t bytes() const;
};

// A level while the next one is made: the diagonal block with its diagonal, on the host.
template <class V>
struct AmgSetup {
    Csr<V> block;
    amg::LevelRows<V> rows;
};

// Products, diagonal, bounds and smoother of a level; again: with the new values of its matrix. On the finest level
// every diagonal entry must be positive. Collective, as all that follows.
template <class V>
AmgSetup<V> inspect(AmgLevelData<V>& level, const amg::Options& options, bool finest);

// T of the aggregates of all ranks; these do not cross ranks. near_null becomes that of the next level.
template <class V>
DistCsr<V> aggregate(const AmgLevelData<V>& level, double strength, index_t unknowns, index_t vectors,
                     const AmgSetup<V>& setup, Buffer<V>& near_null);

// P = (I - w D^-1 A) T and R of the level; returns R (A P).
template <class V>
DistCsr<V> coarsen(AmgLevelData<V>& level, const DistCsr<V>& tentative, double damping, const AmgSetup<V>& setup,
                   NewValues new_values);

// New values of P, R and the matrix of the next level.
template <class V>
void refill(AmgLevelData<V>& level, double damping, const AmgSetup<V>& setup, DistCsr<V>& coarse);

}  // namespace tulle::inline TULLE_ABI::mpi
