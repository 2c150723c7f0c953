// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solvers: A x = b for a square sparse matrix by preconditioned Krylov methods, float and double.
/// @code
/// auto plan = tulle::solve::Plan<double>::make(ctx, A.view());         // method and preconditioner chosen from A
/// const tulle::solve::Report r = plan.solve(b.span(), x.span());       // x = 0 to begin with
/// if (!r.converged()) std::puts(r.text().c_str());
///
/// using namespace tulle::solve;
/// auto cg = Plan<double>::make(ctx, A.view(), {.method = Method::cg,
///                                              .preconditioner = BlockJacobi{4},
///                                              .stop = {.relative = 1e-10, .iterations = 500, .seconds = 60}});
/// cg.update_values(A.view());                                          // new values, same pattern
/// @endcode
/// Arrays are in the memory of the context (tulle/transfer.hpp copies them there). Recipes are plain data. A plan gives
/// the same bits every time, on a CPU for any number of threads unless the product chosen for A depends on it
/// (docs/determinism.md). "Converged" means that b - A x was computed and is small enough; b may have any scale.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tulle/amg.hpp"
#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/factor.hpp"
#include "tulle/outline.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/types.hpp"

/// Solvers of linear systems.
namespace tulle::inline TULLE_ABI::solve {

/// The methods.
enum class Method {
    cg,            ///< conjugate gradients; A symmetric positive definite
    pipelined_cg,  ///< the same with one reduction an iteration (Ghysels, Vanroose), less accurate
    minres,        ///< minimal residuals (Paige, Saunders); A symmetric, the preconditioner positive definite
    bicgstab,      ///< stabilised biconjugate gradients (van der Vorst)
    gmres,         ///< restarted generalised minimal residuals (Saad, Schultz), preconditioned from the right
    fgmres,        ///< the same for a preconditioner that changes from step to step; keeps twice as many vectors
    chebyshev,     ///< Chebyshev iteration without dot products in its recurrence; A symmetric positive definite
    refinement     ///< iterative refinement: residuals in double, an inner method in float; for Plan<double>
};

/// Why a solve ended.
enum class Reason {
    converged,                  ///< the residual b - A x, computed anew, is small enough
    iterations,                 ///< Stop::iterations
    seconds,                    ///< Stop::seconds
    stagnated,                  ///< no progress: singular, or a tolerance below what the arithmetic can reach
    diverged,                   ///< the residual has grown by Stop::divergence
    not_positive_definite,      ///< p · A p is not above zero (Report::value)
    preconditioner_indefinite,  ///< r · M r is not above zero (Report::value)
    not_finite                  ///< NaN or infinity in b, in the first guess, or by overflow (Report::where)
};

/// No preconditioner.
struct None {
    /// Compares.
    bool operator==(const None&) const = default;
};

/// The diagonal of A.
struct Jacobi {
    /// Compares.
    bool operator==(const Jacobi&) const = default;
};

/// Blocks of consecutive rows on the diagonal of A, inverted.
struct BlockJacobi {
    int rows = 8;  ///< rows of a block, 1 to 32

    /// Compares.
    bool operator==(const BlockJacobi&) const = default;
};

/// A Chebyshev polynomial in the matrix scaled by its diagonal.
struct Chebyshev {
    int degree = 3;      ///< products with A in one application, plus one
    double ratio = 30;   ///< largest eigenvalue over the smallest one that the polynomial aims at
    double highest = 0;  ///< largest eigenvalue of the scaled matrix; 0: estimated

    /// Compares.
    bool operator==(const Chebyshev&) const = default;
};

/// An incomplete factorisation (tulle/factor.hpp); shifted where it breaks down.
struct Incomplete {
    factor::Kind kind = factor::Kind::ilu0;  ///< ic0 for symmetric positive definite matrices
    int level = 1;                           ///< iluk: highest level of fill-in
    double most_fill = 0;                    ///< iluk: factor::Options::most_fill
    double drop = 1e-3;                      ///< ilut: entries below drop times the mean of their row are left out
    double fill = 3;                         ///< ilut: limit of a row's entries, times half the mean row of A
    double relax = 0;                        ///< part of the fill-in left out that goes to the diagonal, not for ic0
    bool match = false;                      ///< rows matched to columns and scaled first; not for ic0
    factor::Order order = factor::Order::natural;  ///< order of the unknowns

