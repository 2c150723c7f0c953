// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle plan spmv: how a matrix would be dealt out to several devices, what each would hold, get and take, and what
// that predicts.
//
// Every part is timed alone, on the one device that is here; how long they would take together on devices of their own
// is a model: the slowest part, and what its halo takes on a link of the speed that was stated. Copies inside one
// device are never timed.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "apps/cli/verbs/operations/measure_team.hpp"
#include "tulle/context.hpp"
#include "tulle/spmv_team.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

// What is known in the end.
struct Forecast {
    std::string where;  // the device the parts were timed on
    std::vector<spmv::TeamPart> parts;
    std::vector<double> seconds = {};  // of each part, alone
    double one = 0, team = 0;          // seconds: all on one device, and predicted
    double imbalance = 1;
    bool gathers = false;
    std::string description;
};

// Seconds of one run: several in a row, so that waiting for the device is shared, and the best of a few.
double best_of(const Context& ctx, const std::function<void()>& run)
{
    constexpr int in_a_row = 20, samples = 5;
    double best = 1e30;
    for (int s = 0; s < samples; ++s) {
        const double begin = trace::now();
        for (int i = 0; i < in_a_row; ++i) run();
        ctx.synchronize();
        best = std::min(best, (trace::now() - begin) / in_a_row);
    }
    return best;
}

template <class V>
Forecast forecast(const Session& session, const Context& ctx, const CsrView<V>& a, const PlanOptions& options)
{
    const Team team = alone_each(session, ctx, options.devices);
    auto plan = spmv::TeamPlan<V>::make(team, a, {.paper = options.paper, .tolerance = options.tolerance});
    Forecast f{.where = ctx.name(),
               .parts = plan.parts(),
               .imbalance = plan.imbalance(),
               .gathers = plan.gathers(),
               .description = plan.describe()};
    for (int m = 0; m < plan.members(); ++m) f.seconds.push_back(best_of(team[m], [&] { plan.run_on(m, V(1), V(0)); }));
    f.team = spmv::predict_seconds(f.parts, f.seconds, sizeof(V), {.bytes_per_second = options.link * 1e9});

    const auto there = to_device(ctx, a);
    const auto whole = spmv::Plan<V>::make(ctx, there.view(), {.checked = false});
    const std::vector<V> ones(static_cast<std::size_t>(std::max(a.rows, a.cols)), V(1));
    const Buffer<V> x = to_device(ctx, std::span<const V>(ones).first(static_cast<std::size_t>(a.cols)));
    Buffer<V> y = to_device(ctx, std::span<const V>(ones).first(static_cast<std::size_t>(a.rows)));
    f.one = best_of(ctx, [&] { whole.run(x.span(), y.span()); });
    return f;
}

Json to_json(const Forecast& f, const PlanOptions& options)
{
    Json parts = Json::array();
    for (std::size_t p = 0; p < f.parts.size(); ++p)
        parts.push_back({{"nonzeros", f.parts[p].nonzeros},
                         {"rows", f.parts[p].rows},
                         {"halo", f.parts[p].halo},
                         {"senders", f.parts[p].senders},
                         {"interior", f.parts[p].interior},
                         {"bytes", f.parts[p].bytes},
                         {"seconds_alone", f.seconds[p]}});
    return {{"devices", f.parts.size()},
            {"timed_on", f.where},
            {"exchange", f.gathers ? "gather" : "halo"},
            {"imbalance", f.imbalance},
            {"parts", parts},
            {"one_device_seconds", f.one},
            {"predicted_seconds", f.team},
            {"predicted_speedup", f.one / f.team},
            {"assumed_link_bytes_per_second", options.link * 1e9}};
}

std::string text_of(const Session& session, const Forecast& f, const PlanOptions& options)
{
    offset_t most = 1;
    for (const auto& part : f.parts) most = std::max(most, part.nonzeros);
    const double room = std::clamp(session.console.width() - 78, 10, 40);
    Table table({{"device"},
                 {"nonzeros"},
                 {"rows"},
                 {"x from others"},
                 {"meanwhile"},
                 {"memory"},
                 {"alone"},
                 {"", Align::left}});
    for (std::size_t p = 0; p < f.parts.size(); ++p) {
        const auto& part = f.parts[p];
        const double meanwhile =
            part.nonzeros > 0 ? static_cast<double>(part.interior) / static_cast<double>(part.nonzeros) : 0;
        table.add({std::to_string(p), grouped(part.nonzeros), grouped(part.rows), grouped(part.halo),
                   share_text(meanwhile), human_bytes(part.bytes), seconds_text(f.seconds[p]),
                   bar_text(room * static_cast<double>(part.nonzeros) / static_cast<double>(most),
                            session.console.unicode())});
    }
    Facts facts;
    facts.add("imbalance", fmt::format("{:.4f}: nonzeros of the largest part beside the mean", f.imbalance));
    facts.add("x", f.gathers ? "all of it for everybody" : "only the entries a part needs");
    facts.add("one device", fmt::format("{}, measured on {}", seconds_text(f.one), f.where));
    facts.add("slowest part", fmt::format("{} alone, measured: {:.2f} times as fast",
                                          seconds_text(*std::max_element(f.seconds.begin(), f.seconds.end())),
                                          f.one / *std::max_element(f.seconds.begin(), f.seconds.end())));
    facts.add(
        "predicted",
        fmt::format("{} with {} of this kind and an assumed link of {} GB/s, 5 us a message: {:.2f} times as fast",
                    seconds_text(f.team), counted(std::ssize(f.parts), "device", "devices"), options.link,
                    f.one / f.team));
    return table.text(session.console) + "\n" + facts.text(session.console) + "\n" + f.description + "\n";
}

template <class V>
void plan_as(const Session& session, const PlanOptions& options)
{
    const std::string no_cuda = options.backend == "cuda" ? why_no_cuda() : "";
    require<DeviceError>(
        no_cuda.empty(), [&] { return concat("cuda cannot be used: ", no_cuda); },
        "use --backend cpu; tulle doctor tells more");
    const Context host = session.host(), ctx = options.backend == "cuda" ? session.cuda() : host;
    const Loaded<V> loaded = load<V>(session, host, options.matrix);
    Forecast f;
    {
        const Activity work(session.console, "timing parts");
        f = forecast<V>(session, ctx, loaded.matrix.view(), options);
    }
    const auto& a = loaded.matrix;
    if (session.settings.json) {
        Json result = about(options.matrix, a.view());
        result.update(to_json(f, options));
        return print(session, result);
    }
    const std::string title = fmt::format("spmv on {}: {}, {}, {}, {}\n", counted(options.devices, "device", "devices"),
                                          options.matrix.name(), shape_text(a.rows, a.cols),
                                          counted(a.nonzeros(), "nonzero", "nonzeros"), options.type);
    session.console.print(session.console.styled(title, Style::bold) + text_of(session, f, options));
}

}  // namespace

void plan_spmv(const Session& session, const PlanOptions& options)
{
    options.type == "f32" ? plan_as<float>(session, options) : plan_as<double>(session, options);
}

}  // namespace tulle::cli
