// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One line for each scheme on each triangle: its features, the scheme, the seconds of a solve, and whether it is the one the library predicts
// to be best. Each lower triangle is solved as it is and transposed: that turns its graph round. Results are not checked here; the races and the tests do that.
#include "bench/collect.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/machine.hpp"
#include "bench/race.hpp"
#include "bench/sptrsv_problem.hpp"
#include "tulle/base/text.hpp"
#include "tulle/base/trace.hpp"
#include "tulle/device/info.hpp"
#include "tulle/sptrsv/sptrsv.hpp"

namespace tulle::bench {
namespace {

using Json = nlohmann::ordered_json;

std::vector<sptrsv::Scheme> schemes_for(const Context& ctx, bool paper, const sptrsv::Scheme& predicted)
{
    std::vector<sptrsv::Scheme> all = sptrsv::candidates({.backend = ctx.backend(), .threads = ctx.host().threads});
    if (paper && ctx.backend() == Backend::cuda)
        for (const sptrsv::Scheme& s : sptrsv::reduced_schemes()) all.push_back(s);
    if (std::find(all.begin(), all.end(), predicted) == all.end()) all.push_back(predicted);
    return all;
}

Json features_of(const sptrsv::Features& features)
{
    Json all;
    for (const std::string& name : sptrsv::feature_names()) all[name] = sptrsv::feature(features, name);
    return all;
}

// All schemes on one triangle, or on the same one transposed.
void collect(const Context& ctx, const std::string& name, const SptrsvProblem<double>& problem, sptrsv::Op op, bool paper, std::ostream& out)
{
    sptrsv::Options options{.op = op, .seconds = 20, .checked = false};
    const auto plan = sptrsv::Plan<double>::make(ctx, problem.a, options);
    for (const sptrsv::Trial& trial : sptrsv::try_schemes<double>(ctx, problem.a, options, schemes_for(ctx, paper, plan.scheme())))
        out << Json{{"operation", "sptrsv"}, {"matrix", name}, {"part", op == sptrsv::Op::none ? "lower" : "lower transposed"}, {"type", "f64"}, {"device", device_name(ctx)},
                    {"features", features_of(plan.features())}, {"choice", sptrsv::to_line(trial.scheme)}, {"seconds", trial.solve_seconds}, {"prepare_seconds", trial.prepare_seconds},
                    {"levels", trial.levels}, {"predicted", trial.scheme == plan.scheme()}, {"commit", commit()}, {"date", today()}}
                   .dump()
            << "\n"
            << std::flush;
}

}  // namespace

int collect_sptrsv(const CollectOptions& options)
{
    const Report report({}, options.quiet);
    std::ofstream file;
    if (options.json != "-") {
        file.open(options.json, std::ios::app);
        require<FileError>(file.good(), [&] { return concat("cannot write to '", options.json, "'"); }, "give a file with --json; lines are added to it");
    }
    std::ostream& out = options.json == "-" ? std::cout : file;
    const Context ctx = options.backend == "cpu" ? Context::cpu(options.threads) : Context::cuda(0);
    const std::vector<Case> cases = cases_for(options, "learn", report);
    const double begin = trace::now();
    std::size_t done = 0;
    for (const Case& which : cases) {
        if (trace::now() - begin > options.seconds) break;
        try {
            const SptrsvProblem<double> problem(ctx, load<double>(Context::cpu(), which), 1);
            for (const sptrsv::Op op : {sptrsv::Op::none, sptrsv::Op::transpose}) collect(ctx, which.name, problem, op, options.paper, out);
            report.talk(concat(++done, " of ", cases.size(), ": ", which.name, ", ", fixed(trace::now() - begin, 1), " s"));
        } catch (const Error& fault) {                     // one bad file does not end a suite
            report.talk(concat(which.name, " skipped: ", fault.what()));
        }
    }
    report.talk(concat(done, " of ", cases.size(), " matrices in ", fixed(trace::now() - begin, 1), " s"));
    return done > 0 ? 0 : 1;
}

}  // namespace tulle::bench
