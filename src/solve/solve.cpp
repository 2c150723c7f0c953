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
#include "matrix/dense_checks.hpp"
#include "matrix/plan_checks.hpp"
#include "solve/method.hpp"
#include "solve/methods/block_cg.hpp"
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
    Features features;
    std::vector<Choice> candidates;
    std::size_t current = 0;  // the candidate in use
    std::size_t first = 0;    // the candidate that solves begin with until another one has converged
    bool failed = false;      // the last solve did
    bool chosen = false;      // preconditioners are chosen, not the caller's
    std::string skipped;      // candidates before it that could not be made, and why
    std::unique_ptr<System<V>> system;
    std::unique_ptr<Iteration<V>> iteration;
    std::unique_ptr<BlockCg<V>> block;  // made for the first solve with several right-hand sides
    Buffer<V> block_b, block_x;         // one column
    Buffer<V> best;                     // the best x so far
    Buffer<V> checked;                  // its residual, while the method needs its own
    double setup_seconds = 0;
    bool usable = true;              // false while update_values() is at work, and after one that failed
    double make_seconds = 0;         // of make()
    offset_t usual_iterations = -1;  // of the first solve that converged; -1: none did
    const void* known_b = nullptr;
    const void* known_x = nullptr;

    const Choice& choice() const { return candidates[current]; }
    bool is_last() const { return current + 1 == candidates.size(); }
};

namespace {

constexpr double most_growth = 1.5;  // of iterations since the first solve, before a new setup is advised

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

// Sets up the current candidate.
template <class State>
void set_up(State& s)
{
    const Choice& c = s.choice();
    s.recipe.method = c.method;
    s.recipe.preconditioner = c.preconditioner;
    const Preconditioner outside = c.method == Method::refinement ? Preconditioner(None{}) : c.preconditioner;
    s.iteration.reset();
    s.block.reset();
    s.system->preconditioner.reset();
    s.system->preconditioner = make_preconditioner(s.ctx, s.a, s.system->product, outside);
    Recipe recipe = s.recipe;
    if (c.restart > 0) recipe.restart = c.restart;
    s.iteration = make_iteration(*s.system, s.a, recipe, c.method);
}

bool is_matched(const Choice& c)
{
    const auto* p = std::get_if<Incomplete>(&c.preconditioner);
    return p != nullptr && p->match;
}

// Sets up the current candidate, or the first after it that can be made; `chosen`: the preconditioners are not those of
// the caller.
template <class State>
void set_up_first(State& s, bool chosen)
{
    bool singular = false;  // rows cannot be matched
    for (;; ++s.current) {
        if (singular && is_matched(s.choice()) && !s.is_last()) continue;
        try {
            return set_up(s);
        } catch (const ValueError& e) {
            if (!chosen || s.is_last()) throw;
            s.skipped += concat(s.skipped.empty() ? "" : "; ", to_text(s.choice().preconditioner),
                                " cannot be made: ", e.message());
        } catch (const OutOfMemory& e) {
            if (!chosen || s.is_last() || s.current == 0) throw;
            s.skipped += concat(s.skipped.empty() ? "" : "; ", to_text(s.choice().preconditioner),
                                " does not fit: ", e.message());
        }
        singular = singular || is_matched(s.choice());
    }
}

// What would make the next solves faster: candidates that need not be tried again, or a new setup for values that have
// changed since make().
template <class State>
std::string advise(State& s, const Report& report)
{
    if (!report.converged()) return {};
    const double seconds = report.iterate_seconds + report.verify_seconds;
    if (!report.note.empty())
        return concat("a recipe with ", to_text(*s.recipe.method), " and ", to_text(*s.recipe.preconditioner),
                      " begins with what converged here");
    if (s.usual_iterations < 0) {
        s.usual_iterations = report.iterations;
        return {};
    }
    const auto now = static_cast<double>(report.iterations), usual = static_cast<double>(s.usual_iterations);
    if (now < most_growth * usual + 5) return {};
    const double saved = seconds * (1 - usual / now);
    return concat(report.iterations, " iterations, ", s.usual_iterations, " in the first solve: a new plan takes ",
                  s.make_seconds, " s and may save ", saved, " s a solve");
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
        report_.method = s_.choice().method;
        report_.setup_seconds = s_.setup_seconds;
    }

