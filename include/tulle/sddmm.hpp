// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SDDMM (sampled dense-dense matrix product): c = alpha (X Y^T) at the positions of a sparse A + beta c, and fused
/// sparse attention, softmax(alpha Q K^T at the positions of A) V.
/// @code
/// tulle::sddmm::multiply(ctx, A.view(), X.view(), Y.view(), c.span());    // c[p] = dot(row i of X, row j of Y), once
///
/// auto plan = tulle::sddmm::Plan<float>::make(ctx, A.view(), {.k = 128}); // analyses the matrix once
/// plan.run(X.view(), Y.view(), c.span());                                 // decides nothing, allocates nothing
/// plan.attend(0.125f, Q.view(), K.view(), V.view(), H.view());            // sparse attention in one kernel
/// @endcode
/// A is rows x cols in CSR, X is rows x k, Y is cols x k. Nonzero p of A, at (i, j), has its result in c[p]: c together
/// with the offsets and columns of A is a CSR matrix. A position that is stored twice has two results. Types:
///
/// | A, X and Y        | c                  | sums                |
/// |-------------------|--------------------|---------------------|
/// | double            | double             | double              |
/// | float             | float              | float               |
/// | Float16, Bfloat16 | the same, or float | float, rounded once |
///
/// Arrays are in the memory of the context (tulle/transfer.hpp copies them there). Values of A are a factor of the
/// results with Options::scaled; otherwise they are not read. As in the BLAS, c is not read if beta == 0, and nothing
/// of A, X and Y if alpha == 0. c may be the array of values of A. Rows of X and Y that no nonzero names are not read.
/// A result depends on the row of X, the row of Y and the value alone, and is added up in a fixed order: the same bits
/// every time, and for any number of threads.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/float16.hpp"
#include "tulle/outline.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/types.hpp"

/// Products of dense matrices at the positions of a sparse one.
namespace tulle::inline TULLE_ABI::sddmm {

/// The decision for a matrix.
struct Policy {
    int lanes = 1;        ///< on a GPU: lanes that share a nonzero: 4, 8, 16, 32, or 0 with `tiles`; on a CPU 1
    bool stored = false;  ///< on a GPU: attend() stores a score for each nonzero between two kernels; else it is one
    bool tiles = false;   ///< on a GPU: all of X Y^T is computed in tiles of 64 x 64 positions that have a nonzero
    bool tensor = false;  ///< tiles on tensor cores; double, and up to 19 columns, as without

    /// Compares all fields.
    bool operator==(const Policy&) const = default;
};

/// Statistics of a matrix and the request: what choose() depends on.
struct Features {
    index_t rows = 0;             ///< rows of A
    index_t cols = 0;             ///< columns of A
    offset_t nonzeros = 0;        ///< stored entries
    index_t k = 32;               ///< columns of X and Y expected
    std::size_t value_bytes = 8;  ///< bytes of a value of X and Y
    index_t attended = 0;         ///< columns of V expected by attend(); 0: it is not expected
};

/// A policy and the reason for it.
struct Choice {
    Policy policy;    ///< the decision
    std::string why;  ///< one sentence
};

/// Selects a policy. Pure: the same arguments give the same choice.
TULLE_API Choice choose(const Features& features, Backend backend);

/// All policies that work, for tests, benchmarks and tuning.
TULLE_API std::vector<Policy> candidates(Backend backend);

/// Checks a forced policy.
/// @throws ValueError (with the alternatives) if there is no such policy on this backend.
TULLE_API void check_policy(const Policy& policy, Backend backend);

/// A policy as text: "8 lanes for a nonzero"; "8 lanes for a nonzero, scores stored"; "tiles of 64 x 64"; "tiles of 64
/// x 64 on tensor cores"; "rows".
TULLE_API std::string to_text(const Policy& policy);

/// Type of the sums and of alpha and beta: double for double, else float.
template <class V>
using Sum = std::conditional_t<std::is_same_v<V, double>, double, float>;

/// Options of Plan::make() and multiply().
struct Options {
    index_t k = 32;                    ///< columns of X and Y expected; any number can be multiplied
    index_t attended = 0;              ///< columns of V that attend() will be given; 0: it is not expected. On a GPU
                                       ///< the plan may keep room for the scores: Policy::stored
    bool scaled = false;               ///< results are multiplied by the values of A
    std::optional<Policy> force = {};  ///< used instead of choose()
    bool checked = true;               ///< validate the matrix first; sizes and null pointers are checked in any case
};

/// An SDDMM prepared for one matrix.
///
/// A plan keeps the view: the caller's arrays must stay in place while the plan is used. One thread, and one stream, at
/// a time may use a plan.
/// @tparam V value type of A, X and Y: float, double, Float16 or Bfloat16.
/// @tparam C value type of the results: V, or float with Float16 and Bfloat16.
template <class V, class C = V>
class TULLE_API Plan {
    static_assert(detail::require_dense_values<V, C>());

public:
    using Scalar = Sum<V>;  ///< type of alpha and beta

