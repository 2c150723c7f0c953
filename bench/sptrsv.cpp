// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one triangle: take it from a matrix, solve once in long double as the reference, let every contender prepare (our analysis beside
// the yardstick's), check each result, then time those that are right, in turn. A solve includes whatever a caller pays every time.
#include "bench/sptrsv.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>

#include "bench/build.hpp"
#include "bench/machine.hpp"
#include "bench/report.hpp"
#include "bench/roof.hpp"
#include "bench/suite.hpp"
#include "bench/yardsticks/sptrsv.hpp"
#include "tulle/base/text.hpp"
#include "tulle/device/info.hpp"
#include "tulle/sptrsv/sptrsv.hpp"

namespace tulle::bench {
namespace {

template <class V>
Contender our_sptrsv(SptrsvProblem<V>& problem, const std::string& name, const sptrsv::Options& options)
{
    auto plan = std::make_shared<std::optional<sptrsv::Plan<V>>>();
    return {name, Role::ours,
            [plan, options, &problem] {
                *plan = sptrsv::Plan<V>::make(problem.ctx, problem.a, options);
                return Prepared{concat((*plan)->levels(), " of ", (*plan)->features().levels, " levels: ", sptrsv::to_text((*plan)->scheme())), (*plan)->bytes()};
            },
            [plan, &problem] { (*plan)->solve(V(1), problem.b_view(), problem.x_view()); },
            [plan, &problem] {
                (*plan)->wait();
                return problem.download_x();
            }};
}

template <class V>
std::vector<Contender> contenders_for(SptrsvProblem<V>& problem, const SptrsvOptions& options)
{
    const auto wanted = [&](const char* name) { return std::count(options.against.begin(), options.against.end(), name) > 0; };
    std::vector<Contender> all{our_sptrsv(problem, "tulle", {.right_hand_sides = problem.sides})};
    const sptrsv::Limits limits{.backend = problem.ctx.backend(), .threads = problem.ctx.host().threads};
    if (options.all_schemes)
        for (const sptrsv::Scheme& scheme : sptrsv::candidates(limits))
            all.push_back(our_sptrsv(problem, concat("tulle ", sptrsv::to_text(scheme)), {.right_hand_sides = problem.sides, .force = scheme}));
    const auto append = [&](std::vector<Contender> more) { std::move(more.begin(), more.end(), std::back_inserter(all)); };
    if constexpr (has_eigen)
        if (problem.ctx.backend() == Backend::cpu && wanted("eigen")) append(eigen_sptrsv(problem));
    if constexpr (has_cusparse)
        if (problem.ctx.backend() == Backend::cuda && wanted("cusparse")) append(cusparse_sptrsv(problem));
    all.push_back(reading(problem.ctx, problem.compulsory_bytes()));
    return all;
}

// Prepares and checks one contender; the entry's status says why it may not race.
template <class V>
Entry enter(SptrsvProblem<V>& problem, const SptrsvReference<V>& reference, const Contender& contender)
{
    Entry entry{.name = contender.name, .role = contender.role};
    trace::Recorder recorder([&] { problem.ctx.synchronize(); });
    try {
        const double begin = trace::now();
        entry.prepared = contender.prepare();
        problem.ctx.synchronize();
        entry.prepare_seconds = trace::now() - begin;
        problem.poison_x();
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
MatrixResult race(const Context& ctx, const Case& which, const SptrsvOptions& options, double memory_bandwidth)
{
    SptrsvProblem<V> problem(ctx, load<V>(Context::cpu(), which), options.right_hand_sides);
    const SptrsvReference<V> reference(problem);
    MatrixResult result{options.right_hand_sides == 1 ? "sptrsv" : concat("sptrsm ", options.right_hand_sides), which.name, problem.host.rows, problem.host.cols, problem.host.nonzeros(),
                        options.type, ctx.backend() == Backend::cpu ? "cpu" : "cuda", device_name(ctx), problem.compulsory_bytes(), memory_bandwidth};
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

std::vector<Case> cases_for(const SptrsvOptions& options, const Report& report)
{
    std::vector<Case> cases;
    for (const std::string& text : options.matrices) cases.push_back(make_case(text));
    if (options.suite.empty() && !cases.empty()) return cases;
    const Suite suite = read_suite(options.suite.empty() ? "triangles" : options.suite);
    cases.insert(cases.end(), suite.cases.begin(), suite.cases.end());
    for (const std::string& file : suite.missing) {
        const std::string name = file.substr(0, file.find(".mtx"));
        if (std::none_of(cases.begin(), cases.end(), [&](const Case& c) { return c.name == name; })) report.talk(concat("not found, skipped: ", file));
    }
    return cases;
}

std::vector<Context> contexts_for(const SptrsvOptions& options, const Report& report)
{
    std::vector<Context> contexts;
    if (options.backend != "cuda") contexts.push_back(Context::cpu(options.threads));
    if (options.backend == "cpu") return contexts;
    if (const std::string why = why_no_cuda(); why.empty()) contexts.push_back(Context::cuda(0));
    else report.talk(concat("cuda skipped: ", why));
    return contexts;
}

}  // namespace

int bench_sptrsv(const SptrsvOptions& options)
{
    Report report(options.json, options.quiet);
    for (const std::string& name : options.against)
        require<ValueError>(name == "eigen" || name == "cusparse", [&] { return concat("there is no yardstick '", name, "'"); }, "eigen, cusparse");
    bool right = true;
    for (const Context& ctx : contexts_for(options, report)) {
        const double bandwidth = read_bandwidth(ctx);
        for (const Case& which : cases_for(options, report)) try {
            const MatrixResult result = options.type == "f32" ? race<float>(ctx, which, options, bandwidth) : race<double>(ctx, which, options, bandwidth);
            right = right && std::all_of(result.entries.begin(), result.entries.end(), [](const Entry& e) { return e.role != Role::ours || e.status == "ok"; });
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
