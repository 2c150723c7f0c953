// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Algebraic multigrid by smoothed aggregation or classical interpolation: a preconditioner for symmetric positive
/// definite matrices; float and double.
/// @code
/// auto plan = tulle::amg::Plan<double>::make(ctx, A.view());
/// plan.apply(r.span(), z.span());                     // one cycle from z = 0; allocates nothing
/// plan.update_values(A.view());                       // new values, same pattern: aggregates and patterns are kept
/// std::puts(plan.describe().c_str());
/// @endcode
/// Setup and cycle run where the context works. Arrays are in the memory of the context.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/outline.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/types.hpp"

/// Algebraic multigrid.
namespace tulle::inline TULLE_ABI::amg {

/// The smoothers; before and after the coarse correction together they are symmetric.
enum class Smoother {
    jacobi,     ///< damped by 4/3 over the spectral radius of D^-1 A
    l1_jacobi,  ///< divides by the sums of magnitudes of the rows: converges for every positive definite matrix
    chebyshev,  ///< a Chebyshev polynomial of D^-1 A, of degree Options::degree
    /// Gauss-Seidel by triangular solves, forwards before the coarse correction and backwards after it. A level whose
    /// diagonal has zeros takes jacobi.
    gauss_seidel
};

/// How the next level is made.
enum class Coarsening {
    aggregation,  ///< smoothed aggregation: aggregates of unknowns, a near null space
    classical     ///< a part of the points (PMIS), extended+i interpolation of the others, truncated
};

/// The order in which levels are visited.
enum class Cycle {
    v,  ///< each coarser level once
    w,  ///< each coarser level twice
    /// Two steps of flexible CG on each coarser level, preconditioned by the cycle from there on. Not a linear
    /// operator: for flexible methods (solve::Method::fgmres).
    k
};

/// How a cycle reads the values of the matrices and prolongators of all levels.
enum class Storage {
    full,  ///< in the type of the plan
    /// Float16 times a power of two for each matrix, vectors and sums in float; a matrix whose rows are of too
    /// different size stays in float. For Plan<float>.
    f16,
    bf16  ///< Bfloat16, likewise
};

/// Options of Plan::make().
struct Options {
    Coarsening coarsening = Coarsening::aggregation;  ///< how the next level is made
    double classical_strength = 0.25;  ///< classical: i depends on j if -a_ij >= this times the largest -a_ik
    int interpolation_entries = 4;     ///< classical: the most entries in a row of the interpolation
    /// |a_ij| >= strength sqrt(|a_ii a_jj|): i and j may share an aggregate. Half as much on each coarser level.
    double strength = 0.08;
    Smoother smoother = Smoother::chebyshev;  ///< before and after the coarse correction
    int degree = 2;                           ///< of the Chebyshev polynomial
    int sweeps = 1;                           ///< of the smoothers other than Chebyshev
    Cycle cycle = Cycle::v;                   ///< order of the levels
    double prolongator_damping = 4.0 / 3.0;   ///< over the spectral radius of D^-1 A; 0: plain aggregation
    index_t coarse_rows = 200;                ///< a level with at most so many rows is solved directly
    int most_levels = 20;                     ///< levels in all
    /// Neighbouring rows that belong to one node, such as the displacements at a point: they share an aggregate.
    index_t unknowns_per_node = 1;
    Storage storage =
        Storage::full;    ///< of matrices and prolongators in a cycle; the dense coarsest one stays as it is
    bool checked = true;  ///< validate the matrix first; sizes and null pointers are always checked
};

/// What a hierarchy is made for.
struct Features {
    index_t rows = 0;            ///< rows of the matrix
    offset_t nonzeros = 0;       ///< stored entries of the matrix
    index_t near_null_cols = 0;  ///< vectors of the near null space: those given, or one for each unknown of a node
};

/// A level of the hierarchy, the finest first.
struct Level {
    index_t rows = 0;            ///< rows of its matrix
    offset_t nonzeros = 0;       ///< nonzeros of its matrix
    double spectral_radius = 0;  ///< of D^-1 A, estimated; 0 where it is not needed
    bool in_16_bits = false;     ///< a cycle reads its matrix in 16 bits
};

/// The near null space of elasticity: rigid displacements and rotations of points, which cost no energy. Row
/// `point * dimensions + c` is the displacement in direction c. Rotations are about the mean point and at most 1.
/// @param ctx where the result is.
/// @param coordinates a row for each point, two or three columns, **on the host**.
/// @returns three columns in two dimensions, six in three; row-major without gaps, in the memory of the context.
/// @throws ShapeError unless there are two or three columns.
/// @throws ValueError if a coordinate is not finite.
/// @throws OutOfMemory if the budget or the device does not allow the result.
template <class V>
TULLE_API Dense<V> rigid_body_modes(const Context& ctx, const DenseView<const V>& coordinates);

/// Name of a cycle: "V".
TULLE_API std::string to_text(Cycle cycle);
/// Name of a storage: "full", "f16", "bf16".
TULLE_API std::string to_text(Storage storage);
/// Name of a smoother: "chebyshev".
TULLE_API std::string to_text(Smoother smoother);

/// An AMG hierarchy for one matrix.
///
/// A plan keeps the view: the caller's arrays must stay in place while the plan is used. After their values have
/// changed, call update_values(). One thread at a time may use a plan.
/// @tparam V value type: float or double.
template <class V>
class TULLE_API Plan {
    static_assert(detail::require_value<V>());

public:
    /// Builds the hierarchy; waits.
    /// @param ctx where the arrays are and the work is done; the plan keeps a copy.
    /// @param a the matrix, in the memory of the context; kept as a view. Symmetric; no column may be stored twice.
    /// @param options see Options.
    /// @param near_null_space vectors that the matrix maps to almost zero, as columns, row-major without gaps, in the
    /// memory of the context; not kept. Without any: a constant for each unknown of a node. For elasticity:
    /// rigid_body_modes().
    /// @throws ShapeError if the matrix is not square, or the vectors have another number of rows.
    /// @throws ValueError if the matrix is not valid, an entry is stored twice or not finite, a diagonal entry is
    /// missing, zero or negative (it names the row), or an option is out of range.
    /// @throws OutOfMemory if the budget or the device does not allow what the plan keeps.
    static Plan make(const Context& ctx, const AnyCsr<V>& a, const Options& options = {},
                     const DenseView<const V>& near_null_space = {});

