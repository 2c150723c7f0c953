// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// y = alpha op(A) x + beta y for CSR, CSC, COO and Blocked-ELL, float and double.
//
//     tulle::spmv::multiply(ctx, A.view(), x.span(), y.span());            // y = A x, once
//
//     auto plan = tulle::spmv::Plan<double>::make(ctx, A.view());          // looks at the matrix once
//     plan.run(x.span(), y.span());                                        // decides nothing, allocates nothing
//     plan.run(2.0, x.span(), 1.0, y.span());                              // y = 2 A x + y
//     std::puts(plan.describe().c_str());
//
//     auto mixed = tulle::spmv::Plan<double, float>::make(ctx, F.view());  // a matrix of floats, everything else in
//                                                                          // double
//     auto cg = tulle::spmv::Plan<double>::make(ctx, A.view(), {.dots = true});
//     cg.run(1.0, p.span(), 0.0, q.span(), dots.span());                   // q = A p, dots = (q, p) and (q, q), in the
//                                                                          // same pass
//
// Arrays live where the context works (see matrix/move.hpp). As in the BLAS, y is not read if beta == 0, and neither A
// nor x if alpha == 0: y = beta y then, also where A or x have NaN or infinities; dot(y, x) is made of that y and of x.
// Offsets of 32 bits (matrix/csr32.hpp) are widened once and kept by the plan. A plan adds in a fixed order and gives
// the same bits every time, unless describe() says "adds in no fixed order": kernels that scatter, which
// Context::deterministic() avoids.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "tulle/api.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csc.hpp"
#include "tulle/csr.hpp"
#include "tulle/csr32.hpp"
#include "tulle/spmv_policy.hpp"

namespace tulle::inline TULLE_ABI::spmv {

template <class V>
using AnyView = std::variant<CsrView<V>, CscView<V>, CooView<V>, BlockedEllView<V>, Csr32View<V>, Csc32View<V>>;

struct Options {
    Op op = Op::none;
    std::optional<Policy> force = {};  // decides instead of choose()
    bool checked = true;               // validate the matrix first; sizes and null pointers are looked at in any case
    bool dots = false;                 // room to make dot(y, x) and dot(y, y) as well; op(A) must be square
};

// A product prepared for one matrix. It keeps the view: the caller's arrays must stay in place while the plan is used;
// after their values have changed, call update_values(). Not for use by two threads, nor on two streams, at once. V is
// the type of the vectors and of all sums, M that of the matrix.
template <class V, class M = V>
class TULLE_API Plan {
public:
    static Plan make(const Context& ctx, const AnyView<M>& a, const Options& options = {});
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;
    ~Plan();

    // On CUDA the work is put on the context's stream; the call returns at once.
    void run(V alpha, std::span<const V> x, V beta, std::span<V> y) const;
    void run(std::span<const V> x, std::span<V> y) const { run(V(1), x, V(0), y); }

    // … and dots[0] = dot(y, x), dots[1] = dot(y, y) of the new y, where the context works; for plans made with
    // Options::dots.
    void run(V alpha, std::span<const V> x, V beta, std::span<V> y, std::span<V> dots) const;

    // Same pattern, new numbers, perhaps at other addresses; no new analysis. PlanMismatch if format, shape or nonzeros
    // differ.
    void update_values(const AnyView<M>& a);

    const Policy& policy() const;
    const Features& features() const;  // what choose() was told
    std::string describe() const;      // what was chosen, why, what else there is, what it keeps
    std::size_t bytes() const;         // held by the plan beside the caller's matrix
    index_t rows() const;              // of op(A)
    index_t cols() const;

    // A plan that is used once and thrown away; multiply() below is the convenient form.
    static void once(const Context& ctx, const AnyView<M>& a, V alpha, std::span<const V> x, V beta, std::span<V> y,
                     const Options& options = {});

private:
    struct State;
    explicit Plan(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Once, without a plan to keep: y = alpha op(A) x + beta y.
template <class View, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, std::type_identity_t<V> alpha,
              std::type_identity_t<std::span<const V>> x, std::type_identity_t<V> beta,
              std::type_identity_t<std::span<V>> y, const Options& options = {})
{
    Plan<V>::once(ctx, a, alpha, x, beta, y, options);
}

// y = op(A) x.
template <class View, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, std::type_identity_t<std::span<const V>> x,
              std::type_identity_t<std::span<V>> y, const Options& options = {})
{
    Plan<V>::once(ctx, a, V(1), x, V(0), y, options);
}

}  // namespace tulle::inline TULLE_ABI::spmv
