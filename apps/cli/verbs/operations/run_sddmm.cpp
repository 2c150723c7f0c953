// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run sddmm: c = X Y^T at the positions of A, on one backend or on all, timed and checked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/machine.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs/operations/measure_spmm.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "apps/cli/verbs/operations/sddmm.hpp"
#include "base/hash.hpp"
#include "tulle/sddmm.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

// The product on the host, with numbers as they are stored.
template <class V>
struct SampledProblem {
    CsrView<V> a;
    std::vector<V> value, x, y;
};

template <class V>
std::vector<V> numbers(index_t rows, index_t k, std::uint64_t seed, const std::string& name)
{
    std::vector<V> all = host_array<V>(rows, k, name);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<V>(2 * unit(hash_of(seed, i)) - 1);
    return all;
}

template <class V>
SampledProblem<V> make_sampled(const Context& host, const CsrView<LoadedAs<V>>& a, const SddmmOptions& o)
{
    require_budget(host, checked_product(offset_t{a.rows} + a.cols, o.k, "X and Y"), sizeof(V), "X and Y");
    SampledProblem<V> p{{},
                        {},
                        numbers<V>(a.rows, o.k, hash_of(o.seed, 1), "X"),
                        numbers<V>(a.cols, o.k, hash_of(o.seed, 2), "Y")};
    for (offset_t i = 0; i < a.nonzeros; ++i) p.value.push_back(static_cast<V>(a.value[i]));
    p.a = {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, p.value.data(), a.sorted, a.unique};
    return p;
}

// Every result beside a plain product of doubles.
template <class V>
Verdict check(const SampledProblem<V>& p, const SddmmOptions& o, std::span<const ResultOf<V>> c)
{
    const error_bound::Rounding rounding = error_bound::rounding_of<V, ResultOf<V>>();
    Verdict worst;
    for (index_t i = 0; i < p.a.rows; ++i)
        for (offset_t at = p.a.row_begin[i]; at < p.a.row_begin[i + 1]; ++at) {
            const V *x = p.x.data() + offset_t{i} * o.k, *y = p.y.data() + offset_t{p.a.col[at]} * o.k;
            const double factor = o.scaled ? static_cast<double>(p.a.value[at]) : 1.0;
            double sum = 0, magnitude = 0;
            for (index_t j = 0; j < o.k; ++j) {
                const double term = factor * static_cast<double>(x[j]) * static_cast<double>(y[j]);
                sum += term;
                magnitude += std::abs(term);
            }
            const auto is = static_cast<double>(c[static_cast<std::size_t>(at)]);
            // Twice the bound in f64: the plain product has as large an error.
            const double share =
                error_bound::share(is, sum, 2 * error_bound::of_sum(o.k + 1, magnitude, sum, rounding));
            if (!(share <= worst.worst)) worst = {share, at, is, sum};
        }
    return worst;
}

template <class V>
DenseResult measure(const Context& ctx, const SampledProblem<V>& p, const SddmmOptions& o)
{
    using C = ResultOf<V>;
    const Csr<V> there = to_device(ctx, p.a);
    const Buffer<V> x = to_device(ctx, std::span<const V>(p.x)), y = to_device(ctx, std::span<const V>(p.y));
    Buffer<C> c = ctx.run([&](const auto& q) { return Buffer<C>(q, p.a.nonzeros); });
    DenseResult result{{.backend = ctx.name()}};
    const double begin = trace::now();
    const auto plan = sddmm::Plan<V, C>::make(ctx, there.view(), {.k = o.k, .scaled = o.scaled});
    ctx.synchronize();
    result.plan_seconds = trace::now() - begin;
    result.policy = sddmm::to_text(plan.policy());
    result.description = plan.describe();
    result.plan_bytes = plan.bytes();
    const auto run = [&] {
        plan.run({p.a.rows, o.k, o.k, Layout::row_major, x.data()}, {p.a.cols, o.k, o.k, Layout::row_major, y.data()},
                 c.span());
        ctx.synchronize();
    };
    run();
    if (o.verify) {
        const Buffer<C> here = to_host<C>(ctx, std::span<const C>(c.span()));
        result.verdict = check(p, o, here.span());
    }
    time_runs(o.repeat, run, result);
    return result;
}

template <class V>
void run_as(const Session& session, const SddmmOptions& o)
{
    const Context host = session.host();
    const Loaded<LoadedAs<V>> loaded = load_for<V>(session, host, o.a);
    const SampledProblem<V> p = make_sampled<V>(host, loaded.matrix.view(), o);
    std::vector<DenseResult> results;
    for (const Context& ctx : session.contexts(o.backend)) {
        const Activity work(session.console, "multiplying");
        results.push_back(measure(ctx, p, o));
    }
    Json about_product = about(o.a, loaded.matrix.view());
    about_product.update({{"k", o.k}, {"type", o.type}, {"scaled", o.scaled}, {"repeat", o.repeat}});
    report(session, results,
           {.heading = fmt::format("c = X Y^T at the positions of {}, {}, {}\n", o.a.name(),
                                   counted(o.k, "column", "columns"), o.type),
            .about = std::move(about_product),
            .flops = 2.0 * static_cast<double>(loaded.matrix.nonzeros()) * o.k});
    require_good(results, "sddmm", "result ");
}

}  // namespace

void add_run_sddmm(Parser& parser, CLI::App* run, SddmmOptions& o)
{
    CLI::App* verb = parser.verb("sddmm", "c = X Y^T at the positions of A, timed.",
                                 "tulle run sddmm matrix.mtx -k 128 --verify\n"
                                 "tulle run sddmm twin:cant --type f16 --backend all --verify",
                                 run);
    parser.matrix(verb, o.a);
    verb->add_option("-k,--k", o.k, "columns of X and Y (32)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    verb->add_option("--type", o.type, "f64 (the default), f32, f16 or bf16; the last two with sums and results in f32")
        ->check(one_of({"f64", "f32", "f16", "bf16"}))
        ->option_text("TYPE");
    verb->add_option("--backend", o.backend, "cpu (the default), cuda or all")
        ->check(one_of({"cpu", "cuda", "all"}))
        ->option_text("WHERE");
    verb->add_flag("--scaled", o.scaled, "results times the values of A");
    verb->add_option("--repeat", o.repeat, "timed runs (10)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    verb->add_flag("--verify", o.verify,
                   "compare with plain products, entry by entry; exit code 1 if a bound is broken");
    Parser::seed(verb, o.seed, "of X and Y");
    parser.device(verb, [&o] { return o.backend != "cpu"; });
    parser.verbose(verb);
    parser.when(verb,
                [&o](const Session& session) { with_type(o.type, [&](auto v) { run_as<decltype(v)>(session, o); }); });
}

}  // namespace tulle::cli