    /// Compares.
    bool operator==(const Incomplete&) const = default;
};

/// A factorised sparse approximate inverse on the pattern of the lower triangle of A, for symmetric positive definite
/// matrices: two products instead of the triangular solves of Incomplete.
struct Fsai {
    /// Compares.
    bool operator==(const Fsai&) const = default;
};

/// Symmetric successive over-relaxation: both triangles of A with its diagonal over a weight, nothing is factorised.
/// For symmetric matrices with a positive diagonal, by one thread of a CPU. Method::cg has no product with A beside it
/// (Eisenstat, SIAM J. Sci. Stat. Comput. 2(1), 1981); its residuals between the ends of a solve are then estimates.
struct Ssor {
    double weight = 1.1;                           ///< above 0; positive definite for any
    factor::Order order = factor::Order::natural;  ///< order of the unknowns; not automatic

    /// Compares.
    bool operator==(const Ssor&) const = default;
};

/// In which type a preconditioner of a double system computes.
enum class Precision {
    automatic,  ///< float where the range of the diagonal allows it
    as_matrix,  ///< as the system
    in_float,   ///< float: about half the memory and time
    in_f16,     ///< float, but cycles read matrices and prolongators in Float16 (amg::Storage); also of a float system
    in_bf16     ///< likewise in Bfloat16
};

struct Recipe;

/// A recipe inside another recipe, copied with it; recipes nest up to most_nested deep. As a preconditioner it is an
/// inner solver: z is what the inner recipe makes of A z = r from z = 0. As Amg::smooth_by its preconditioner smooths.
/// @code
/// const Nested inner({.method = Method::cg, .preconditioner = Amg{}, .stop = {.relative = 0.01, .iterations = 20}});
/// const Recipe outer{.method = Method::fgmres, .preconditioner = inner};
/// const Amg strong{.smooth_by = Nested({.preconditioner = Incomplete{.kind = factor::Kind::ic0}})};
/// @endcode
class TULLE_API Nested {
public:
    /// No recipe.
    Nested() = default;
    /// A copy of the recipe.
    explicit Nested(const Recipe& recipe);
    /// Whether there is no recipe.
    bool empty() const { return recipe_ == nullptr; }
    /// The recipe; there must be one.
    const Recipe& recipe() const { return *recipe_; }

    /// Compares the recipes.
    bool operator==(const Nested& other) const;

private:
    std::shared_ptr<const Recipe> recipe_;  // never changed: copies may share it
};

/// The most recipes inside each other, beside the outermost.
inline constexpr int most_nested = 4;

/// Algebraic multigrid (tulle/amg.hpp), for symmetric positive definite matrices.
struct Amg {
    amg::Smoother smoother = amg::Smoother::chebyshev;          ///< smoother of all levels
    int degree = 2;                                             ///< of the Chebyshev smoother
    double strength = 0.08;                                     ///< of couplings inside an aggregate
    amg::Cycle cycle = amg::Cycle::v;                           ///< order of the levels; k: with fgmres alone
    Precision precision = Precision::automatic;                 ///< of matrices and vectors of the hierarchy
    amg::Coarsening coarsening = amg::Coarsening::aggregation;  ///< how coarser levels are made
    /// A preconditioner that smooths all levels in place of `smoother`, damped by its largest eigenvalue: any that is
    /// the same operator every time. With ilut or matched rows the cycle is not symmetric: for bicgstab, gmres and
    /// fgmres. Inside a hierarchy in double an Amg is in double, and refused where it names another precision. Not on
    /// several ranks.
    Nested smooth_by = {};

    /// Compares.
    bool operator==(const Amg&) const = default;
};

/// The preconditioners. An inner solver (Nested) changes from step to step: it is for fgmres, but for one that always
/// makes the same steps (chebyshev with stop.relative = 0 and so many stop.iterations).
using Preconditioner = std::variant<None, Jacobi, BlockJacobi, Chebyshev, Incomplete, Amg, Fsai, Nested, Ssor>;

/// When a solve ends.
struct Stop {
    /// Residual over the norm of b. Empty: 1e-8 in double, 1e-5 in float (default_relative()).
    std::optional<double> relative = {};
    double absolute = 0;                                       ///< residual; the larger of the two counts
    offset_t iterations = 10'000;                              ///< the most iterations
    double seconds = std::numeric_limits<double>::infinity();  ///< the most seconds, checked between iterations
    offset_t stagnation = 2000;  ///< iterations without a residual 1 % smaller than the smallest before; 0: no limit
    double divergence = 1e10;    ///< growth of the residual that ends a solve

