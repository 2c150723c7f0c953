// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SpMM: C = alpha op(A) B + beta C for a sparse A in CSR and dense B and C, rows or columns contiguous, with leading
/// dimensions.
/// @code
/// tulle::spmm::multiply(ctx, A.view(), B.view(), C.view());               // C = A B, once
///
/// auto plan = tulle::spmm::Plan<float>::make(ctx, A.view(), {.n = 128});  // analyses the matrix once
/// plan.run(B.view(), C.view());                                           // decides nothing, allocates nothing
/// plan.run(2, B.view(), 1, C.view());                                     // C = 2 A B + C
/// std::puts(plan.describe().c_str());
/// @endcode
/// Types:
///
/// | A and B           | C                  | sums                                                              |
/// |-------------------|--------------------|-------------------------------------------------------------------|
/// | double            | double             | double                                                            |
/// | float             | float              | float; with Options::math = Math::tf32 products of tf32 numbers   |
/// | Float16, Bfloat16 | the same, or float | float, rounded once                                               |
///
/// Float with Math::exact: the kernel for nearly dense matrices on a GPU (Kernel::dense) computes a product as three of
/// tf32 numbers. With k products in a row, an entry of C is within (2^-21 + (k + 4) 2^-23) of the sum of the products'
/// absolute values, because tensor cores truncate sums; all other kernels keep (k + 4) 2^-24. Subnormal numbers
/// count there as if they were up to 3 * 2^-149 away. `Options::force` with Kernel::rows asks for those kernels.
///
/// Arrays are in the memory of the context (tulle/transfer.hpp copies them there). As in the BLAS, C is not read if
/// beta == 0, and neither A nor B if alpha == 0: then C = beta C, also where A or B have NaN or infinities. Offsets of
/// 32 bits (Csr32View) are widened once and kept by the plan. A row of C depends on the rows of B that its nonzeros
/// name and on no other: NaN and infinities elsewhere in B do not spread. A plan adds in a fixed order: the same bits
/// every time. Values of A beyond 65504 do not fit Float16: narrow() (tulle/narrow.hpp) rounds a matrix to 16 bits with
/// a power of two for each row, and Options::row_scale takes them back when C is written.
///
/// Row orders: order_rows() brings rows with common columns together, so that a panel of them needs fewer rows of B and
/// has denser tiles. Only the pattern matters. Columns may be unsorted and stored twice: a column counts once.
/// @code
/// RowOrder order = order_rows(ctx, pattern_of(A.view()), {.kind = OrderKind::bsa});
/// PanelCost cost = panel_cost(ctx, pattern_of(A.view()), order);  // what the multiplication will move and compute
/// @endcode
/// BSA is Block-Sparsity-Aware reordering (Lee et al., Euro-Par 2024, doi:10.1007/978-3-031-69583-4_1): rows are
/// clustered greedily by the weighted Jaccard similarity of their block counts. The permutation is that of the
/// sequential definition, on every backend.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/features.hpp"
#include "tulle/float16.hpp"
#include "tulle/memory.hpp"
#include "tulle/outline.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/types.hpp"

/// Products of a sparse and a dense matrix. choose() selects a kernel without looking at a device.
namespace tulle::inline TULLE_ABI::spmm {

/// Positions of the nonzeros of a CSR matrix; arrays in the memory of the context.
struct Pattern {
    index_t rows = 0;                     ///< rows of the matrix
    index_t cols = 0;                     ///< columns of the matrix
    offset_t nonzeros = 0;                ///< stored entries
    const offset_t* row_begin = nullptr;  ///< rows + 1 offsets
    const index_t* col = nullptr;         ///< column of each nonzero
    bool sorted = true;                   ///< columns ascend inside each row
};

/// The pattern of a matrix: the same arrays.
template <class V>
Pattern pattern_of(const CsrView<V>& a)
{
    return {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, a.sorted};
}

/// Kinds of row orders.
enum class OrderKind {
    natural,  ///< as given
    degree,   ///< longest rows first
    minhash,  ///< rows by the columns that come first in a few random orders of the columns
    pack,     ///< panel after panel, each filled with the rows that share most columns with it
    bsa,      ///< clusters of BSA
};

/// Measure of BSA for the dispersion of a cluster.
enum class Dispersion {
    paper,     ///< tau * blocks + zeros filled in
    released,  ///< as the authors' program computes it: nonzeros * blocks + zeros filled in
};

/// Options of order_rows().
struct OrderOptions {
    OrderKind kind = OrderKind::natural;        ///< kind of order
    index_t tau = 32;                           ///< bsa: columns of a block
    double alpha = 0.3;                         ///< bsa: similarity above which rows join a cluster, 0 … 1
    Dispersion dispersion = Dispersion::paper;  ///< bsa: measure of dispersion
    index_t panel = 64;                         ///< pack: rows of a panel
    int hashes = 2;                             ///< minhash: number of hashes, 1 … 8
    bool checked = true;                        ///< check offsets and columns first
    std::optional<RowStatistics> lengths = {};  ///< row lengths, where they are known already
};

/// A permutation of the rows.
struct RowOrder {
    OrderKind kind = OrderKind::natural;  ///< kind of order
    Buffer<index_t> row;                  ///< the original row at each position, in the memory of the context
    index_t leading_empty = 0;            ///< number of empty rows at the front
    index_t clusters = 0;                 ///< bsa: clusters of rows that are not empty

