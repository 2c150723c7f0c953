// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// y = alpha op(A) x + beta y on a team: several GPUs, several streams of one, several CPU queues, or a mixture (MSREP
// and beyond).
//
//     const auto team = tulle::Team::cuda({0, 1, 2, 3});
//     auto plan = tulle::spmv::TeamPlan<double>::make(team, A.view());  // A on the host; its parts go to the members
//     plan.run(x, y);                                                   // x and y on the host
//
//     plan.multiply(1.0, 0.0);                                          // or x and y stay with the members:
//     plan.x(2), plan.y(2);                                             // member 2's slices, in its memory
//
// By default rows are cut so that no part exceeds its share of the nonzeros by more than a hundredth, and only a row
// too long for that is split between members; x lies distributed, every member asks the others for the entries it lacks
// and multiplies the rows that need none meanwhile. TeamOptions::paper does what the paper does: cuts to the nonzero,
// all of x for everybody. With a deterministic team the bits are the same for any number of members. With alpha == 0, y
// = beta y, whatever A and x hold.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/spmv.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI::spmv {

template <class V>
using PartableView = std::variant<CsrView<V>, CscView<V>, CooView<V>, Csr32View<V>, Csc32View<V>>;

enum class Exchange {
    automatic,  // halo, unless that is more than half of what gather moves
    halo,       // every member gets the entries of x it needs
    gather,     // every member gets all of x
};

enum class Overlap {
    automatic,  // on a GPU, where the halo is so large that more launches do not show
    always,     // rows that need nothing from others before the others
    never,      // all rows at once
};

struct TeamOptions {
    Op op = Op::none;
    bool paper = false;  // MSREP: nonzero-exact cuts, x replicated from the host, columns stay columns
    Exchange exchange = Exchange::automatic;
    Overlap overlap = Overlap::automatic;  // of the exchange with the rows that do not wait for it
    double tolerance = 0.01;               // by how much a part may exceed its share before a row is split
    std::vector<int> nodes = {};           // the NUMA node of every member; empty: the machine is asked
    bool checked = true;  // validate the matrix first; sizes and null pointers are looked at in any case
};

// One member's part, for people and for tests.
struct PartReport {
    std::string where = {};  // "cuda:1"
    offset_t nonzeros = 0;
    index_t rows = 0;          // of y, owned
    offset_t halo = 0;         // entries of x that come from others, …
    int senders = 0;           // … from so many of them
    offset_t interior = 0;     // nonzeros in rows that are multiplied meanwhile
    bool head = false;         // it has the rest of a row that another member owns
    std::size_t bytes = 0;     // held in the member's memory
    std::string kernels = {};  // of its pieces, in order
};

// What connects the members, for predictions: a stated assumption, not a measurement.
struct Wire {
    double bytes_per_second =
        400e9;  // one way, every member at once: an NVLink generation of 450 GB/s, less what protocols take
    double seconds_per_message = 5e-6;
};

// How long a product with distributed vectors takes if all members work at once: each needs the time its part takes
// alone (`seconds`, one for every part, measured), and what its halo takes beyond the rows multiplied meanwhile. The
// slowest counts. Pure.
TULLE_API double predict_seconds(std::span<const PartReport> parts, std::span<const double> seconds,
                                 std::size_t value_bytes, const Wire& wire = {});

// Keeps the view: the caller's arrays must stay in place while CPU members use them (GPU members have their own); after
// their values have changed, call update_values(). Not for use by two threads at once.
template <class V>
class TULLE_API TeamPlan {
public:
    static TeamPlan make(const Team& team, const PartableView<V>& a, const TeamOptions& options = {});
    TeamPlan(TeamPlan&&) noexcept;
    TeamPlan& operator=(TeamPlan&&) noexcept;
    ~TeamPlan();

    // Vectors on the host; waits. Allocates nothing.
    void run(V alpha, std::span<const V> x, V beta, std::span<V> y);
    void run(std::span<const V> x, std::span<V> y) { run(V(1), x, V(0), y); }

    // Vectors with the members: member m has x(m) from x_begin(m) on, and y likewise; if A is square both are cut
    // alike. The work is put on the members' queues; synchronize() waits for it.
    void multiply(V alpha, V beta);
    std::span<V> x(int member);
    std::span<V> y(int member);
    index_t x_begin(int member) const;
    index_t y_begin(int member) const;
    void synchronize() const;

    // What one member multiplies, alone and without any exchange: for timing parts.
    void multiply_part(int member, V alpha, V beta);

    // Same pattern, new numbers; no new cuts. PlanMismatch if format, shape or nonzeros differ.
    void update_values(const PartableView<V>& a);

    index_t rows() const;  // of op(A)
    index_t cols() const;
    int members() const;
    bool gathers() const;  // all of x goes to everybody
    std::vector<PartReport> parts() const;
    double imbalance() const;            // largest part beside the mean, in nonzeros
    partition::Traffic traffic() const;  // since the plan was made or reset
    void reset_traffic();
    std::size_t bytes() const;  // held by all members together, and offsets widened on the host
    std::string describe() const;

private:
    struct State;
    explicit TeamPlan(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace tulle::inline TULLE_ABI::spmv
