// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle explain solve: every candidate that a solve would try, set up and run alone: the time of an iteration predicted
// from one product and the bytes that the plan keeps, and measured; which one a solve ends with, and why.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs/solvers/solve.hpp"
#include "tulle/error.hpp"
#include "tulle/solve.hpp"
#include "tulle/spmv.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

struct Tried {
    solve::Choice choice;
    double predicted = 0;  // seconds of an iteration
    std::optional<solve::Report> report = {};
    std::string fault = {};  // why it cannot be made

    bool converged() const { return report && report->converged(); }
    double seconds() const { return report->setup_seconds + solve_seconds(); }
    double solve_seconds() const { return report->iterate_seconds + report->verify_seconds; }
    double iteration() const
    {
        return solve_seconds() / static_cast<double>(std::max<offset_t>(1, report->iterations));
    }
};

// The shortest of some products with A.
template <class V>
double time_product(const Context& ctx, const CsrView<V>& a, const Buffer<V>& x, Buffer<V>& y)
{
    const auto plan = spmv::Plan<V>::make(ctx, a);
    double best = 1e300;
    for (int k = 0; k < 5; ++k) {
        const double begin = trace::now();
        plan.run(x.span(), y.span());
        ctx.synchronize();
        best = std::min(best, trace::now() - begin);
    }
    return best;
}

// An iteration reads A once or twice, and what the plan keeps as often; as fast as the product does.
template <class V>
double predict(const solve::Choice& c, const CsrView<V>& a, std::size_t kept, double product)
{
    const double times = c.method == solve::Method::bicgstab ? 2 : 1;
    const double matrix = static_cast<double>(a.nonzeros) * (sizeof(V) + sizeof(index_t)) +
                          static_cast<double>(a.rows) * (sizeof(offset_t) + 2 * sizeof(V));
    return times * product * (1 + static_cast<double>(kept) / std::max(1.0, matrix));
}

template <class V>
Tried try_candidate(const Context& ctx, const CsrView<V>& a, const solve::Choice& c, const solve::Recipe& open,
                    double product, const Buffer<V>& b, Buffer<V>& x)
{
    Tried t{.choice = c};
    solve::Recipe recipe = open;
    recipe.method = c.method;
    recipe.preconditioner = c.preconditioner;
    if (c.restart > 0) recipe.restart = c.restart;
    try {
        auto plan = solve::Plan<V>::make(ctx, a, recipe);
        t.predicted = predict(c, a, plan.bytes(), product);
        t.report = plan.solve(b.span(), x.span());
    } catch (const ValueError& e) {
        t.fault = e.message();
    } catch (const OutOfMemory& e) {
        t.fault = e.message();
    }
    return t;
}

Json to_json(const Tried& t)
{
    Json j{{"method", to_text(t.choice.method)},
           {"preconditioner", to_text(t.choice.preconditioner)},
           {"why", t.choice.why},
           {"result", t.report ? to_text(t.report->reason) : t.fault}};
    if (t.report)
        j.update({{"predicted_iteration_seconds", t.predicted},
                  {"iteration_seconds", t.iteration()},
                  {"iterations", t.report->iterations},
                  {"setup_seconds", t.report->setup_seconds},
                  {"solve_seconds", t.solve_seconds()},
                  {"relative_residual", t.report->relative}});
    return j;
}

std::string conclusion(const std::vector<Tried>& all)
{
    const auto taken = std::find_if(all.begin(), all.end(), [](const Tried& t) { return t.converged(); });
    if (taken == all.end()) return "  none converges alone\n";
    const auto fastest = std::min_element(all.begin(), all.end(), [](const Tried& x, const Tried& y) {
        return x.converged() && (!y.converged() || x.seconds() < y.seconds());
    });
    const auto name = [](const Tried& t) {
        return fmt::format("{} with {}", to_text(t.choice.method), to_text(t.choice.preconditioner));
    };
    std::string text = fmt::format("  a solve {} with {}: {}\n", taken->choice.next_cost > 0 ? "begins" : "ends",
                                   name(*taken), taken->choice.why);
    if (fastest != taken)
        text += fmt::format("  {} is {:.1f} times as fast here, setup included\n", name(*fastest),
                            taken->seconds() / fastest->seconds());
    return text;
}

void print_candidates(const Session& session, const std::string& title, const std::vector<Tried>& all)
{
    Table table({{"candidate", Align::left},
                 {"iteration predicted"},
                 {"measured"},
                 {"iterations"},
                 {"setup"},
                 {"solve"},
                 {"result", Align::left}});
    for (const Tried& t : all) {
        const std::string name = fmt::format("{}, {}", to_text(t.choice.method), to_text(t.choice.preconditioner));
        if (!t.report) table.add({name, "", "", "", "", "", t.fault});
        else
            table.add({name, seconds_text(t.predicted), seconds_text(t.iteration()), grouped(t.report->iterations),
                       seconds_text(t.report->setup_seconds), seconds_text(t.solve_seconds()),
                       to_text(t.report->reason)});
    }
    session.console.print(session.console.styled(title, Style::bold) + table.text(session.console) + "\n" +
                          conclusion(all));
}

template <class V>
void report(const Session& session, const SolveOptions& o, const CsrView<V>& a, const Context& ctx, double product,
            const std::vector<Tried>& all)
{
    if (!session.settings.json)
        return print_candidates(session, fmt::format("A x = 1, A = {}, {}\n", o.matrix.name(), ctx.name()), all);
    Json result = about(o.matrix, a);
    result.update({{"backend", ctx.name()}, {"type", o.type}, {"product_seconds", product}});
    for (const Tried& t : all) result["candidates"].push_back(to_json(t));
    print(session, result);
}

template <class V>
void explain_as(const Session& session, const SolveOptions& o)
{
    const Context ctx = session.contexts(o.backend).front(), host = session.host();
    const Loaded<V> loaded = load<V>(session, host, o.matrix);
    const Csr<V> a = to_device(ctx, loaded.matrix.view());
    const std::vector<V> ones(static_cast<std::size_t>(a.rows), V(1));
    const auto b = to_device<V>(ctx, std::span<const V>(ones));
    auto x = to_device<V>(ctx, std::span<const V>(ones));
    const solve::Recipe open{.stop = {.relative = o.tolerance, .iterations = o.iterations, .seconds = o.seconds},
                             .restart = o.restart};
    const solve::Recipe look{.method = solve::Method::cg, .preconditioner = solve::None{}};
    const solve::Features features = solve::Plan<V>::make(ctx, a.view(), look).features();
    const double product = time_product(ctx, a.view(), b, x);
    std::vector<Tried> all;
    {
        Activity work(session.console, "trying candidates");
        for (const solve::Choice& c : solve::candidates(features, open)) {
            const bool known = std::any_of(all.begin(), all.end(), [&](const Tried& t) {
                return t.choice.method == c.method && t.choice.preconditioner == c.preconditioner;
            });
            if (!known) all.push_back(try_candidate(ctx, a.view(), c, open, product, b, x));
        }
    }
    report(session, o, loaded.matrix.view(), ctx, product, all);
    require<CheckFailed>(
        std::any_of(all.begin(), all.end(), [](const Tried& t) { return t.converged(); }),
        [&] { return concat(o.matrix.text, ": no candidate converges alone"); },
        "try a larger --tolerance, more --max-iterations or --max-seconds");
}

}  // namespace

void explain_solve(const Session& session, const SolveOptions& options)
{
    options.type == "f32" ? explain_as<float>(session, options) : explain_as<double>(session, options);
}

}  // namespace tulle::cli
