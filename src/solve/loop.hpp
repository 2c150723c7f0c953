// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The loop of a solve: iterations in blocks, between which the host looks at the status. Where the method says that it
// is done, or must begin anew, b - A x is computed: only that decides. After a failure the next candidate goes on.
// A right-hand side of unusual scale is solved times a power of two (scaling.hpp).
// For a PlanState of any system, with its set_up_first() and is_least_squares().
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/plural.hpp"
#include "solve/policy.hpp"
#include "solve/scaling.hpp"
#include "solve/state.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::solve {

// One solve: what its parts share.
template <class V, class State>
class Loop {
public:
    using System = typename decltype(State::system)::element_type;
    using Input = typename System::Input;
    using Output = typename System::Output;

    Loop(State& state, Input b, Output x, const Observer& observe)
        : s_(state),
          b_(b),
          x_(x_of(state, x)),
          given_x_(x),
          observe_(observe),
          began_(trace::now()),
          guess_(state.recipe.guess),
          scaling_(*state.system, state.checked)
    {
        report_.method = s_.choice().method;
        report_.setup_seconds = s_.setup_seconds;
    }

    Report run()
    {
        if (guess_) move_x(given_x_, x_);
        solve();
        if (scaling_.changes()) undo_scale();
        move_x(x_, given_x_);
        return std::move(report_);
    }

private:
    const Stop& stop() const { return s_.recipe.stop; }

    // What iterations work on: the plan's own x, if it has one.
    static Output x_of(State& s, Output given)
    {
        if constexpr (std::is_same_v<Output, std::span<V>>) return s.x.empty() ? given : s.x.span();
        else return given;
    }

    // Where the plan has an x of its own. Waits: x is the caller's when a solve ends.
    void move_x(Output from, Output to) const
    {
        if (from.data() == to.data()) return;
        s_.system->copy_vector(from.data(), to.data());
        s_.ctx.synchronize();
    }

    void solve()
    {
        double norm = s_.system->compute_residual(b_, x_, true, s_.system->residual);
        if (!is_ordinary<V>(norm)) norm = scale(norm);
        report_.target = std::max(*stop().relative * norm, scaling_.applied(stop().absolute));
        rounding_ = 1e3 * std::numeric_limits<V>::epsilon() * norm;
        if (!guess_ || norm == 0) clear_x();
        if (!std::isfinite(norm)) return refuse("b");
        true_ = norm;
        if (guess_ && norm != 0) verify();
        if (!std::isfinite(true_)) return refuse("the first guess");
        report_.history = {true_};
        started_ = true_;
        keep_best(true_);
        while (!done()) cycle();
        end(norm);
    }

    void clear_x() { s_.system->clear(x_.data()); }

    // Where b is of unusual scale: goes on with b and x times a power of two. Returns the norm of that b.
    double scale(double norm)
    {
        b_ = scaling_.apply(b_, norm);
        if (!scaling_.changes()) return norm;
        if (guess_) guess_ = scaling_.apply_to_guess(x_);
        return s_.system->compute_residual(b_, x_, true, s_.system->residual);
    }

    // Numbers that no method can begin with: x is 0.
    void refuse(std::string where)
    {
        clear_x();
        report_.reason = Reason::not_finite;
        report_.where = std::move(where);
        report_.residual = s_.system->compute_residual(b_, x_, true, s_.system->residual);
        report_.history = {report_.residual};
        report_.relative = 1;
    }

    void verify()
    {
        const double begin = trace::now();
        true_ = s_.system->compute_residual(b_, x_, false, s_.system->residual);
        report_.verify_seconds += trace::now() - begin;
    }

    // x is kept, with its residual computed anew.
    void keep_best(double norm)
    {
        s_.system->copy_vector(x_.data(), s_.best.data());
        best_ = norm;
    }
    // Between iterations, where the method tells of a residual far below the best: x is kept if that is true.
    void check_point()
    {
        s_.iteration->finish();
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
        if (true_ <= report_.target) return;
        if (true_ < best_) keep_best(true_);
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
            if (!progress && !s_.iteration->widen_range()) return fail(Reason::not_finite, status);
            ++report_.restarts;
            return;
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
        set_up_first(s_);
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
        s_.system->copy_vector(s_.best.data(), x_.data());
        verify();
        best_ = true_;
    }

    // Iterations until the status, a limit or the end of a cycle stops them.
    Status iterate()
    {
        const double begin = trace::now();
        const offset_t inner = inner_iterations();
        Status status{};
        status.norm = true_;
        status.target = report_.target;
        status.limit = stop().divergence * report_.history.front();
        seen_ = 0;
        put(status);
        s_.system->begin(true_);
        s_.iteration->start(x_.data(), attempt_);
        const offset_t room = std::min(s_.iteration->cycle(), stop().iterations - report_.iterations);
        for (offset_t left = room; left > 0 && status.halt == Halt::none && !ended_ && !stuck_ && !slow_;) {
            const offset_t block = std::min<offset_t>(left, block_size(s_));
            s_.blocks.run(s_.ctx, *s_.iteration, block);
            left -= block;
            status = look();
        }
        report_.iterate_seconds += trace::now() - begin;
        report_.inner_iterations += inner_iterations() - inner;
        return status;
    }

