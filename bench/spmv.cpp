// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one matrix: load it, multiply once in long double as the reference, let every contender prepare, check each result against
// the reference, then time those that are right, in turn, together with a plain read of as many bytes.
#include "bench/spmv.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <exception>

#include "bench/build.hpp"
#include "bench/machine.hpp"
#include "bench/report.hpp"
#include "bench/roof.hpp"
#include "bench/spmv_problem.hpp"
#include "bench/suite.hpp"
#include "bench/verify.hpp"
#include "bench/yardsticks/spmv.hpp"
#include "tulle/base/text.hpp"
#include "tulle/device/info.hpp"
#include "tulle/spmv/spmv.hpp"

namespace tulle::bench {
namespace {

constexpr double busy = 0.5;                               // load above which somebody else is at work

// Our own plan, with the policy it chooses or one that is forced on it.
template <class V>
Contender our_spmv(SpmvProblem<V>& problem, const std::string& name, std::optional<spmv::Policy> force)
{
    auto plan = std::make_shared<std::optional<spmv::Plan<V>>>();
    return {name, Role::ours,
            [plan, force, &problem] {
                *plan = spmv::Plan<V>::make(problem.ctx, problem.a, {.force = force});
                return Prepared{spmv::to_text((*plan)->policy()), (*plan)->bytes()};
            },
            [plan, &problem] { (*plan)->run(std::as_const(problem.x).span(), problem.y.span()); },
            [&problem] { return problem.download_y(); }};
}

// "all", "split", "rows" or "rows:8" against a policy.
bool is_wanted(const std::string& wish, const spmv::Policy& policy)
{
    if (wish == "all") return true;
    const std::size_t colon = wish.find(':');
    if (spmv::parse_kernel(wish.substr(0, colon)) != policy.kernel) return false;
    if (colon == std::string::npos) return true;
    int lanes = 0;
    const auto [end, fault] = std::from_chars(wish.data() + colon + 1, wish.data() + wish.size(), lanes);
    require<ValueError>(fault == std::errc{} && end == wish.data() + wish.size(), [&] { return concat("'", wish, "' is not a policy"); },
                        "write all, split, rows or rows:8");
    return lanes == policy.lanes;
}

template <class V>
std::vector<Contender> ours_by_wish(SpmvProblem<V>& problem, const std::vector<std::string>& wishes)
{
    std::vector<Contender> all{our_spmv(problem, "tulle", std::nullopt)};
    const auto plan = spmv::Plan<V>::make(problem.ctx, problem.a);
    for (const spmv::Policy& policy : spmv::candidates(plan.traits(), {problem.ctx.backend(), problem.ctx.host().threads}))
        if (std::any_of(wishes.begin(), wishes.end(), [&](const std::string& wish) { return is_wanted(wish, policy); }))
            all.push_back(our_spmv(problem, concat("tulle ", spmv::to_text(policy)), policy));
    return all;
}

void append(std::vector<Contender>& all, std::vector<Contender> more)
{
    for (Contender& contender : more) all.push_back(std::move(contender));
}

template <class V>
std::vector<Contender> contenders_for(SpmvProblem<V>& problem, const SpmvOptions& options)
{
    const auto wanted = [&](const char* name) { return std::count(options.against.begin(), options.against.end(), name) > 0; };
    std::vector<Contender> all = ours_by_wish(problem, options.policies);
    if constexpr (has_eigen)
        if (problem.ctx.backend() == Backend::cpu && wanted("eigen")) append(all, eigen_spmv(problem));
    if constexpr (has_cusparse)
        if (problem.ctx.backend() == Backend::cuda && wanted("cusparse")) append(all, cusparse_spmv(problem));
    all.push_back(reading(problem.ctx, problem.compulsory_bytes()));
    return all;
}

// Prepares and checks one contender; the entry's status says why it may not race.
template <class V>
Entry enter(SpmvProblem<V>& problem, const SpmvReference<V>& reference, const Contender& contender)
{
    Entry entry{.name = contender.name, .role = contender.role};
    trace::Recorder recorder([&] { problem.ctx.synchronize(); });
    try {
        const double begin = trace::now();
        entry.prepared = contender.prepare();
        problem.ctx.synchronize();
        entry.prepare_seconds = trace::now() - begin;
        problem.poison_y();
        contender.run();
        if (contender.result) entry.worst_error = reference.worst_share(contender.result());
        if (!(entry.worst_error <= 1)) entry.status = concat("wrong result: error ", entry.worst_error, " times the bound");
    } catch (const std::exception& fault) {
        entry.status = concat("refused: ", fault.what());
    }
    entry.phases = recorder.phases();
    return entry;
}

template <class V>
MatrixResult race(const Context& ctx, const Case& which, const SpmvOptions& options, double memory_bandwidth)
{
    SpmvProblem<V> problem(ctx, load<V>(Context::cpu(), which));
    const SpmvReference<V> reference(problem.host.view(), problem.host_x.data());
    MatrixResult result{"spmv", which.name, problem.host.rows, problem.host.cols, problem.host.nonzeros(), options.type,
                        ctx.backend() == Backend::cpu ? "cpu" : "cuda", device_name(ctx), problem.compulsory_bytes(), memory_bandwidth};

    std::vector<Contender> ready;
    std::vector<std::size_t> place;                        // of a ready contender among the entries
    for (Contender& contender : contenders_for(problem, options)) {
        result.entries.push_back(enter(problem, reference, contender));
        if (result.entries.back().status != "ok") continue;
        place.push_back(result.entries.size() - 1);
        ready.push_back(std::move(contender));
    }
    const std::vector<Measured> measured = measure(*make_stopwatch(ctx), ready, options.wish);
    for (std::size_t k = 0; k < ready.size(); ++k) {
        Entry& entry = result.entries[place[k]];
        entry.times = measured[k];
        if (!measured[k].failure.empty()) entry.status = concat("failed while timed: ", measured[k].failure);
    }
    return result;
}

std::vector<Case> cases_for(const SpmvOptions& options, const Report& report)
{
    std::vector<Case> cases;
    for (const std::string& text : options.matrices) cases.push_back(make_case(text));
    if (!options.suite.empty() || cases.empty()) {
        const Suite suite = read_suite(options.suite.empty() ? "quick" : options.suite);
        cases.insert(cases.end(), suite.cases.begin(), suite.cases.end());
        for (const std::string& file : suite.missing) report.talk(concat("not found, skipped: ", file));
    }
    return cases;
}

std::vector<Context> contexts_for(const SpmvOptions& options, const Report& report)
{
    std::vector<Context> contexts;
    if (options.backend != "cuda") contexts.push_back(Context::cpu(options.threads));
    if (options.backend == "cpu") return contexts;
    if (const std::string why = why_no_cuda(); why.empty()) contexts.push_back(Context::cuda(0));
    else report.talk(concat("cuda skipped: ", why));
    return contexts;
}

void say_what_is_missing(const SpmvOptions& options, const Report& report)
{
    for (const std::string& name : options.against) {
        require<ValueError>(name == "eigen" || name == "cusparse", [&] { return concat("there is no yardstick '", name, "'"); }, "eigen, cusparse");
        if (name == "eigen" && !has_eigen) report.talk("eigen skipped: not found when the benchmark was configured (Debian: libeigen3-dev)");
        if (name == "cusparse" && !has_cusparse && build::has_cuda) report.talk("cusparse skipped: cuSPARSE 12.6 or newer was not found when the benchmark was configured");
    }
}

MatrixResult race(const Context& ctx, const Case& which, const SpmvOptions& options, double memory_bandwidth)
{
    if (options.type == "f32") return race<float>(ctx, which, options, memory_bandwidth);
    return race<double>(ctx, which, options, memory_bandwidth);
}

bool ours_are_right(const MatrixResult& result)
{
    return std::all_of(result.entries.begin(), result.entries.end(), [](const Entry& e) { return e.role != Role::ours || e.status == "ok"; });
}

}  // namespace

int bench_spmv(const SpmvOptions& options)
{
    Report report(options.json, options.quiet);
    say_what_is_missing(options, report);
    const std::vector<Case> cases = cases_for(options, report);
    bool right = true;
    if (options.backend != "cuda" && load() > busy)
        report.talk(fmt::format("the machine is busy (load {:.1f}): CPU times will be others' as well; look at the minima", load()));
    for (const Context& ctx : contexts_for(options, report)) {
        const double bandwidth = read_bandwidth(ctx);
        for (const Case& which : cases) try {
            const MatrixResult result = race(ctx, which, options, bandwidth);
            right = right && ours_are_right(result);
            report.add(result);
        } catch (const Error& fault) {                     // one bad file does not end a suite
            if (options.suite.empty()) throw;
            report.talk(concat(which.name, " skipped: ", fault.what()));
        }
    }
    report.finish();
    return right ? 0 : 1;
}

}  // namespace tulle::bench