    /// Number of rows.
    index_t rows() const { return static_cast<index_t>(row.size()); }
    /// Bytes of the permutation.
    std::size_t bytes() const { return row.bytes(); }
};

/// Orders the rows. The same pattern and options give the same order on every backend and for any number of threads.
/// @param ctx where the arrays are and the work is done.
/// @param a the pattern.
/// @param options see OrderOptions.
/// @throws ValueError if the pattern is not valid or an option is out of range.
TULLE_API RowOrder order_rows(const Context& ctx, const Pattern& a, const OrderOptions& options = {});

/// What a multiplication by panels of rows moves and computes.
struct PanelCost {
    offset_t pairs = 0;     ///< distinct (panel, column): rows of B gathered
    offset_t tiles = 0;     ///< tiles of 16 x 8 with a nonzero; columns grouped by the slabs of 16 rows that use them
    offset_t panels = 0;    ///< panels with a nonzero
    offset_t nonzeros = 0;  ///< distinct positions

    /// Compares all fields.
    bool operator==(const PanelCost&) const = default;
};

/// Counts what panels of rows in an order cost; waits.
/// @param ctx where the arrays are and the work is done.
/// @param a the pattern.
/// @param order an order of its rows.
/// @param height rows of a panel: a multiple of 16 up to 128.
/// @throws ValueError if `height` or the pattern is not valid; ShapeError if the order has another number of rows.
TULLE_API PanelCost panel_cost(const Context& ctx, const Pattern& a, const RowOrder& order, index_t height = 64);

/// Name of an order.
TULLE_API std::string to_text(OrderKind kind);
/// Name of a measure of dispersion.
TULLE_API std::string to_text(Dispersion dispersion);
/// The order of that name.
/// @throws ValueError (with the names) if there is none.
TULLE_API OrderKind parse_order(std::string_view name);

/// Arithmetic of the products.
enum class Math {
    exact,  ///< products and sums with the accuracy of the type of the sums; see above for float
    tf32,   ///< values of A and B are rounded to tf32 (11 bits) first; for float on tensor cores
};

/// The kernels.
enum class Kernel {
    rows,    ///< lanes of a GPU, or a vector of a CPU, walk a row of op(A) and hold some columns of C
    panels,  ///< GPU: 64 rows share the rows of B that they fetch, multiplied in 16-row tiles on tensor cores
    dense,   ///< GPU: panels with all columns and all tiles, for nearly dense matrices, in full precision too
    tiles,  ///< as in the paper: dense tiles of 32 x 32 on tensor cores (CPU: plain loops), the rest by rows; if forced
};

/// Columns of C that a lane of the row kernel holds. Lanes beyond the columns share the nonzeros of a row.
inline constexpr int columns_per_lane = 4;

/// The decision for a matrix: kernel and parameters.
struct Policy {
    Kernel kernel = Kernel::rows;  ///< the kernel
    int lanes = 8;  ///< rows, and rest of tiles, on a GPU: lanes of a row: 2, 8, 32, 128 (segments: 32 at most); else 1
    OrderKind order = OrderKind::natural;  ///< panels, tiles: order of the rows
    int width = 0;  ///< columns of C that a block computes: panels 32, 64, 128; dense 32, 64; tiles 32; else 0
    int parts = 1;  ///< dense: blocks that share the columns of a panel: 1, 2, 4, 8
    int piece = 0;  ///< rows on a GPU: nonzeros of a segment, of several short rows or a part of a long one; 0: a row
    int clusters = 1;  ///< dense: clusters of `parts` blocks that share the columns of a panel: 1, 2, 4, … 64