    /// Compares.
    bool operator==(const Stop&) const = default;
};

/// The tolerance of a Stop that names none: what the arithmetic of V reaches with ordinary matrices.
/// @tparam V float or double.
template <class V>
constexpr double default_relative()
{
    return std::is_same_v<V, float> ? 1e-5 : 1e-8;
}

/// Eigenvalues of the preconditioned matrix for Method::chebyshev.
struct Eigenvalues {
    double lowest = 0;   ///< 0: estimated by a few steps of the Lanczos method
    double highest = 0;  ///< 0: estimated by a few steps of the Lanczos method

    /// Compares.
    bool operator==(const Eigenvalues&) const = default;
};

/// The solver in float inside Method::refinement; it has the preconditioner of the recipe.
struct Inner {
    std::optional<Method> method = {};  ///< empty: chosen
    double relative = 1e-4;             ///< its tolerance
    offset_t iterations = 1000;         ///< its iterations in one step of refinement

    /// Compares.
    bool operator==(const Inner&) const = default;
};

/// Whether blocks of iterations are captured as CUDA graphs.
enum class Graphs {
    automatic,  ///< on a GPU, where the method allows it: from the third time that a block is put on the queue
    never       ///< kernel by kernel
};

/// What to do.
struct Recipe {
    std::optional<Method> method = {};                  ///< empty: chosen from symmetry and diagonal
    std::optional<Preconditioner> preconditioner = {};  ///< empty: chosen
    Stop stop = {};                                     ///< when to end
    int restart = 30;                                   ///< gmres, fgmres: vectors kept before a restart
    bool guess = false;                                 ///< x has a first guess; otherwise it is not read
    Eigenvalues eigenvalues = {};                       ///< chebyshev
    Inner inner = {};                                   ///< refinement
    /// Amg: neighbouring rows that belong to one node, such as the displacements at a point; they share an aggregate.
    index_t unknowns_per_node = 1;
    int check_every =
        0;  ///< iterations between looks at the residual by the host; 0: 1 on a CPU, 16 on a GPU (2 with Amg)
    /// The blocks of iterations between two looks. The bits are the same. A plan with graphs works on a stream of its
    /// own, in order with that of the context, and keeps one more vector.
    Graphs graphs = Graphs::automatic;
    /// Whether a solve that fails looks for a reason in the matrix (Report::note): a product with its transpose.
    bool explain = true;

    /// Compares.
    bool operator==(const Recipe&) const = default;
};

/// The progress of a solve; given to an Observer.
struct SolveProgress {
    offset_t iterations = 0;  ///< iterations done
    double residual = 0;      ///< norm of the residual, as the method tells it
    double target = 0;        ///< norm that is small enough
    double seconds = 0;       ///< since the solve began
};

/// Called whenever the host looks at the residual, from the calling thread. May be empty.
using Observer = std::function<void(const SolveProgress&)>;

/// How a solve went.
struct Report {
    Reason reason = Reason::converged;  ///< why it ended
    offset_t iterations = 0;            ///< iterations done
    /// Iterations inside: of refinement's inner method, of an inner solver; not those of solvers that smooth multigrid.
    /// On a team those of the member with the most; over ranks inner solvers are not counted.
    offset_t inner_iterations = 0;
    int restarts = 0;            ///< times that the method began anew from b - A x, restarts of gmres included
    Method method = Method::cg;  ///< the method that made the last iteration
    double residual = 0;         ///< norm of b - A x, computed at the end
    double relative = 0;         ///< the same over the norm of b; 0 if b is zero
    double target = 0;           ///< norm that was asked for
    /// Norms of the residual: before the first iteration, after each one. The last is computed from b - A x, the others
    /// as the method tells them.
    std::vector<double> history;
    double value = 0;            ///< p · A p or r · M r for the reasons that speak of them
    std::string where;           ///< not_finite: "b", "the first guess", "iteration 7" or "x", which is too large for V
    std::string note;            ///< what else was done, such as another method tried; may be empty
    std::string advice;          ///< what would make the next solves faster, such as a new plan; may be empty
    double setup_seconds = 0;    ///< Plan::make() or the last update_values()
    double iterate_seconds = 0;  ///< iterations
    double verify_seconds = 0;   ///< residuals computed anew

