// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// op(T) x = alpha b for a sparse triangle T, float and double, one or many right-hand sides.
//
//     tulle::sptrsv::solve(ctx, L.view(), b.span(), x.span());                              // L x = b, once
//
//     auto plan = tulle::sptrsv::Plan<double>::make(ctx, L.view(), {.uplo = Uplo::lower});  // looks at the pattern
//                                                                                           // once
//     plan.solve(b.span(), x.span());                                                       // decides nothing,
//                                                                                           // allocates nothing
//     plan.update_values(L.view());                                                         // new numbers, same
//                                                                                           // pattern
//     std::puts(plan.describe().c_str());
//
// Arrays live where the context works (see matrix/move.hpp). x may be b. As in the BLAS, alpha == 0 gives x = 0, and
// neither T nor b is read. Offsets of 32 bits (matrix/csr32.hpp) are widened while the plan is made. A plan gives the
// same bits every time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csc.hpp"
#include "tulle/csr.hpp"
#include "tulle/csr32.hpp"
#include "tulle/dense.hpp"
#include "tulle/progress.hpp"
#include "tulle/sptrsv_placement.hpp"
#include "tulle/sptrsv_policy.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

template <class V>
using AnyView = std::variant<CsrView<V>, CscView<V>, Csr32View<V>, Csc32View<V>>;

enum class Uplo { lower, upper };
enum class OtherSide {
    refuse,
    ignore
};  // entries of the other triangle: ignore solves with one triangle of a general matrix
enum class Analysis { host, device };  // where a GPU's plan is made: triangle, levels, tasks; the host ignores it

struct Options {
    Uplo uplo = Uplo::lower;  // which triangle of the matrix is T, before op
    Op op = Op::none;
    bool unit_diagonal = false;  // the diagonal is one, whatever is stored
    OtherSide other_side = OtherSide::refuse;
    index_t right_hand_sides = 1;  // at once; more than one is prepared for, any number can be solved for
    double expected_calls =
        100;  // solves that will follow, as many as an iterative solver takes: few are not worth much analysis
    Effort effort = Effort::model;
    double seconds = 1;                // a search starts no new scheme after this long
    std::optional<Policy> force = {};  // decides instead
    bool checked = true;               // validate the matrix first; sizes and null pointers are looked at in any case
    std::string cache = {};  // folder that remembers what a search found for a pattern on a device; empty: none
    Analysis analysis = Analysis::device;
    std::string model = {};  // file of a perceptron (src/model) that chooses instead of those built in; empty: those;
                             // "none": rules alone choose
};

// A solve prepared for one pattern. It keeps copies of all it needs: the caller's matrix may go. Not for use by two
// threads at once.
template <class V>
class TULLE_API Plan {
public:
    // ValueError names the row whose diagonal is missing or zero, the entry on the wrong side, or the position that is
    // stored twice.
    static Plan make(const Context& ctx, const AnyView<V>& a, const Options& options = {});
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;
    ~Plan();

    // On CUDA the work is put on the context's stream; the call returns at once.
    void solve(V alpha, std::span<const V> b, std::span<V> x) const;
    void solve(std::span<const V> b, std::span<V> x) const { solve(V(1), b, x); }
    void solve(V alpha, const DenseView<const V>& b, const DenseView<V>& x) const;  // a column for each right-hand side

    // Same pattern, new numbers; no new analysis. PlanMismatch if format, shape or nonzeros differ. After a zero on the
    // diagonal was refused here, the plan solves again only once it has been given values it can use.
    void update_values(const AnyView<V>& a);

    // Waits for the solves put on the stream. DeviceError, with the row, if one gave up waiting; its x is then NaN
    // where it was not solved.
    void wait() const;

    const Policy& scheme() const;
    const Features& features() const;
    index_t levels() const;        // one after the other, with this scheme
    std::string describe() const;  // what was chosen, why, what it costs
    std::size_t bytes() const;     // held where the context works
    index_t rows() const;

private:
    struct State;
    explicit Plan(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Where a triangle on the host is solved soonest, `options.expected_calls` times: a context and the reason. Without a
// usable GPU: the CPU. The triangle is looked at once more by Plan::make.
//
//     const auto [ctx, placement] = tulle::sptrsv::best_context<double>(L.view());                // L on the host
//     const auto there = to_device(ctx, L.view());
struct Best {
    Context ctx;
    Placement placement;
};
template <class V>
TULLE_API Best best_context(const AnyView<V>& on_host, const Options& options = {}, int threads = 0, int device = 0);

// What schemes can count on where a context works; for candidates() and check_policy().
TULLE_API Limits limits_of(const Context& ctx);

// How long schemes take on a matrix, each tried within `seconds` in all; the fastest first, and remembered in
// Options::cache. For tuning; `progress` may be empty.
struct Trial {
    Policy scheme;
    index_t levels;
    double prepare_seconds, solve_seconds;
};
template <class V>
TULLE_API std::vector<Trial> try_policies(const Context& ctx, const AnyView<V>& a, const Options& options,
                                          const std::vector<Policy>& schemes, const Progress& progress = {});

// Rows in each level, the first level first: each row alone, and in critical clusters of up to 32 rows. To look at a
// triangle; on the host.
struct LevelWidths {
    std::vector<offset_t> alone, clustered;
};
template <class V>
TULLE_API LevelWidths level_widths(const Context& ctx, const AnyView<V>& a, const Options& options = {});

// Once, without a plan to keep.
template <class View, class V = typename ValueOf<View>::type>
void solve(const Context& ctx, const View& a, std::type_identity_t<V> alpha, std::type_identity_t<std::span<const V>> b,
           std::type_identity_t<std::span<V>> x, const Options& options = {})
{
    Options once = options;
    once.expected_calls = 1;
    const auto plan = Plan<V>::make(ctx, a, once);
    plan.solve(alpha, b, x);
    plan.wait();
}

template <class View, class V = typename ValueOf<View>::type>
void solve(const Context& ctx, const View& a, std::type_identity_t<std::span<const V>> b,
           std::type_identity_t<std::span<V>> x, const Options& options = {})
{
    solve(ctx, a, V(1), b, x, options);
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
