// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SpMM on a team: C = alpha op(A) B + beta C on several GPUs, several streams of one, several CPU queues, or a
/// mixture.
/// @code
/// const auto team = tulle::Team::cuda({0, 1, 2, 3});
/// auto plan = tulle::spmm::TeamPlan<float>::make(team, A.view(), {.product = {.n = 128}});  // A on the host
/// plan.run(B, C);                                                                           // B and C on the host,
/// plan.run_on(0, 1, B, 0, C);                                                               // or with member 0
/// @endcode
/// Split by rows, every member has rows of op(A) with its share of nonzeros and rows, gets all of B, and computes these
/// rows of C. Split by columns, every member has all of A, and gets and computes its own columns. C is gathered where
/// the caller's is; members on a CPU use the arrays of the host in place. A row is never split between members: where
/// they use the row kernel (always on a CPU and in full precision, and in deterministic teams), C split by rows has the
/// bits of one device, for any number of members. Panels on tensor cores put rows together by member, so that the last
/// bits of C depend on their number.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/spmm.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI::spmm {

/// How the product is divided among the members.
enum class SplitBy {
    automatic,  ///< what moves fewer bytes to the members; rows in a deterministic team
    rows,       ///< rows of op(A) and C: every member gets all of B
    columns,    ///< columns of B and C: every member gets all of A, once
};
/// Name of a split.
TULLE_API std::string to_text(SplitBy split);
/// The split of that name.
/// @throws ValueError (with the names) if there is none.
TULLE_API SplitBy parse_split(std::string_view name);

/// The product and the team: what choose_split() depends on. Members on the host read A and B in place, so that nothing
/// moves to them.
struct SplitFeatures {
    index_t rows = 0;             ///< rows of op(A)
    index_t cols = 0;             ///< columns of op(A)
    offset_t nonzeros = 0;        ///< stored entries
    index_t n = 32;               ///< columns of B
    std::size_t value_bytes = 8;  ///< bytes of a value
    int members = 1;              ///< number of members
    int devices = 0;              ///< members with memory of their own
    double expected_calls = 100;  ///< runs that will follow
};

/// A split and the reason for it.
struct SplitChoice {
    SplitBy split = SplitBy::rows;  ///< the decision
    double by_rows = 0;             ///< bytes of A and B moved to the members in a call by rows, A once for all calls
    double by_columns = 0;          ///< the same by columns
    std::string why;                ///< one sentence
};

/// Selects a split: columns only if they move less and leave every member rows of B that fill a memory transaction.
/// Pure.
TULLE_API SplitChoice choose_split(const SplitFeatures& question);

/// Options of TeamPlan::make() and multiply().
struct TeamOptions {
    Options product = {};  ///< of the whole product; every member chooses a kernel for its part unless one is forced
    SplitBy split = SplitBy::automatic;  ///< how the product is divided
    std::vector<int> shares = {};        ///< of the members; empty: equal. {1, 3} gives the second three quarters
};

/// The part of one member.
struct TeamPart {
    std::string where = {};   ///< context: "cuda:1"
    index_t first_row = 0;    ///< first row of op(A)
    index_t rows = 0;         ///< rows of op(A)
    offset_t nonzeros = 0;    ///< nonzeros of the part
    index_t columns = 0;      ///< columns of B that it multiplies, of those expected
    std::size_t bytes = 0;    ///< held in the memory of the member
    std::string policy = {};  ///< its policy; empty: it has nothing to do
};

/// An SpMM prepared for a team and one matrix on the host.
///
/// A plan keeps the view: the caller's arrays must stay in place while the plan is used. After their values have
/// changed, call update_values(). One thread at a time may use a plan.
/// @tparam V value type of A and B: float, double, Float16 or Bfloat16.
/// @tparam C value type of C: V, or float with Float16 and Bfloat16.
template <class V, class C = V>
class TULLE_API TeamPlan {
    static_assert(detail::require_dense_values<V, C>());

public:
    using Scalar = Sum<V>;  ///< type of alpha and beta

    /// Splits the product, copies the parts of A to the members and prepares them.
    /// @param team the members; the plan keeps copies of their contexts.
    /// @param a the matrix, on the host.
    /// @param options see TeamOptions.
    /// @throws ValueError if the matrix is not valid or an option is out of range.
    /// @throws ShapeError if the number of shares is not that of members.
    /// @throws OutOfMemory if a member cannot hold its part.
    static TeamPlan make(const Team& team, const AnyCsr<V>& a, const TeamOptions& options = {});