    /// Compares all fields.
    bool operator==(const Policy&) const = default;
};

/// Statistics of a matrix and the request: what choose() depends on.
struct Features {
    index_t rows = 0;                      ///< rows of op(A)
    index_t cols = 0;                      ///< columns of op(A)
    offset_t nonzeros = 0;                 ///< stored entries
    offset_t longest = 0;                  ///< nonzeros of the longest row
    index_t n = 32;                        ///< columns of B expected
    std::size_t value_bytes = 8;           ///< bytes of a value of A and B
    bool tensor = false;                   ///< tensor cores may compute the products
    bool unique = true;                    ///< no position is stored twice
    double expected_calls = 100;           ///< runs that will follow
    OrderKind order = OrderKind::natural;  ///< order of the rows that `cost` is for
    PanelCost cost = {};                   ///< panels of 64 rows of op(A) in that order; pairs = 0: not counted
};

/// What the hardware allows.
struct Limits {
    Backend backend = Backend::cpu;  ///< CPU or GPU
    int multiprocessors = 132;       ///< of the GPU
    bool clusters = true;            ///< the GPU has thread-block clusters (since sm_90)
    bool double_tensor = true;       ///< its tensor cores multiply doubles at full speed (sm_80, sm_90, sm_100)
};

/// A policy and the reason for it.
struct Choice {
    Policy policy;    ///< the decision
    std::string why;  ///< one sentence
};

/// Selects a policy. Pure: the same features and limits give the same choice.
TULLE_API Choice choose(const Features& features, const Limits& limits);

/// The policy that choose() would use with a given kernel.
TULLE_API Policy policy_of(Kernel kernel, const Features& features, const Limits& limits);

/// Whether panels can be used at all, so that an order is worth looking for and its cost worth counting.
TULLE_API bool wants_cost(const Features& features, const Limits& limits);

/// All policies that work for a matrix with these features, for tests, benchmarks and tuning.
TULLE_API std::vector<Policy> candidates(const Features& features, const Limits& limits);

/// Checks a forced policy.
/// @throws ValueError (with the alternatives) if the policy cannot work for these features.
TULLE_API void check_policy(const Policy& policy, const Features& features, const Limits& limits);

/// Name of a kernel.
TULLE_API std::string to_text(Kernel kernel);
/// A policy as text: "rows, 8 lanes"; "rows, 8 lanes, lines of 32"; "panels of 128, pack order"; "dense, 64 columns, 8
/// parts"; "dense, 32 columns, 2 parts, 4 clusters"; "tiles of 32 and rest, bsa order".
TULLE_API std::string to_text(const Policy& policy);
/// The kernel of that name.
/// @throws ValueError (with the names) if there is none.
TULLE_API Kernel parse_kernel(std::string_view name);

/// Type of the sums and of alpha and beta: double for double, else float.
template <class V>
using Sum = std::conditional_t<std::is_same_v<V, double>, double, float>;

/// Options of Plan::make() and multiply().
struct Options {
    Op op = Op::none;                     ///< op(A): A or A transposed
    index_t n = 32;                       ///< columns of B expected; any number can be multiplied
    Layout b_layout = Layout::row_major;  ///< layout of B expected; the other one is slower
    Math math = Math::exact;              ///< arithmetic of the products
    std::optional<OrderKind> order = {};  ///< order of the rows of panels; none: the one that costs least
    /// Rows on a GPU: nonzeros of a segment (Policy::piece), which decides in which order a long row is summed; none:
    /// by the row lengths. If set, nearly dense matrices of float (Math::exact) and double are multiplied by rows too.
    std::optional<int> piece = {};
    /// With `piece`: lanes of a row (Policy::lanes), which decide in which order a row is summed where there are more
    /// than its columns fill; none: as many as these fill. A ValueError without `piece`.
    std::optional<int> lanes = {};
    /// Tiles: those with more than this fraction of nonzeros are dense; none: what costs least, panel by panel.
    std::optional<double> delta = {};
    /// Effort::search: all panels of an order are counted; of tiles, some values of delta are timed on this device.
    Effort effort = Effort::model;
    double expected_calls = 100;       ///< runs that will follow: few are not worth much preparation
    std::optional<Policy> force = {};  ///< used instead of choose()
    bool checked = true;               ///< validate the matrix first; sizes and null pointers are checked in any case
    /// For 16-bit types: a power of two for each row of op(A), in the memory of the context; row i of the product is
    /// multiplied by row_scale[i], in float, before alpha. Empty: none. A plan keeps the view and reads the factors in
    /// every run(); on a team the array is on the host, and update_values() reads it again. See narrow().
    std::span<const float> row_scale = {};
};

/// An SpMM prepared for one matrix.
///
/// A plan keeps the view: the caller's arrays must stay in place while the plan is used. After their values have
/// changed, call update_values(). One thread, and one stream, at a time may use a plan.
/// @tparam V value type of A and B: float, double, Float16 or Bfloat16.
/// @tparam C value type of C: V, or float with Float16 and Bfloat16.
template <class V, class C = V>
class TULLE_API Plan {
    static_assert(detail::require_dense_values<V, C>());

public:
    using Scalar = Sum<V>;  ///< type of alpha and beta

