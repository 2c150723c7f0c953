// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle solve: reads a system, solves it with progress on the terminal, and tells how that went; exit code 1 unless it
// converged.
#include "apps/cli/verbs/solvers/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/picture/history.hpp"
#include "apps/cli/picture/plot.hpp"
#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/machine.hpp"
#include "apps/cli/support/numbers_file.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/support/store.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "apps/cli/verbs/operations/measure_team.hpp"
#include "io/formats.hpp"
#include "tulle/solve.hpp"
#include "tulle/solve_team.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

bool is_matrix_market(const std::string& file)
{
    const io::Format* format = io::find_format(file);
    return format && format->contents == io::Contents::matrix_market;
}

// A matrix of one column.
template <class V>
std::vector<V> column_of(const Session& session, const Context& host, const Source& file, index_t rows)
{
    const Loaded<V> loaded = load<V>(session, host, file);
    const CsrView<V> m = loaded.matrix.view();
    require<FormatError>(m.rows == rows && m.cols == 1, [&] {
        return concat(file.text, ": a right-hand side must be ", rows, " x 1, not ", m.rows, " x ", m.cols);
    });
    std::vector<V> b(static_cast<std::size_t>(rows), V(0));
    for (index_t i = 0; i < rows; ++i)
        for (offset_t k = m.row_begin[i]; k < m.row_begin[i + 1]; ++k) b[static_cast<std::size_t>(i)] += m.value[k];
    return b;
}

template <class V>
std::vector<V> right_side(const Session& session, const Context& host, const SolveOptions& o, index_t rows)
{
    const std::string& file = o.rhs.text;
    if (file.empty()) return std::vector<V>(static_cast<std::size_t>(rows), V(1));
    if (io::find_format(file)) return column_of<V>(session, host, o.matrix.with_text(file), rows);
    return read_numbers<V>(file, rows);
}

template <class V>
void write_solution(const Session& session, const Context& host, const std::string& file, const std::vector<V>& x)
{
    if (!is_matrix_market(file)) return write_numbers<V>(file, x);
    const auto n = static_cast<index_t>(x.size());
    std::vector<offset_t> begin(x.size() + 1);
    std::iota(begin.begin(), begin.end(), offset_t{0});
    const std::vector<index_t> col(x.size(), 0);
    store(session, host, file, CsrView<V>{n, 1, n, begin.data(), col.data(), x.data()});
}

constexpr std::string_view rigid_body = "rigid-body:";

bool is_rigid_body(const SolveOptions& o) { return o.near_null_space.text.starts_with(rigid_body); }

// All entries of a matrix.
template <class V>
Dense<V> dense_of(const Session& session, const Context& host, const Source& source)
{
    const Loaded<V> loaded = load<V>(session, host, source);
    const CsrView<V> m = loaded.matrix.view();
    auto all = Dense<V>::make(host.host(), m.rows, m.cols);
    std::fill_n(all.data.data(), all.data.size(), V(0));
    for (index_t i = 0; i < m.rows; ++i)
        for (offset_t k = m.row_begin[i]; k < m.row_begin[i + 1]; ++k) all.view()(i, m.col[k]) += m.value[k];
    return all;
}

// On the host; no columns: none was given.
template <class V>
Dense<V> near_null_space(const Session& session, const Context& host, const SolveOptions& o, index_t rows)
{
    const std::string& text = o.near_null_space.text;
    if (text.empty()) return {};
    Dense<V> vectors =
        dense_of<V>(session, host, o.matrix.with_text(text.substr(is_rigid_body(o) ? rigid_body.size() : 0)));
    if (is_rigid_body(o)) vectors = amg::rigid_body_modes<V>(host, std::as_const(vectors).view());
    require<FormatError>(
        vectors.rows == rows && vectors.cols > 0,
        [&] {
            return concat(text, ": the near null space has ", vectors.rows, " rows and ", vectors.cols,
                          " columns, but the matrix has ", rows, " rows");
        },
        "give a row for each row of the matrix, with rigid-body a row for each point");
    return vectors;
}

// Whether the tolerance is below what residuals in float can be told to.
template <class V>
bool is_beyond_float(const SolveOptions& o)
{
    return std::is_same_v<V, float> && o.tolerance && *o.tolerance < 1e-6;
}

