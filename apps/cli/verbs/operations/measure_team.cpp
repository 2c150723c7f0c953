// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs/operations/measure_team.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/support/failure.hpp"
#include "tulle/context.hpp"
#include "tulle/convert.hpp"
#include "tulle/spmv_team.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::cli {
namespace {

// The bytes a product must move: every array of the matrix in its format, x and y, once each.
template <class V>
std::size_t least_bytes(const SpmvProblem<V>& p)
{
    const auto lines = static_cast<std::size_t>(p.format == spmv::Format::csc ? p.a.cols : p.a.rows) + 1,
               nonzeros = static_cast<std::size_t>(p.a.nonzeros);
    const std::size_t matrix = nonzeros * (sizeof(V) + sizeof(index_t)) +
                               (p.format == spmv::Format::coo ? nonzeros * sizeof(index_t) : lines * sizeof(offset_t));
    return matrix + (p.x.size() + p.y.size() * (p.beta != V(0) ? 2 : 1)) * sizeof(V);
}

template <class V>
SpmvResult<V> measure_view(const Team& team, const spmv::PartitionableView<V>& a, const SpmvProblem<V>& p,
                           const SpmvOptions& options)
{
    SpmvResult<V> result;
    const double begin = trace::now();
    auto plan =
        spmv::TeamPlan<V>::make(team, a,
                                {.op = p.transpose ? tulle::Op::transpose : tulle::Op::none, .paper = options.paper});
    result.plan_seconds = trace::now() - begin;
    result.backend = fmt::format("{} x {}", team.size(), team[0].name());
    result.policy = options.paper ? "paper" : plan.gathers() ? "gather" : "halo";
    result.plan_bytes = plan.bytes();
    result.bytes = least_bytes(p);
    result.y = p.y;
    plan.reset_traffic();
    plan.run(p.alpha, p.x, p.beta, result.y);
    const partition::Traffic t = plan.traffic();
    result.description = plan.describe() + fmt::format("\n  moved: {} up, {} down, {} between members in one product "
                                                       "with vectors on the host; the times are without the first two",
                                                       human_bytes(t.host_to_device), human_bytes(t.device_to_host),
                                                       human_bytes(t.device_to_device));
    const auto run = [&] {
        plan.run(p.alpha, p.beta);
        plan.synchronize();
    };
    time_runs(options.repeat, run, result);
    return result;
}

// Copies of one context: its memory and budget are those of all members together.
Team alike(const Context& member, int members)
{
    require<UsageError>(members <= most_threads(), [&] {
        return concat("a team can have ", most_threads(), " members on this machine, not ", members);
    });
    return Team(std::vector<Context>(static_cast<std::size_t>(members), member));
}

}  // namespace

Team alone_each(const Session& session, const Context& like, int members)
{
    if (like.backend() == Backend::cpu) return alike(like, members);
    std::vector<Context> streams;
    for (int m = 0; m < members; ++m) streams.push_back(session.cuda());
    return Team(std::move(streams));
}

Team team_like(const Session& session, const Context& like, int members)
{
    if (like.backend() == Backend::cpu) return alike(session.host(std::max(1, like.host().threads / members)), members);
    const int there = static_cast<int>(cuda_devices().size());
    if (there < members)
        session.console.say(
            fmt::format("{} members on {}: they share what it has, so their times are not those of {} GPUs", members,
                        there == 1 ? "one GPU" : fmt::format("{} GPUs", there), members));
    std::vector<Context> devices;
    for (int m = 0; m < members; ++m) devices.push_back(session.cuda((session.settings.device + m) % there));
    return Team(std::move(devices));
}

template <class V>
SpmvResult<V> measure_team(const Session& session, const Context& like, const SpmvProblem<V>& p,
                           const SpmvOptions& options)
{
    const Team team = team_like(session, like, options.devices);
    const Context host = session.host();
    const auto measure_owner = [&](const auto& a) { return measure_view<V>(team, a.view(), p, options); };
    if (p.format == spmv::Format::csc) return measure_owner(to_csc(host, p.a));
    if (p.format == spmv::Format::coo) return measure_owner(to_coo(host, p.a));
    require<UsageError>(p.format == spmv::Format::csr, "a team takes csr, csc or coo",
                        "leave --format bell to one device");
    return measure_view<V>(team, p.a, p, options);
}

template SpmvResult<float> measure_team(const Session&, const Context&, const SpmvProblem<float>&, const SpmvOptions&);
template SpmvResult<double> measure_team(const Session&, const Context&, const SpmvProblem<double>&,
                                         const SpmvOptions&);

}  // namespace tulle::cli
