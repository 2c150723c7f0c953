// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SpMV on a team: y = alpha op(A) x + beta y on several GPUs, several streams of one, several CPU queues, or a mixture
/// (MSREP and beyond).
/// @code
/// const auto team = tulle::Team::cuda({0, 1, 2, 3});
/// auto plan = tulle::spmv::TeamPlan<double>::make(team, A.view());  // A on the host; its parts go to the members
/// plan.run(x, y);                                                   // x and y on the host
///
/// plan.run(1.0, 0.0);                                               // or x and y stay with the members:
/// plan.x(2), plan.y(2);                                             // slices of member 2, in its memory
/// @endcode
/// By default rows are cut so that no part exceeds its share of the nonzeros by more than a hundredth, and only a row
/// too long for that is split between members. x is distributed: every member gets the entries it lacks from the others
/// (halo exchange) and meanwhile multiplies the rows that need none. TeamOptions::paper does as the paper: cuts to the
/// nonzero, all of x for every member. With a deterministic team the bits are the same for any number of members. With
/// alpha == 0, y = beta y, whatever A and x hold.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/spmv.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI::spmv {

/// A matrix in any format that a team takes.
template <class V>
using PartitionableView = std::variant<CsrView<V>, CscView<V>, CooView<V>, Csr32View<V>, Csc32View<V>>;

/// Which entries of x a member gets.
enum class Exchange {
    automatic,  ///< halo, unless that is more than half of what gather moves
    halo,       ///< every member gets the entries of x that it needs
    gather,     ///< every member gets all of x
};

/// Whether rows that need no entries of others are multiplied during the exchange.
enum class Overlap {
    automatic,  ///< on a GPU, where the halo is so large that more launches do not matter
    always,     ///< rows that need nothing from others first
    never,      ///< all rows after the exchange
};

/// Options of TeamPlan::make().
struct TeamOptions {
    Op op = Op::none;                         ///< op(A): A or A transposed
    bool paper = false;                       ///< MSREP: nonzero-exact cuts, x replicated from the host
    Exchange exchange = Exchange::automatic;  ///< which entries of x a member gets
    Overlap overlap = Overlap::automatic;     ///< of the exchange with the rows that do not wait for it
    double tolerance = 0.01;                  ///< fraction by which a part may exceed its share before a row is split
    std::vector<int> nodes = {};              ///< NUMA node of every member; empty: the machine is asked
    bool checked = true;  ///< validate the matrix first; sizes and null pointers are checked in any case
};

/// The part of one member.
struct TeamPart {
    std::string where = {};   ///< context: "cuda:1"
    offset_t nonzeros = 0;    ///< nonzeros of the part
    index_t rows = 0;         ///< rows of y that it owns
    offset_t halo = 0;        ///< entries of x that come from other members
    int senders = 0;          ///< number of those members
    offset_t interior = 0;    ///< nonzeros in rows that are multiplied during the exchange
    bool head = false;        ///< it has the rest of a row that another member owns
    std::size_t bytes = 0;    ///< held in the memory of the member
    std::string policy = {};  ///< policies of its pieces, in order
};

/// What the exchange of x was chosen by.
struct ExchangeFeatures {
    index_t rows = 0;       ///< rows of op(A)
    index_t cols = 0;       ///< columns of op(A)
    offset_t nonzeros = 0;  ///< stored entries
    int members = 0;        ///< number of members
    offset_t halo = 0;      ///< entries of x that travel with Exchange::halo; 0 where it cannot be chosen, not counted
    offset_t gather = 0;    ///< entries of x that travel with Exchange::gather
};

/// The connection between members, for predictions: an assumption, not a measurement.
struct Interconnect {
    double bytes_per_second = 400e9;    ///< one way, every member at once: NVLink with 450 GB/s, less protocols
    double seconds_per_message = 5e-6;  ///< latency of a message
};

/// Predicted seconds of a product with distributed vectors, all members at once: the slowest counts. A member takes the
/// time of its part alone, plus what its halo takes beyond the rows multiplied meanwhile. Pure.
/// @param parts as parts() gives them.
/// @param seconds measured time of every part alone.
/// @param value_bytes bytes of a value: 4 or 8.
/// @param wire the connection.
/// @throws ShapeError if there are not as many times as parts.
TULLE_API double predict_seconds(std::span<const TeamPart> parts, std::span<const double> seconds,
                                 std::size_t value_bytes, const Interconnect& wire = {});

