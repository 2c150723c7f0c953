// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Systems of equations, from a matrix and a recipe to x and a report.
//
//   inspect    finite values, symmetry, diagonal: one pass over the rows
//   choose     method and preconditioner where the recipe leaves them open (policy.cpp)
//   set up     product, preconditioner, vectors of the method
//   solve      iterations in blocks; between blocks the host looks at the status. Where the method says that it is
//              done, or must begin anew, b - A x is computed: only that decides.
#include "tulle/solve.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/plural.hpp"
#include "device/placed.hpp"
#include "matrix/plan_checks.hpp"
#include "solve/method.hpp"
#include "solve/policy.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::solve {

template <class V>
struct Plan<V>::State {
    Context ctx;
    CsrView<V> a;
    Buffer<offset_t> wide;  // offsets, where the caller's have 32 bits
    Recipe recipe;
    bool open = false;  // the method was chosen, so that another one may be tried
    Features features;
    Choice choice;
    std::unique_ptr<System<V>> system;
    std::unique_ptr<Iteration<V>> iteration;
    Method method = Method::cg;  // of the iteration
    Buffer<V> best;              // the best x so far
    Buffer<V> checked;           // its residual, while the method needs its own
    double setup_seconds = 0;
    bool usable = true;  // false while update_values() is at work, and after one that failed
    const void* known_b = nullptr;
    const void* known_x = nullptr;
};

namespace {

// ValueError that names the first of so many rows with values that are not finite.
template <class V>
[[noreturn]] void refuse_values(const Context& ctx, const CsrView<V>& a, offset_t rows)
{
    const Csr<V> here = to_host(ctx, a);
    offset_t at = 0;
    while (at < here.nonzeros() && std::isfinite(here.value.data()[at])) ++at;
    const offset_t* begin = here.row_begin.data();
    const auto row = std::upper_bound(begin, begin + a.rows + 1, at) - begin - 1;
    throw ValueError(concat(rows, plural(rows, " row", " rows"), " of the matrix ", plural(rows, "has", "have"),
                            " values that are not finite, first row ", row, " (counted from 0)"),
                     "look at the matrix with tulle validate --finite");
}

template <class V>
Features inspect(const Context& ctx, const CsrView<V>& a)
{
    const trace::Phase phase{"inspect"};
    double found[5];
    ctx.run([&](const auto& q) {
        vector::PassBuffer buffer(q, a.rows);
        Buffer<double> result(q, 5);
        const double tolerance = sizeof(V) == 4 ? 1e-5 : 1e-10;
        run_pass(q, a.rows, InspectRows<V>{a, tolerance, result.data()}, buffer.space());
        download(q, result.data(), found, 5);
    });
    if (found[0] > 0) refuse_values(ctx, a, static_cast<offset_t>(found[0]));
    return {.rows = a.rows,
            .nonzeros = a.nonzeros,
            .symmetric = found[4] == 0,
            .empty_rows = static_cast<offset_t>(found[1]),
            .missing_diagonal = static_cast<offset_t>(found[2]),
            .negative_diagonal = static_cast<offset_t>(found[3])};
}

template <class V>
std::unique_ptr<Iteration<V>> make_iteration(System<V>& system, const CsrView<V>& a, const Recipe& recipe,
                                             Method method)
{
    switch (method) {
    case Method::cg: return make_cg(system);
    case Method::pipelined_cg: return make_pipelined_cg(system);
    case Method::minres: return make_minres(system);
    case Method::bicgstab: return make_bicgstab(system);
    case Method::gmres: return make_gmres(system, recipe.restart, false);
    case Method::fgmres: return make_gmres(system, recipe.restart, true);
    case Method::chebyshev: return make_chebyshev(system, recipe.eigenvalues);
    case Method::refinement: break;
    }
    if constexpr (std::is_same_v<V, double>) return make_refinement(system, a, recipe);
    else throw ValueError("refinement computes residuals in double", "make a Plan<double>");
}

// The preconditioner. One that was chosen, not asked for, and cannot be made for these values is replaced by the
// diagonal or none.
template <class State>
auto make_or_replace(State& s, const Preconditioner& wanted, bool chosen)
{
    try {
        return make_preconditioner(s.ctx, s.a, s.system->product, wanted);
    } catch (const ValueError& e) {
        if (!chosen) throw;
        s.choice.why += concat("; ", to_text(wanted), " cannot be made: ", e.message());
    }
    const bool positive = s.features.missing_diagonal == 0 && s.features.negative_diagonal == 0;
    s.choice.preconditioner = positive ? Preconditioner(Jacobi{}) : Preconditioner(None{});
    s.recipe.preconditioner = s.choice.preconditioner;
    return make_preconditioner(s.ctx, s.a, s.system->product, s.choice.preconditioner);
}

// One solve: what its parts share.
template <class State, class V>
class Solve {
public:
    Solve(State& state, std::span<const V> b, std::span<V> x, const Observer& observe)
        : s_(state),
          b_(b),
          x_(x),
          observe_(observe),
          began_(trace::now())
    {
        report_.method = s_.method;
        report_.setup_seconds = s_.setup_seconds;
    }

