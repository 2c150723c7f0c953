// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SpMV: y = alpha op(A) x + beta y for CSR, CSC, COO and Blocked-ELL, float and double.
/// @code
/// tulle::spmv::multiply(ctx, A.view(), x.span(), y.span());            // y = A x, once
///
/// auto plan = tulle::spmv::Plan<double>::make(ctx, A.view());          // analyses the matrix once
/// plan.run(x.span(), y.span());                                        // decides nothing, allocates nothing
/// plan.run(2.0, x.span(), 1.0, y.span());                              // y = 2 A x + y
/// std::puts(plan.describe().c_str());
///
/// auto mixed = tulle::spmv::Plan<double, float>::make(ctx, F.view());  // a float matrix, all else in double
///
/// auto cg = tulle::spmv::Plan<double>::make(ctx, A.view(), {.dots = true});
/// cg.run(1.0, p.span(), 0.0, q.span(), dots.span());                   // q = A p, and (q, p), (q, q) in the same pass
/// @endcode
/// Arrays are in the memory of the context (tulle/transfer.hpp copies them there). As in the BLAS, y is not read if
/// beta == 0, and neither A nor x if alpha == 0: then y = beta y, also where A or x have NaN or infinities; dot(y, x)
/// is computed from that y and x. Offsets of 32 bits (Csr32View, Csc32View) are widened once and kept by the plan. A
/// plan adds in a fixed order and gives the same bits every time, unless describe() says "adds in no fixed order":
/// kernels that scatter, which Context::deterministic() avoids.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/outline.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/types.hpp"

/// Sparse matrix-vector products. choose() selects a kernel without looking at a device.
namespace tulle::inline TULLE_ABI::spmv {

/// Formats of the matrix.
enum class Format {
    csr,         ///< compressed sparse rows
    csc,         ///< compressed sparse columns
    coo,         ///< coordinates
    blocked_ell  ///< dense blocks
};

/// The kernels.
enum class Kernel {
    rows,     ///< a group of lanes for each row of op(A): a few lanes for short rows, a warp for long ones
    groups,   ///< consecutive rows with the same columns together: columns and x are read once for all of them
    stream,   ///< GPU: blocks of whole rows with about as many nonzeros; products are summed in shared memory
    sell,     ///< slices of 32 rows, columns as a base and short distances, on a copy of the values
    split,    ///< rows and nonzeros in pieces of equal work (merge path); for rows of very different length
    scatter,  ///< columns of op(A) one after the other, added into y; needs no copy of a matrix stored by columns
    entries,  ///< coordinates in the order they have, added into y
    blocks,   ///< the dense blocks of Blocked-ELL
};

/// The decision for a matrix: kernel and parameters.
struct Policy {
    Kernel kernel = Kernel::rows;  ///< the kernel
    /// Rows, groups: lanes of a GPU warp that share a row (1, 2, 4, 8, 16, 32); on a CPU independent sums (1, 2, 4:
    /// vectors of AVX2 where it is there; 8: of AVX-512). Sell: 32, on a CPU 1, 4 or 8. Split: 32, on a CPU 2 or 8.
    int lanes = 32;
    bool copy = false;    ///< keep op(A) as CSR in the plan, for matrices stored in another way
    bool narrow = false;  ///< rows: the plan keeps columns of 16 bits
    /// Sell, and on a CPU rows with one sum: rows sorted by length inside windows; y keeps its order.
    bool sort = false;

    /// Compares all fields.
    bool operator==(const Policy&) const = default;
};

/// Nonzeros of the longest row that the groups kernel can take.
inline constexpr offset_t longest_in_group = (1 << 28) - 1;

/// Statistics of op(A), stored by rows, from one pass.
struct RowFeatures {
    index_t rows = 0;             ///< rows of op(A)
    index_t cols = 0;             ///< columns of op(A)
    offset_t nonzeros = 0;        ///< stored values
    offset_t longest = 0;         ///< nonzeros of the longest row
    double mean = 0;              ///< mean nonzeros of a row
    index_t widest = 0;           ///< largest distance between the first and the last column of a row
    index_t steady = 0;           ///< rows as long as the row before, which a CPU predicts; counted on a CPU only
    index_t repeats = 0;          ///< rows like the row before: equal length, first, middle and last column
    index_t shifts = 0;           ///< rows like the row before shifted by one column
    offset_t padded = 0;          ///< entries in slices of 32 rows, each as wide as its longest row
    std::size_t value_bytes = 8;  ///< bytes of a value of the matrix
    /// Rows and nonzeros of the largest part, if the threads of a CPU get parts of whole rows; 0: not known.
    offset_t largest_part = 0;
};

/// Statistics of a matrix and the request: what choose() depends on.
struct Features {
    Format format = Format::csr;  ///< format of A
    bool transposed = false;      ///< op(A) = A transposed
    bool sorted_by_row = false;   ///< COO: already in row order of op(A)
    bool deterministic = false;   ///< the same bits every time are asked for
    bool reused = true;           ///< a plan that will run many times, not a single product
    /// Rows of op(A); for matrices stored by columns only rows, cols and nonzeros are known.
    RowFeatures row = {};
};

/// Costs of row kernels on a CPU, in nanoseconds for each nonzero, on matrices in its second-level cache. They are
/// measured because they differ between CPUs: gathers of AVX-512 are the fastest way on one Xeon and 0.6 times a plain
/// loop on another.
struct RowCosts {
    static constexpr std::array lanes{1, 2, 4, 8};                            ///< values of Policy::lanes
    static constexpr std::array mean{4, 16, 64};                              ///< mean nonzeros of a row
    static constexpr double never = std::numeric_limits<double>::infinity();  ///< a kernel that is not used
    /// Costs by mean nonzeros of a row and lanes.
    using ByMean = std::array<std::array<double, lanes.size()>, mean.size()>;

