// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A system of equations on a team as the loop of a solve and the methods see it (solve/loop.hpp,
// solve/parts/methods.hpp): a vector has a part with every member, sums are reproducible and known to the host.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "partition/thread_pool.hpp"
#include "solve/parts/part.hpp"
#include "solve/state.hpp"
#include "tulle/spmv_team.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI::solve::team {

// Parts of a vector, one for each member. data() is an array of their addresses.
template <class V>
class Vector {
public:
    Vector() = default;
    explicit Vector(std::vector<Buffer<V>> parts) : parts_(std::move(parts))
    {
        for (Buffer<V>& part : parts_) addresses_.push_back(part.data());
    }

    V* const* data() { return addresses_.data(); }
    const V* const* data() const { return addresses_.data(); }
    std::span<V> part(int member) { return parts_[static_cast<std::size_t>(member)].span(); }
    std::size_t bytes() const
    {
        std::size_t all = 0;
        for (const Buffer<V>& part : parts_) all += part.bytes();
        return all;
    }

private:
    std::vector<Buffer<V>> parts_;
    std::vector<V*> addresses_;
};

// The addresses of parts, in place of the spans of one device.
template <class P>
class Addresses {
public:
    Addresses(P addresses) : addresses_(addresses) {}
    template <class Q>
    Addresses(const Addresses<Q>& other) : addresses_(other.data())
    {}
    P data() const { return addresses_; }

private:
    P addresses_;
};

template <class V>
class System {
public:
    using Value = V;
    using Vector = team::Vector<V>;
    using In = const V* const*;
    using Out = V* const*;
    using Input = Addresses<In>;
    using Output = Addresses<Out>;

    // The team must be deterministic.
    System(const Context& host, const Team& team, const CsrView<V>& a);

    index_t rows() const { return product.rows(); }
    int members() const { return product.members(); }
    // Makes the preconditioner of every diagonal block.
    void set_up(const CsrView<V>& a, const Preconditioner& wanted);
    void begin(double norm);
    void update_values(const CsrView<V>& a);
    // Without the distributed product: parts, residual, status.
    std::size_t bytes() const;
    // So far, of inner solvers as preconditioners: of the member with the most.
    offset_t inner_iterations() const;

    void multiply(In x, Out y) { multiply(V(1), x, V(0), y); }
    void precondition(In r, Out z);
    void axpby(double alpha, In x, double beta, Out y);
    void copy_vector(In from, Out to);
    void clear(Out x);
    void flip_signs(Out x, int attempt);
    Vector make_vector() const;
    double dot_of(In x, In y);
    void dots_of(std::span<const parts::VectorPair<In>> pairs, double* result);
    double norm_of(In x);
    // r = b - A x, and its norm. zero: x is.
    double compute_residual(Input b, Input x, bool zero, Vector& r);

    void from_host(const V* x, Out to);
    // Waits.
    void to_host(In x, V* to);

    Context ctx;  // of the host
    spmv::TeamPlan<V> product;
    std::vector<parts::Part<V>> part;
    bool plain = false;  // there is no preconditioner
    Vector residual;
    Buffer<Status> status;

private:
    void multiply(V alpha, In x, V beta, Out y);
    // The rows of a member.
    parts::Rows<V> rows_of(const CsrView<V>& a, int member) const;
    // f(part, number) for every member, each on a thread of its own.
    template <class F>
    void each(const F& f) const
    {
        crew_->run([&](int member) { f(part[static_cast<std::size_t>(member)], member); });
    }
    template <class F>
    void each(const F& f)
    {
        crew_->run([&](int member) { f(part[static_cast<std::size_t>(member)], member); });
    }

    std::unique_ptr<partition::ThreadPool> crew_;
};

template <class V>
using State = PlanState<V, System<V>>;

}  // namespace tulle::inline TULLE_ABI::solve::team
