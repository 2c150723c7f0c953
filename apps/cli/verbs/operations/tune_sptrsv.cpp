// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle tune sptrsv: every policy that there is time for, the fastest first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "apps/cli/verbs/operations/sptrsv.hpp"
#include "tulle/context.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

// What a plan made with the cache takes from it.
template <class V>
std::string what_is_remembered(const Context& ctx, const CsrView<V>& a, const sptrsv::Options& options)
{
    const auto plan = sptrsv::Plan<V>::make(ctx, a, options);
    const std::string said = plan.describe(), cache = "  cache:  ";
    if (said.find("an earlier search") != std::string::npos) return sptrsv::to_text(plan.policy());
    const auto at = said.find(cache);
    if (at == std::string::npos) return "nothing";
    return "nothing; " + said.substr(at + cache.size(), said.find('\n', at) - at - cache.size());
}

Json to_json(const sptrsv::Features& features)
{
    constexpr std::array counts{"rows", "nonzeros", "row_longest", "level_longest", "levels"};
    Json all;
    for (const std::string& name : sptrsv::feature_names()) {
        const double number = sptrsv::feature(features, name);
        const bool is_count = std::find(counts.begin(), counts.end(), name) != counts.end();
        all[name] = is_count ? Json(static_cast<offset_t>(number)) : Json(number);
    }
    return all;
}

// The same every time; whoever stops early has seen schemes of every kind.
std::vector<sptrsv::Policy> in_any_order(std::vector<sptrsv::Policy> schemes)
{
    std::shuffle(schemes.begin(), schemes.end(), std::mt19937(1));
    return schemes;
}

std::vector<sptrsv::Policy> of_the_paper(const TuneSptrsvOptions& o)
{
    if (o.exhaustive) return in_any_order(sptrsv::ag_sptrsv_policies());
    return o.paper ? sptrsv::ag_sptrsv_reduced_policies() : std::vector<sptrsv::Policy>{};
}

template <class V>
void tune_as(const Session& session, const TuneSptrsvOptions& o)
{
    const std::string no_cuda = why_no_cuda();
    const bool on_gpu = o.triangle.backend != "cpu" && no_cuda.empty();
    if (o.triangle.backend != "cpu" && !on_gpu) session.console.say("on the CPU: " + no_cuda);
    const Context host = session.host(), ctx = on_gpu ? session.cuda() : host;
    const Loaded<V> loaded = load_triangle<V>(session, host, o.triangle);
    const auto there = to_device(ctx, loaded.matrix.view());
    sptrsv::Options options = o.triangle.plan();
    const auto planned = sptrsv::Plan<V>::make(ctx, there.view(), options);
    const sptrsv::Policy chosen = planned.policy();
    std::vector<sptrsv::Policy> schemes{chosen};
    for (const sptrsv::Policy& s : sptrsv::candidates(sptrsv::limits_of(ctx)))
        if (s != chosen) schemes.push_back(s);
    if (on_gpu)
        for (const sptrsv::Policy& s : of_the_paper(o)) schemes.push_back(s);
    options.seconds = o.seconds;
    options.cache = o.cache;
    std::vector<sptrsv::Trial> trials;
    {
        Activity work(session.console, concat("trying ", schemes.size(), " policies"));
        trials = sptrsv::try_policies<V>(ctx, there.view(), options, schemes, work.progress());
    }
    const std::string remembered = o.cache.empty() ? "" : what_is_remembered<V>(ctx, there.view(), options);
    if (session.settings.json) {
        Json list = Json::array();
        for (const auto& t : trials)
            list.push_back({{"policy", sptrsv::to_text(t.policy)},
                            {"choice", sptrsv::to_line(t.policy)},
                            {"chosen", t.policy == chosen},
                            {"levels", t.levels},
                            {"prepare_seconds", t.prepare_seconds},
                            {"solve_seconds", t.solve_seconds}});
        Json result = about(o.triangle.matrix, there.view());
        result.update({{"backend", ctx.name()},
                       {"features", to_json(planned.features())},
                       {"remembered", remembered},
                       {"tried", trials.size()},
                       {"of", schemes.size()},
                       {"trials", list}});
        return print(session, result);
    }
    Table table({{"", Align::left}, {"policy", Align::left}, {"levels"}, {"arrange"}, {"solve"}});
    for (std::size_t k = 0; k < trials.size(); ++k) {
        const bool is_chosen = trials[k].policy == chosen;
        if (k >= static_cast<std::size_t>(o.show) && !is_chosen) continue;
        table.add({concat(k == 0 ? "fastest" : "", k == 0 && is_chosen ? ", " : "", is_chosen ? "chosen" : ""),
                   sptrsv::to_text(trials[k].policy), grouped(trials[k].levels),
                   seconds_text(trials[k].prepare_seconds), seconds_text(trials[k].solve_seconds)});
    }
    session.console.print(
        session.console.styled(fmt::format("{} on {}: {} of {} policies tried\n", o.triangle.matrix.name(), ctx.name(),
                                           trials.size(), schemes.size()),
                               Style::bold) +
        table.text(session.console) +
        (remembered.empty() ? "" : concat("remembered in ", o.cache, ": ", remembered, "\n")));
}

}  // namespace

void tune_sptrsv(const Session& session, const TuneSptrsvOptions& options)
{
    if (!options.cache.empty()) check_folder(options.cache);
    options.triangle.type == "f32" ? tune_as<float>(session, options) : tune_as<double>(session, options);
}

}  // namespace tulle::cli