    /// C = alpha op(A) B + beta C with B and C on the host; waits.
    /// @param alpha 0: neither A nor B is used.
    /// @param b cols() rows, on the host.
    /// @param beta 0: C is not read.
    /// @param c rows() rows, on the host; must not overlap B.
    /// @throws ShapeError if sizes or leading dimensions do not fit; ValueError if B and C overlap or are null.
    void run(Scalar alpha, const DenseView<const V>& b, Scalar beta, const DenseView<C>& c);
    /// C = op(A) B with B and C on the host; as above.
    void run(const DenseView<const V>& b, const DenseView<C>& c) { run(Scalar(1), b, Scalar(0), c); }

    /// C = alpha op(A) B + beta C with B and C in the memory of one member. On a GPU the work is queued with the
    /// members: later work on the stream of that member follows it. Matrices without gaps between rows (columns) are
    /// copied between GPUs in one piece, others row by row (column by column).
    /// @throws ValueError if there is no such member, or as run(); ShapeError as run(); DeviceError if B or C is in
    /// other memory.
    void run_on(int member, Scalar alpha, const DenseView<const V>& b, Scalar beta, const DenseView<C>& c);

    /// New values for the same pattern; no new cuts. The pattern is not compared.
    /// @param a the matrix with the new values, on the host; kept as a view.
    /// @throws PlanMismatch if shape or number of nonzeros differ.
    void update_values(const AnyCsr<V>& a);

    /// Rows of op(A).
    index_t rows() const;
    /// Columns of op(A).
    index_t cols() const;
    /// Number of members.
    int members() const;
    /// The policy in use: the options of make(), with the split that was chosen. The policies of the members' kernels
    /// are in TeamPart::policy.
    const TeamOptions& policy() const;
    /// What the split was chosen by.
    const SplitFeatures& features() const;
    /// Rows or columns, and why.
    const SplitChoice& choice() const;
    /// The parts of the members.
    std::vector<TeamPart> parts() const;
    /// The largest part divided by the mean, in rows and nonzeros, or in columns.
    double imbalance() const;
    /// Bytes exchanged since the plan was made or reset_traffic().
    partition::Traffic traffic() const;
    /// Sets traffic() to zero.
    void reset_traffic();
    /// Bytes held by all members together, and on the host for them.
    std::size_t bytes() const;
    /// Split, traffic and the parts of the members, in several lines.
    std::string describe() const;

private:
    struct State;
    explicit TeamPlan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// C = alpha op(A) B + beta C, once, with all arrays on the host; waits. For several products make a TeamPlan.
/// @param team the members.
/// @param a a view of the matrix: CsrView or Csr32View.
/// @param alpha 0: neither A nor B is used.
/// @param b dense matrix of the value type of A.
/// @param beta 0: C is not read.
/// @param c dense matrix of that type, or float with Float16 and Bfloat16; must not overlap B.
/// @param options see TeamOptions; n, b_layout and expected_calls follow from the arguments.
/// @throws ValueError as TeamPlan::make() and TeamPlan::run().
/// @throws ShapeError as TeamPlan::make() and TeamPlan::run().
/// @throws OutOfMemory as TeamPlan::make() and TeamPlan::run().
template <class View, class C, class V = typename ValueOf<View>::type>
void multiply(const Team& team, const View& a, Sum<V> alpha, const std::type_identity_t<DenseView<const V>>& b,
              Sum<V> beta, const DenseView<C>& c, const TeamOptions& options = {})
{
    if constexpr (detail::check_matrix<View, V, AnyCsr<V>, true>()) {
        TeamOptions once = options;
        once.product.expected_calls = 1;
        once.product.n = b.cols;
        once.product.b_layout = b.layout;
        TeamPlan<V, C>::make(team, a, once).run(alpha, b, beta, c);
    }
}

/// @cond
// Wrong arguments: this overload says what is wrong.
template <class View, class B, class C>
requires(!detail::TakesDense<View, B, C>) void multiply(const Team&, const View&, double, B&&, double, C&&,
                                                        const TeamOptions& = {})
{
    detail::explain_dense<View, B, C>();
}
/// @endcond

}  // namespace tulle::inline TULLE_ABI::spmm
