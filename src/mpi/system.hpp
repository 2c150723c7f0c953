// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A distributed system of equations as the loop of a solve and the methods see it (solve/loop.hpp): vectors are local
// parts, sums are reproducible and the same on all ranks, so all ranks decide alike.
#pragma once

#include <initializer_list>
#include <memory>

#include "mpi/dots.hpp"
#include "solve/state.hpp"
#include "tulle/distributed.hpp"

namespace tulle::inline TULLE_ABI::mpi {

template <class V>
class System {
public:
    // Makes the diagonal block of this rank; may throw on one rank alone.
    System(const DistCsr<V>& whole, SpmvPlan<V> whole_product);

    offset_t rows() const { return residual.size(); }
    // Number of the first row of this rank.
    global_t first_row() const { return a.row_cuts()[static_cast<std::size_t>(a.cluster().rank())]; }
    std::span<const V> part(const V* x) const { return {x, static_cast<std::size_t>(rows())}; }
    std::span<V> part(V* x) const { return {x, static_cast<std::size_t>(rows())}; }

    // y = A x. Collective.
    void multiply(const V* x, V* y) { product.run(part(x), part(y)); }
    // z = M r.
    void precondition(const V* r, V* z) { preconditioner->apply(part(r), part(z)); }
    // y = alpha x + beta y; beta == 0: y is not read.
    void axpby(double alpha, const V* x, double beta, V* y)
    {
        ctx.run([&](const auto& q) { vector::axpby(q, rows(), alpha, x, beta, y); });
    }
    void copy_vector(const V* from, V* to)
    {
        ctx.run([&](const auto& q) { copy(q, from, to, rows()); });
    }
    void clear(V* x)
    {
        ctx.run([&](const auto& q) { fill_zero(q, x, rows()); });
    }
    Buffer<V> make_vector(offset_t count = 1) const
    {
        return ctx.run([&](const auto& q) { return Buffer<V>(q, rows() * count); });
    }

    // Collective, as all that follows.
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
    Context ctx;
    SpmvPlan<V> product;
    Csr<V> block;  // of the diagonal, in the memory of the context
    std::unique_ptr<spmv::Plan<V>> block_product;
    std::unique_ptr<solve::PreconditionerPlan<V>> preconditioner;
    bool plain = false;  // there is none, on all ranks
    Buffer<V> residual;
    Buffer<solve::Status> status;
};

template <class V>
using SolveState = solve::PlanState<V, System<V>>;

// Makes the iterations of a method; may throw on one rank alone. ValueError where the method is not distributed.
template <class V>
std::unique_ptr<solve::Iteration<V>> make_iteration(System<V>& system, solve::Method method, int restart);

}  // namespace tulle::inline TULLE_ABI::mpi
