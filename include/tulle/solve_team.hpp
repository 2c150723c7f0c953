// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solvers on a team: A x = b on several GPUs, several streams of one, several CPU queues, or a mixture.
/// @code
/// const auto team = tulle::Team::cuda({0, 1, 2, 3});
/// auto plan = tulle::solve::TeamPlan<double>::make(team, A.view(), {.method = tulle::solve::Method::cg});
/// const tulle::solve::Report r = plan.solve(b, x);  // A, b and x on the host
///
/// plan.solve();                                     // or b and x stay with the members:
/// plan.b(2), plan.x(2);                             // slices of member 2, in its memory
/// @endcode
/// Methods, reasons and reports are those of tulle/solve.hpp. Products are those of tulle/spmv_team.hpp, dot products
/// are reproducible sums: with None and Jacobi the bits are the same for any number of members. Every other
/// preconditioner is applied to the diagonal block of each member (block Jacobi), so that iterations and bits depend on
/// the number of members.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/csr.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/solve.hpp"
#include "tulle/spmv_team.hpp"
#include "tulle/team.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::solve {

/// A solver prepared for a team and one matrix on the host.
///
/// A plan keeps the view: the caller's arrays must stay in place while the plan is used. After their values have
/// changed, call update_values(). One thread at a time may use a plan.
/// @tparam V float or double.
template <class V>
class TULLE_API TeamPlan {
    static_assert(detail::require_value<V>());

public:
    /// Looks at the matrix, chooses what the recipe leaves open, splits the matrix, copies the parts to the members and
    /// sets up their preconditioners and vectors.
    /// @param team the members; the plan keeps copies of their contexts.
    /// @param a the matrix, on the host; kept as a view.
    /// @param recipe see Recipe. The method must be cg, minres, bicgstab, gmres or fgmres; unknowns_per_node must be 1;
    /// check_every is not used, as the host sees every iteration.
    /// @throws ShapeError if the matrix is not square.
    /// @throws ValueError if the matrix is not valid or has NaN or infinity, if the recipe is wrong, or if the
    /// preconditioner cannot be made (zero or missing diagonal, singular block; member and row are named).
    /// @throws OutOfMemory if a member cannot hold its part.
    static TeamPlan make(const Team& team, const AnyCsr<V>& a, const Recipe& recipe = {});

    /// Solves A x = b with vectors on the host; waits. A solve that does not converge is not an exception: the report
    /// has the reason, as for Plan::solve().
    /// @param b rows() entries on the host.
    /// @param x rows() entries on the host; must not overlap b. Not read unless Recipe::guess.
    /// @param observe called after every iteration; may be empty.
    /// @return the same report for any number of members where the bits are the same, but for its times.
    /// @throws ShapeError if b or x has the wrong size.
    /// @throws ValueError if b and x overlap or are null, or if the last update_values() failed half-way.
    /// @throws OutOfMemory if another method had to be tried and its vectors do not fit, or a GPU has no room for a
    /// sum.
    Report solve(std::span<const V> b, std::span<V> x, const Observer& observe = {});
    /// Solves A x = b with the distributed vectors b() and x(); waits for the result.
    /// @param observe called after every iteration; may be empty.
    /// @throws ValueError if the last update_values() failed half-way.
    /// @throws OutOfMemory if another method had to be tried and its vectors do not fit.
    Report solve(const Observer& observe = {});
    /// The slice of b of a member, in its memory. It begins at begin(member).
    /// @throws ValueError if there is no such member.
    std::span<V> b(int member);
    /// The slice of x of a member, in its memory. It begins at begin(member).
    /// @throws ValueError if there is no such member.
    std::span<V> x(int member);
    /// The first row of a member.
    /// @throws ValueError if there is no such member.
    index_t begin(int member) const;

    /// New values, perhaps at other addresses, for the same pattern; no new cuts, method and kind of preconditioner
    /// stay.
    /// @param a the matrix with the new values, on the host; kept as a view.
    /// @throws PlanMismatch if shape or number of nonzeros differ, ValueError if a value is not finite: the plan is as
    /// before.
    /// @throws ValueError if a preconditioner cannot be made of the new values, or OutOfMemory: solve() then throws
    /// until a later call succeeds.
    void update_values(const AnyCsr<V>& a);

    /// The policy in use: the recipe with method, preconditioner and Stop::relative filled in.
    const Recipe& policy() const;
    /// What was seen of the matrix.
    const Features& features() const;
    /// The choice, the reason, the parts of the members and the memory kept, in several lines.
    std::string describe() const;
    /// Bytes held by all members together, and on the host, in addition to the caller's matrix.
    std::size_t bytes() const;
    /// Rows and columns of A.
    index_t rows() const;
    /// The same as rows().
    index_t cols() const { return rows(); }
    /// Number of members.
    int members() const;
    /// The parts of the members in products with A.
    std::vector<spmv::TeamPart> parts() const;
    /// Bytes that products with A exchanged since the plan was made or reset_traffic().
    partition::Traffic traffic() const;
    /// Sets traffic() to zero.
    void reset_traffic();

private:
    struct State;
    explicit TeamPlan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

}  // namespace tulle::inline TULLE_ABI::solve
