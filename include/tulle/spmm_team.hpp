// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// C = alpha op(A) B + beta C on a team: several GPUs, several streams of one, several CPU queues, or a mixture.
//
//     const auto team = tulle::Team::cuda({0, 1, 2, 3});
//     auto plan = tulle::spmm::TeamPlan<float>::make(team, A.view(), {.product = {.n = 128}});  // A on the host; parts
//                                                                                               // go to the members
//     plan.run(B, C);                                                                           // B and C on the host,
//                                                                                               // …
//     plan.run_on(0, 1, B, 0, C);                                                               // … or in the memory
//                                                                                               // of member 0
//
// Split by rows, every member has rows of op(A) with its share of nonzeros and rows, gets all of B, and computes these
// rows of C. Split by columns, every member has all of A and gets and computes its own columns. C comes together where
// the caller's lies; members on a CPU use the host's arrays where they are. A row is never split between members: where
// they multiply by rows (always on a CPU and in full precision, and in deterministic teams), C split by rows has the
// bits of one device, for any number of members. Panels on tensor cores put rows together by member, so that the last
// bits of C depend on their number.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/spmm.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI::spmm {

enum class SplitBy {
    automatic,  // what moves fewer bytes to the members; rows in a deterministic team
    rows,       // of op(A) and C: all of B for everybody
    columns,    // of B and C: all of A for everybody, once
};
TULLE_API std::string to_text(SplitBy split);
TULLE_API SplitBy parse_split(std::string_view name);  // ValueError lists the names

// What the choice between rows and columns looks at. Members on the host read A and B where they are, so that nothing
// moves to them.
struct SplitQuestion {
    index_t rows = 0, cols = 0;  // of op(A)
    offset_t nonzeros = 0;
    index_t n = 32;  // columns of B
    std::size_t value_bytes = 8;
    int members = 1, devices = 0;  // devices: members with memory of their own
    double expected_calls = 1000;
};

struct SplitChoice {
    SplitBy split = SplitBy::rows;
    double by_rows = 0,
           by_columns = 0;  // bytes of A and B that a call moves to the members; A counts once for all calls
    std::string why;
};

// Pure. Columns only if they move less and leave every member rows of B that fill what memory delivers at once.
TULLE_API SplitChoice choose_split(const SplitQuestion& question);

struct TeamOptions {
    Options product = {};  // of the whole product; every member chooses a kernel for its part unless one is forced
    SplitBy split = SplitBy::automatic;
    std::vector<int> shares = {};  // of the members, if they are not alike: {1, 3} gives the second three quarters
};

// One member's part, for people and for tests.
struct TeamPart {
    std::string where = {};           // "cuda:1"
    index_t first_row = 0, rows = 0;  // of op(A)
    offset_t nonzeros = 0;
    index_t columns = 0;      // of B that it multiplies of those expected
    std::size_t bytes = 0;    // held in the member's memory
    std::string policy = {};  // empty: it has nothing to do
};

// A product prepared for a team and one matrix on the host, whose arrays must stay in place while the plan is used;
// after their values have changed, call update_values(). Not for use by two threads at once.
template <class V, class C = V>
class TULLE_API TeamPlan {
public:
    using Scalar = Sum<V>;

    static TeamPlan make(const Team& team, const AnyCsr<V>& a, const TeamOptions& options = {});
    TeamPlan(TeamPlan&&) noexcept;
    TeamPlan& operator=(TeamPlan&&) noexcept;
    ~TeamPlan();

    // B and C on the host; waits. Allocates nothing.
    void run(Scalar alpha, const DenseView<const V>& b, Scalar beta, const DenseView<C>& c);
    void run(const DenseView<const V>& b, const DenseView<C>& c) { run(Scalar(1), b, Scalar(0), c); }

    // B and C in the memory of one member. On a GPU the work is put on the members' queues: what comes next on that
    // member's comes after it. Matrices without gaps between lines travel between GPUs in one piece, others line by
    // line.
    void run_on(int member, Scalar alpha, const DenseView<const V>& b, Scalar beta, const DenseView<C>& c);

    // Same pattern, new numbers; no new cuts. PlanMismatch if shape or nonzeros differ.
    void update_values(const AnyCsr<V>& a);

    index_t rows() const;  // of op(A)
    index_t cols() const;
    int members() const;
    const SplitChoice& choice() const;  // rows or columns, and why
    std::vector<TeamPart> parts() const;
    double imbalance() const;            // the largest part beside the mean: rows and nonzeros, or columns
    partition::Traffic traffic() const;  // since the plan was made or reset
    void reset_traffic();
    std::size_t bytes() const;  // held by all members together, and on the host for them
    std::string describe() const;

private:
    struct State;
    explicit TeamPlan(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// C = alpha op(A) B + beta C, once; all on the host.
template <class View, class C, class V = typename ValueOf<View>::type>
void multiply(const Team& team, const View& a, Sum<V> alpha, const std::type_identity_t<DenseView<const V>>& b,
              Sum<V> beta, const DenseView<C>& c, const TeamOptions& options = {})
{
    TeamOptions once = options;
    once.product.expected_calls = 1;
    once.product.n = b.cols;
    once.product.b_layout = b.layout;
    TeamPlan<V, C>::make(team, a, once).run(alpha, b, beta, c);
}

}  // namespace tulle::inline TULLE_ABI::spmm
