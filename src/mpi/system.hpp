// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A distributed system of equations as the loop of a solve and the methods see it (solve/loop.hpp): vectors are local
// parts, sums are reproducible and the same on all ranks, so all ranks decide alike.
#pragma once

#include <memory>
#include <utility>

#include "mpi/dots.hpp"
#include "solve/parts/part.hpp"
#include "solve/state.hpp"
#include "tulle/distributed_solve.hpp"

namespace tulle::inline TULLE_ABI::mpi {

template <class V>
class System : public solve::parts::Part<V> {
    using Part = solve::parts::Part<V>;

public:
    using Value = V;
    using Vector = Buffer<V>;
    using In = const V*;
    using Out = V*;
    using Input = std::span<const V>;
    using Output = std::span<V>;

    // May throw on one rank alone, as set_up() and update_values().
    // local: multigrid too is that of the diagonal block. The near null space is used by set_up*() alone.
    System(const DistCsr<V>& whole, SpmvPlan<V> whole_product, bool local, const solve::Unknowns<V>& known);
    // Makes the preconditioner of this rank's diagonal block. Where multigrid is distributed, none: set_up_multigrid().
    void set_up(const solve::Preconditioner& wanted);
    // New values of the product and of that preconditioner.
    void update_values();
    // Where multigrid is distributed. Collective.
    void set_up_multigrid(const solve::Amg& wanted, NewValues new_values);
    void update_multigrid()
    {
        if (multigrid) multigrid->update_values();
    }

    using Part::copy_vector, Part::ctx, Part::part, Part::preconditioner, Part::rows;
    // Collective: no rank goes on where another has no memory.
    Vector make_vector_together() const
    {
        Vector v;
        a.cluster().run_collective("solve", [&] { v = Part::make_vector(); });
        return v;
    }
    void begin(double norm) { preconditioner->begin(norm); }
    void flip_signs(V* x, int attempt) const
    {
        Part::flip_signs(x, a.row_cuts()[static_cast<std::size_t>(a.cluster().rank())], attempt);
    }

    // y = A x. Collective, as all that follows.
    void multiply(const V* x, V* y) { product.run(part(x), part(y)); }
    double dot_of(const V* x, const V* y) { return mpi::dot<V>(a.cluster(), part(x), part(y)); }
    void dots_of(std::span<const VectorPair<V>> pairs, double* result) { dots(a.cluster(), rows(), pairs, result); }
    double norm_of(const V* x) { return mpi::norm<V>(a.cluster(), part(x)); }
    // r = b - A x, and its norm. zero: x is.
    double compute_residual(std::span<const V> b, std::span<const V> x, bool zero, Buffer<V>& r)
    {
        copy_vector(b.data(), r.data());
        if (!zero) product.run(V(-1), x, V(1), r.span());
        return norm_of(r.data());
    }

    DistCsr<V> a;
    SpmvPlan<V> product;
    bool local = false;
    solve::Unknowns<V> unknowns;
    std::shared_ptr<AmgPlan<V>> multigrid;
    bool plain = false;  // there is no preconditioner, on all ranks
    Buffer<V> residual;
    Buffer<solve::Status> status;
};

template <class V>
using SolveState = solve::PlanState<V, System<V>>;

}  // namespace tulle::inline TULLE_ABI::mpi