    /// z = one cycle for A z = r from z = 0: a symmetric operator, but for Cycle::k. Allocates nothing. On a GPU the
    /// work is queued on the stream of the context and the call returns at once.
    /// @param r rows() entries in the memory of the context.
    /// @param z rows() entries in the memory of the context; must not overlap r.
    /// @throws ShapeError if r or z has the wrong size.
    /// @throws ValueError if r and z overlap or are null, or the last update_values() failed; DeviceError if they are
    /// in other memory.
    void apply(std::span<const V> r, std::span<V> z) const;

    /// New values, perhaps at other addresses, for the same pattern. Aggregates and all patterns are kept. The pattern
    /// is not compared.
    /// @param a the matrix with the new values; kept as a view.
    /// @throws PlanMismatch if shape or number of nonzeros differ.
    /// @throws ValueError as make(): the plan cannot be applied until it gets values that can be used.
    void update_values(const AnyCsr<V>& a);

    /// The levels, the finest first.
    const std::vector<Level>& levels() const;
    /// Nonzeros of the matrices of all levels over those of the finest.
    double operator_complexity() const;
    /// The policy in use: the options of make(). None of them is chosen by the library, but a level whose diagonal has
    /// zeros takes Smoother::jacobi for gauss_seidel (describe()).
    const Options& policy() const;
    /// What the hierarchy was made for; sizes and spectral radii of all matrices are in levels().
    const Features& features() const;
    /// Levels, rows, nonzeros, complexity, smoother and memory, in several lines.
    std::string describe() const;
    /// Bytes held by the plan in the memory of the context in addition to the caller's matrix.
    std::size_t bytes() const;
    /// Rows of the matrix.
    index_t rows() const;

private:
    friend struct PlanAccess;  // src/amg/level_smoother.hpp
    struct State;
    explicit Plan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

}  // namespace tulle::inline TULLE_ABI::amg