solve::Recipe recipe_of(const SolveOptions& o)
{
    solve::Recipe recipe{.stop = {.relative = o.tolerance, .iterations = o.iterations}, .restart = o.restart};
    if (o.seconds > 0) recipe.stop.seconds = o.seconds;
    if (o.graphs == "never") recipe.graphs = solve::Graphs::never;
    try {
        if (!o.method.empty()) recipe.method = solve::parse_method(o.method);
        if (!o.preconditioner.empty()) recipe.preconditioner = solve::parse_preconditioner(o.preconditioner);
    } catch (const ValueError& e) {
        throw UsageError(e.message(), e.hint());
    }
    return recipe;
}

// How far the residual has come on a logarithmic scale.
class ResidualProgress {
public:
    explicit ResidualProgress(Progress progress) : progress_(std::move(progress)) {}
    void operator()(const solve::SolveProgress& s)
    {
        if (first_ == 0) first_ = s.residual;
        if (!progress_ || !(s.residual > 0) || !(s.target > 0) || !(first_ > s.target)) return;
        best_ = std::max(best_, std::log(first_ / s.residual) / std::log(first_ / s.target));
        progress_(std::clamp(best_, 0.0, 1.0));
    }

private:
    Progress progress_;
    double first_ = 0, best_ = 0;
};

struct Outcome {
    solve::Report report;
    std::string description, method, preconditioner;
    std::size_t bytes = 0;
};

template <class Plan>
Outcome outcome_of(const Plan& plan, solve::Report report)
{
    Outcome outcome{std::move(report), plan.describe(), {}, to_text(*plan.policy().preconditioner), plan.bytes()};
    outcome.method = to_text(outcome.report.method);
    return outcome;
}

template <class V>
Outcome solve_on_team(const Session& session, const Context& like, const CsrView<V>& a, const std::vector<V>& b,
                      std::vector<V>& x, const SolveOptions& o)
{
    const Team team = team_like(session, like, o.devices);
    Activity work(session.console, "solving");
    auto plan = solve::TeamPlan<V>::make(team, a, recipe_of(o));
    ResidualProgress progress(work.progress());
    x.resize(b.size());
    solve::Report report = plan.solve(b, x, [&](const solve::SolveProgress& s) { progress(s); });
    return outcome_of(plan, std::move(report));
}

template <class V>
Outcome solve_on(const Session& session, const Context& ctx, const CsrView<V>& a, const std::vector<V>& b,
                 Dense<V> near_null, std::vector<V>& x, const SolveOptions& o)
{
    Activity work(session.console, "solving");
    const Csr<V> there = to_device(ctx, a);
    const auto right = to_device<V>(ctx, std::span<const V>(b));
    auto left = ctx.run([&](const auto& q) { return Buffer<V>(q, a.rows); });
    near_null.data = to_device<V>(ctx, std::as_const(near_null.data).span());
    solve::Recipe recipe = recipe_of(o);
    // Of three or six modes, in two or three dimensions.
    const index_t usual = !is_rigid_body(o) ? 1 : near_null.cols == 3 ? 2 : 3;
    recipe.unknowns_per_node = o.unknowns_per_node > 0 ? o.unknowns_per_node : usual;
    auto plan = solve::Plan<V>::make(ctx, there.view(), recipe, std::as_const(near_null).view());
    ResidualProgress progress(work.progress());
    solve::Report report = plan.solve(right.span(), left.span(), [&](const solve::SolveProgress& s) { progress(s); });
    const Buffer<V> here = to_host<V>(ctx, std::as_const(left).span());
    x.assign(here.span().begin(), here.span().end());
    return outcome_of(plan, std::move(report));
}

Json to_json(const Outcome& o)
{
    const solve::Report& r = o.report;
    return {{"reason", to_text(r.reason)},
            {"converged", r.converged()},
            {"method", o.method},
            {"preconditioner", o.preconditioner},
            {"iterations", r.iterations},
            {"restarts", r.restarts},
            {"residual", r.residual},
            {"relative_residual", r.relative},
            {"setup_seconds", r.setup_seconds},
            {"iterate_seconds", r.iterate_seconds},
            {"verify_seconds", r.verify_seconds},
            {"plan_bytes", o.bytes},
            {"note", r.note.empty() ? Json() : Json(r.note)},
            {"advice", r.advice.empty() ? Json() : Json(r.advice)},
            {"history", r.history}};
}

