// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the comparisons of all operations share: which matrices, which backends, entering contenders, timing those that
// are right. `Options` is any with matrices, suite, backend, threads, json and quiet.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/contender.hpp"
#include "bench/harness/exit_code.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/measure.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/suite.hpp"
#include "bench/operations/roofline.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::bench {

template <class Options>
std::vector<Case> cases_for(const Options& options, const std::string& default_suite, const Report& report)
{
    std::vector<Case> cases;
    for (const std::string& text : options.matrices) cases.push_back(make_case(text));
    if (options.suite.empty() && !cases.empty()) return cases;
    const Suite suite = read_suite(options.suite.empty() ? default_suite : options.suite);
    cases.insert(cases.end(), suite.cases.begin(), suite.cases.end());
    for (const std::string& file : suite.missing) report.talk(concat("not found, skipped: ", file));
    if (!suite.missing.empty()) report.talk(where_files_are());
    return cases;
}

// Whether a policy's name has one of these parts; "all" is part of every name.
inline bool is_named(const std::string& name, const std::vector<std::string>& parts)
{
    return std::any_of(parts.begin(), parts.end(),
                       [&](const std::string& part) { return part == "all" || name.find(part) != std::string::npos; });
}

// Whether a baseline is among those to compare with.
inline bool is_among(const std::vector<std::string>& against, const char* name)
{
    return std::find(against.begin(), against.end(), name) != against.end();
}

// The result of a matrix on a backend, without entries. `bytes` are the compulsory ones.
template <class V>
MatrixResult make_result(const Context& ctx, std::string operation, const Case& which, const Csr<V>& matrix,
                         const std::string& type, std::size_t bytes, double memory_bandwidth)
{
    return {std::move(operation),
            which.name,
            matrix.rows,
            matrix.cols,
            matrix.nonzeros(),
            type,
            ctx.backend() == Backend::cpu ? "cpu" : "cuda",
            device_name(ctx),
            bytes,
            memory_bandwidth};
}

template <class Options>
std::vector<Context> contexts_for(const Options& options, const Report& report)
{
    std::vector<Context> contexts;
    if (options.backend != "cuda") contexts.push_back(Context::cpu(options.threads));
    if (options.backend == "cpu") return contexts;
    if (const std::string why = why_no_cuda(); why.empty()) contexts.push_back(Context::cuda(0));
    else report.talk(concat("cuda skipped: ", why));
    return contexts;
}

inline double seconds_to_prepare(const Context& ctx, const Contender& contender, Entry& entry)
{
    const double begin = trace::now();
    entry.prepared = contender.prepare();
    ctx.synchronize();
    return trace::now() - begin;
}

// The first preparation has to load kernels and is not compared with others: another one follows, unless it took very
// long, and where that is soon done some more, because now and then a machine stops.
inline constexpr int least_preparations = 5, most_preparations = 21;
inline constexpr double very_long_preparation = 1, long_preparation = 0.03, enough_preparing = 0.1;  // seconds

// The median of some updates, each with its wait; the first is not counted.
inline double seconds_to_update(const Context& ctx, const Contender& contender)
{
    constexpr int updates = 9;
    Series taken;
    for (int k = 0; k <= updates && contender.update; ++k) {
        const double begin = trace::now();
        contender.update();
        ctx.synchronize();
        if (k > 0) taken.seconds.push_back(trace::now() - begin);
    }
    return taken.median();
}

// Prepares and checks one contender; the entry's status says why it may not comparison. `poison` spoils the place of
// the result, `worst_share` judges one.
inline Entry enter(const Context& ctx, const Contender& contender, const std::function<void()>& poison,
                   const std::function<double(const std::vector<double>&)>& worst_share)
{
    Entry entry{.name = contender.name, .role = contender.role};
    Series prepared;
    try {
        {
            trace::Recorder recorder([&] { ctx.synchronize(); });
            prepared.seconds.push_back(seconds_to_prepare(ctx, contender, entry));
            entry.phases = recorder.phases();
        }
        if (contender.prepares_again && prepared.seconds.front() < very_long_preparation) {
            prepared.seconds.clear();
            const double end = trace::now() + enough_preparing;
            const auto more = [&](std::ptrdiff_t n) {
                return n < least_preparations || (n < most_preparations && trace::now() < end);
            };
            do prepared.seconds.push_back(seconds_to_prepare(ctx, contender, entry));
            while (prepared.seconds.front() < long_preparation && more(std::ssize(prepared.seconds)));
        }
        entry.update_seconds = seconds_to_update(ctx, contender);
        poison();
        contender.run();
        if (contender.result) entry.worst_error = worst_share(contender.result());
        if (!(entry.worst_error <= 1))
            entry.status = concat("wrong result: error ", entry.worst_error, " times the bound");
    } catch (const std::exception& fault) {
        entry.status = concat("refused: ", fault.what());
    }
    entry.prepare_seconds = prepared.median();
    return entry;
}

// Enters all contenders, then times those that are right, in turn.
template <class Enter>
void race_contenders(const Context& ctx, std::vector<Contender> all, const Wish& wish, MatrixResult& result,
                     Enter&& enter_one)
{
    std::vector<Contender> ready;
    std::vector<std::size_t> place;  // of a ready contender among the entries
    for (Contender& contender : all) {
        result.entries.push_back(enter_one(contender));
        if (result.entries.back().status != "ok") continue;
        place.push_back(result.entries.size() - 1);
        ready.push_back(std::move(contender));
    }
    const std::vector<Measured> measured = measure(*make_stopwatch(ctx), ready, wish);
    for (std::size_t k = 0; k < ready.size(); ++k) {
        Entry& entry = result.entries[place[k]];
        entry.times = measured[k];
        if (!measured[k].failure.empty()) entry.status = concat("failed while timed: ", measured[k].failure);
    }
}

inline bool ours_are_right(const MatrixResult& result)
{
    return std::all_of(result.entries.begin(), result.entries.end(),
                       [](const Entry& e) { return e.role != Role::ours || e.status == "ok"; });
}

// comparison(ctx, case, bandwidth) gives the results of one matrix on one backend. A matrix that cannot be raced with
// is named, and the others go on. Exit code 1 if one of ours is wrong, otherwise that of the first matrix that was left
// out.
template <class Options, class Comparison>
int race_all(const Options& options, const std::string& default_suite, Report& report, Comparison&& comparison)
{
    const std::vector<Case> cases = cases_for(options, default_suite, report);
    bool right = true;
    int left_out = 0;
    for (const Context& ctx : contexts_for(options, report)) {
        const double bandwidth = read_bandwidth(ctx, options.wish);
        for (const Case& which : cases) try {
                const std::vector<MatrixResult> results = comparison(ctx, which, bandwidth);
                for (const MatrixResult& result : results) {
                    right = right && ours_are_right(result);
                    report.add(result);
                }
            } catch (const std::exception& fault) {
                report.complain(concat(which.name, " skipped: ", text_of(fault)));
                if (left_out == 0) left_out = exit_code(fault);
            }
    }
    report.finish();
    return right ? left_out : 1;
}

}  // namespace tulle::bench