    /// Analyses the matrix and selects a policy.
    /// @param ctx where the arrays are and the work is done; the plan keeps a copy.
    /// @param a the matrix, in the memory of the context; kept as a view.
    /// @param options see Options.
    /// @throws ValueError if the matrix is not valid, an option is out of range, or Options::force cannot work.
    /// @throws OutOfMemory if the budget or the device does not allow what the plan keeps.
    static Plan make(const Context& ctx, const AnyCsr<V>& a, const Options& options = {});

    /// c = alpha (X Y^T) at the positions of A, times the values of A with Options::scaled, + beta c. On a GPU the work
    /// is queued on the stream of the context and the call returns at once.
    /// @param alpha 0: nothing of A, X and Y is read.
    /// @param x rows() rows, any number k of columns; contiguous rows are faster.
    /// @param y cols() rows, as many columns as X; contiguous rows are faster.
    /// @param beta 0: c is not read.
    /// @param c one entry for each nonzero, in the order of A; may be the values of A, must not overlap X or Y.
    /// @throws ShapeError if sizes or leading dimensions do not fit.
    /// @throws ValueError if arrays overlap or are null; DeviceError if they are in other memory.
    void run(Scalar alpha, const DenseView<const V>& x, const DenseView<const V>& y, Scalar beta, std::span<C> c) const;
    /// c = (X Y^T) at the positions of A; as above.
    void run(const DenseView<const V>& x, const DenseView<const V>& y, std::span<C> c) const
    {
        run(Scalar(1), x, y, Scalar(0), c);
    }

    /// Sparse attention: H = S V, where row i of S is the softmax of alpha dot(row i of Q, row j of K) over the
    /// nonzeros (i, j) of A. Scores are computed once, and stored only on a GPU where the plan was made for it
    /// (Policy::stored) and V has no more columns than Options::attended (Options::k where that is 0). With
    /// Options::scaled a score is multiplied by the value of A before the softmax. A row without nonzeros gives zeros.
    /// On a GPU the call returns at once.
    /// @param alpha factor of the scores, such as 1 / sqrt(k). 0: neither Q, K nor the values of A are read, and rows
    /// of H are means of rows of V.
    /// @param q rows() rows, any number k of columns.
    /// @param k cols() rows, as many columns as Q.
    /// @param v cols() rows, at most most_attended columns.
    /// @param h rows() rows, as many columns as V; must not overlap the others.
    /// @throws ShapeError if sizes or leading dimensions do not fit.
    /// @throws ValueError if arrays overlap or are null; DeviceError if they are in other memory.
    void attend(Scalar alpha, const DenseView<const V>& q, const DenseView<const V>& k, const DenseView<const V>& v,
                const DenseView<C>& h) const;

    /// New values, perhaps at other addresses, for the same pattern; no new analysis. The pattern is not compared.
    /// @param a the matrix with the new values; kept as a view.
    /// @throws PlanMismatch if shape or number of nonzeros differ.
    /// @throws ValueError if an array is missing or in other memory.
    void update_values(const AnyCsr<V>& a);

    /// The policy in use.
    const Policy& policy() const;
    /// The statistics that choose() was given.
    const Features& features() const;
    /// The policy, the reason and what it keeps, in several lines.
    std::string describe() const;
    /// Bytes held by the plan in addition to the caller's matrix.
    std::size_t bytes() const;
    /// Rows of A.
    index_t rows() const;
    /// Columns of A.
    index_t cols() const;

private:
    struct State;
    explicit Plan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// Columns of V that Plan::attend() can take.
inline constexpr index_t most_attended = 512;

/// c = alpha (X Y^T) at the positions of A + beta c, once. For several products with a matrix make a Plan.
/// @param ctx where the arrays are and the work is done.
/// @param a a view of the matrix: CsrView or Csr32View.
/// @param alpha 0: nothing of A, X and Y is read.
/// @param x dense matrix of the value type of A: a row for each row of A.
/// @param y dense matrix of that type: a row for each column of A.
/// @param beta 0: c is not read.
/// @param c one entry for each nonzero: of that type, or float with Float16 and Bfloat16.
/// @param options see Options; k follows from X.
/// @throws ValueError as Plan::make() and Plan::run().
/// @throws ShapeError as Plan::make() and Plan::run().
/// @throws OutOfMemory as Plan::make() and Plan::run().
/// @throws DeviceError as Plan::make() and Plan::run().
template <class View, class C, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, Sum<V> alpha, const std::type_identity_t<DenseView<const V>>& x,
              const std::type_identity_t<DenseView<const V>>& y, Sum<V> beta, std::span<C> c,
              const Options& options = {})
{
    if constexpr (detail::check_matrix<View, V, AnyCsr<V>, true>()) {
        Options once = options;
        once.k = x.cols;
        Plan<V, C>::make(ctx, a, once).run(alpha, x, y, beta, c);
    }
}

/// c = (X Y^T) at the positions of A, once; as above.
template <class View, class C, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, const std::type_identity_t<DenseView<const V>>& x,
              const std::type_identity_t<DenseView<const V>>& y, std::span<C> c, const Options& options = {})
{
    multiply(ctx, a, Sum<V>(1), x, y, Sum<V>(0), c, options);
}

}  // namespace tulle::inline TULLE_ABI::sddmm