    Report run()
    {
        const double norm = s_.system->norm_of(b_.data());
        report_.target = std::max(stop().relative * norm, stop().absolute);
        rounding_ = 1e3 * std::numeric_limits<V>::epsilon() * norm;
        if (!s_.recipe.guess || norm == 0) clear_x();
        if (!std::isfinite(norm)) return refuse("b");
        s_.system->preconditioner->begin(norm);
        verify(!s_.recipe.guess || norm == 0);
        if (!std::isfinite(true_)) return refuse("the first guess");
        report_.history = {true_};
        keep_best(true_);
        while (!done()) cycle();
        end(norm);
        return std::move(report_);
    }

private:
    const Stop& stop() const { return s_.recipe.stop; }

    void clear_x()
    {
        s_.ctx.run([&](const auto& q) { fill_zero(q, x_.data(), std::ssize(x_)); });
    }

    // Numbers that no method can begin with: x is 0.
    Report refuse(const char* where)
    {
        clear_x();
        report_.reason = Reason::not_finite;
        report_.where = where;
        report_.residual = s_.system->compute_residual(b_, x_, true, s_.system->residual);
        report_.history = {report_.residual};
        report_.relative = 1;
        return std::move(report_);
    }

    void verify(bool zero = false)
    {
        const double begin = trace::now();
        true_ = s_.system->compute_residual(b_, x_, zero, s_.system->residual);
        report_.verify_seconds += trace::now() - begin;
    }

    // x is kept, with its residual computed anew.
    void keep_best(double norm)
    {
        s_.ctx.run([&](const auto& q) { copy(q, static_cast<const V*>(x_.data()), s_.best.data(), s_.best.size()); });
        best_ = norm;
    }
    // Between iterations, where the method tells of a residual far below the best: x is kept if that is true.
    void check_point()
    {
        const double norm = s_.system->compute_residual(b_, x_, false, s_.checked);
        if (norm < best_) keep_best(norm);
    }

    bool done()
    {
        if (true_ <= report_.target) return finish(Reason::converged);
        if (report_.iterations >= stop().iterations) return finish(Reason::iterations);
        if (trace::now() - began_ >= stop().seconds) return finish(Reason::seconds);
        return ended_;
    }
    bool finish(Reason reason)
    {
        report_.reason = reason;
        ended_ = true;
        return true;
    }

    // From a residual computed anew to the next one.
    void cycle()
    {
        const double started = true_;
        const Status status = iterate();
        s_.iteration->finish();
        verify();
        report_.history.back() = true_;
        if (!std::isfinite(true_)) return fail(Reason::not_finite, status);
        if (true_ < best_) keep_best(true_);
        if (true_ <= report_.target) return;
        if (std::exchange(stuck_, false)) return fail(Reason::stagnated, status);
        react(status, started);
    }

