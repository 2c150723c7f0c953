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

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/features.hpp"
#include "tulle/float16.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

// In which order the rows of A are taken: rows with columns in common stand together, so that a panel of them asks for
// fewer rows of B and fills denser tiles. Only the pattern matters; values play no part. Unsorted columns and columns
// named twice are welcome: a column counts once.
//
//     RowOrder order = order_rows(ctx, pattern_of(A.view()), {.kind = OrderKind::bsa});
//     PanelCost cost = panel_cost(ctx, pattern_of(A.view()), order);  // what the multiplication will move and compute
//
// BSA is Block-Sparsity-Aware reordering (Lee et al., Euro-Par 2024, doi:10.1007/978-3-031-69583-4_1): rows are
// clustered greedily by the weighted Jaccard similarity of their block counts. The permutation is that of the
// sequential definition, on every backend.

namespace tulle::inline TULLE_ABI::spmm {

// Where the nonzeros are; arrays where the context works.
struct Pattern {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    const offset_t* row_begin = nullptr;
    const index_t* col = nullptr;
    bool sorted = true;
};

template <class V>
Pattern pattern_of(const CsrView<V>& a)
{
    return {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, a.sorted};
}

enum class OrderKind {
    natural,  // as given
    degree,   // longest rows first
    minhash,  // rows by the columns that come first in a few random orders of the columns
    pack,     // panel after panel, each filled with the rows that share most columns with it
    bsa,      // the paper's clusters
};

enum class Dispersion {
    paper,     // tau * blocks + zeros filled in
    released,  // what the authors' program computes: nonzeros * blocks + zeros filled in
};

struct OrderOptions {
    OrderKind kind = OrderKind::natural;
    index_t tau = 32;                           // bsa: columns of a block
    double alpha = 0.3;                         // bsa: rows join a cluster they resemble more than this, 0 to 1
    Dispersion dispersion = Dispersion::paper;  // bsa
    index_t panel = 64;                         // pack: rows of a panel
    int hashes = 2;                             // minhash: 1 to 8
    bool checked = true;                        // look at offsets and columns first
    std::optional<RowStatistics> lengths = {};  // of the rows, where they are known already
};

struct RowOrder {
    OrderKind kind = OrderKind::natural;
    Buffer<index_t> row;        // the original row at each position; where the context works
    index_t leading_empty = 0;  // so many rows at the front are empty
    index_t clusters = 0;       // bsa: of rows that are not empty

    index_t rows() const { return static_cast<index_t>(row.size()); }
    std::size_t bytes() const { return row.bytes(); }
};

// A permutation of the rows; the same for the same pattern and options, whatever the backend and the number of threads.
TULLE_API RowOrder order_rows(const Context& ctx, const Pattern& a, const OrderOptions& options = {});

// What a multiplication by panels of rows moves and computes.
struct PanelCost {
    offset_t pairs = 0;     // distinct (panel, column): rows of B gathered
    offset_t tiles = 0;     // 16 x 8, with a nonzero; a panel's columns grouped by the slabs of 16 rows that use them
    offset_t panels = 0;    // with a nonzero
    offset_t nonzeros = 0;  // distinct positions

    bool operator==(const PanelCost&) const = default;
};

// `height`: a multiple of 16 up to 128.
TULLE_API PanelCost panel_cost(const Context& ctx, const Pattern& a, const RowOrder& order, index_t height = 64);

TULLE_API std::string to_text(OrderKind kind);
TULLE_API std::string to_text(Dispersion dispersion);
TULLE_API OrderKind parse_order(std::string_view name);  // ValueError lists the names

// What can be chosen for a sparse matrix times a dense one, and choose(), which decides without looking at a device.

enum class Math {
    exact,  // products and sums in the type of the sums
    tf32,   // numbers of A and B rounded to tf32 (11 bits) first; for float on tensor cores
};

enum class Kernel {
    rows,    // lanes of a GPU, or a vector of a CPU, walk a row of op(A) and hold some columns of C
    panels,  // GPU: 64 rows together; each row of B is fetched once for all of them and multiplied in 16-row tiles on
             // tensor cores
    dense,   // GPU: the same with all columns and all tiles, for nearly dense matrices: nothing is looked up
    tiles,   // the paper's: dense tiles of 32 x 32 on tensor cores (in plain loops on a CPU), the rest by rows into the
             // same C; only by force
};

// Columns of C that a lane of the row kernel holds.
inline constexpr int columns_per_lane = 4;

struct Policy {
    Kernel kernel = Kernel::rows;
    int lanes = 8;  // rows on a GPU: lanes that share a row: 2, 8, 32 with four columns of C each; otherwise 1; the
                    // rest beside tiles alike
    OrderKind order = OrderKind::natural;  // panels, tiles: which rows stand together
    int width = 0;  // panels: columns of C that a block computes (32, 64, 128; dense: 32, 64); tiles: 32, their side;
                    // otherwise 0
    int parts = 1;  // dense: blocks that share the columns of a panel (1, 2, 4, 8)
    int piece = 0;  // rows on a GPU: nonzeros of a line of work: short rows are taken together, long ones cut; 0: each
                    // row for itself

    bool operator==(const Policy&) const = default;
};

// What choose() looks at. `cost` is that of op(A) by panels of 64 rows in the order `order`; pairs = 0: nobody has
// counted.
struct Features {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0, longest = 0;  // longest: row
    index_t n = 32;                      // columns of B expected
    std::size_t value_bytes = 8;         // of a number of A and B
    bool tensor = false;                 // the products may be done by tensor cores
    bool unique = true;                  // no position is stored twice
    double expected_calls = 1000;
    OrderKind order = OrderKind::natural;
    PanelCost cost = {};
};

struct Limits {
    Backend backend = Backend::cpu;
    int multiprocessors = 132;  // of a GPU
    bool clusters = true;       // its blocks can run together (since sm_90)
};

struct Choice {
    Policy policy;
    std::string why;  // one sentence
};

// Pure: the same features and limits give the same choice.
TULLE_API Choice choose(const Features& features, const Limits& limits);

// A kernel as choose() would use it for such a matrix: its lanes, its width, in the order of the features.
TULLE_API Policy policy_of(Kernel kernel, const Features& features, const Limits& limits);

// Whether panels can be used at all, so that an order is worth looking for and its cost worth counting
// (order_choice.hpp).
TULLE_API bool wants_cost(const Features& features, const Limits& limits);

// Everything that could be done with a matrix of these features, for tests, benchmarks and tuning.
TULLE_API std::vector<Policy> candidates(const Features& features, const Limits& limits);

// ValueError with the alternatives if a forced policy cannot work for these features.
TULLE_API void check_policy(const Policy& policy, const Features& features, const Limits& limits);

TULLE_API std::string to_text(Kernel kernel);
TULLE_API std::string to_text(
    const Policy& policy);  // "rows, 8 lanes"; "rows, 8 lanes, lines of 32"; "panels of 128, pack order"; "dense, 64
                            // columns, 8 parts"; "tiles of 32 and rest, bsa order"
TULLE_API Kernel parse_kernel(std::string_view name);  // ValueError lists the names

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
