// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What every method offers to the solver, and what it is given. A method puts iterations on the queue; the solver
// decides how many, looks at the status between them, and begins anew where that is needed.
#pragma once

#include <memory>

#include "solve/blocks.hpp"
#include "solve/preconditioner.hpp"
#include "tulle/memory.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::solve {

// The system and the parts that all methods share.
template <class V>
class System {
public:
    // A vector, and what the caller of a solve gives.
    using Vector = Buffer<V>;
    using Out = V*;
    using Input = std::span<const V>;
    using Output = std::span<V>;

    System(const Context& ctx, const CsrView<V>& a);

    void update_values(const CsrView<V>& a) { product.update_values(a); }
    std::size_t bytes() const
    {
        return product.bytes() + buffer.bytes() + residual.bytes() + made.bytes() + summed.bytes() + status.bytes() +
               near_null.bytes();
    }
    index_t rows() const { return product.rows(); }

    // A pass over all entries.
    template <class Op>
    void pass(const Op& op)
    {
        ctx.run([&](const auto& q) { run_pass(q, rows(), op, buffer.space()); });
    }
    // y = A x.
    void multiply(const Buffer<V>& x, Buffer<V>& y) const { product.run(x.span(), y.span()); }
    // y = A x, with y · x and y · y.
    ProductDots<V> multiply_with_dots(const V* x, V* y);
    // z = M r.
    void precondition(const V* r, V* z)
    {
        preconditioner->apply({r, static_cast<std::size_t>(rows())}, {z, static_cast<std::size_t>(rows())});
    }
    Buffer<V> make_vector() const
    {
        return ctx.run([&](const auto& q) { return Buffer<V>(q, rows()); });
    }
    void copy_vector(const V* from, V* to) const
    {
        ctx.run([&](const auto& q) { copy(q, from, to, rows()); });
    }
    // y = alpha x + beta y; beta == 0: y is not read.
    void axpby(double alpha, const V* x, double beta, V* y) const
    {
        ctx.run([&](const auto& q) { vector::axpby(q, rows(), alpha, x, beta, y); });
    }
    void clear(V* x) const
    {
        ctx.run([&](const auto& q) { fill_zero(q, x, rows()); });
    }
    // Before the first iteration: the norm that residuals begin with.
    void begin(double norm) { preconditioner->begin(norm); }
    offset_t inner_iterations() const { return preconditioner->inner_iterations(); }
    // Scalars of a method, zero at first: what is enqueued after a halt reads those that were never written.
    template <class Scalars>
    Buffer<Scalars> make_scalars(offset_t count = 1) const
    {
        return ctx.run([&](const auto& q) {
            Buffer<Scalars> s(q, count);
            fill_zero(q, s.data(), count);
            return s;
        });
    }
    // r = b - A x, and its norm; waits. zero: x is.
    double compute_residual(std::span<const V> b, std::span<const V> x, bool zero, Buffer<V>& r);
    double norm_of(const V* x) { return norm_of(x, rows()); }
    double norm_of(const V* x, offset_t n);

    Context ctx;
    spmv::Plan<V> product;
    bool dots_apart = false;  // dot products of the product in double, by a pass: in float they have left the range
    Dense<V> near_null = {};  // the caller's; empty if there is none
    std::unique_ptr<PreconditionerPlan<V>> preconditioner;
    vector::PassBuffer buffer;
    Buffer<V> residual;
    Buffer<V> made;         // dot products of the product with A
    Buffer<double> summed;  // or of a pass of their own
    Buffer<Status> status;
};

// X: how a vector is given to write (System::Out).
template <class V, class X = V*>
class Iteration : public BlockBody {
public:
    // Begins at x, whose residual is System::residual and whose norm is in the status. `attempt` counts beginnings
    // after a breakdown without progress.
    virtual void start(X x, int attempt) = 0;
    // Brings x up to date. Iterations can go on where keeps_x().
    virtual void finish() {}
    // Iterations after which it must begin anew.
    virtual offset_t cycle() const { return max_offset; }
    // Whether x is up to date after finish(), at any time.
    virtual bool keeps_x() const { return true; }
    virtual offset_t inner_iterations() const { return 0; }
    // After a number that was not finite: whether it goes on in a form whose numbers have a wider range.
    virtual bool widen_range() { return false; }
    virtual void update_values(const CsrView<V>&) {}
    virtual std::size_t bytes() const = 0;
    virtual std::string describe() const { return {}; }
};

template <class V>
std::unique_ptr<Iteration<V>> make_cg(System<V>& system);
// With sweeps of a preconditioner alone (PreconditionerPlan::split()), on a CPU.
template <class V>
std::unique_ptr<Iteration<V>> make_split_cg(System<V>& system, const factor::Ssor<V>& split);
template <class V>
std::unique_ptr<Iteration<V>> make_pipelined_cg(System<V>& system);
template <class V>
std::unique_ptr<Iteration<V>> make_minres(System<V>& system);
template <class V>
std::unique_ptr<Iteration<V>> make_bicgstab(System<V>& system);
// flexible: FGMRES.
template <class V>
std::unique_ptr<Iteration<V>> make_gmres(System<V>& system, int restart, bool flexible);
template <class V>
std::unique_ptr<Iteration<V>> make_chebyshev(System<V>& system, const Eigenvalues& eigenvalues);
// Refinement of a double system with a float solver.
std::unique_ptr<Iteration<double>> make_refinement(System<double>& system, const CsrView<double>& a,
                                                   const Recipe& recipe);

// Extreme eigenvalues of M A, or of D A with the given diagonal, by the Lanczos method in the form of CG.
// ValueError where the matrix is found not to be positive definite.
template <class V>
Eigenvalues estimate_eigenvalues(System<V>& system, int steps);

}  // namespace tulle::inline TULLE_ABI::solve