    // What follows from the status, where b - A x is not yet small enough.
    void react(const Status& status, double started)
    {
        const bool progress = true_ < 0.5 * started;
        switch (status.halt) {
        case Halt::none: ++report_.restarts; return;  // the end of a cycle, or a limit
        case Halt::target:
            ++report_.restarts;
            if (!progress) fail(Reason::stagnated, status);
            return;
        case Halt::breakdown:
            ++report_.restarts;
            attempt_ = progress ? 0 : attempt_ + 1;
            if (attempt_ > most_attempts) fail(Reason::stagnated, status);
            return;
        case Halt::not_positive_definite:
            if (!excuse(progress, status)) fail(Reason::not_positive_definite, status);
            return;
        case Halt::preconditioner_indefinite:
            if (!excuse(progress, status)) fail(Reason::preconditioner_indefinite, status);
            return;
        case Halt::not_finite:
            if (progress) return;
            return fail(Reason::not_finite, status);
        case Halt::diverged: return fail(Reason::diverged, status);
        }
    }

    // Signs of products that rounding has turned: after progress the method begins anew, at the end of what the
    // arithmetic can reach it is done.
    bool excuse(bool progress, const Status& status)
    {
        if (progress) ++report_.restarts;
        else if (true_ <= rounding_) fail(Reason::stagnated, status);
        else return false;
        return true;
    }

    // Ends the solve, or goes on with another method from the best x.
    void fail(Reason reason, const Status& status)
    {
        const std::optional<Method> other = s_.open ? fallback_of(s_.method, reason) : std::nullopt;
        report_.value = status.value;
        if (reason == Reason::not_finite) report_.where = concat("iteration ", report_.iterations);
        if (!other) return static_cast<void>(finish(reason));
        report_.note = concat(report_.note, report_.note.empty() ? "" : "; ", to_text(s_.method), ": ", to_text(reason),
                              " after ", report_.iterations, " iterations, went on with ", to_text(*other));
        s_.iteration = make_iteration(*s_.system, s_.a, s_.recipe, *other);
        s_.method = report_.method = *other;
        restore_best();
        smallest_ = true_;
        smallest_at_ = report_.iterations;
        attempt_ = 0;
    }

    void restore_best()
    {
        s_.ctx.run([&](const auto& q) { copy(q, std::as_const(s_.best).data(), x_.data(), s_.best.size()); });
        verify();
        best_ = true_;
    }

    // Iterations until the status, a limit or the end of a cycle stops them.
    Status iterate()
    {
        const double begin = trace::now();
        const offset_t inner = s_.iteration->inner_iterations();
        Status status{};
        status.norm = true_;
        status.target = report_.target;
        status.limit = stop().divergence * report_.history.front();
        put(status);
        s_.iteration->start(x_.data(), attempt_);
        const offset_t room = std::min(s_.iteration->cycle(), stop().iterations - report_.iterations);
        for (offset_t left = room; left > 0 && status.halt == Halt::none && !ended_ && !stuck_;) {
            const offset_t block = std::min<offset_t>(left, block_size());
            for (offset_t k = 0; k < block; ++k) s_.iteration->iterate();
            left -= block;
            status = look();
        }
        report_.iterate_seconds += trace::now() - begin;
        report_.inner_iterations += s_.iteration->inner_iterations() - inner;
        return status;
    }

    int block_size() const
    {
        const int wanted = s_.recipe.check_every > 0          ? s_.recipe.check_every
                           : s_.ctx.backend() == Backend::cpu ? 1
                           : s_.method == Method::refinement  ? 1
                           : is_expensive()                   ? 2
                                                              : 16;
        return std::min(wanted, most_unseen);
    }

    // Whether an iteration in vain costs more than a look: a cycle of multigrid is a few dozen kernels.
    bool is_expensive() const { return std::holds_alternative<Amg>(*s_.recipe.preconditioner); }

    void put(const Status& status)
    {
        s_.ctx.run([&](const auto& q) { upload(q, &status, s_.system->status.data(), 1); });
    }