    /// Whether x is good enough.
    bool converged() const { return reason == Reason::converged; }
    /// The report as a sentence.
    TULLE_API std::string text() const;
};

/// Name of a method: "bicgstab".
TULLE_API std::string to_text(Method method);
/// Name of a reason: "not positive definite".
TULLE_API std::string to_text(Reason reason);
/// A preconditioner with its parameters: "block-jacobi:8".
TULLE_API std::string to_text(const Preconditioner& preconditioner);
/// The method of that name.
/// @throws ValueError (with the names) if there is none.
TULLE_API Method parse_method(std::string_view name);
/// A preconditioner from its name and parameters: "jacobi", "block-jacobi:4", "chebyshev:3", "ilu0", "ic0", "iluk:1",
/// "ilut", "ilut:DROP:FILL", "fsai", "ssor", "ssor:WEIGHT", "amg", "amg:float", "amg:double", "amg:f16", "amg:bf16";
/// factorisations with "+relax:PART", "+match" and one of the orders "+rcm", "+colour", "+nd" (nested dissection) and
/// "+auto" (priced) behind them, ssor with one of the first three orders, amg with "+classical" (coarsening), "+w" or
/// "+k" (cycle), one of "+jacobi", "+l1-jacobi" and
/// "+gauss-seidel" (smoother), or any preconditioner as in "+smoother[ic0]", in this order. An inner solver:
/// "solve[METHOD,PRECONDITIONER,RELATIVE,ITERATIONS]", as in "solve[cg,amg+smoother[ic0],0.01,20]"; "auto" for what is
/// to be chosen, the numbers may be left out (0.01, 100).
/// @throws ValueError (with the names) if the text is wrong.
TULLE_API Preconditioner parse_preconditioner(std::string_view text);
/// All methods.
TULLE_API std::vector<Method> methods();

/// What is seen of a matrix before a method is chosen.
struct Features {
    index_t rows = 0;                ///< rows and columns
    offset_t nonzeros = 0;           ///< stored values
    bool symmetric = false;          ///< the values are, up to rounding
    offset_t empty_rows = 0;         ///< rows without entries
    offset_t missing_diagonal = 0;   ///< rows without a diagonal entry, or with a zero there
    offset_t negative_diagonal = 0;  ///< rows with a negative diagonal entry
    offset_t positive_values = 0;    ///< values above zero, the diagonal included; counted on a CPU only
    /// Rows whose diagonal is at least the sum of the other magnitudes; counted on a CPU, where as many values are
    /// positive as there are rows.
    offset_t dominant_rows = 0;
    /// Part of the values beside the diagonal that stand further from it than a twentieth of the rows: large where the
    /// unknowns come in no order. Of sampled rows, on a CPU only.
    double spread = 0;
    Backend backend = Backend::cpu;  ///< where the system is solved
    bool near_null_space = false;    ///< the caller gives one
    /// Norm of that part of the fill-in of a first elimination step that falls outside of the pattern of A, over the
    /// norm of all of it, with the diagonal scaled to one: what incomplete factors leave out, and what no factors do.
    /// Of sampled rows of a symmetric matrix with a positive diagonal, on a CPU only; else 0.
    double fill_in = 0;
    /// Root of the mean over sampled rows i of the sum of a_ij^2 / (a_ii a_jj) over j beside i, where fill_in is known.
    double mean_coupling = 0;
    double most_coupling = 0;  ///< root of the largest of these sums
};

/// A method and a preconditioner, and the reason for them.
struct Choice {
    Method method = Method::cg;              ///< the method
    Preconditioner preconditioner = None{};  ///< the preconditioner
    int restart = 0;                         ///< of gmres; 0: that of the recipe
    std::string why;                         ///< one sentence
    /// What setting up the next candidate and solving with it is expected to cost, in iterations of this one: where
    /// more are expected to be left after next_look of them, the next one goes on. 0: it goes on after a failure only.
    offset_t next_cost = 0;
    offset_t next_look = 20;  ///< iterations before the next candidate can take over
};

/// What is tried for a recipe, in this order: the next one where a preconditioner cannot be made, or a method fails or
/// is too slow. A method or preconditioner that the recipe names is in all of them. Pure: the same features and recipe
/// give the same choices.
TULLE_API std::vector<Choice> candidates(const Features& features, const Recipe& recipe);
/// The first of the candidates().
TULLE_API Choice choose(const Features& features, const Recipe& recipe);

/// A solver prepared for one matrix.
///
/// A plan keeps the view: the caller's arrays must stay in place while the plan is used. After their values have
/// changed, call update_values(). One thread at a time may use a plan.
/// @tparam V float or double.
template <class V>
class TULLE_API Plan {
    static_assert(detail::require_value<V>());

public:
    /// Looks at the matrix, chooses what the recipe leaves open, and sets up product, preconditioner and vectors.
    /// @param ctx where the arrays are and the work is done; the plan keeps a copy.
    /// @param a the matrix, in the memory of the context; kept as a view.
    /// @param recipe see Recipe.
    /// @param near_null_space vectors that the matrix maps to almost zero, as columns, row-major without gaps, in the
    /// memory of the context; the plan keeps a copy. Amg uses it (amg::Plan::make(), amg::rigid_body_modes()). Without
    /// any: constants.
    /// @throws ShapeError if the matrix is not square, or the vectors have another number of rows.
    /// @throws ValueError if the matrix is not valid or has NaN or infinity, if the recipe is wrong, or if the
    /// preconditioner cannot be made (zero or missing diagonal, singular block; the row is named).
    /// @throws OutOfMemory if the budget or the device does not allow what the plan keeps.
    static Plan make(const Context& ctx, const AnyCsr<V>& a, const Recipe& recipe = {},
                     const DenseView<const V>& near_null_space = {});

