// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Incomplete factorisations: A is about L U or L L^T, with L and U sparse; float and double.
/// @code
/// auto plan = tulle::factor::Plan<double>::make(ctx, A.view(), {.kind = tulle::factor::Kind::ic0});
/// plan.apply(r.span(), z.span());                     // L L^T z = r: two triangular solves, allocates nothing
/// plan.update_values(A.view());                       // new values, same pattern
/// std::puts(plan.describe().c_str());
/// @endcode
/// All kinds fix a pattern first and then factorise on it: (L U)_ij = a_ij for all (i, j) of the pattern, but for the
/// diagonal entries of relaxed factors. The factors
/// are exact on both backends, not iterated towards. Arrays are in the memory of the context.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/outline.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/types.hpp"

/// Incomplete factorisations.
namespace tulle::inline TULLE_ABI::factor {

/// The kinds of factorisations: which pattern L and U have.
enum class Kind {
    ilu0,  ///< L U on the pattern of A
    ic0,   ///< L L^T on the pattern of the lower triangle of A, which must be symmetric; the upper one is not read
    iluk,  ///< L U on the pattern of A and the fill-in up to Options::level
    ilut,  ///< L U on the entries that are large: Options::drop and Options::fill
};

/// Orders of the unknowns in which a matrix is factorised.
enum class Order {
    natural,  ///< as they are numbered
    rcm,      ///< reverse Cuthill-McKee on the pattern of A + A^T: a narrow band, less fill-in
    /// By colours: rows of one colour are not coupled and are solved at the same time. Few levels, more iterations.
    colour,
    /// Nested dissection by METIS or SCOTCH, loaded where it is asked for (libmetis.so.5, libscotchmetisv5.so, or the
    /// library that the environment variable TULLE_METIS names): fewer levels, often more iterations.
    nested_dissection,
    /// The cheapest of them, if it is expected to save much: analysis + iterations expected x seconds of an iteration.
    automatic
};

/// Diagonal entries that are not stored.
enum class MissingDiagonal {
    refuse,  ///< ValueError, with the row
    add      ///< stored in the factors, with the value zero before the factorisation
};

/// Options of Plan::make().
struct Options {
    Kind kind = Kind::ilu0;  ///< which pattern L and U have
    int level = 1;           ///< iluk: highest level of fill-in; 0 is ilu0
    double most_fill = 0;    ///< iluk: a pattern of more than so many times the entries of A is an error; 0: any size
    /// ilut: entries below drop times the mean magnitude of their row in A are left out.
    double drop = 1e-3;
    /// ilut: a row of L, and one of U, has at most fill times half as many entries as the mean row of A, and one more:
    /// the largest, of equal magnitudes those of the smaller columns.
    double fill = 3;
    /// Order of the unknowns; the permutation is handled inside.
    Order order = Order::natural;
    /// Rows are permuted so that the product of the magnitudes on the diagonal is the largest possible, and rows and
    /// columns scaled so that those entries are 1 and no other one is larger (Duff, Koster). Not for ic0.
    bool match = false;
    MissingDiagonal missing_diagonal = MissingDiagonal::refuse;  ///< diagonal entries that are not stored
    /// Added to each diagonal entry, as a fraction of its magnitude (Manteuffel's shift). Where the entry is zero, the
    /// largest magnitude of its row counts.
    double shift = 0;
    /// After a breakdown: so many further attempts, the first with first_shift, each other with four times the shift
    /// before.
    int shift_attempts = 10;
    double first_shift = 1e-3;  ///< shift of the first attempt after a breakdown
    /// Part of the fill-in outside the pattern that is added to the diagonal entry of its row: 1 keeps the sums of rows
    /// (modified factors, Gustafsson), less is relaxed (Axelsson, Lindskog). On a CPU, and not for ic0.
    double relax = 0;
    double expected_calls = 100;  ///< apply() calls that will follow: few are not worth much analysis
    bool checked = true;          ///< validate the matrix first; sizes and null pointers are always checked
};

/// Why a factorisation cannot continue.
enum class Breakdown {
    none,        ///< it could
    zero_pivot,  ///< a pivot of L U is zero
    negative,    ///< a pivot of L L^T is zero or negative: the matrix is not positive definite, or ic0 breaks down
    not_finite,  ///< an entry is infinite or not a number
};

/// How the last factorisation went.
struct Report {
    double shift = 0;                             ///< shift in use, as Options::shift
    int attempts = 1;                             ///< factorisations until one succeeded
    Breakdown first_breakdown = Breakdown::none;  ///< breakdown of the first attempt
    index_t first_row = -1;                       ///< row of that breakdown; -1: none
};

/// What an order of the unknowns is predicted to cost (docs/design/factor.md).
struct OrderCost {
    Order order = Order::natural;  ///< the order
    index_t levels = 0;            ///< levels of the lower triangle
    double analysis = 0;           ///< seconds, once
    double iteration = 0;          ///< seconds of an iteration: a product with A and two triangular solves
    double iterations = 1;         ///< iterations expected, over those of the natural order

