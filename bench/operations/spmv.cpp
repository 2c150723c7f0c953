// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one matrix: load it, multiply once in long double as the reference, let every contender prepare, check
// each result against the reference, then time those that are right, in turn, together with a plain read of as many
// bytes.
#include "bench/operations/spmv.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "bench/baselines/spmv.hpp"
#include "bench/build.hpp"
#include "bench/harness/comparison.hpp"
#include "bench/harness/verify.hpp"
#include "bench/operations/spmv_problem.hpp"
#include "tulle/context.hpp"
#include "tulle/spmv.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

constexpr double busy = 0.5;  // load above which somebody else is at work

// Our own plan, with the policy it chooses or one that is forced on it.
template <class V>
Contender our_spmv(SpmvProblem<V>& problem, const std::string& name, std::optional<spmv::Policy> force)
{
    auto plan = std::make_shared<std::optional<spmv::Plan<V>>>();
    return {name,
            Role::ours,
            [plan, force, &problem] {
                *plan = spmv::Plan<V>::make(problem.ctx, problem.a, {.force = force});
                return Prepared{spmv::to_text((*plan)->policy()), (*plan)->bytes()};
            },
            [plan, &problem] { (*plan)->run(std::as_const(problem.x).span(), problem.y.span()); },
            [&problem] { return problem.download_y(); },
            true};
}

// The call without a plan: looking, checking and multiplying once.
template <class V>
Contender our_single_call(SpmvProblem<V>& problem)
{
    return {"tulle once",
            Role::ours,
            [] {
                return Prepared{"once", 0};
            },
            [&problem] { spmv::multiply(problem.ctx, problem.a, std::as_const(problem.x).span(), problem.y.span()); },
            [&problem] { return problem.download_y(); },
            true};
}

// "all", "split", "rows" or "rows:8" against a policy.
bool is_wanted(const std::string& wish, const spmv::Policy& policy)
{
    if (wish == "all") return true;
    if (wish == "once") return false;
    const std::size_t colon = wish.find(':');
    if (spmv::parse_kernel(wish.substr(0, colon)) != policy.kernel) return false;
    if (colon == std::string::npos) return true;
    int lanes = 0;
    const auto [end, fault] = std::from_chars(wish.data() + colon + 1, wish.data() + wish.size(), lanes);
    require<ValueError>(
        fault == std::errc{} && end == wish.data() + wish.size(),
        [&] { return concat("'", wish, "' is not a policy"); }, "write all, once, split, rows or rows:8");
    return lanes == policy.lanes;
}

template <class V>
std::vector<Contender> ours_by_wish(SpmvProblem<V>& problem, const std::vector<std::string>& wishes)
{
    std::vector<Contender> all{our_spmv(problem, "tulle", std::nullopt)};
    const auto plan = spmv::Plan<V>::make(problem.ctx, problem.a);
    for (const spmv::Policy& policy :
         spmv::candidates(plan.features(), {problem.ctx.backend(), problem.ctx.host().threads}))
        if (std::any_of(wishes.begin(), wishes.end(), [&](const std::string& wish) { return is_wanted(wish, policy); }))
            all.push_back(our_spmv(problem, concat("tulle ", spmv::to_text(policy)), policy));
    if (std::count(wishes.begin(), wishes.end(), "once") > 0) all.push_back(our_single_call(problem));
    return all;
}

template <class V>
std::vector<Contender> contenders_for(SpmvProblem<V>& problem, const SpmvOptions& options)
{
    const auto wanted = [&](const char* name) { return is_among(options.against, name); };
    std::vector<Contender> all = ours_by_wish(problem, options.policies);
    if (problem.ctx.backend() == Backend::cpu && wanted("plain")) append(all, plain_spmv(problem));
    if constexpr (has_eigen)
        if (problem.ctx.backend() == Backend::cpu && wanted("eigen")) append(all, eigen_spmv(problem));
    if constexpr (has_mkl)
        if (problem.ctx.backend() == Backend::cpu && wanted("mkl")) append(all, mkl_spmv(problem));
    if constexpr (has_cusparse)
        if (problem.ctx.backend() == Backend::cuda && wanted("cusparse")) append(all, cusparse_spmv(problem));
    all.push_back(reading(problem.ctx, problem.compulsory_bytes()));
    return all;
}

// What choose() looks at, for tools/fit_costs.py.
template <class V>
std::vector<std::pair<std::string, double>> features_of(const SpmvProblem<V>& problem)
{
    const spmv::RowFeatures row = spmv::Plan<V>::make(problem.ctx, problem.a).features().row;
    return {{"longest", static_cast<double>(row.longest)},
            {"widest", row.widest},
            {"repeats", row.repeats},
            {"shifts", row.shifts},
            {"padded", static_cast<double>(row.padded)},
            {"steady", row.steady}};
}

template <class V>
std::vector<MatrixResult> comparison(const Context& ctx, const Case& which, const SpmvOptions& options,
                                     double memory_bandwidth)
{
    SpmvProblem<V> problem(ctx, load<V>(Context::cpu(), which));
    const SpmvReference<V> reference(problem.host.view(), problem.host_x.data());
    MatrixResult result =
        make_result(ctx, "spmv", which, problem.host, options.type, problem.compulsory_bytes(), memory_bandwidth);
    result.features = features_of(problem);
    race_contenders(ctx, contenders_for(problem, options), options.wish, result, [&](const Contender& contender) {
        return enter(
            ctx, contender, [&] { problem.poison_y(); },
            [&](const std::vector<double>& y) { return reference.worst_share(y); });
    });
    return {std::move(result)};
}

void say_what_is_missing(const SpmvOptions& options, const Report& report)
{
    for (const std::string& name : options.against) {
        require<ValueError>(
            name == "plain" || name == "eigen" || name == "mkl" || name == "cusparse",
            [&] { return concat("there is no baseline '", name, "'"); }, "plain, eigen, mkl, cusparse");
        if (name == "eigen" && !has_eigen)
            report.talk("eigen skipped: not found when the benchmark was configured (Debian: libeigen3-dev)");
        if (name == "mkl" && !has_mkl)
            report.talk("mkl skipped: not found when the benchmark was configured (x86-64 only; PyPI: mkl, mkl-devel)");
        if (name == "cusparse" && !has_cusparse && build::has_cuda)
            report.talk("cusparse skipped: cuSPARSE 12.6 or newer was not found when the benchmark was configured");
    }
}

}  // namespace

int bench_spmv(const SpmvOptions& options)
{
    Report report(options.json, options.quiet);
    say_what_is_missing(options, report);
    if (options.backend != "cuda" && load() > busy)
        report.talk(
            fmt::format("the machine is busy (load {:.1f}): CPU times will be others' as well; look at the minima",
                        load()));
    return race_all(options, "quick", report, [&](const Context& ctx, const Case& which, double bandwidth) {
        return options.type == "f32" ? comparison<float>(ctx, which, options, bandwidth)
                                     : comparison<double>(ctx, which, options, bandwidth);
    });
}

}  // namespace tulle::bench