    /// Solves A x = b; waits for the result. A solve that does not converge, also because of NaN or overflow, is not an
    /// exception: the report has the reason, and x is the best vector that was checked, after a limit the last one
    /// (of minres, gmres and fgmres the better of the two).
    /// Where candidates() has several, a solve goes on with the next one after a failure, and later solves begin with
    /// the one that converged.
    /// @param b rows() entries in the memory of the context.
    /// @param x rows() entries in the memory of the context; must not overlap b. Not read unless Recipe::guess.
    /// @param observe called from time to time; may be empty.
    /// @throws ShapeError if b or x has the wrong size.
    /// @throws ValueError if b and x overlap or are null, or if the last update_values() failed half-way; DeviceError
    /// if they are in other memory.
    /// @throws OutOfMemory if another method had to be tried and its vectors do not fit.
    Report solve(std::span<const V> b, std::span<V> x, const Observer& observe = {});

    /// Solves A X = B, a report for each column. Where the method is cg, four columns at a time share the products with
    /// A (SpMM); a column that this does not finish, and all columns of other methods, are solved one by one from where
    /// they are. Stop counts for each column.
    /// @param b rows() rows in the memory of the context, any layout.
    /// @param x as many rows and columns as b; must not overlap it. Not read unless Recipe::guess.
    /// @param observe called from time to time with the worst column of those in progress; may be empty.
    /// @throws ShapeError as for one right-hand side; ValueError, DeviceError and OutOfMemory likewise.
    std::vector<Report> solve(const DenseView<const V>& b, const DenseView<V>& x, const Observer& observe = {});

    /// New values, perhaps at other addresses, for the same pattern: product and preconditioner are filled anew, method
    /// and kind of preconditioner stay.
    /// @param a the matrix with the new values; kept as a view.
    /// @throws PlanMismatch if shape or number of nonzeros differ, ValueError if a value is not finite: the plan is as
    /// before.
    /// @throws ValueError if the preconditioner cannot be made of the new values, or OutOfMemory: solve() then throws
    /// until a later call succeeds.
    void update_values(const AnyCsr<V>& a);

    /// The policy in use: the recipe with method, preconditioner and Stop::relative filled in.
    const Recipe& policy() const;
    /// What was seen of the matrix.
    const Features& features() const;
    /// The choice, the reason, the cost of an iteration and the memory kept, in several lines.
    std::string describe() const;
    /// Bytes held by the plan in addition to the caller's matrix.
    std::size_t bytes() const;
    /// Rows and columns of A.
    index_t rows() const;

private:
    struct State;
    explicit Plan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

}  // namespace tulle::inline TULLE_ABI::solve