    // The host's look: history, checkpoint of x, limits. The count of unseen iterations begins anew.
    Status look()
    {
        Status status = s_.ctx.run([&](const auto& q) { return read_value(q, s_.system->status.data()); });
        for (offset_t k = 0; k < status.iterations; ++k) see(status.history[k]);
        status.iterations = 0;
        if (status.halt == Halt::none) put(status);
        if (s_.iteration->keeps_x() && status.norm < 0.1 * told_) {
            told_ = status.norm;
            check_point();
        }
        const double seconds = trace::now() - began_;
        if (observe_) observe_({report_.iterations, status.norm, report_.target, seconds});
        if (seconds >= stop().seconds) finish(Reason::seconds);
        stuck_ = status.halt == Halt::none && stop().stagnation > 0 &&
                 report_.iterations - smallest_at_ >= stop().stagnation;
        return status;
    }

    void see(double norm)
    {
        ++report_.iterations;
        report_.history.push_back(norm);
        if (norm < 0.99 * smallest_) {
            smallest_ = norm;
            smallest_at_ = report_.iterations;
        }
    }

    // The report, with the better of x and the best x that was kept.
    void end(double norm)
    {
        const bool limit = report_.reason == Reason::iterations || report_.reason == Reason::seconds;
        const double slack = limit ? 10 : 1;  // residuals of CG rise and fall: the last x is better than it looks
        if (report_.reason != Reason::converged && !(true_ <= slack * best_)) restore_best();
        report_.residual = true_;
        report_.relative = norm > 0 ? true_ / norm : 0;
        report_.history.back() = true_;
        if (true_ <= report_.target) report_.reason = Reason::converged;
    }

    static constexpr int most_attempts = 2;

    State& s_;
    std::span<const V> b_;
    std::span<V> x_;
    const Observer& observe_;
    double began_;
    Report report_;
    double true_ = 0, best_ = 0;
    double told_ = std::numeric_limits<double>::infinity();  // residual of the last check point, as the method told it
    double rounding_ = 0;                                    // residual that is no more than rounding
    double smallest_ = std::numeric_limits<double>::infinity();
    offset_t smallest_at_ = 0;
    int attempt_ = 0;
    bool ended_ = false, stuck_ = false;
};

}  // namespace

template <class V>
Plan<V> Plan<V>::make(const Context& ctx, const AnyCsr<V>& given, const Recipe& recipe)
{
    const trace::Phase phase{"set up"};
    const double begin = trace::now();
    check_recipe(recipe, std::is_same_v<V, double>);
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<V>>(ctx, given, wide);
    require(a.rows == a.cols, [&] { return concat("A must be square, not ", a.rows, " x ", a.cols); });
    check(ctx, a);
    const Context few = ctx.for_work(a.nonzeros + a.rows);
    auto s = std::make_unique<State>(State{.ctx = few,
                                           .a = a,
                                           .wide = std::move(wide),
                                           .recipe = recipe,
                                           .open = !recipe.method,
                                           .features = inspect(few, a),
                                           .choice = {},
                                           .system = {},
                                           .iteration = {},
                                           .best = {},
                                           .checked = {}});
    s->choice = choose(s->features, recipe);
    s->recipe.method = s->method = s->choice.method;
    const Preconditioner outside = s->method == Method::refinement ? Preconditioner(None{}) : s->choice.preconditioner;
    s->recipe.preconditioner = s->choice.preconditioner;
    s->system = std::make_unique<System<V>>(few, a);
    s->system->preconditioner = make_or_replace(*s, outside, !recipe.preconditioner);
    s->iteration = make_iteration(*s->system, a, s->recipe, s->method);
    s->best = s->system->make_vector();
    s->checked = s->system->make_vector();
    few.synchronize();
    s->setup_seconds = trace::now() - begin;
    return Plan(std::move(s));
}

template <class V>
Plan<V>::Plan(std::unique_ptr<State> state) : state_(std::move(state))
{}
template <class V>
Plan<V>::Plan(Plan&&) noexcept = default;
template <class V>
Plan<V>& Plan<V>::operator=(Plan&&) noexcept = default;
template <class V>
Plan<V>::~Plan() = default;