    Report run()
    {
        const double norm = s_.system->norm_of(b_.data());
        report_.target = std::max(stop().relative * norm, stop().absolute);
        rounding_ = 1e3 * std::numeric_limits<V>::epsilon() * norm;
        if (!s_.recipe.guess || norm == 0) clear_x();
        if (!std::isfinite(norm)) return refuse("b");
        verify(!s_.recipe.guess || norm == 0);
        if (!std::isfinite(true_)) return refuse("the first guess");
        report_.history = {true_};
        started_ = true_;
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
    Report refuse(std::string where)
    {
        clear_x();
        report_.reason = Reason::not_finite;
        report_.where = std::move(where);
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
        futile_ = true_ < 0.99 * best_ || status.halt == Halt::none ? 0 : futile_ + 1;
        if (true_ < best_) keep_best(true_);
        if (true_ <= report_.target) return;
        if (futile_ > most_futile) return fail(Reason::stagnated, status);
        if (std::exchange(stuck_, false)) return fail(Reason::stagnated, status);
        if (std::exchange(slow_, false)) return fail(Reason::iterations, status);
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

    // Ends the solve, or goes on with the next candidate from the best x.
    void fail(Reason reason, const Status& status)
    {
        report_.value = status.value;
        if (reason == Reason::not_finite) report_.where = concat("iteration ", report_.iterations);
        const bool reached = best_ <= rounding_;  // what the arithmetic allows
        if (reached || !has_next(reason)) return static_cast<void>(finish(reason));
        const Choice before = s_.choice();
        s_.current = next_;
        s_.skipped.clear();
        set_up_first(s_, s_.chosen);
        add_note(concat(to_text(before.method), " with ", to_text(before.preconditioner), ": ",
                        reason == Reason::iterations ? "too slow" : to_text(reason), " after ", report_.iterations,
                        " iterations", s_.skipped.empty() ? "" : concat("; ", s_.skipped), ", went on with ",
                        to_text(s_.choice().method), " and ", to_text(s_.choice().preconditioner)));
        report_.method = s_.choice().method;
        restore_best();
        began_at_ = smallest_at_ = report_.iterations;
        smallest_ = started_ = true_;
        told_ = std::numeric_limits<double>::infinity();
        attempt_ = futile_ = 0;
    }

    // Finds the next candidate: after p · A p <= 0 not conjugate gradients again.
    bool has_next(Reason reason)
    {
        next_ = s_.current + 1;
        while (reason == Reason::not_positive_definite && next_ < s_.candidates.size() &&
               s_.candidates[next_].method == Method::cg)
            ++next_;
        return next_ < s_.candidates.size();
    }

    void add_note(const std::string& text)
    {
        report_.note = report_.note.empty() ? text : concat(report_.note, "; ", text);
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
        s_.system->preconditioner->begin(true_);
        s_.iteration->start(x_.data(), attempt_);
        const offset_t room = std::min(s_.iteration->cycle(), stop().iterations - report_.iterations);
        for (offset_t left = room; left > 0 && status.halt == Halt::none && !ended_ && !stuck_ && !slow_;) {
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
        const int wanted = s_.recipe.check_every > 0                  ? s_.recipe.check_every
                           : s_.ctx.backend() == Backend::cpu         ? 1
                           : s_.choice().method == Method::refinement ? 1
                           : is_expensive()                           ? 2
                                                                      : 16;
        return std::min(wanted, most_unseen);
    }

    // Whether an iteration in vain costs more than a look: a cycle of multigrid is a few dozen kernels.
    bool is_expensive() const { return std::holds_alternative<Amg>(s_.choice().preconditioner); }

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
        stuck_ = status.halt == Halt::none && stagnation() > 0 && report_.iterations - smallest_at_ >= stagnation();
        slow_ = status.halt == Halt::none && !stuck_ && is_too_slow();
        return status;
    }

    // Iterations without progress: fewer where something else can be tried.
    offset_t stagnation() const
    {
        return s_.is_last() || stop().stagnation == 0 ? stop().stagnation : std::min(stop().stagnation, early_look);
    }

    // Whether the iterations that are left will not do at the mean rate so far, and something else can be tried.
    bool is_too_slow() const
    {
        const offset_t done = report_.iterations - began_at_;
        if (s_.is_last() || done < early_look || report_.target == 0) return false;
        const double part = std::log(started_ / smallest_) / std::log(started_ / report_.target);
        return static_cast<double>(done) > part * static_cast<double>(stop().iterations - began_at_);
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
        else if (report_.reason != Reason::not_finite) explain();
    }

    // Why there may be no solution.
    void explain()
    {
        if (s_.features.empty_rows > 0)
            add_note(concat(s_.features.empty_rows, plural(s_.features.empty_rows, " row has", " rows have"),
                            " no entries"));
        if (!(true_ > rounding_) || !is_least_squares()) return;
        add_note("x is a least-squares solution: A is singular, and no x is better for this b");
    }

    // Whether b - A x is orthogonal to the columns of A.
    bool is_least_squares()
    {
        Buffer<V>& r = s_.system->residual;
        spmv::multiply(s_.ctx, s_.a, std::as_const(r).span(), s_.checked.span(),
                       {.op = Op::transpose, .checked = false});
        const double transposed = s_.system->norm_of(s_.checked.data());
        const double scale = s_.system->norm_of(s_.a.value, s_.a.nonzeros);
        return transposed <= 1e-7 * scale / std::sqrt(static_cast<double>(s_.a.rows)) * true_;
    }

    static constexpr int most_attempts = 2;
    static constexpr int most_futile = 10;       // beginnings after a halt that did not lead to a better x
    static constexpr offset_t early_look = 500;  // iterations before a candidate can be given up

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
    int attempt_ = 0, futile_ = 0;
    bool ended_ = false, stuck_ = false, slow_ = false;
    std::size_t next_ = 0;   // the candidate after the current one
    double started_ = 0;     // residual when the current candidate began
    offset_t began_at_ = 0;  // and the iterations before it
};

// A X = B: columns in blocks where the method is cg, then one by one what is not finished.
template <class Plan, class State, class V>
class BlockSolve {
public:
    BlockSolve(Plan& plan, State& state, const DenseView<const V>& b, const DenseView<V>& x, const Observer& observe)
        : plan_(plan),
          s_(state),
          b_(b),
          x_(x),
          observe_(observe),
          recipe_(state.recipe)
    {}

    std::vector<Report> run()
    {
        std::vector<Report> all;
        for (index_t first = 0; first < b_.cols; first += block_columns) {
            const index_t count = std::min<index_t>(block_columns, b_.cols - first);
            std::vector<Report> part = shares_products() && count > 1
                                           ? block(first)
                                           : std::vector<Report>(static_cast<std::size_t>(count), unfinished());
            for (index_t c = 0; c < count; ++c) {
                Report& r = part[static_cast<std::size_t>(c)];
                if (!ended(r)) r = go_on(first + c, r);
                all.push_back(std::move(r));
            }
        }
        return all;
    }

private:
    static Report unfinished()
    {
        Report r;
        r.reason = Reason::stagnated;
        return r;
    }
    bool shares_products() const { return s_.iteration && s_.choice().method == Method::cg; }
    static bool ended(const Report& r)
    {
        return r.converged() || r.reason == Reason::iterations || r.reason == Reason::seconds;
    }

    BlockCg<V>& prepared()
    {
        if (!s_.block) s_.block = std::make_unique<BlockCg<V>>(*s_.system, s_.a);
        return *s_.block;
    }

    std::vector<Report> block(index_t first)
    {
        const double begin = trace::now();
        BlockLimits limits{.stop = recipe_.stop,
                           .check_every = s_.ctx.backend() == Backend::cpu ? 1 : 16,
                           .deadline = begin + recipe_.stop.seconds,
                           .observe = {}};
        if (recipe_.check_every > 0) limits.check_every = std::min(recipe_.check_every, most_unseen);
        offset_t looks = 0;
        if (observe_)
            limits.observe = [&](double worst) {
                observe_({limits.check_every * looks++, worst, 1, trace::now() - begin});
            };
        const std::vector<BlockColumn> columns = prepared().solve(b_, x_, first, recipe_.guess, limits);
        std::vector<Report> all;
        for (const BlockColumn& c : columns) all.push_back(report_of(c, trace::now() - begin));
        return all;
    }

    Report report_of(const BlockColumn& c, double seconds) const
    {
        Report r = unfinished();
        r.iterations = std::ssize(c.history) - 1;
        r.residual = c.residual;
        r.relative = c.b_norm > 0 ? c.residual / c.b_norm : 0;
        r.target = c.target;
        r.history = c.history;
        r.setup_seconds = s_.setup_seconds;
        r.iterate_seconds = seconds;
        if (c.residual <= c.target) r.reason = Reason::converged;
        else if (c.halt == Halt::none)
            r.reason = r.iterations >= recipe_.stop.iterations ? Reason::iterations : Reason::seconds;
        return r;
    }

    // One column with all that a solve does, from where the block has left it.
    Report go_on(index_t column, const Report& before)
    {
        for (Buffer<V>* v : {&s_.block_b, &s_.block_x})
            if (v->empty()) *v = s_.system->make_vector();
        const bool begun = before.iterations > 0 && std::isfinite(before.residual);
        load_column(*s_.system, b_, column, s_.block_b);
        if (begun || recipe_.guess) load_column<V>(*s_.system, x_, column, s_.block_x);
        Report r = solve_column(begun, before.iterations);
        store_column(*s_.system, s_.block_x, x_, column);
        if (!begun) return r;
        r.iterations += before.iterations;
        r.iterate_seconds += before.iterate_seconds;
        ++r.restarts;
        r.history.insert(r.history.begin(), before.history.begin(), before.history.end() - 1);
        return r;
    }

    Report solve_column(bool begun, offset_t done)
    {
        struct Restore {  // the next candidate may have changed method and preconditioner, which stay
            State& s;
            bool guess;
            offset_t iterations;
            ~Restore()
            {
                s.recipe.guess = guess;
                s.recipe.stop.iterations = iterations;
            }
        } restore{s_, s_.recipe.guess, s_.recipe.stop.iterations};
        if (begun) {
            s_.recipe.guess = true;
            s_.recipe.stop.iterations -= std::min(done, s_.recipe.stop.iterations);
        }
        return plan_.solve(std::as_const(s_.block_b).span(), s_.block_x.span(), observe_);
    }

    Plan& plan_;
    State& s_;
    DenseView<const V> b_;
    DenseView<V> x_;
    const Observer& observe_;
    const Recipe recipe_;
};

template <class State>
void require_usable(const State& s)
{
    require<ValueError>(s.usable, "the plan has no values it could solve with: the last update_values failed",
                        "call update_values with values it accepts");
}

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
                                           .features = inspect(few, a),
                                           .candidates = {},
                                           .skipped = {},
                                           .system = {},
                                           .iteration = {},
                                           .block = {},
                                           .block_b = {},
                                           .block_x = {},
                                           .best = {},
                                           .checked = {}});
    s->candidates = candidates(s->features, recipe);
    s->chosen = !recipe.preconditioner;
    s->system = std::make_unique<System<V>>(few, a);
    set_up_first(*s, s->chosen);
    s->first = s->current;
    s->best = s->system->make_vector();
    s->checked = s->system->make_vector();
    few.synchronize();
    s->setup_seconds = s->make_seconds = trace::now() - begin;
    return Plan(std::move(s));
}