    /// Costs when all rows are equally long.
    ByMean steady{{{0.60, 0.60, 0.70, never}, {0.52, 0.50, 0.50, never}, {0.56, 0.48, 0.44, never}}};
    /// Costs when the ends of rows cannot be predicted.
    ByMean changing{{{1.80, 2.00, 2.10, never}, {0.90, 0.95, 1.20, never}, {0.65, 0.57, 0.57, never}}};
    double sell = never;      ///< cost of sell with vector instructions, where rows are the row before shifted by one
    double sell_rows = 0.56;  ///< cost of the best row kernel on the same matrix
    bool measured = false;    ///< false: typical costs, not of this machine, without its vector instructions

    /// Compares all fields.
    bool operator==(const RowCosts&) const = default;
};

/// What the hardware allows.
struct Limits {
    Backend backend = Backend::cpu;  ///< CPU or GPU
    int threads = 1;                 ///< threads of the CPU queue
    RowCosts costs = {};             ///< costs on this CPU, or typical ones
};

/// The cost of a row kernel for rows like these, interpolated between the measured ones, in nanoseconds for each
/// nonzero.
TULLE_API double cost_of(const RowCosts& costs, const RowFeatures& row, int lanes);

/// The costs of this machine: measured by the first call, in a few milliseconds, then remembered by the process.
/// Typical ones if TULLE_CALIBRATE=off forbids the measurement or the clock is unusable. Thread safe.
/// @param value_bytes of the vectors: 4 or 8.
TULLE_API const RowCosts& measured_costs(std::size_t value_bytes);
/// Typical costs, the same on all machines of one kind. They decide for a deterministic context, a small matrix and a
/// single product.
TULLE_API RowCosts typical_costs();
/// The costs as text: "rows of 16 nonzeros take 0.52, 0.49, 0.61 ns …".
TULLE_API std::string to_text(const RowCosts& costs);

/// A policy and the reason for it.
struct Choice {
    Policy policy;    ///< the decision
    std::string why;  ///< one sentence
};

/// Selects a policy. Pure: the same features and limits give the same choice.
TULLE_API Choice choose(const Features& features, const Limits& limits);

/// Whether choose() would have op(A) copied by rows; asked before its row lengths are known.
TULLE_API bool wants_copy(const Features& features, const Limits& limits);

/// All policies that work for a matrix with these features, for tests, benchmarks and tuning.
TULLE_API std::vector<Policy> candidates(const Features& features, const Limits& limits);

/// Checks a forced policy.
/// @throws ValueError (with the alternatives) if the policy cannot work for these features.
TULLE_API void check_policy(const Policy& policy, const Features& features, const Limits& limits);

/// Name of a kernel.
TULLE_API std::string to_text(Kernel kernel);
/// Name of a format.
TULLE_API std::string to_text(Format format);
/// A policy as text: "rows, 8 lanes".
TULLE_API std::string to_text(const Policy& policy);
/// The kernel of that name.
/// @throws ValueError (with the names) if there is none.
TULLE_API Kernel parse_kernel(std::string_view name);

/// A matrix in any format that SpMV takes.
template <class V>
using AnyView = std::variant<CsrView<V>, CscView<V>, CooView<V>, BlockedEllView<V>, Csr32View<V>, Csc32View<V>>;

/// Options of Plan::make() and multiply().
struct Options {
    Op op = Op::none;                  ///< op(A): A or A transposed
    std::optional<Policy> force = {};  ///< used instead of choose()
    bool checked = true;               ///< validate the matrix first; sizes and null pointers are checked in any case
    bool dots = false;                 ///< prepare for dot(y, x) and dot(y, y); op(A) must be square
};

/// An SpMV prepared for one matrix.
///
/// A plan keeps the view: the caller's arrays must stay in place while the plan is used. After their values have
/// changed, call update_values(). One thread, and one stream, at a time may use a plan.
/// @tparam V type of the vectors and of all sums: float or double.
/// @tparam M value type of the matrix: V, or float with V = double.
template <class V, class M = V>
class TULLE_API Plan {
    static_assert(detail::require_value<V>() && detail::require_value<M>());
    static_assert(std::is_same_v<V, M> || sizeof(V) > sizeof(M) || !detail::is_value<V> || !detail::is_value<M>,
                  "tulle: spmv::Plan<V, M> needs M = V, or V = double and M = float");

public:
    /// Analyses the matrix, selects a policy, and prepares what its kernel needs.
    /// @param ctx where the arrays are and the work is done; the plan keeps a copy.
    /// @param a the matrix, in the memory of the context; kept as a view.
    /// @param options see Options.
    /// @throws ValueError if the matrix is not valid or Options::force cannot work for it.
    /// @throws ShapeError if Options::dots is set and op(A) is not square.
    /// @throws OutOfMemory if the budget or the device does not allow what the plan keeps.
    static Plan make(const Context& ctx, const AnyView<M>& a, const Options& options = {});

