// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <iostream>

#include "bench/harness/comparison.hpp"
#include "bench/harness/exit_code.hpp"
#include "bench/harness/machine.hpp"
#include "bench/operations/collect_runs.hpp"
#include "tulle/context.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::bench {

void Lines::add(const Run& run) const
{
    Json line{{"operation", operation_},
              {"matrix", matrix_},
              {"part", run.part},
              {"type", "f64"},
              {"device", device_name(ctx_)}};
    if (!run.features.is_null()) line["features"] = run.features;
    line["choice"] = run.choice;
    line["seconds"] = run.seconds;
    line.update(run.more);
    if (run.predicted) line["predicted"] = *run.predicted;
    line["commit"] = commit();
    line["date"] = today();
    out_ << line.dump() << "\n" << std::flush;
}

int collect_runs(const CollectOptions& options,
                 const std::function<void(const Context&, const Case&, const Lines&)>& collect)
{
    const Report report({}, options.quiet);
    std::ofstream file;
    if (options.json != "-") file = add_lines_to(options.json);
    std::ostream& out = options.json == "-" ? std::cout : file;
    const Context ctx = options.backend == "cpu" ? Context::cpu(options.threads) : Context::cuda(0);
    const std::vector<Case> cases = cases_for(options, "learn", report);
    const double begin = trace::now();
    std::size_t done = 0;
    for (const Case& which : cases) {
        if (trace::now() - begin > options.seconds) break;
        try {
            collect(ctx, which, Lines(out, ctx, options.operation, which.name));
            report.talk(
                concat(++done, " of ", cases.size(), ": ", which.name, ", ", fixed(trace::now() - begin, 1), " s"));
        } catch (const Error& fault) {  // one bad file does not end a suite
            report.talk(concat(which.name, " skipped: ", text_of(fault)));
        }
    }
    report.talk(concat(done, " of ", cases.size(), " matrices in ", fixed(trace::now() - begin, 1), " s"));
    return done > 0 ? 0 : 1;
}

}  // namespace tulle::bench