// Options that a chosen method or preconditioner does not look at.
void tell_unused(const Session& session, const SolveOptions& o, const Outcome& outcome)
{
    const auto tell = [&](const char* option, bool given, bool used, const std::string& chosen) {
        if (given && !used) session.console.say(concat(option, " has no effect: ", chosen, " was chosen"));
    };
    const std::string &method = outcome.method, &preconditioner = outcome.preconditioner;
    const bool restarts = method.ends_with("gmres") || method == "refinement",
               multigrid = preconditioner.find("amg") != std::string::npos ||
                           preconditioner.find(",auto,") != std::string::npos;  // of an inner solver: perhaps
    tell("--restart", o.restart != SolveOptions{}.restart, restarts, method);
    tell("--near-null-space", !o.near_null_space.text.empty(), multigrid, preconditioner);
    tell("--unknowns-per-node", o.unknowns_per_node > 0, multigrid, preconditioner);
}

void print_table(const Session& session, const SolveOptions& o, const std::string& sizes, const Outcome& outcome)
{
    const solve::Report& r = outcome.report;
    Table table({{"method", Align::left},
                 {"preconditioner", Align::left},
                 {"iterations"},
                 {"relative residual"},
                 {"setup"},
                 {"solve"},
                 {"result", Align::left}});
    table.add({outcome.method, outcome.preconditioner, grouped(r.iterations), fmt::format("{:.2e}", r.relative),
               seconds_text(r.setup_seconds), seconds_text(r.iterate_seconds + r.verify_seconds), to_text(r.reason)});
    std::string text =
        session.console.styled(fmt::format("A x = b, A = {}: {}\n", o.matrix.name(), sizes), Style::bold);
    text += table.text(session.console) + "\n" + shown(session, outcome.description);
    if (!r.note.empty()) text += "  note:    " + r.note + "\n";
    if (!r.advice.empty()) text += "  advice:  " + r.advice + "\n";
    session.console.print(text);
}

// What to try where a solve has not converged. The note of a report tells of rows without entries and of matrices that
// cannot be inverted.
template <class V>
std::string hint_for(const SolveOptions& o, const solve::Report& report)
{
    if (is_beyond_float<V>(o))
        return "float does not reach such a tolerance: leave --tolerance at 1e-5, or use --type f64";
    if (report.note.find("singular") != std::string::npos || report.note.find("no entries") != std::string::npos)
        return "no method solves such a system for every b: look at the matrix with tulle info";
    return "try another --method or --preconditioner, a larger --tolerance or more --max-iterations";
}

template <class V>
void solve_as(const Session& session, const SolveOptions& o)
{
    const Context ctx = session.contexts(o.backend).front(), host = session.host();
    const Loaded<V> loaded = load<V>(session, host, o.matrix);
    const CsrView<V> a = loaded.matrix.view();
    require_budget(host, a.rows, 2 * sizeof(V), "b and x");
    const std::vector<V> b = right_side<V>(session, host, o, a.rows);
    std::vector<V> x;
    const Outcome outcome = o.devices > 0
                                ? solve_on_team(session, ctx, a, b, x, o)
                                : solve_on(session, ctx, a, b, near_null_space<V>(session, host, o, a.rows), x, o);
    tell_unused(session, o, outcome);
    const std::string sizes =
        fmt::format("{}, {}", shape_text(a.rows, a.cols), counted(a.nonzeros, "nonzero", "nonzeros"));
    if (session.settings.json) {
        Json result = about(o.matrix, a);
        result.update({{"backend", ctx.name()}, {"devices", std::max(1, o.devices)}, {"type", o.type}});
        result.update(to_json(outcome));
        print(session, result);
    } else print_table(session, o, sizes, outcome);
    if (!o.to.empty()) write_solution(session, host, o.to, x);
    if (!o.plot.empty()) {
        picture::HistoryPlot plot{.title = o.matrix.name(),
                                  .subtitle = fmt::format("{}, {}", outcome.method, outcome.preconditioner),
                                  .residual = outcome.report.history,
                                  .target = o.tolerance.value_or(solve::default_relative<V>())};
        const double scale = outcome.report.relative > 0 ? outcome.report.relative / outcome.report.residual : 1;
        for (double& r : plot.residual) r *= scale;
        picture::write_history(o.plot, plot);
    }
    require<CheckFailed>(
        outcome.report.converged(), [&] { return concat(o.matrix.text, ": ", outcome.report.text()); },
        hint_for<V>(o, outcome.report));
}

}  // namespace

void solve(const Session& session, const SolveOptions& options)
{
    if (!options.plot.empty()) picture::check_picture(options.plot);
    if (is_matrix_market(options.to)) check_store(options.to);
    else if (!options.to.empty()) check_text_file(options.to, "name it like x.mtx, x.mtx.gz or x.txt");
    recipe_of(options);  // names are checked before a file is read
    options.type == "f32" ? solve_as<float>(session, options) : solve_as<double>(session, options);
}

}  // namespace tulle::cli
