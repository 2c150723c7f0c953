// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs/operations/team_spgemm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/machine.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs/operations/measure_team.hpp"
#include "tulle/context.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::cli {
namespace {

spgemm::TeamOptions team_options(const spgemm::Options& wish)
{
    spgemm::TeamOptions options;
    options.op_a = wish.op_a;
    options.op_b = wish.op_b;
    options.force = wish.force;
    return options;
}

struct Slowest {
    double count = 0, fill = 0, all = 0;  // seconds; all: of everybody together
};

Slowest slowest_of(const std::vector<spgemm::TeamPart>& parts)
{
    Slowest s;
    for (const auto& part : parts) {
        s.count = std::max(s.count, part.symbolic_seconds);
        s.fill = std::max(s.fill, part.numeric_seconds);
        s.all += part.symbolic_seconds + part.numeric_seconds;
    }
    return s;
}

template <class V>
Json to_json(const spgemm::TeamPlan<V>& plan, const std::string& where)
{
    Json list = Json::array();
    for (const auto& p : plan.parts())
        list.push_back({{"counted_rows", p.symbolic_rows},
                        {"products", p.products},
                        {"filled_rows", p.numeric_rows},
                        {"nonzeros", p.nonzeros},
                        {"moved", p.moved},
                        {"bytes", p.bytes},
                        {"count_seconds_alone", p.symbolic_seconds},
                        {"fill_seconds_alone", p.numeric_seconds},
                        {"policy", p.policy}});
    return {{"devices", plan.members()},
            {"timed_on", where},
            {"products", plan.products()},
            {"nonzeros", plan.nonzeros()},
            {"count_imbalance", plan.symbolic_imbalance()},
            {"fill_imbalance", plan.numeric_imbalance()},
            {"parts", list}};
}

template <class V>
std::string text_of(const Session& session, const spgemm::TeamPlan<V>& plan, const std::string& where)
{
    const auto parts = plan.parts();
    offset_t products = 1, nonzeros = 1;
    for (const auto& p : parts) {
        products = std::max(products, p.products);
        nonzeros = std::max(nonzeros, p.nonzeros);
    }
    const double room = std::clamp((session.console.width() - 92) / 2, 6, 24);
    const auto bar = [&](offset_t n, offset_t most) {
        return bar_text(room * static_cast<double>(n) / static_cast<double>(most), session.console.unicode());
    };
    Table table({{"device"},
                 {"counts rows"},
                 {"products"},
                 {"alone"},
                 {"", Align::left},
                 {"fills rows"},
                 {"nonzeros"},
                 {"alone"},
                 {"", Align::left},
                 {"memory"}});
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const auto& p = parts[k];
        table.add({std::to_string(k), grouped(p.symbolic_rows), grouped(p.products), seconds_text(p.symbolic_seconds),
                   bar(p.products, products), grouped(p.numeric_rows), grouped(p.nonzeros),
                   seconds_text(p.numeric_seconds), bar(p.nonzeros, nonzeros), human_bytes(p.bytes)});
    }
    const Slowest slowest = slowest_of(parts);
    Facts facts;
    facts.add(
        "imbalance",
        fmt::format(
            "{:.4f} of products while counting, {:.4f} of nonzeros while filling: the largest part beside the mean",
            plan.symbolic_imbalance(), plan.numeric_imbalance()));
    facts.add("slowest",
              fmt::format("{} counting, {} filling; all of them one after the other {}, on {}",
                          seconds_text(slowest.count), seconds_text(slowest.fill), seconds_text(slowest.all), where));
    return table.text(session.console) + "\n" + facts.text(session.console) + "\n" + plan.describe() + "\n";
}

template <class V>
std::string described(const spgemm::TeamPlan<V>& plan)
{
    const partition::Traffic t = plan.traffic();
    std::string text = plan.describe() + fmt::format("\n  moved:   {} up and {} down, by a plan and two runs",
                                                     human_bytes(t.host_to_device), human_bytes(t.device_to_host));
    for (const auto& p : plan.parts())
        text += fmt::format("\n  {}: counted in {}, filled in {}", p.where, seconds_text(p.symbolic_seconds),
                            seconds_text(p.numeric_seconds));
    return text;
}

// A plan, which tells how large C is, and how long it takes to fill C again.
template <class V>
void refill_by_plan(const Context& host, const Team& team, const CsrView<V>& a, const CsrView<V>& b,
                    const spgemm::TeamOptions& options, ProductResult<V>& result)
{
    double begin = trace::now();
    auto plan = spgemm::TeamPlan<V>::make(team, a, b, options);
    result.plan_seconds = trace::now() - begin;
    for (const auto& p : plan.parts()) result.plan_bytes += p.bytes;
    require_budget(host, plan.nonzeros(), sizeof(V) + sizeof(index_t), "C");
    plan.run();
    begin = trace::now();
    plan.run();
    result.refill = trace::now() - begin;
    result.products = plan.products();
    result.policy = plan.parts().front().policy;
    result.description = described(plan);
}

}  // namespace

template <class V>
ProductResult<V> multiply_on_team(const Session& session, const Context& host, const Context& like, const Factors<V>& f,
                                  const SpgemmOptions& o)
{
    const Team team = team_like(session, like, o.devices);
    const spgemm::TeamOptions options = team_options(options_of(o, like));
    ProductResult<V> result{{.backend = fmt::format("{} x {}", team.size(), team[0].name())}};
    refill_by_plan(host, team, f.first(), f.second(), options, result);
    for (int m = 0; m < team.size(); ++m) team[m].memory().reset_peak();
    const auto call = [&] { return spgemm::multiply(team, f.first(), f.second(), options); };
    const double begin = trace::now();
    result.c = call();
    result.first = result.median = result.best = trace::now() - begin;
    time_runs(o.repeat, call, result);
    for (int m = 0; m < team.size(); ++m) result.peak = std::max(result.peak, team[m].peak_bytes());
    return result;
}

template <class V>
Json plan_on_team(const Session& session, const Context& like, const CsrView<V>& a, const CsrView<V>& b,
                  const spgemm::Options& wish, const SpgemmOptions& o, const std::string& title)
{
    spgemm::TeamOptions options = team_options(wish);
    options.take_turns = true;
    spgemm::TeamPlan<V> plan = [&] {
        const Activity work(session.console, "timing parts");
        auto made = spgemm::TeamPlan<V>::make(alone_each(session, like, o.devices), a, b, options);
        made.run_parts();
        return made;
    }();
    if (!session.settings.json)
        session.console.print(
            session.console.styled(fmt::format("{}, on {}\n", title, counted(o.devices, "device", "devices")),
                                   Style::bold) +
            text_of(session, plan, like.name()));
    return to_json(plan, like.name());
}

template ProductResult<float> multiply_on_team(const Session&, const Context&, const Context&, const Factors<float>&,
                                               const SpgemmOptions&);
template ProductResult<double> multiply_on_team(const Session&, const Context&, const Context&, const Factors<double>&,
                                                const SpgemmOptions&);
template Json plan_on_team(const Session&, const Context&, const CsrView<float>&, const CsrView<float>&,
                           const spgemm::Options&, const SpgemmOptions&, const std::string&);
template Json plan_on_team(const Session&, const Context&, const CsrView<double>&, const CsrView<double>&,
                           const spgemm::Options&, const SpgemmOptions&, const std::string&);

}  // namespace tulle::cli