    /// y = alpha op(A) x + beta y. Allocates nothing. On a GPU the work is queued on the stream of the context and the
    /// call returns at once.
    /// @param alpha 0: neither A nor x is read.
    /// @param x cols() entries in the memory of the context.
    /// @param beta 0: y is not read.
    /// @param y rows() entries in the memory of the context; must not overlap x.
    /// @throws ShapeError if x or y has the wrong size.
    /// @throws ValueError if x and y overlap or are null; DeviceError if they are in other memory.
    void run(V alpha, std::span<const V> x, V beta, std::span<V> y) const;
    /// y = op(A) x; as above.
    void run(std::span<const V> x, std::span<V> y) const { run(V(1), x, V(0), y); }

    /// y = alpha op(A) x + beta y, and dot products with the new y; for plans made with Options::dots. As above.
    /// @param alpha 0: neither A nor x is read for y.
    /// @param x cols() entries in the memory of the context.
    /// @param beta 0: y is not read.
    /// @param y rows() entries in the memory of the context.
    /// @param dots two entries in the memory of the context: dot(y, x) and dot(y, y).
    /// @throws ValueError if the plan was made without Options::dots, or arrays overlap.
    void run(V alpha, std::span<const V> x, V beta, std::span<V> y, std::span<V> dots) const;

    /// New values, perhaps at other addresses, for the same pattern; no new analysis. The pattern is not compared.
    /// @param a the matrix with the new values; kept as a view.
    /// @throws PlanMismatch if format, shape or number of nonzeros differ.
    /// @throws ValueError if an array is missing or in other memory.
    void update_values(const AnyView<M>& a);

    /// The policy in use.
    const Policy& policy() const;
    /// The statistics that choose() was given.
    const Features& features() const;
    /// The policy, the reason, the alternatives and the memory kept, in several lines.
    std::string describe() const;
    /// Bytes held by the plan in addition to the caller's matrix.
    std::size_t bytes() const;
    /// Rows of op(A).
    index_t rows() const;
    /// Columns of op(A).
    index_t cols() const;

    /// One product with a plan that is not kept; multiply() is the convenient form.
    /// @throws ValueError as make() and run().
    /// @throws ShapeError as make() and run().
    /// @throws OutOfMemory as make() and run().
    /// @throws DeviceError as make() and run().
    static void once(const Context& ctx, const AnyView<M>& a, V alpha, std::span<const V> x, V beta, std::span<V> y,
                     const Options& options = {});

private:
    struct State;
    explicit Plan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// y = alpha op(A) x + beta y, once. For several products with a matrix make a Plan.
/// @param ctx where the arrays are and the work is done.
/// @param a a view of the matrix.
/// @param alpha 0: neither A nor x is read.
/// @param x vector of the value type of the matrix; a span, or what converts to it.
/// @param beta 0: y is not read; on a CPU it may be filled with NaN when a matrix that is not valid is refused: columns
/// are checked while they are multiplied.
/// @param y vector of the value type of the matrix; must not overlap x.
/// @param options see Options.
/// @throws ValueError if the matrix is not valid, or vectors overlap or are null.
/// @throws ShapeError if x or y has the wrong size; DeviceError if they are in other memory.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
template <class View, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, std::type_identity_t<V> alpha,
              std::type_identity_t<std::span<const V>> x, std::type_identity_t<V> beta,
              std::type_identity_t<std::span<V>> y, const Options& options = {})
{
    if constexpr (detail::check_matrix<View, V, AnyView<V>>()) Plan<V>::once(ctx, a, alpha, x, beta, y, options);
}

/// y = op(A) x, once; as above.
template <class View, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, std::type_identity_t<std::span<const V>> x,
              std::type_identity_t<std::span<V>> y, const Options& options = {})
{
    if constexpr (detail::check_matrix<View, V, AnyView<V>>()) Plan<V>::once(ctx, a, V(1), x, V(0), y, options);
}

/// @cond
// Wrong arguments: these overloads say what is wrong.
template <class View, class X, class Y>
requires(!detail::TakesVectors<View, X, Y>) void multiply(const Context&, const View&, X&&, Y&&, const Options& = {})
{
    detail::explain_vectors<View, X, Y>();
}
template <class View, class X, class Y>
requires(!detail::TakesVectors<View, X, Y>) void multiply(const Context&, const View&, double, X&&, double, Y&&,
                                                          const Options& = {})
{
    detail::explain_vectors<View, X, Y>();
}
/// @endcond

}  // namespace tulle::inline TULLE_ABI::spmv