template <class V>
Report Plan<V>::solve(std::span<const V> b, std::span<V> x, const Observer& observe)
{
    const trace::Phase phase{"solve"};
    State& s = *state_;
    require<ValueError>(s.usable, "the plan has no values it could solve with: the last update_values failed",
                        "call update_values with values it accepts");
    require(std::ssize(b) == s.a.rows,
            [&] { return concat("b has ", b.size(), " entries, but A has ", s.a.rows, " rows"); });
    require(std::ssize(x) == s.a.rows,
            [&] { return concat("x has ", x.size(), " entries, but A has ", s.a.rows, " columns"); });
    require<ValueError>(are_apart(b, x), "b and x overlap", "give x memory of its own");
    require_placed(s.ctx, b.data(), b.size(), s.known_b, "b");
    require_placed(s.ctx, x.data(), x.size(), s.known_x, "x");
    if (s.method != *s.recipe.method) {  // another one was tried in the last solve
        s.iteration = make_iteration(*s.system, s.a, s.recipe, *s.recipe.method);
        s.method = *s.recipe.method;
    }
    return Solve<State, V>(s, b, x, observe).run();
}

template <class V>
void Plan<V>::update_values(const AnyCsr<V>& given)
{
    State& s = *state_;
    const double begin = trace::now();
    Buffer<offset_t> fresh;
    const auto a = matrix::renewed<CsrView<V>>(s.ctx, given, s.wide, fresh);
    matrix::require_same_size(matrix::size_of(s.a), matrix::size_of(a));
    const Features features = inspect(s.ctx, a);
    s.usable = false;
    s.system->update_values(a);
    s.system->preconditioner->update_values(a);
    s.iteration->update_values(a);
    s.features = features;
    s.a = a;
    if (!fresh.empty()) s.wide = std::move(fresh);
    s.ctx.synchronize();
    s.usable = true;
    s.setup_seconds = trace::now() - begin;
}

template <class V>
const Recipe& Plan<V>::policy() const
{
    return state_->recipe;
}

template <class V>
const Features& Plan<V>::features() const
{
    return state_->features;
}

template <class V>
index_t Plan<V>::rows() const
{
    return state_->a.rows;
}

template <class V>
std::size_t Plan<V>::bytes() const
{
    const State& s = *state_;
    return s.system->bytes() + s.system->preconditioner->bytes() + s.iteration->bytes() + s.best.bytes() +
           s.checked.bytes() + s.wide.bytes();
}

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    const std::string more = s.iteration->describe();
    const bool symmetric = s.features.symmetric;
    const double products = (s.method == Method::bicgstab ? 2 : 1) * (1 + s.system->preconditioner->products());
    return concat("solve on ", s.ctx.name(), ": ", s.a.rows, " unknowns, ", s.a.nonzeros, " stored values, ",
                  sizeof(V) == 4 ? "float" : "double", "\n  matrix:  ", symmetric ? "symmetric" : "not symmetric",
                  s.features.missing_diagonal > 0
                      ? concat(", ", s.features.missing_diagonal, " rows without a diagonal entry")
                  : s.features.negative_diagonal > 0
                      ? concat(", ", s.features.negative_diagonal, " negative diagonal entries")
                      : std::string(", nonzero diagonal"),
                  "\n  method:  ", to_text(*s.recipe.method), more.empty() ? "" : concat(", ", more),
                  "\n  preconditioner: ", to_text(*s.recipe.preconditioner), "\n  why:     ", s.choice.why,
                  "\n  iteration: ", products, plural(products, " product", " products"),
                  " with A, beside what the preconditioner does on its own\n  keeps:   ", human_bytes(bytes()),
                  " beside the matrix\n", s.system->preconditioner->describe());
}

template class Plan<float>;
template class Plan<double>;

}  // namespace tulle::inline TULLE_ABI::solve
