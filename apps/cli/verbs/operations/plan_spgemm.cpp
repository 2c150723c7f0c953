// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle plan spgemm: what C = op(A) op(B) would take, before it is computed; on several devices, who does what.
#include "apps/cli/support/layout.hpp"
#include "apps/cli/verbs/operations/measure_spgemm.hpp"
#include "apps/cli/verbs/operations/team_spgemm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

template <class V>
void plan_as(const Session& session, const SpgemmOptions& o)
{
    const Context host = session.host();
    const Factors<V> f = load_factors<V>(session, host, o);
    Json results = Json::array();
    for (const Context& ctx : session.contexts(o.backend)) {
        if (o.devices > 0) {
            Json planned = plan_on_team(session, ctx, f.first(), f.second(), options_of(o, ctx), o, equation(o));
            results.push_back(std::move(planned));
            continue;
        }
        const Csr<V> a = to_device(ctx, f.first()), other = f.square ? Csr<V>{} : to_device(ctx, f.second());
        const auto plan = spgemm::Plan<V>::make(ctx, a.view(), f.square ? a.view() : other.view(), options_of(o, ctx));
        const spgemm::MemoryNeed need = plan.memory();
        if (session.settings.json)
            results.push_back({{"backend", ctx.name()},
                               {"rows", plan.rows()},
                               {"cols", plan.cols()},
                               {"nonzeros", plan.nonzeros()},
                               {"products", plan.products()},
                               {"result_bytes", need.result},
                               {"plan_bytes", need.plan},
                               {"refill_bytes", need.refill},
                               {"workspace_bytes", need.workspace},
                               {"policy", spgemm::to_text(plan.policy())}});
        else
            session.console.print(session.console.styled(equation(o) + "\n", Style::bold) +
                                  shown(session, plan.describe()));
    }
    if (!session.settings.json) return;
    Json result = about(o, f);
    result.update({{"type", o.type}, {"results", results}});
    print(session, result);
}

}  // namespace

void plan_spgemm(const Session& session, const SpgemmOptions& options)
{
    options.type == "f32" ? plan_as<float>(session, options) : plan_as<double>(session, options);
}

void add_plan_spgemm(Parser& parser, CLI::App* plan, SpgemmOptions& o)
{
    CLI::App* verb =
        parser.verb("spgemm",
                    "Nonzeros and memory of C = op(A) op(B), exactly, before it is computed; which rows go where.",
                    "tulle plan spgemm matrix.mtx\ntulle plan spgemm twin:webbase-1M --backend cuda\ntulle plan spgemm "
                    "twin:cant --devices 8",
                    plan);
    add_spgemm_factors(parser, verb, o);
    add_spgemm_plan(verb, o);
    parser.verbose(verb);
    parser.effective(
        verb, "--refill", [&o] { return o.devices == 0; }, "with --devices");
    parser.effective(
        verb, "--verbose", [&o] { return o.devices == 0; }, "with --devices");
    parser.when(verb, [&o](const Session& session) { plan_spgemm(session, o); });
}

}  // namespace tulle::cli
