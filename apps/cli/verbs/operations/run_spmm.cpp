// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run spmm: C = alpha op(A) B + beta C with a dense B, on one backend or on all, timed and checked.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs/operations/measure_spmm.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

template <class V>
void run_as(const Session& session, const SpmmOptions& o)
{
    const Context host = session.host();
    const Loaded<LoadedAs<V>> loaded = load_for<V>(session, host, o.a, o.scale != "off");
    const DenseProblem<V> p = make_problem<V>(host, loaded.matrix.view(), o);
    report_zeroed(session, o.a, p);
    std::vector<DenseResult> results;
    for (const Context& ctx : session.contexts(o.backend)) {
        const Activity work(session.console, "multiplying");
        results.push_back(o.devices > 0 ? measure_on_team(session, ctx, p, o) : measure_product(ctx, p, o));
    }
    Json about_product = about(o.a, p.a);
    about_product.update({{"n", o.n},
                          {"type", o.type},
                          {"transpose", o.transpose},
                          {"alpha", o.alpha},
                          {"beta", o.beta},
                          {"repeat", o.repeat}});
    report(session, results,
           {.heading = fmt::format("C = A{} B, A = {}, B with {}, {}\n", o.transpose ? "^T" : "", o.a.name(),
                                   counted(o.n, "column", "columns"), o.type),
            .about = std::move(about_product),
            .flops = 2.0 * static_cast<double>(p.a.nonzeros) * o.n});
    require_good(results, "spmm", "an entry of row ", " of C");
}

}  // namespace

Summary multiply_dense_matrix(const Context& host, const Context& ctx, const CsrView<double>& a, int repeat,
                              std::uint64_t seed)
{
    SpmmOptions o;
    o.repeat = std::max(1, repeat);
    o.seed = seed;
    o.verify = true;
    const DenseResult r = measure_product(ctx, make_problem<double>(host, a, o), o);
    return {r.backend, r.policy, check_text(r.verdict), r.median, r.bytes, r.verdict->good()};
}

void run_spmm(const Session& session, const SpmmOptions& o)
{
    check_scalar("--alpha", o.alpha, o.type);
    check_scalar("--beta", o.beta, o.type);
    with_type(o.type, [&](auto v) { run_as<decltype(v)>(session, o); });
}

void add_run_spmm(Parser& parser, CLI::App* run, SpmmOptions& o)
{
    CLI::App* verb = parser.verb("spmm", "C = alpha op(A) B + beta C with a dense B, timed.",
                                 "tulle run spmm matrix.mtx --n 128 --verify\ntulle run spmm twin:cant --n 128 --type "
                                 "f16 --backend all\ntulle run spmm twin:cant --type tf32 --backend cuda --order pack\n"
                                 "tulle run spmm twin:cant --n 128 --type f16 --backend all --kernel tiles --verify\n"
                                 "tulle run spmm twin:cant --n 128 --devices 4 --verify",
                                 run);
    parser.matrix(verb, o.a);
    verb->add_option("--n", o.n, "columns of B (32)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    verb->add_option("--type", o.type, "f64 (the default), f32, tf32, f16 or bf16; the last two with sums and C in f32")
        ->check(one_of({"f64", "f32", "tf32", "f16", "bf16"}))
        ->option_text("TYPE");
    verb->add_option("--scale", o.scale,
                     "with f16 and bf16: divide rows of A by powers of two, taken back when C is written: auto (the "
                     "default; rows with values that do not fit the type), rows (all) or off")
        ->check(one_of({"auto", "off", "rows"}))
        ->option_text("WHICH");
    verb->add_option("--backend", o.backend, "cpu (the default), cuda or all")
        ->check(one_of({"cpu", "cuda", "all"}))
        ->option_text("WHERE");
    verb->add_option("--layout", o.layout, "of B and C: rows (the default) or columns are contiguous")
        ->check(one_of({"rows", "columns"}))
        ->option_text("WHICH");
    verb->add_option("--kernel", o.kernel,
                     "force a kernel: rows, tiles (the paper's: dense tiles and the rest), or panels on a GPU")
        ->option_text("KERNEL");
    verb->add_option("--order", o.order,
                     "order of the rows of panels or tiles: natural, degree, minhash, pack, bsa (the default of tiles)")
        ->option_text("ORDER");
    verb->add_option(
            "--delta", o.delta,
            "with --kernel tiles: tiles filled by more than this share are dense (what costs least, panel by panel)")
        ->check(from_to(0, 1))
        ->option_text("SHARE");
    verb->add_flag("--search", o.search,
                   "with --kernel tiles: try some deltas and keep the fastest; with panels on a GPU: look at all rows "
                   "to choose an order");
    verb->add_option("--devices", o.devices, "on a team of so many: CPU queues, GPUs, or streams of one GPU")
        ->check(CLI::Range(1, 1024))
        ->option_text("N");
    verb->add_option("--split", o.split,
                     "with --devices: what members have of their own, rows of A or columns of B (automatic: what moves "
                     "fewer bytes)")
        ->check(one_of({"automatic", "rows", "columns"}))
        ->option_text("WHICH");
    verb->add_flag("--transpose", o.transpose, "multiply with the transposed matrix");
    Parser::scalar(verb, "--alpha", o.alpha, "(1)");
    Parser::scalar(verb, "--beta", o.beta, "(0)");
    verb->add_option("--expected-calls", o.expected_calls, "runs to prepare for (100)")
        ->check(positive())
        ->option_text("N");
    verb->add_option("--repeat", o.repeat, "timed runs (10)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    verb->add_flag("--verify", o.verify,
                   "compare some columns with plain products, entry by entry; exit code 1 if a bound is broken");
    Parser::seed(verb, o.seed, "of B and C");
    parser.device(verb, [&o] { return o.backend != "cpu"; });
    parser.verbose(verb);
    parser.effective(
        verb, "--scale", [&o] { return o.type == "f16" || o.type == "bf16"; }, "without --type f16 or bf16");
    parser.effective(
        verb, "--delta", [&o] { return o.kernel == "tiles"; }, "without --kernel tiles");
    parser.effective(
        verb, "--search", [&o] { return o.kernel == "tiles" || (o.kernel != "rows" && o.backend != "cpu"); },
        "without --kernel tiles or panels");
    parser.effective(
        verb, "--verbose", [&o] { return o.devices == 0; }, "with --devices");
    parser.effective(
        verb, "--order", [&o] { return o.kernel.empty() ? o.backend != "cpu" : o.kernel != "rows"; },
        "with the kernel rows, the only one that is chosen on a CPU");
    parser.effective(
        verb, "--split", [&o] { return o.devices > 0; }, "without --devices");
    parser.when(verb, [&o](const Session& session) { run_spmm(session, o); });
}

}  // namespace tulle::cli