    // So far, of an inner method or of a preconditioner.
    offset_t inner_iterations() const
    {
        offset_t all = s_.iteration->inner_iterations();
        if constexpr (requires { s_.system->inner_iterations(); }) all += s_.system->inner_iterations();
        return all;
    }

    void put(const Status& status)
    {
        s_.ctx.run([&](const auto& q) { upload(q, &status, s_.system->status.data(), 1); });
    }

    // The host's look: history, checkpoint of x, limits. After a halt x is checked anyway.
    Status look()
    {
        Status status = s_.ctx.run([&](const auto& q) { return read_value(q, s_.system->status.data()); });
        for (; seen_ < status.iterations; ++seen_) see(status.history[seen_ % most_unseen]);
        if (s_.iteration->keeps_x() && status.norm < 0.1 * told_ && report_.iterations >= told_at_ + least_told) {
            told_ = status.norm;
            told_at_ = report_.iterations;
            if (status.halt == Halt::none) check_point();
        }
        const double seconds = trace::now() - began_;
        if (observe_)
            observe_({report_.iterations, scaling_.undone(status.norm), scaling_.undone(report_.target), seconds});
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

    // Whether something else can be tried, and the iterations that are left will not do at the mean rate so far, or
    // more of them are expected than the next candidate costs.
    bool is_too_slow() const
    {
        const offset_t done = report_.iterations - began_at_, cost = s_.choice().next_cost;
        if (s_.is_last() || report_.target == 0) return false;
        const double part = std::log(started_ / smallest_) / std::log(started_ / report_.target);
        const auto exceeds = [&](offset_t most) {
            return static_cast<double>(done) > part * static_cast<double>(most);
        };
        return (done >= early_look && exceeds(stop().iterations - began_at_)) ||
               (cost > 0 && done >= s_.choice().next_look && exceeds(done + cost));
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
        // Residuals of CG rise and fall: the last x is better than it looks. Those that are minimised only fall.
        const double slack = limit && !minimises_residual(report_.method) ? 10 : 1;
        const bool keep = limit && makes_fixed_steps(s_.recipe) && std::isfinite(true_);  // else not linear in b
        if (report_.reason != Reason::converged && !keep && !(true_ <= slack * best_)) restore_best();
        if (scaling_.changes() && !round_x()) return refuse("x");
        report_.residual = true_;
        report_.relative = norm > 0 ? true_ / norm : 0;
        report_.history.back() = true_;
        if (true_ <= report_.target) report_.reason = Reason::converged;
        else if (report_.reason == Reason::converged) report_.reason = Reason::stagnated;
        else if (s_.recipe.explain && report_.reason != Reason::not_finite) explain();
    }

    // x as the caller will have it, with its residual; whether it is in range.
    bool round_x()
    {
        scaling_.round(x_);
        verify();
        return std::isfinite(true_);
    }
    void undo_scale()
    {
        scaling_.undo(x_);
        scaling_.undo(report_);
        if (!std::isfinite(report_.target)) report_.target = stop().absolute;  // times the power it had no number
    }

    // Why there may be no solution.
    void explain()
    {
        if (s_.features.empty_rows > 0)
            add_note(concat(s_.features.empty_rows, plural(s_.features.empty_rows, " row has", " rows have"),
                            " no entries"));
        if (!(true_ > rounding_) || !is_least_squares(s_, true_)) return;
        add_note("x is a least-squares solution: A is singular, and no x is better for this b");
    }

    static constexpr int most_attempts = 2;
    static constexpr int most_futile = 10;       // beginnings after a halt that did not lead to a better x
    static constexpr offset_t early_look = 500;  // iterations before a candidate can be given up
    static constexpr offset_t least_told = 16;   // iterations between check points: each is a product

    State& s_;
    Input b_;
    Output x_, given_x_;
    const Observer& observe_;
    double began_;
    bool guess_;  // x has a first guess
    Scaling<V, System> scaling_;
    offset_t seen_ = 0;  // iterations of the method that the host has looked at
    Report report_;
    double true_ = 0, best_ = 0;
    double told_ = std::numeric_limits<double>::infinity();  // residual of the last check point, as the method told it
    offset_t told_at_ = 0;                                   // and the iterations until then
    double rounding_ = 0;                                    // residual that is no more than rounding
    double smallest_ = std::numeric_limits<double>::infinity();
    offset_t smallest_at_ = 0;
    int attempt_ = 0, futile_ = 0;
    bool ended_ = false, stuck_ = false, slow_ = false;
    std::size_t next_ = 0;   // the candidate after the current one
    double started_ = 0;     // residual when the current candidate began
    offset_t began_at_ = 0;  // and the iterations before it
};

// A solve that begins with the first candidate again where the one before has failed.
template <class V, class State, class Input, class Output>
Report solve_in_turn(State& s, Input b, Output x, const Observer& observe)
{
    if (!s.iteration || (s.failed && s.current != s.first)) {
        s.current = s.first;
        s.skipped.clear();
        set_up_first(s);
    }
    s.failed = true;
    Report report = Loop<V, State>(s, b, x, observe).run();
    s.failed = !report.converged();
    report.advice = advise(s.recipe, report, s.make_seconds, s.usual_iterations);
    return report;
}

}  // namespace tulle::inline TULLE_ABI::solve