template <class V>
Report Plan<V>::solve(std::span<const V> b, std::span<V> x, const Observer& observe)
{
    const trace::Phase phase{"solve"};
    State& s = *state_;
    require_usable(s);
    require(std::ssize(b) == s.a.rows,
            [&] { return concat("b has ", b.size(), " entries, but A has ", s.a.rows, " rows"); });
    require(std::ssize(x) == s.a.rows,
            [&] { return concat("x has ", x.size(), " entries, but A has ", s.a.rows, " columns"); });
    require<ValueError>(are_apart(b, x), "b and x overlap", "give x memory of its own");
    require_placed(s.ctx, b.data(), b.size(), s.known_b, "b");
    require_placed(s.ctx, x.data(), x.size(), s.known_x, "x");
    if (!s.iteration || (s.failed && s.current != s.first)) {
        s.current = s.first;
        s.skipped.clear();
        set_up_first(s, s.chosen);
    }
    s.failed = true;
    Report report = Solve<State, V>(s, b, x, observe).run();
    s.failed = !report.converged();
    report.advice = advise(s, report);
    return report;
}

template <class V>
std::vector<Report> Plan<V>::solve(const DenseView<const V>& b, const DenseView<V>& x, const Observer& observe)
{
    const trace::Phase phase{"solve block"};
    State& s = *state_;
    require_usable(s);
    matrix::require_shape(b, s.a.rows, b.cols, "B");
    matrix::require_shape(x, s.a.rows, b.cols, "X");
    if (b.cols == 0 || s.a.rows == 0) return std::vector<Report>(static_cast<std::size_t>(b.cols));
    const auto b_reach = matrix::reach(b), x_reach = matrix::reach(x);
    require<ValueError>(b_reach.second <= x_reach.first || x_reach.second <= b_reach.first, "B and X overlap",
                        "give X memory of its own");
    require_placed(s.ctx, b.data, 1, s.known_b, "B");
    require_placed(s.ctx, x.data, 1, s.known_x, "X");
    return BlockSolve<Plan<V>, State, V>(*this, s, b, x, observe).run();
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
    s.features = features;
    s.a = a;
    if (s.iteration) {
        s.system->preconditioner->update_values(a);
        s.iteration->update_values(a);
    }
    if (s.block) s.block->update_values(a);
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
    const std::size_t chosen = s.iteration ? s.system->preconditioner->bytes() + s.iteration->bytes() : 0;
    const std::size_t block = s.block ? s.block->bytes() + s.block_b.bytes() + s.block_x.bytes() : 0;
    return s.system->bytes() + chosen + block + s.best.bytes() + s.checked.bytes() + s.wide.bytes();
}

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    if (!s.iteration) return "solve: nothing is set up, the last solve found no memory for another method";
    const std::string more = s.iteration->describe();
    const bool symmetric = s.features.symmetric;
    const double products =
        (s.choice().method == Method::bicgstab ? 2 : 1) * (1 + s.system->preconditioner->products());
    return concat("solve on ", s.ctx.name(), ": ", s.a.rows, " unknowns, ", s.a.nonzeros, " stored values, ",
                  sizeof(V) == 4 ? "float" : "double", "\n  matrix:  ", symmetric ? "symmetric" : "not symmetric",
                  s.features.missing_diagonal > 0
                      ? concat(", ", s.features.missing_diagonal, " rows without a diagonal entry")
                  : s.features.negative_diagonal > 0
                      ? concat(", ", s.features.negative_diagonal, " negative diagonal entries")
                      : std::string(", nonzero diagonal"),
                  "\n  method:  ", to_text(*s.recipe.method), more.empty() ? "" : concat(", ", more),
                  "\n  preconditioner: ", to_text(*s.recipe.preconditioner), "\n  why:     ", s.choice().why,
                  s.skipped.empty() ? "" : concat("; ", s.skipped), "\n  iteration: ", products,
                  plural(products, " product", " products"),
                  " with A, beside what the preconditioner does on its own\n  keeps:   ", human_bytes(bytes()),
                  " beside the matrix", matrix::widened_text(s.wide.bytes()), "\n",
                  s.system->preconditioner->describe());
}

template class Plan<float>;
template class Plan<double>;

}  // namespace tulle::inline TULLE_ABI::solve