    /// Analyses the matrix, selects a policy, and prepares what its kernel needs.
    /// @param ctx where the arrays are and the work is done; the plan keeps a copy.
    /// @param a the matrix, in the memory of the context; kept as a view.
    /// @param options see Options.
    /// @throws ValueError if the matrix is not valid, an option is out of range, or Options::force cannot work.
    /// @throws OutOfMemory if the budget or the device does not allow what the plan keeps.
    static Plan make(const Context& ctx, const AnyCsr<V>& a, const Options& options = {});

    /// C = alpha op(A) B + beta C. Allocates nothing. On a GPU the work is queued on the stream of the context and the
    /// call returns at once.
    /// @param alpha 0: neither A nor B is read.
    /// @param b cols() rows, any number of columns, in the memory of the context.
    /// @param beta 0: C is not read.
    /// @param c rows() rows, as many columns as B, in the memory of the context; must not overlap B.
    /// @throws ShapeError if sizes or leading dimensions do not fit.
    /// @throws ValueError if B and C overlap or are null; DeviceError if they are in other memory.
    void run(Scalar alpha, const DenseView<const V>& b, Scalar beta, const DenseView<C>& c) const;
    /// C = op(A) B; as above.
    void run(const DenseView<const V>& b, const DenseView<C>& c) const { run(Scalar(1), b, Scalar(0), c); }

    /// New values, perhaps at other addresses, for the same pattern; no new analysis. The pattern is not compared.
    /// @param a the matrix with the new values; kept as a view.
    /// @throws PlanMismatch if shape or number of nonzeros differ.
    /// @throws ValueError if an array is missing or in other memory.
    void update_values(const AnyCsr<V>& a);

    /// The policy in use.
    const Policy& policy() const;
    /// The statistics that choose() was given.
    const Features& features() const;
    /// The policy, the reason, what it moves and what it keeps, in several lines.
    std::string describe() const;
    /// Bytes held by the plan in addition to the caller's matrix.
    std::size_t bytes() const;
    /// Rows of op(A).
    index_t rows() const;
    /// Columns of op(A).
    index_t cols() const;

private:
    struct State;
    explicit Plan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// C = alpha op(A) B + beta C, once. For several products with a matrix make a Plan.
/// @param ctx where the arrays are and the work is done.
/// @param a a view of the matrix: CsrView or Csr32View.
/// @param alpha 0: neither A nor B is read.
/// @param b dense matrix of the value type of A.
/// @param beta 0: C is not read.
/// @param c dense matrix of that type, or float with Float16 and Bfloat16; must not overlap B.
/// @param options see Options; n, b_layout and expected_calls follow from the arguments.
/// @throws ValueError as Plan::make() and Plan::run().
/// @throws ShapeError as Plan::make() and Plan::run().
/// @throws OutOfMemory as Plan::make() and Plan::run().
/// @throws DeviceError as Plan::make() and Plan::run().
template <class View, class C, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, Sum<V> alpha, const std::type_identity_t<DenseView<const V>>& b,
              Sum<V> beta, const DenseView<C>& c, const Options& options = {})
{
    if constexpr (detail::check_matrix<View, V, AnyCsr<V>, true>()) {
        Options once = options;
        once.expected_calls = 1;
        once.n = b.cols;
        once.b_layout = b.layout;
        Plan<V, C>::make(ctx, a, once).run(alpha, b, beta, c);
    }
}

/// C = op(A) B, once; as above.
template <class View, class C, class V = typename ValueOf<View>::type>
void multiply(const Context& ctx, const View& a, const std::type_identity_t<DenseView<const V>>& b,
              const DenseView<C>& c, const Options& options = {})
{
    multiply(ctx, a, Sum<V>(1), b, Sum<V>(0), c, options);
}

/// @cond
// Wrong arguments: these overloads say what is wrong.
template <class View, class B, class C>
requires(!detail::TakesDense<View, B, C>) void multiply(const Context&, const View&, B&&, C&&, const Options& = {})
{
    detail::explain_dense<View, B, C>();
}
template <class View, class B, class C>
requires(!detail::TakesDense<View, B, C>) void multiply(const Context&, const View&, double, B&&, double, C&&,
                                                        const Options& = {})
{
    detail::explain_dense<View, B, C>();
}
/// @endcond

}  // namespace tulle::inline TULLE_ABI::spmm
