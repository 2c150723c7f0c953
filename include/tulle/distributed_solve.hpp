// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Systems of equations with a distributed matrix: Krylov methods and algebraic multigrid.
/// @code
/// auto A = tulle::mpi::DistCsr<double>::read(cluster, "A.mtx");
/// auto report = tulle::mpi::solve(A, b.local(), x.local());
/// @endcode
/// With a preconditioner that does not depend on the cuts, x and residuals have the same bits for any number of ranks
/// and any cuts. Functions are collective unless they say "local".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tulle/amg.hpp"
#include "tulle/api.hpp"
#include "tulle/cluster.hpp"
#include "tulle/dense.hpp"
#include "tulle/distributed.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/solve.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::mpi {

/// Whether a plan can take new values of its matrix.
enum class NewValues {
    possible,  ///< what they need is kept
    never      ///< update_values() is refused; multigrid needs less memory
};

/// A level of AmgPlan, the finest first.
struct AmgLevel {
    global_t rows = 0;           ///< rows of its matrix
    global_t nonzeros = 0;       ///< nonzeros of its matrix
    double spectral_radius = 0;  ///< of D^-1 A, estimated
    bool replicated = false;     ///< every rank has all of it
};

/// The near null space of elasticity for the points of all ranks: amg::rigid_body_modes() about their mean point.
/// @param cluster the ranks.
/// @param coordinates of the points of this rank, a row for each, two or three columns, **on the host**. A rank may
/// have no points.
/// @returns the rows of this rank, in the memory of the context.
/// @throws ShapeError unless there are two or three columns.
/// @throws ValueError if a coordinate is not finite; OutOfMemory. All on all ranks.
template <class V>
TULLE_API Dense<V> rigid_body_modes(const Cluster& cluster, const DenseView<const V>& coordinates);

/// Algebraic multigrid by smoothed aggregation for a distributed matrix, symmetric and positive definite. Aggregates do
/// not cross ranks; prolongator, restriction and coarse matrices do, and are made by distributed products. The first
/// level with at most five times amg::Options::coarse_rows rows, and all below it, are on every rank: the hierarchy of
/// one process, which needs the residual of that level alone. A cluster of one rank has no other levels.
/// @code
/// auto plan = tulle::mpi::AmgPlan<double>::make(A);
/// plan.apply(r.local(), z.local());                   // one cycle from z = 0
/// plan.update_values();                               // after A.values() have changed; patterns are kept
/// std::puts(plan.describe().c_str());
/// @endcode
/// @tparam V float or double.
template <class V>
class TULLE_API AmgPlan {
    static_assert(detail::require_value<V>());

public:
    /// Builds the hierarchy; keeps the matrix.
    /// @param a the matrix, its columns distributed as its rows.
    /// @param options as for one process, the same on all ranks. Gauss-Seidel sweeps over the rows of each rank alone.
    /// @param near_null_space vectors that the matrix maps to almost zero, as columns: the rows of this rank, row-major
    /// without gaps, in the memory of the context; not kept. Without any: a constant for each unknown of a node. For
    /// elasticity: rigid_body_modes().
    /// @param new_values never: the products of the setup are released on the way, as soon as nothing needs them.
    /// @throws ShapeError if A is not square, columns are not distributed as rows, or the vectors have another number
    /// of rows, or of columns on another rank.
    /// @throws ValueError if a diagonal entry is missing, zero or negative (it names rank and row), an entry is not
    /// finite, an option is out of range, coarsening is classical with several ranks, or a node is cut; OutOfMemory.
    static AmgPlan make(const DistCsr<V>& a, const amg::Options& options = {},
                        const DenseView<const V>& near_null_space = {}, NewValues new_values = NewValues::possible);

    /// Takes the new values of the matrix (DistCsr::values()) to all levels. Aggregates and all patterns are kept, and
    /// only values are sent.
    /// @throws ValueError as make(), on all ranks: the plan cannot be applied until it gets values that can be used.
    /// Also if it was made for NewValues::never; it stays as it is then.
    void update_values();

    /// z = one cycle for A z = r from z = 0: a symmetric operator, but for amg::Cycle::k.
    /// @param r the local part.
    /// @param z the local part; must not overlap r.
    /// @throws ShapeError if sizes do not fit; ValueError if r and z overlap; only on the ranks concerned.
    /// @throws ValueError if the last update_values() failed.
    void apply(std::span<const V> r, std::span<V> z);

