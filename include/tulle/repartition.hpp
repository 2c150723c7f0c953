// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The rows of a distributed matrix in another order, by which ranks need less from each other.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/csr.hpp"
#include "tulle/distributed.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::mpi {

/// Rows in another order, cut into parts.
struct RowOrder {
    std::vector<index_t> order;  ///< row order[k] comes k-th; inside a part, rows keep their order
    Cuts cuts;                   ///< where parts begin in the new order
};

/// Parts of rows by METIS: about equally many rows and nonzeros together, and few columns that other parts need. METIS
/// is loaded when this is called (libmetis.so.5, or the library that the environment variable TULLE_METIS names).
/// Deterministic. Local.
/// @param a a square matrix on the host.
/// @param parts how many; with one, or as many as rows, the order stays.
/// @throws ShapeError if A is not square; NotBuilt if METIS cannot be loaded; ValueError if it cannot take the graph.
template <class V>
TULLE_API RowOrder metis_order(const CsrView<V>& a, int parts);

/// A distributed matrix whose rows and columns are in another order, that of METIS or of parts that the caller has, so
/// that ranks need less from each other. The order is kept: vectors move there and back.
/// @code
/// auto parts = tulle::mpi::Repartition<double>::make(A);
/// tulle::mpi::DistVector<double> x(cluster, parts.matrix().col_cuts()), y(cluster, parts.matrix().row_cuts());
/// parts.move(my_x, x);
/// tulle::mpi::SpmvPlan<double>::make(parts.matrix()).run(x.local(), y.local());
/// parts.move_back(y, my_y);
/// @endcode
/// @tparam V float or double.
template <class V>
class TULLE_API Repartition {
    static_assert(detail::require_value<V>());

public:
    /// Distributes a copy of the matrix by parts of METIS, which rank 0 finds: it gathers the pattern and the values.
    /// Entries of rows keep their order: with the same lanes, products have the bits of the given matrix.
    /// @throws ShapeError if A is not square or its columns are distributed otherwise than its rows; others as
    /// metis_order(), on all ranks.
    static Repartition make(const DistCsr<V>& a);
    /// The same by parts that the caller has, as those of ptscotch_parts() (tulle/ptscotch.hpp). Rows go from rank to
    /// rank; none has all of them.
    /// @param a the matrix.
    /// @param part the rank that gets each row of this rank.
    /// @throws ShapeError as above, and if there are more or fewer parts than rows.
    /// @throws ValueError if there is no such rank, or a rank gets more than 2^31 - 2 rows; OutOfMemory. All on all
    /// ranks.
    static Repartition make(const DistCsr<V>& a, std::span<const int> part);

    /// The matrix in the new order. Local.
    const DistCsr<V>& matrix() const;
    /// Numbers in the caller's order of the rows that this rank has now, ascending. Local.
    std::span<const global_t> rows() const;
    /// Brings a vector with the cuts of the given matrix to the new order.
    /// @throws ShapeError if a vector has other cuts.
    void move(const DistVector<V>& x, DistVector<V>& moved) const;
    /// Brings a vector with the cuts of matrix() to the caller's order.
    /// @throws ShapeError if a vector has other cuts.
    void move_back(const DistVector<V>& y, DistVector<V>& original) const;

private:
    struct State;
    explicit Repartition(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

}  // namespace tulle::inline TULLE_ABI::mpi
