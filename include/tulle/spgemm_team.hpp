// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// C = op(A) op(B) on a team: several GPUs, several streams of one, several CPU queues, or a mixture (DeltaSPARSE's
// global task schedule).
//
//     const auto team = tulle::Team::cuda({0, 1, 2, 3});
//     auto C = tulle::spgemm::multiply(team, A.view(), B.view());  // all three on the host
//
//     auto plan = tulle::spgemm::TeamPlan<double>::make(team, A.view(), B.view());
//     auto C     = plan.run();                                     // gathered on the host, …
//     auto there = plan.run_on(0);                                 // … in member 0's memory, …
//     auto parts = plan.run_parts();                               // … or left with the members: parts[m] begins at
//                                                                  // first_row(m)
//
// Rows are dealt out twice: for counting by their products, for filling by their nonzeros. Rows of C are never split,
// so every row is summed as it would be on one device: teams of one kind of device give the same bits for any number of
// members (unless a policy is forced that adds in no fixed order; deterministic contexts refuse it). Every member has
// all of B and its rows of A; members on a CPU use the caller's arrays.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// How the rows of C are split among the devices; both ways give the same split.
enum class Cutting {
    search,  // a binary search for every part: O(parts log rows)
    scan,    // DeltaSPARSE's algorithm 3: every row asks whether one of the parts begins there, O(parts rows), in
             // parallel
};

struct TeamOptions {
    Op op_a = Op::none, op_b = Op::none;
    std::optional<Policy> force = {};                 // for every member; it must exist on each
    bool sorted = true;                               // columns of C must ascend in every row
    NumericReuse refill = NumericReuse::find_places;  // what members keep of their products for run_parts(parts)
    Cutting cutting = Cutting::search;
    bool take_turns = false;  // members work one after the other: their times are what each would take alone
    bool checked = true;      // validate the matrices first; sizes and null pointers are looked at in any case
};

// One member's part, for people and for tests.
struct TeamPart {
    std::string where = {};  // "cuda:1"
    index_t counted_rows = 0, filled_rows = 0;
    offset_t products = 0;  // of the rows it counts
    offset_t nonzeros = 0;  // of the rows it fills
    offset_t moved = 0;     // nonzeros of A in rows that it fills and another has counted
    std::size_t bytes = 0;  // held in the member's memory
    double count_seconds = 0,
           fill_seconds = 0;  // of make() and of the last run, without what is sent to and from the host
    std::string policy = {};
};

// A product prepared for a team: counted, cut for filling, rows of A and all of B with the members. A and B are on the
// host and must stay in place while the plan is used; after their values have changed, call update_values(). Not for
// use by two threads at once.
template <class V>
class TULLE_API TeamPlan {
public:
    static TeamPlan make(const Team& team, const AnyCsr<V>& a, const AnyCsr<V>& b, const TeamOptions& options = {});
    TeamPlan(TeamPlan&&) noexcept;
    TeamPlan& operator=(TeamPlan&&) noexcept;
    ~TeamPlan();

    Csr<V> run();                                // C on the host
    Csr<V> run_on(int member);                   // C in the memory of one member
    std::vector<Csr<V>> run_parts();             // its rows where they were computed, one matrix a member
    void run_parts(std::vector<Csr<V>>& parts);  // the values of parts that run_parts() gave again, in place;
                                                 // PlanMismatch if their sizes are others
    index_t first_row(int member) const;         // of its part; first_row(members()) is rows()

    // Same patterns, new numbers; no new cuts. PlanMismatch if shapes or nonzeros differ.
    void update_values(const AnyCsr<V>& a, const AnyCsr<V>& b);

    index_t rows() const;  // of C
    index_t cols() const;
    offset_t products() const;
    offset_t nonzeros() const;  // of C, exact
    int members() const;
    std::vector<TeamPart> parts() const;
    double count_imbalance() const;      // the largest part beside the mean, in products …
    double fill_imbalance() const;       // … and in nonzeros
    partition::Traffic traffic() const;  // since the plan was made
    std::string describe() const;

private:
    struct State;
    explicit TeamPlan(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// C = op(A) op(B), once; all on the host.
template <class A, class B, class V = typename ValueOf<A>::type>
Csr<V> multiply(const Team& team, const A& a, const B& b, const TeamOptions& options = {})
{
    return TeamPlan<V>::make(team, a, b, options).run();
}

}  // namespace tulle::inline TULLE_ABI::spgemm