    /// The policy in use: the options of make(). Local.
    const amg::Options& policy() const;
    /// The levels, the finest first. Local.
    const std::vector<AmgLevel>& levels() const;
    /// Nonzeros of the matrices of all levels, each counted once, over those of the finest. Local.
    double operator_complexity() const;
    /// Bytes that the plan holds on this rank: all levels, but the finest matrix, which is the caller's. Local.
    std::size_t bytes() const;
    /// Levels, rows, nonzeros, where they are, complexity and smoother, in several lines. Local.
    std::string describe() const;

private:
    struct State;
    explicit AmgPlan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// Options of solve().
struct SolveOptions {
    /// cg (symmetric positive definite), minres (symmetric), bicgstab, gmres or fgmres.
    solve::Method method = solve::Method::cg;
    /// Amg: AmgPlan, with the number type of the matrix. Others are applied to the diagonal block of each rank (block
    /// Jacobi). None and Jacobi do not depend on the cuts, the others do: with them, iterations and bits depend on the
    /// number of ranks, with Amg hardly the iterations.
    solve::Preconditioner preconditioner = solve::Jacobi{};
    bool local_amg = false;  ///< Amg is applied to the diagonal block of each rank too
    int restart = 30;        ///< gmres, fgmres: vectors kept before a restart
    solve::Stop stop = {};   ///< when to end; `seconds` is not used, as clocks of ranks differ
    bool guess = false;      ///< x has a first guess; otherwise it is not read
    /// Neighbouring rows that belong to one node (amg::Options); no node may be cut.
    index_t unknowns_per_node = 1;
    NewValues new_values = NewValues::possible;  ///< whether SolvePlan::update_values() will be called
};

/// A system of equations that is solved again and again: the preconditioner is made once, and takes new values of the
/// matrix without new patterns, as in time steps.
/// @code
/// auto plan = tulle::mpi::SolvePlan<double>::make(A, {.preconditioner = tulle::solve::Amg{}});
/// for (...) {
///     plan.solve(b.local(), x.local());
///     ...                                             // change A.values()
///     plan.update_values();
/// }
/// @endcode
/// @tparam V float or double.
template <class V>
class TULLE_API SolvePlan {
    static_assert(detail::require_value<V>());

public:
    /// Makes the preconditioner; keeps the matrix.
    /// @param a the matrix, square, its columns distributed as its rows.
    /// @param options see SolveOptions.
    /// @param near_null_space for Amg, as AmgPlan::make() takes it.
    /// @throws ShapeError if A is not square, columns are not distributed as rows, or the vectors do not fit.
    /// @throws ValueError if the options are wrong, the method is not one of those, A has NaN or infinity, or the
    /// preconditioner cannot be made; OutOfMemory.
    static SolvePlan make(const DistCsr<V>& a, const SolveOptions& options = {},
                          const DenseView<const V>& near_null_space = {});

    /// Solves A x = b. A solve that does not converge is not an exception: the report has the reason, as for
    /// solve::Plan::solve().
    /// @param b the local part.
    /// @param x the local part; must not overlap b.
    /// @return the same report on all ranks, but for its times.
    /// @throws ShapeError if sizes do not fit, on all ranks.
    /// @throws ValueError if b and x overlap, or the last update_values() failed.
    solve::Report solve(std::span<const V> b, std::span<V> x);

    /// Takes the new values of the matrix (DistCsr::values()).
    /// @throws ValueError if A has NaN or infinity, or the preconditioner cannot be made, on all ranks: solve() then
    /// throws until there are values that can be used. Also with NewValues::never.
    void update_values();

    /// The policy in use, as a recipe for one process: method, preconditioner, stopping rules. Local.
    const solve::Recipe& policy() const;
    /// Bytes that the plan holds on this rank: product, preconditioner, and vectors but those of the method. Local.
    std::size_t bytes() const;
    /// Ranks, method, preconditioner, in several lines. Local.
    std::string describe() const;

private:
    struct State;
    explicit SolvePlan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// Solves A x = b once: SolvePlan with NewValues::never. A is square and distributed like its columns. A solve that
/// does not converge is not an exception: the report has the reason, as for solve::Plan::solve().
/// @param a the matrix.
/// @param b the local part.
/// @param x the local part; must not overlap b.
/// @param options see SolveOptions.
/// @return the same report on all ranks, but for its times.
/// @throws ShapeError if A is not square, columns are not distributed as rows, or sizes do not fit.
/// @throws ValueError if the options are wrong, the method is not one of those, A has NaN or infinity, or the
/// preconditioner cannot be made; OutOfMemory.
template <class V>
TULLE_API solve::Report solve(const DistCsr<V>& a, std::span<const std::type_identity_t<V>> b,
                              std::span<std::type_identity_t<V>> x, const SolveOptions& options = {});

}  // namespace tulle::inline TULLE_ABI::mpi
