// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run spgemm: C = op(A) op(B) on one backend or on all, timed and checked, at once or in chunks.
#include <fmt/format.h>

#include <vector>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/support/store.hpp"
#include "apps/cli/verbs/operations/measure_spgemm.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "apps/cli/verbs/operations/team_spgemm.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

template <class V>
void report(const Session& session, const SpgemmOptions& o, const Factors<V>& f,
            const std::vector<ProductResult<V>>& results, const Json& written)
{
    if (session.settings.json) {
        Json list = Json::array();
        for (const auto& r : results) list.push_back(to_json(r));
        Json result = about(o, f);
        result.update({{"type", o.type},
                       {"transpose_a", o.transpose_a},
                       {"transpose_b", o.transpose_b},
                       {"repeat", o.repeat},
                       {"results", list}});
        if (!written.is_null()) result["written"] = written;
        return print(session, result);
    }
    Table table({{"backend", Align::left},
                 {"nonzeros of C"},
                 {"chunks"},
                 {"first call"},
                 {"median"},
                 {"refill"},
                 {"peak memory"},
                 {"result", Align::left}});
    for (const auto& r : results)
        table.add({r.backend, grouped(r.c.nonzeros()), std::to_string(r.chunks), seconds_text(r.first),
                   seconds_text(r.median), r.refill > 0 ? seconds_text(r.refill) : "-", human_bytes(r.peak),
                   check_text(r.verdict)});
    std::string text =
        session.console.styled(fmt::format("{}, {}\n", equation(o), o.type), Style::bold) + table.text(session.console);
    for (const auto& r : results)
        if (!r.description.empty()) text += "\n" + shown(session, r.description);
    session.console.print(text);
}

template <class V>
void run_as(const Session& session, const SpgemmOptions& o)
{
    const Context host = session.host();
    const Factors<V> f = load_factors<V>(session, host, o);
    std::vector<ProductResult<V>> results;
    for (const Context& ctx : session.contexts(o.backend)) {
        const Activity work(session.console, "multiplying");
        results.push_back(o.devices > 0 ? multiply_on_team(session, host, ctx, f, o)
                                        : measure_product(host, ctx, f, o));
    }
    for (auto& r : results)
        if (o.verify) r.verdict = check_product(host, f, o, r.c);
    const Json written =
        o.to.empty() ? Json() : store(session, host, o.to, results.front().c.view(), {.format = o.to_format});
    report(session, o, f, results, written);
    require_good(results, "spgemm", "row ", " of C x");
}

}  // namespace

Summary multiply_by_itself(const Context& host, const Context& ctx, const CsrView<double>& a, int repeat,
                           std::uint64_t seed)
{
    SpgemmOptions o;
    o.repeat = repeat;
    o.seed = seed;
    const Factors<double> f{.a = a, .b = {}, .square = true};
    const ProductResult<double> r = measure_product(host, ctx, f, o);
    const Verdict verdict = check_product(host, f, o, r.c);
    const auto entries = static_cast<std::size_t>(a.nonzeros + r.c.nonzeros());
    return {r.backend,     r.policy, check_text(verdict), r.median, entries * (sizeof(double) + sizeof(index_t)),
            verdict.good()};
}

void run_spgemm(const Session& session, const SpgemmOptions& options)
{
    require<UsageError>(options.to.empty() || options.backend != "all", "--out needs one backend, not all");
    require<UsageError>(options.refill == "find_places" || (options.chunks.empty() && options.devices == 0),
                        "--refill is for one device and all of C at once");
    require<UsageError>(options.chunks.empty() || options.devices == 0,
                        "--chunks are for one device, --devices for several");
    if (!options.to.empty()) check_store(options.to, {.format = options.to_format});
    options.type == "f32" ? run_as<float>(session, options) : run_as<double>(session, options);
}

void add_spgemm_factors(Parser& parser, CLI::App* verb, SpgemmOptions& o)
{
    parser.matrix(verb, o.a, true, {&o.b});
    verb->add_option("B", o.b.text, "second matrix, a file or a sentence; A itself unless given");
    verb->add_flag("--transpose-a", o.transpose_a, "multiply with A transposed");
    verb->add_flag("--transpose-b", o.transpose_b, "multiply with B transposed");
    Parser::type(verb, o.type);
    parser.device(verb, [&o] { return o.backend != "cpu"; });
}

void add_spgemm_plan(CLI::App* verb, SpgemmOptions& o)
{
    verb->add_option("--backend", o.backend, "cpu (the default), cuda or all")
        ->check(one_of({"cpu", "cuda", "all"}))
        ->option_text("WHERE");
    verb->add_option(
            "--policy", o.method,
            "force a method: adaptive, dense, hash or deltasparse on a CPU, adaptive, nsparse or deltasparse on a GPU")
        ->option_text("METHOD");
    verb->add_option("--devices", o.devices, "on a team of so many: CPU queues, GPUs, or streams of one GPU")
        ->check(CLI::Range(1, 1024))
        ->option_text("N");
    verb->add_option("--refill", o.refill,
                     "values of C again: find_places (the default, nothing is kept), keep_places (two bytes a "
                     "product), keep_products (eight), fastest")
        ->check(one_of({"find_places", "keep_places", "keep_products", "fastest"}))
        ->option_text("HOW");
}

void add_run_spgemm(Parser& parser, CLI::App* run, SpgemmOptions& o)
{
    CLI::App* verb = parser.verb("spgemm", "C = op(A) op(B), timed, and written to a file with --out.",
                                 "tulle run spgemm matrix.mtx --verify\ntulle run spgemm A.mtx B.mtx --out "
                                 "C.mtx\ntulle run spgemm twin:cant --backend all\n"
                                 "tulle run spgemm twin:cant --devices 4 --verify\n"
                                 "tulle run spgemm stencil7:60 --chunks 64MiB --verify",
                                 run);
    add_spgemm_factors(parser, verb, o);
    add_spgemm_plan(verb, o);
    parser.verbose(verb);
    verb->add_option("--chunks", o.chunks, "hold no more than this beside A and B: C comes in ranges of rows")
        ->check(memory_amount())
        ->option_text("BYTES");
    verb->add_option("--repeat", o.repeat, "timed calls after the first (3)")
        ->check(CLI::Range(0, 1'000'000))
        ->option_text("N");
    verb->add_flag("--verify", o.verify, "compare C x with A (B x), row by row; exit code 1 if a bound is broken");
    Parser::seed(verb, o.seed, "of x");
    verb->add_option("--out", o.to, "write C to a file; - is stdout")->option_text("FILE");
    parser.output(verb, o.to, o.to_format, "mtx (the default for - and pipes), mtx.gz, npz, tulle, petsc");
    parser.effective(
        verb, "--verbose", [&o] { return o.devices == 0 && o.chunks.empty(); }, "with --devices or --chunks");
    parser.effective(
        verb, "--seed", [&o] { return o.verify; }, "without --verify");
    parser.when(verb, [&o](const Session& session) { run_spgemm(session, o); });
}

}  // namespace tulle::cli
