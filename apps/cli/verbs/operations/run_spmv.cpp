// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run spmv: y = alpha op(A) x + beta y on one backend or on all, timed and checked.
#include <fmt/format.h>

#include <cmath>

#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/machine.hpp"
#include "apps/cli/support/numbers_file.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "apps/cli/verbs.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "apps/cli/verbs/operations/measure_team.hpp"
#include "apps/cli/verbs/operations/result_checks.hpp"
#include "tulle/context.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

spmv::Format format_of(const std::string& name)
{
    return name == "csc"    ? spmv::Format::csc
           : name == "coo"  ? spmv::Format::coo
           : name == "bell" ? spmv::Format::blocked_ell
                            : spmv::Format::csr;
}

template <class V>
SpmvProblem<V> problem_of(const Context& host, const SpmvOptions& options, const CsrView<V>& a)
{
    SpmvProblem<V> p{.a = a,
                     .format = format_of(options.format),
                     .block = options.block,
                     .transpose = options.transpose,
                     .alpha = static_cast<V>(options.alpha),
                     .beta = static_cast<V>(options.beta),
                     .x = {},
                     .y = {}};
    require_budget(host, offset_t{a.rows} + a.cols, sizeof(V), "x and y");
    p.x = options.x_from.empty() ? seeded_vector<V>(p.cols(), options.seed) : read_numbers<V>(options.x_from, p.cols());
    p.y = seeded_vector<V>(p.rows(), options.seed + 1);
    return p;
}

// What is known of op(A) before a plan looks at it; enough to tell which policies there are.
template <class V>
spmv::Features traits_of(const Context& host, const SpmvProblem<V>& p)
{
    spmv::Features features{.format = p.format, .transposed = p.transpose, .sorted_by_row = !p.transpose};
    features.row = {.rows = p.rows(), .cols = p.cols(), .nonzeros = p.a.nonzeros, .widest = p.cols()};
    if (p.transpose) return features;
    const RowStatistics row = row_statistics(host, p.a.rows, p.a.cols, p.a.row_begin);
    features.row.longest = row.longest;
    features.row.mean = row.mean;
    return features;
}

// The kernel asked for with the lanes asked for; where lanes are left open, tulle's own choice if it is that kernel,
// else the widest. What cannot be done is passed on: the plan refuses it and says what could.
template <class V>
std::optional<spmv::Policy> forced(const SpmvOptions& options, const SpmvProblem<V>& p, const Context& host,
                                   const Context& ctx)
{
    if (options.kernel.empty()) return std::nullopt;
    const spmv::Kernel kernel = spmv::parse_kernel(options.kernel);
    const spmv::Features features = traits_of(host, p);
    const spmv::Limits limits{.backend = ctx.backend(), .threads = ctx.host().threads};
    std::vector<spmv::Policy> possible = spmv::candidates(features, limits);
    possible.push_back(spmv::choose(features, limits).policy);
    std::erase_if(possible, [&](const spmv::Policy& q) {
        return q.kernel != kernel || q.sort || (options.lanes > 0 && q.lanes != options.lanes);
    });
    return possible.empty()
               ? spmv::Policy{.kernel = kernel, .lanes = options.lanes > 0 ? options.lanes : spmv::Policy{}.lanes}
               : possible.back();
}

// "y = 2 A^T x - 0.5 y"
std::string equation(const SpmvOptions& o)
{
    const std::string alpha = o.alpha == 1 ? "" : fmt::format("{} ", o.alpha), product = o.transpose ? "A^T x" : "A x";
    const std::string beta = o.beta == 0
                                 ? ""
                                 : fmt::format(" {} {}y", o.beta < 0 ? '-' : '+',
                                               std::abs(o.beta) == 1 ? "" : fmt::format("{} ", std::abs(o.beta)));
    return fmt::format("y = {}{}{}", alpha, product, beta);
}

template <class V>
void report(const Session& session, const SpmvOptions& options, const SpmvProblem<V>& p,
            const std::vector<SpmvResult<V>>& results)
{
    if (session.settings.json) {
        Json list = Json::array();
        for (const auto& r : results) list.push_back(to_json(r));
        Json result = about(options.matrix, p.a);
        result.update({{"type", options.type},
                       {"format", to_text(p.format)},
                       {"transpose", p.transpose},
                       {"alpha", options.alpha},
                       {"beta", options.beta},
                       {"repeat", options.repeat},
                       {"results", list}});
        return print(session, result);
    }
    Table table({{"backend", Align::left}, {"plan"}, {"median"}, {"best"}, {"bandwidth"}, {"result", Align::left}});
    for (const auto& r : results)
        table.add({r.backend, seconds_text(r.plan_seconds), seconds_text(r.median), seconds_text(r.best),
                   rate_text(r.bandwidth()), check_text(r.verdict)});
    const std::string title = fmt::format("{}, A = {}: {}, {}, {}, {}\n", equation(options), options.matrix.name(),
                                          shape_text(p.a.rows, p.a.cols), counted(p.a.nonzeros, "nonzero", "nonzeros"),
                                          to_text(p.format), options.type);
    std::string text = session.console.styled(title, Style::bold) + table.text(session.console);
    for (const auto& r : results) text += "\n" + shown(session, r.description);
    session.console.print(text);
}

template <class V>
void run_as(const Session& session, const SpmvOptions& options)
{
    const std::vector<Context> places = session.contexts(options.backend);
    const Context host = session.host();
    const Loaded<V> loaded = load<V>(session, host, options.matrix);
    SpmvProblem<V> p = problem_of<V>(host, options, loaded.matrix.view());
    std::vector<SpmvResult<V>> results;
    {
        const Activity work(session.console, "multiplying");
        for (const Context& ctx : places) {
            if (options.devices > 0) {
                results.push_back(measure_team(session, ctx, p, options));
                continue;
            }
            p.force = forced(options, p, host, ctx);
            results.push_back(measure(host, ctx, p, options.repeat));
        }
    }
    if (options.verify) {
        const Activity work(session.console, "checking");
        const Reference plain = reference<V>(p.a, p.transpose, p.alpha, p.x, p.beta, p.y);
        for (auto& r : results) r.verdict = judge<V>(plain, r.y);
    }
    if (!options.y_to.empty()) write_numbers<V>(options.y_to, results.front().y);
    report(session, options, p, results);
    require_good(results, "spmv", "entry ");
}

}  // namespace

void run_spmv(const Session& session, const SpmvOptions& options)
{
    require<UsageError>(options.y_to.empty() || options.backend != "all", "--out needs one backend, not all");
    require<UsageError>(options.devices == 0 || options.kernel.empty(),
                        "--policy is for one device; the members of a team choose for themselves",
                        "leave --policy or --devices out");
    check_scalar("--alpha", options.alpha, options.type);
    check_scalar("--beta", options.beta, options.type);
    if (!options.y_to.empty()) check_text_file(options.y_to);
    options.type == "f32" ? run_as<float>(session, options) : run_as<double>(session, options);
}

}  // namespace tulle::cli
