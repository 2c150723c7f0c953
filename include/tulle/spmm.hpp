// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// C = alpha op(A) B + beta C for a sparse A in CSR and dense B and C, rows or columns contiguous, with leading
// dimensions.
//
//     tulle::spmm::multiply(ctx, A.view(), B.view(), C.view());               // C = A B, once
//
//     auto plan = tulle::spmm::Plan<float>::make(ctx, A.view(), {.n = 128});  // looks at the matrix once
//     plan.run(B.view(), C.view());                                           // decides nothing, allocates nothing
//     plan.run(2, B.view(), 1, C.view());                                     // C = 2 A B + C
//     std::puts(plan.describe().c_str());
//
//     A and B in           C in                  sums in
//     double               double                double
//     float                float                 float; with Options::math = Math::tf32 products of tf32 numbers
//     Float16, Bfloat16    the same, or float    float, rounded once
//
// Arrays live where the context works (see matrix/move.hpp). As in the BLAS, C is not read if beta == 0, and neither A
// nor B if alpha == 0: C = beta C then, also where A or B have NaN or infinities. Offsets of 32 bits (matrix/csr32.hpp)
// are widened once and kept by the plan. A row of C depends on the rows of B that its nonzeros name and on no other:
// NaN and infinities elsewhere in B do not spread. A plan adds in a fixed order: the same bits every time. Numbers of A
// beyond 65504 do not fit Float16 and are the caller's to scale.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/csr32.hpp"
#include "tulle/dense.hpp"
#include "tulle/float16.hpp"
#include "tulle/spmm_policy.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// How a plan finds out what is best: from counts, or by trying.

template <class V>
using Sum = std::conditional_t<std::is_same_v<V, double>, double, float>;

struct Options {
    Op op = Op::none;
    index_t n = 32;                       // columns of B expected; any number can be multiplied
    Layout b_layout = Layout::row_major;  // of B expected; the other one is slower
    Math math = Math::exact;
    std::optional<OrderKind> order = {};  // of the rows of panels; none: what costs least
    std::optional<int> piece = {};  // by rows on a GPU: nonzeros of a line of work (Policy::piece), which decides in
                                    // which order a long row is added up; none: by the lengths of rows
    std::optional<double> delta =
        {};  // tiles: those with more than this share of nonzeros are dense; none: what costs least, panel by panel
    Effort effort = Effort::model;  // search: all panels of an order are counted; of tiles, some deltas are tried and
                                    // timed on this device
    double expected_calls = 1000;   // runs that will follow: few are not worth much preparation
    std::optional<Policy> force = {};  // decides instead of choose()
    bool checked = true;               // validate the matrix first; sizes and null pointers are looked at in any case
};

// A product prepared for one matrix. It keeps the view: the caller's arrays must stay in place while the plan is used;
// after their values have changed, call update_values(). Not for use by two threads, nor on two streams, at once.
template <class V, class C = V>
class TULLE_API Plan {
public:
    using Scalar = Sum<V>;

    static Plan make(const Context& ctx, const AnyCsr<V>& a, const Options& options = {});
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;
    ~Plan();

    // On CUDA the work is put on the context's stream; the call returns at once.
    void run(Scalar alpha, const DenseView<const V>& b, Scalar beta, const DenseView<C>& c) const;
    void run(const DenseView<const V>& b, const DenseView<C>& c) const { run(Scalar(1), b, Scalar(0), c); }

    // Same pattern, new numbers, perhaps at other addresses; no new analysis. PlanMismatch if shape or nonzeros differ.
    void update_values(const AnyCsr<V>& a);

    const Policy& policy() const;
    const Features& features() const;  // what choose() was told
    std::string describe() const;      // what was chosen, why, what it moves, what it keeps
    std::size_t bytes() const;         // held by the plan beside the caller's matrix
    index_t rows() const;              // of op(A)
    index_t cols() const;

private:
    struct State;
    explicit Plan(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Once, without a plan to keep: C = alpha op(A) B + beta C.
template <class View, class C, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, Sum<V> alpha, const std::type_identity_t<DenseView<const V>>& b,
              Sum<V> beta, const DenseView<C>& c, const Options& options = {})
{
    Options once = options;
    once.expected_calls = 1;
    once.n = b.cols;
    once.b_layout = b.layout;
    Plan<V, C>::make(ctx, a, once).run(alpha, b, beta, c);
}

// C = op(A) B.
template <class View, class C, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, const std::type_identity_t<DenseView<const V>>& b,
              const DenseView<C>& c, const Options& options = {})
{
    multiply(ctx, a, Sum<V>(1), b, Sum<V>(0), c, options);
}

}  // namespace tulle::inline TULLE_ABI::spmm
