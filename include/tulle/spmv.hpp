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

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/types.hpp"

// What can be chosen for a sparse matrix-vector product, and choose(), which decides without looking at a device.

namespace tulle::inline TULLE_ABI::spmv {

enum class Format { csr, csc, coo, blocked_ell };

enum class Kernel {
    rows,    // a slice of lanes per row of op(A); a few lanes for short rows, a warp for long ones
    groups,  // neighbouring rows with the same columns together: columns and x are read once for all of them
    stream,  // GPU: blocks of whole rows with about as many nonzeros; products go to shared memory, rows are added up
             // there
    sell,    // slices of 32 rows, columns as a base and short distances, on a copy of the values
    split,   // rows and nonzeros cut into pieces of equal work (merge path); for rows of very different length, without
             // preparation
    scatter,  // columns of op(A) one after the other, added into y; needs no copy of a matrix stored the other way
              // round
    entries,  // coordinates in the order they are, added into y
    blocks,   // the dense blocks of Blocked-ELL
};

struct Policy {
    Kernel kernel = Kernel::rows;
    int lanes =
        32;  // rows, groups: lanes of a GPU warp that share them (1, 2, 4, 8, 16, 32); on a CPU sums side by side (1,
             // 2, 4; 8: its vectors); sell: 32, on a CPU 1 or 8; split: 32, on a CPU two sums side by side, or 8
    bool copy = false;    // keep op(A) as CSR of our own, for matrices stored in another way
    bool narrow = false;  // rows: columns of 16 bits kept by the plan
    bool sort = false;    // sell: rows by length inside windows, y in its own order all the same

    bool operator==(const Policy&) const = default;
};

inline constexpr offset_t longest_in_group = (1 << 28) - 1;  // nonzeros of a row

// What one pass over op(A), stored by rows, tells.
struct RowFeatures {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    offset_t longest = 0;  // row
    double mean = 0;       // length
    index_t widest = 0;    // largest distance of last and first column of a row
    index_t steady = 0;  // rows as long as the row before, whose end a CPU can therefore predict; counted on a CPU only
    index_t repeats = 0;  // rows that look like the row before: length, first, middle and last column are the same
    index_t shifts = 0;   // … like the row before moved one column on
    offset_t padded = 0;  // places in slices of 32 rows, each as wide as its longest row
    std::size_t value_bytes = 8;  // of one number of the matrix
};

// What choose() looks at.
struct Features {
    Format format = Format::csr;
    bool transposed = false;     // op(A) = A transposed
    bool sorted_by_row = false;  // COO: already in row order of op(A)
    bool deterministic = false;  // the same bits every time are asked for
    bool reused = true;          // a plan that will run many times, not a product done once
    RowFeatures row = {};  // of the rows of op(A); for matrices stored by column only rows, cols and nonzeros are known
};

// What row kernels cost on a CPU, in nanoseconds a nonzero, on matrices in its second cache. Nobody can tell in
// advance: gathers of AVX-512 are the fastest way on one Xeon and 0.6 times a plain loop on another.
struct RowCosts {
    static constexpr std::array lanes{1, 2, 4, 8};
    static constexpr std::array mean{4, 16, 64};  // nonzeros of a row
    static constexpr double never = std::numeric_limits<double>::infinity();
    using ByMean = std::array<std::array<double, lanes.size()>, mean.size()>;

    ByMean steady{{{0.60, 0.60, 0.70, never},
                   {0.52, 0.50, 0.50, never},
                   {0.56, 0.48, 0.44, never}}};  // all rows are equally long
    ByMean changing{{{1.80, 2.00, 2.10, never},
                     {0.90, 0.95, 1.20, never},
                     {0.65, 0.57, 0.57, never}}};  // nobody can foresee where a row ends
    double sell = never;      // slices with their vectors, where rows are the row before moved by one …
    double sell_rows = 0.56;  // … and the best row kernel on the same matrix
    bool measured = false;    // false: typical, not of this machine; never bad, but without its vectors

    bool operator==(const RowCosts&) const = default;
};

struct Limits {
    Backend backend = Backend::cpu;
    int threads = 1;      // of the CPU queue
    RowCosts costs = {};  // of this CPU, or typical ones
};

// The cost of a row kernel for rows like these, between those that were measured.
TULLE_API double cost_of(const RowCosts& costs, const RowFeatures& row, int lanes);

// The costs of this machine: measured when first asked for, in a few milliseconds, then remembered by the process; any
// thread may ask. Typical ones where TULLE_CALIBRATE=off forbids it or the clock is unusable. `value_bytes` of the
// vectors: 4 or 8.
TULLE_API const RowCosts& measured_costs(std::size_t value_bytes);
// Typical costs, the same on any two machines of one kind: what a deterministic context, a small matrix or a product
// done once is decided by.
TULLE_API RowCosts typical_costs();
// "rows of 16 nonzeros take 0.52, 0.49, 0.61 ns …"
TULLE_API std::string to_text(const RowCosts& costs);

struct Choice {
    Policy policy;
    std::string why;  // one sentence
};

// Pure: the same features and limits give the same choice.
TULLE_API Choice choose(const Features& features, const Limits& limits);

// Whether choose() would have op(A) copied by rows; asked before its row lengths are known.
TULLE_API bool wants_copy(const Features& features, const Limits& limits);

// Everything that could be done with a matrix of these features, for tests, benchmarks and tuning.
TULLE_API std::vector<Policy> candidates(const Features& features, const Limits& limits);

// ValueError with the alternatives if a forced policy cannot work for these features.
TULLE_API void check_policy(const Policy& policy, const Features& features, const Limits& limits);

TULLE_API std::string to_text(Kernel kernel);
TULLE_API std::string to_text(Format format);
TULLE_API std::string to_text(const Policy& policy);   // "rows, 8 lanes"
TULLE_API Kernel parse_kernel(std::string_view name);  // ValueError lists the names

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