    /// Seconds of the analysis and so many iterations of the natural order.
    double total(double calls) const { return analysis + calls * iterations * iteration; }
};

/// What was seen of a matrix and its factors.
struct Features {
    index_t rows = 0;                    ///< rows of A
    offset_t nonzeros = 0;               ///< stored entries of A
    offset_t factor_nonzeros = 0;        ///< stored entries of the factors: pattern and fill-in
    std::vector<OrderCost> orders = {};  ///< Order::automatic: what the order was chosen from; else empty
};

/// Name of a kind: "ilu0".
TULLE_API std::string to_text(Kind kind);
/// Name of an order: "natural", "rcm", "colour", "nd" or "auto".
TULLE_API std::string to_text(Order order);
/// A breakdown as part of a sentence: "the pivot is zero".
TULLE_API std::string to_text(Breakdown breakdown);

/// An incomplete factorisation with its triangular solves.
///
/// A plan keeps copies of all it needs: the caller's matrix may be released. One thread at a time may use a plan.
/// @tparam V value type: float or double.
template <class V>
class TULLE_API Plan {
    static_assert(detail::require_value<V>());

public:
    /// Finds the pattern, factorises, and analyses both triangles; waits.
    /// @param ctx where the arrays are and the work is done; the plan keeps a copy.
    /// @param a the matrix, in the memory of the context; columns may be unsorted, but none may be stored twice.
    /// @param options see Options.
    /// @throws ShapeError if the matrix is not square.
    /// @throws ValueError if the matrix is not valid, an entry is stored twice or not finite, a diagonal entry is
    /// missing, an option is out of range, the factorisation breaks down for all shifts, or rows cannot be matched
    /// because the matrix is structurally singular; it names the row.
    /// @throws NotBuilt if Order::nested_dissection is asked for, and neither METIS nor SCOTCH can be loaded.
    /// @throws OutOfMemory if the budget or the device does not allow what the plan keeps.
    static Plan make(const Context& ctx, const AnyCsr<V>& a, const Options& options = {});

    /// z = U^-1 L^-1 r, or L^-T L^-1 r. Allocates nothing. On a GPU the work is queued on the stream of the context and
    /// the call returns at once.
    /// @param r rows() entries in the memory of the context.
    /// @param z rows() entries in the memory of the context; may be r, but not overlap it otherwise.
    /// @throws ShapeError if r or z has the wrong size.
    /// @throws ValueError if r and z overlap or are null, or the last update_values() failed; DeviceError if they are
    /// in other memory.
    void apply(std::span<const V> r, std::span<V> z) const;

    /// Factorises new values on the same pattern; no new analysis. The pattern is not compared. Shifts begin anew.
    /// Permutations and scales stay.
    /// @param a the matrix with the new values, in the memory of the context.
    /// @throws PlanMismatch if shape or number of nonzeros differ.
    /// @throws ValueError as make(): the plan cannot be applied until it gets values that can be factorised.
    void update_values(const AnyCsr<V>& a);

    /// How the last factorisation went.
    const Report& report() const;
    /// The factors in one matrix, in the memory of the context, sorted; valid until the next update_values(). With an
    /// order or a matching they are those of the matrix permuted and scaled.
    /// L U: the strict lower triangle is that of L, whose diagonal is one; the rest is U. ic0: L.
    CsrView<V> factors() const;
    /// The policy in use: the options of make(), with the order that was chosen where Options::order was automatic. The
    /// shift after a breakdown is in report().
    const Options& policy() const;
    /// What was seen of the matrix and its factors.
    const Features& features() const;
    /// The kind, sizes, order with its levels and price, shift, breakdown and memory, in several lines.
    std::string describe() const;
    /// Bytes held by the plan in the memory of the context.
    std::size_t bytes() const;
    /// Rows of the matrix.
    index_t rows() const;

private:
    struct State;
    explicit Plan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

}  // namespace tulle::inline TULLE_ABI::factor