/// An SpMV prepared for a team and one matrix on the host.
///
/// A plan keeps the view: the caller's arrays must stay in place while CPU members use them (GPU members have copies).
/// After their values have changed, call update_values(). One thread at a time may use a plan.
/// @tparam V value type of matrix and vectors: float or double.
template <class V>
class TULLE_API TeamPlan {
    static_assert(detail::require_value<V>());

public:
    /// Splits the matrix, copies the parts to the members and prepares them.
    /// @param team the members; the plan keeps copies of their contexts.
    /// @param a the matrix, on the host.
    /// @param options see TeamOptions.
    /// @throws ValueError if the matrix is not valid, or TeamOptions::paper is set for a deterministic team.
    /// @throws ShapeError if the number of TeamOptions::nodes is not that of members.
    /// @throws OutOfMemory if a member cannot hold its part.
    static TeamPlan make(const Team& team, const PartitionableView<V>& a, const TeamOptions& options = {});

    /// y = alpha op(A) x + beta y with vectors on the host; waits. Allocates nothing.
    /// @param alpha 0: neither A nor x is used.
    /// @param x cols() entries on the host.
    /// @param beta 0: y is not read.
    /// @param y rows() entries on the host; must not overlap x.
    /// @throws ShapeError if x or y has the wrong size; ValueError if they overlap or are null.
    void run(V alpha, std::span<const V> x, V beta, std::span<V> y);
    /// y = op(A) x with vectors on the host; as above.
    void run(std::span<const V> x, std::span<V> y) { run(V(1), x, V(0), y); }

    /// y = alpha op(A) x + beta y with the distributed vectors x() and y(). The work is queued with the members;
    /// synchronize() waits for it.
    void run(V alpha, V beta);
    /// The slice of x of a member, in its memory. If op(A) is square, x and y are cut alike.
    /// @throws ValueError if there is no such member.
    std::span<V> x(int member);
    /// The slice of y of a member, in its memory.
    /// @throws ValueError if there is no such member.
    std::span<V> y(int member);
    /// Position in x where the slice of a member begins.
    /// @throws ValueError if there is no such member.
    index_t x_begin(int member) const;
    /// Position in y where the slice of a member begins.
    /// @throws ValueError if there is no such member.
    index_t y_begin(int member) const;
    /// Waits for the work of all members.
    /// @throws DeviceError if the work failed.
    void synchronize() const;

    /// The product of one member, alone and without any exchange: for timing parts. Asynchronous on a GPU.
    /// @throws ValueError if there is no such member.
    void run_on(int member, V alpha, V beta);

    /// New values for the same pattern; no new cuts. The pattern is not compared.
    /// @param a the matrix with the new values, on the host; kept as a view.
    /// @throws PlanMismatch if format, shape or number of nonzeros differ.
    void update_values(const PartitionableView<V>& a);

    /// Rows of op(A).
    index_t rows() const;
    /// Columns of op(A).
    index_t cols() const;
    /// Number of members.
    int members() const;
    /// Whether every member gets all of x.
    bool gathers() const;
    /// The policy in use: the options of make(), with the exchange that was chosen. Where the overlap is automatic,
    /// every member chooses (TeamPart::interior); the policies of their kernels are in TeamPart::policy.
    const TeamOptions& policy() const;
    /// What the exchange was chosen by.
    const ExchangeFeatures& features() const;
    /// The parts of the members.
    std::vector<TeamPart> parts() const;
    /// Nonzeros of the largest part divided by the mean.
    double imbalance() const;
    /// Bytes exchanged since the plan was made or reset_traffic().
    partition::Traffic traffic() const;
    /// Sets traffic() to zero.
    void reset_traffic();
    /// Bytes held by all members together, and by offsets widened on the host.
    std::size_t bytes() const;
    /// Cuts, exchange and the parts of the members, in several lines.
    std::string describe() const;

private:
    struct State;
    explicit TeamPlan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

}  // namespace tulle::inline TULLE_ABI::spmv
