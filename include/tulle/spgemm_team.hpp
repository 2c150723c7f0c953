// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SpGEMM on a team: C = op(A) op(B) on several GPUs, several streams of one, several CPU queues, or a mixture
/// (DeltaSPARSE's global task schedule).
/// @code
/// const auto team = tulle::Team::cuda({0, 1, 2, 3});
/// auto C = tulle::spgemm::multiply(team, A.view(), B.view());  // all three on the host
///
/// auto plan = tulle::spgemm::TeamPlan<double>::make(team, A.view(), B.view());
/// auto C     = plan.run();                                     // gathered on the host,
/// auto there = plan.run_on(0);                                 // in the memory of member 0,
/// auto parts = plan.run_parts();                               // or left with the members, from first_row(m) on
/// @endcode
/// Rows are divided twice: for the symbolic phase by their products, for the numeric phase by their nonzeros. Rows of C
/// are never split, so every row is summed as on one device: teams of one kind of device give the same bits for any
/// number of members (unless a policy is forced that adds in no fixed order; deterministic contexts refuse it). Every
/// member has all of B and its rows of A; members on a CPU use the caller's arrays.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

/// How the cuts between the parts are found; both ways give the same cuts.
enum class CutMethod {
    search,  ///< a binary search for every part: O(parts log rows)
    scan,    ///< algorithm 3 of DeltaSPARSE: every row tests whether a part begins there, O(parts rows), in parallel
};

/// Options of TeamPlan::make() and multiply().
struct TeamOptions {
    Op op_a = Op::none;                               ///< op(A): A or A transposed
    Op op_b = Op::none;                               ///< op(B): B or B transposed
    std::optional<Policy> force = {};                 ///< for every member; it must work on each
    bool sorted = true;                               ///< columns of C ascend in every row
    NumericReuse refill = NumericReuse::find_places;  ///< what members keep of their products for run_parts(parts)
    CutMethod cut_method = CutMethod::search;         ///< how the cuts are found
    bool take_turns = false;  ///< members work one after the other: their times are those of each alone
    bool checked = true;      ///< validate the matrices first; sizes and null pointers are always checked
};

/// The part of one member.
struct TeamPart {
    std::string where = {};       ///< context: "cuda:1"
    index_t symbolic_rows = 0;    ///< rows of its symbolic phase
    index_t numeric_rows = 0;     ///< rows of its numeric phase
    offset_t products = 0;        ///< products of the rows it counts
    offset_t nonzeros = 0;        ///< nonzeros of the rows it fills
    offset_t moved = 0;           ///< nonzeros of A in rows that it fills and another member has counted
    std::size_t bytes = 0;        ///< held in the memory of the member
    double symbolic_seconds = 0;  ///< time of make(), without transfers to and from the host
    double numeric_seconds = 0;   ///< time of the last run, without transfers to and from the host
    std::string policy = {};      ///< its policy
};

/// An SpGEMM prepared for a team: counted, cut for the numeric phase, rows of A and all of B with the members.
///
/// A and B are on the host and must stay in place while the plan is used. After their values have changed, call
/// update_values(). One thread at a time may use a plan. All members of the class wait for their results.
/// @tparam V value type of all matrices: float or double.
template <class V>
class TULLE_API TeamPlan {
    static_assert(detail::require_value<V>());

public:
    /// Copies the matrices to the members, counts the nonzeros of C, and cuts its rows.
    /// @param team the members; the plan keeps copies of their contexts.
    /// @param a the matrix A, on the host.
    /// @param b the matrix B, on the host.
    /// @param options see TeamOptions.
    /// @throws ShapeError if the columns of op(A) are not as many as the rows of op(B).
    /// @throws ValueError if a matrix is not valid, or TeamOptions::force or refill cannot work.
    /// @throws OutOfMemory if a member cannot hold its part.
    static TeamPlan make(const Team& team, const AnyCsr<V>& a, const AnyCsr<V>& b, const TeamOptions& options = {});

    /// C on the host.
    /// @throws OutOfMemory if C does not fit.
    Csr<V> run();
    /// C in the memory of one member.
    /// @throws ValueError if there is no such member; OutOfMemory if C does not fit.
    Csr<V> run_on(int member);
    /// The rows of C where they are computed, one matrix for each member; part m begins at row first_row(m).
    /// @throws OutOfMemory if a part does not fit.
    std::vector<Csr<V>> run_parts();
    /// Computes the values of parts that run_parts() gave again, in place.
    /// @throws PlanMismatch if their number or sizes differ.
    void run_parts(std::vector<Csr<V>>& parts);
    /// First row of the part of a member; first_row(members()) is rows().
    /// @throws ValueError if there is no such member.
    index_t first_row(int member) const;

    /// New values for the same patterns; no new cuts. The patterns are not compared.
    /// @param a the matrix A with the new values, on the host; kept as a view.
    /// @param b the matrix B with the new values, on the host; kept as a view.
    /// @throws PlanMismatch if shapes or numbers of nonzeros differ.
    void update_values(const AnyCsr<V>& a, const AnyCsr<V>& b);

    /// Rows of C.
    index_t rows() const;
    /// Columns of C.
    index_t cols() const;
    /// Number of multiplications.
    offset_t products() const;
    /// Nonzeros of C, exact.
    offset_t nonzeros() const;
    /// Number of members.
    int members() const;
    /// The policy in use: the options of make(). Rows are always cut by products and by nonzeros; the policies that the
    /// members have chosen are in TeamPart::policy.
    const TeamOptions& policy() const;
    /// Sizes of the whole product. Members choose by them, each for its own device.
    const Features& features() const;
    /// The parts of the members.
    std::vector<TeamPart> parts() const;
    /// Products of the largest part of the symbolic phase divided by the mean.
    double symbolic_imbalance() const;
    /// Nonzeros of the largest part of the numeric phase divided by the mean.
    double numeric_imbalance() const;
    /// Bytes exchanged since the plan was made or reset_traffic().
    partition::Traffic traffic() const;
    /// Sets traffic() to zero.
    void reset_traffic();
    /// Bytes held by all members together, and on the host for them.
    std::size_t bytes() const;
    /// The cuts and the parts of the members, in several lines.
    std::string describe() const;

private:
    struct State;
    explicit TeamPlan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// C = op(A) op(B), once, with all matrices on the host; waits. For several products make a TeamPlan.
/// @param team the members.
/// @param a a view of A: CsrView or Csr32View.
/// @param b a view of B, of the same value type.
/// @param options see TeamOptions.
/// @throws ValueError as TeamPlan::make() and TeamPlan::run().
/// @throws ShapeError as TeamPlan::make() and TeamPlan::run().
/// @throws OutOfMemory as TeamPlan::make() and TeamPlan::run().
template <class A, class B, class V = typename ValueOf<A>::type>
Csr<V> multiply(const Team& team, const A& a, const B& b, const TeamOptions& options = {})
{
    if constexpr (detail::check_factors<A, B, V>()) return TeamPlan<V>::make(team, a, b, options).run();
    else return {};
}

}  // namespace tulle::inline TULLE_ABI::spgemm
