// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run spgemm: C = op(A) op(B) on one backend or on all, timed and checked, at once or in chunks.
#include <fmt/format.h>

#include <vector>

#include "apps/cli/failure.hpp"
#include "apps/cli/layout.hpp"
#include "apps/cli/measure_spgemm.hpp"
#include "apps/cli/measure_spmv.hpp"
#include "apps/cli/progress.hpp"
#include "apps/cli/store.hpp"
#include "apps/cli/team_spgemm.hpp"
#include "tulle/base/text.hpp"

namespace tulle::cli {
namespace {

<<<<<<< HEAD
=======
// Both factors on the host.
template <class V>
struct Factors {
    CsrView<V> a, b;
    bool square = false;                                 // B is A
    Loaded<V> loaded_a = {}, loaded_b = {};              // what the views look at, unless it is the caller's

    CsrView<V> first() const { return a; }
    CsrView<V> second() const { return square ? a : b; }
};

template <class V>
Factors<V> load_factors(const Session& session, const Context& host, const SpgemmOptions& o)
{
    Factors<V> f{.a = {}, .b = {}, .square = o.b.text.empty(), .loaded_a = load<V>(session, host, o.a)};
    if (!f.square) f.loaded_b = load<V>(session, host, o.b);
    f.a = f.loaded_a.matrix.view();
    f.b = f.loaded_b.matrix.view();
    return f;
}

spgemm::Options options_of(const SpgemmOptions& o, const Context& ctx)
{
    spgemm::Options wish{.op_a = o.transpose_a ? spgemm::Op::transpose : spgemm::Op::none, .op_b = o.transpose_b ? spgemm::Op::transpose : spgemm::Op::none};
    if (!o.chunks.empty()) wish.budget = parse_bytes(o.chunks);
    if (o.keep_places) wish.refill = spgemm::Refill::keep_places;
    if (o.method.empty()) return wish;
    const spgemm::Method method = spgemm::parse_method(o.method);
    const auto all = spgemm::candidates({ctx.backend(), ctx.host().threads});
    const auto found = std::find_if(all.begin(), all.end(), [&](const spgemm::Policy& p) { return p.method == method; });
    wish.force = found != all.end() ? *found : spgemm::Policy{method, false};       // what cannot be done the plan refuses, and says what could
    return wish;
}

template <class V>
struct ProductResult {
    std::string backend, policy, description;
    Csr<V> c;                                            // on the host
    offset_t products = 0;
    int chunks = 1;
    double first = 0, median = 0, refill = 0;
    std::size_t peak = 0;
    std::optional<Verdict> verdict = {};
};

// Chunks of C come to the host one after the other.
template <class V>
Csr<V> joined(const Context& host, const Context& ctx, const CsrView<V>& a, const CsrView<V>& b, const spgemm::Options& wish, int& chunks)
{
    std::vector<offset_t> begin{0};
    std::vector<index_t> col;
    std::vector<V> value;
    index_t cols = 0;
    chunks = 0;
    spgemm::for_each_chunk(ctx, a, b, [&](index_t, const Csr<V>& rows) {
        const std::size_t from = begin.size() - 1, base = col.size();
        const offset_t before = begin.back();
        begin.resize(from + static_cast<std::size_t>(rows.row_begin.size()));
        col.resize(base + static_cast<std::size_t>(rows.nonzeros()));
        value.resize(col.size());
        ctx.run([&](const auto& q) {
            download(q, rows.row_begin.data(), begin.data() + from, rows.row_begin.size());
            download(q, rows.col.data(), col.data() + base, rows.nonzeros());
            download(q, rows.value.data(), value.data() + base, rows.nonzeros());
        });
        for (std::size_t i = from; i < begin.size(); ++i) begin[i] += before;
        cols = rows.cols;
        ++chunks;
    }, wish);
    return to_host(host, CsrView<V>{static_cast<index_t>(begin.size()) - 1, cols, static_cast<offset_t>(col.size()), begin.data(), col.data(), value.data()});
}

template <class V>
ProductResult<V> measure_product(const Context& host, const Context& ctx, const Factors<V>& f, const SpgemmOptions& o)
{
    ProductResult<V> result{.backend = ctx.name(), .policy = {}, .description = {}, .c = {}};
    const Csr<V> a = to_device(ctx, f.first()), other = f.square ? Csr<V>{} : to_device(ctx, f.second());
    const CsrView<V> b = f.square ? a.view() : other.view();
    const spgemm::Options wish = options_of(o, ctx);
    std::vector<double> times;
    for (int k = 0; k <= o.repeat; ++k) {
        const double begin = trace::now();
        if (!o.chunks.empty()) {
            Csr<V> c = joined(host, ctx, a.view(), b, wish, result.chunks);
            if (k == 0) result.c = std::move(c);
        } else {
            const Csr<V> c = spgemm::multiply(ctx, a.view(), b, wish);
            ctx.synchronize();
            if (k == 0) result.c = to_host(ctx, c.view());
        }
        (k == 0 ? result.first : times.emplace_back()) = trace::now() - begin;
    }
    std::sort(times.begin(), times.end());
    result.median = times.empty() ? result.first : times[times.size() / 2];
    result.peak = ctx.peak_bytes();
    if (!o.chunks.empty()) return result;
    const auto plan = spgemm::Plan<V>::make(ctx, a.view(), b, wish);
    Csr<V> c = plan.run();
    ctx.synchronize();
    const double begin = trace::now();
    plan.run(c);
    ctx.synchronize();
    result.refill = trace::now() - begin;
    result.products = plan.products();
    result.policy = spgemm::to_text(plan.policy());
    result.description = plan.describe();
    return result;
}

>>>>>>> sr
template <class V>
ProductResult<V> measure_on_team(const Session& session, const Context& like, const Factors<V>& f, const SpgemmOptions& o)
{
    TeamProduct<V> t = multiply_on_team(session, like, f.first(), f.second(), options_of(o, like), o);
    return {.backend = t.where, .policy = t.policy, .description = t.description, .c = std::move(t.c), .products = t.products, .chunks = 1, .first = t.first, .median = t.median,
            .refill = t.refill, .peak = t.peak};
}

template <class V>
void report(const Session& session, const SpgemmOptions& o, const std::vector<ProductResult<V>>& results)
{
    if (session.settings.json) {
        Json list = Json::array();
        for (const auto& r : results) list.push_back(to_json(r));
        return print(session, {{"a", o.a.text}, {"b", o.b.text.empty() ? o.a.text : o.b.text}, {"type", o.type}, {"repeat", o.repeat}, {"results", list}});
    }
    Table table({{"backend", Align::left}, {"nonzeros of C"}, {"chunks"}, {"first call"}, {"median"}, {"refill"}, {"peak memory"}, {"result", Align::left}});
    for (const auto& r : results)
        table.add({r.backend, grouped(r.c.nonzeros()), std::to_string(r.chunks), seconds_text(r.first), seconds_text(r.median), r.refill > 0 ? seconds_text(r.refill) : "-", human_bytes(r.peak),
                   check_text(r.verdict)});
    std::string text = session.console.styled(fmt::format("{}, {}\n", equation(o), o.type), Style::bold) + table.text(session.console);
    for (const auto& r : results)
        if (!r.description.empty()) text += "\n" + r.description + "\n";
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
        results.push_back(o.devices > 0 ? measure_on_team(session, ctx, f, o) : measure_product(host, ctx, f, o));
    }
    for (auto& r : results)
        if (o.verify) r.verdict = check_product(host, f, o, r.c);
    if (!o.to.empty()) store(session, host, o.to, results.front().c.view());
    report(session, o, results);
    for (const auto& r : results)
        require<CheckFailed>(!r.verdict || r.verdict->good(), [&] {
            return concat("spgemm on ", r.backend, ": row ", r.verdict->entry, " of C x is ", r.verdict->is, " and should be ", r.verdict->should, ": the error is ", r.verdict->worst, " times its bound");
        });
}

<<<<<<< HEAD
=======
template <class V>
void plan_as(const Session& session, const SpgemmOptions& o)
{
    const Context host = session.host();
    const Factors<V> f = load_factors<V>(session, host, o);
    for (const Context& ctx : session.contexts(o.backend)) {
        if (o.devices > 0) {
            plan_on_team(session, ctx, f.first(), f.second(), options_of(o, ctx), o, equation(o));
            continue;
        }
        const Csr<V> a = to_device(ctx, f.first()), other = f.square ? Csr<V>{} : to_device(ctx, f.second());
        const auto plan = spgemm::Plan<V>::make(ctx, a.view(), f.square ? a.view() : other.view(), options_of(o, ctx));
        const spgemm::MemoryNeed need = plan.memory();
        if (session.settings.json)
            print(session, {{"backend", ctx.name()}, {"rows", plan.rows()}, {"cols", plan.cols()}, {"nonzeros", plan.nonzeros()}, {"products", plan.products()},
                            {"result_bytes", need.result}, {"plan_bytes", need.plan}, {"workspace_bytes", need.workspace}, {"policy", spgemm::to_text(plan.policy())}});
        else session.console.print(session.console.styled(equation(o) + "\n", Style::bold) + plan.describe() + "\n");
    }
}

// What makes a product easy or hard: how many products fall together, and how long its rows are.
template <class V>
Facts facts_of(const ProductResult<V>& r, const spgemm::Choice& choice)
{
    offset_t longest = 0;
    for (index_t i = 0; i < r.c.rows; ++i) longest = std::max(longest, r.c.row_begin.data()[i + 1] - r.c.row_begin.data()[i]);
    const double rows = std::max(1.0, static_cast<double>(r.c.rows)), nonzeros = std::max(1.0, static_cast<double>(r.c.nonzeros()));
    Facts facts;
    facts.add("chosen", spgemm::to_text(choice.policy));
    facts.add("why", choice.why);
    facts.add("products", fmt::format("{}, {} to a nonzero of C", grouped(r.products), fixed(static_cast<double>(r.products) / nonzeros, 2)));
    facts.add("C", fmt::format("{} nonzeros, {} in a row on average, {} in the longest, {}", grouped(r.c.nonzeros()), fixed(static_cast<double>(r.c.nonzeros()) / rows, 1), grouped(longest), human_bytes(r.c.bytes())));
    return facts;
}

// The chosen method, then the others.
std::vector<spgemm::Method> methods_beside(const spgemm::Choice& choice, const spgemm::Limits& limits)
{
    std::vector<spgemm::Method> all{choice.policy.method};
    for (const spgemm::Policy& p : spgemm::candidates(limits))
        if (std::find(all.begin(), all.end(), p.method) == all.end()) all.push_back(p.method);
    return all;
}

template <class V>
void explain_as(const Session& session, const SpgemmOptions& o)
{
    const Context host = session.host();
    const Factors<V> f = load_factors<V>(session, host, o);
    const spgemm::Limits limits{o.backend == "cuda" ? Backend::cuda : Backend::cpu, host.host().threads};
    const CsrView<V> a = f.first(), b = f.second();
    const spgemm::Choice choice = spgemm::choose({o.transpose_a ? a.cols : a.rows, o.transpose_a ? a.rows : a.cols, o.transpose_b ? b.rows : b.cols, a.nonzeros, b.nonzeros}, limits);
    std::vector<ProductResult<V>> results;               // of the chosen one first
    Table table({{"method", Align::left}, {"first call"}, {"median"}, {"times the chosen"}, {"refill"}, {"peak memory"}, {"order of sums", Align::left}});
    Json list = Json::array();
    for (const spgemm::Method method : methods_beside(choice, limits)) {
        const Activity work(session.console, "multiplying");
        SpgemmOptions one = o;
        one.method = spgemm::to_text(method);
        results.push_back(measure_product(host, session.contexts(o.backend).front(), f, one));      // a context of its own, for its own peak
        const ProductResult<V>& r = results.back();
        table.add({one.method + (results.size() == 1 ? " (chosen)" : ""), seconds_text(r.first), seconds_text(r.median), fixed(r.median / results.front().median, 2), seconds_text(r.refill), human_bytes(r.peak),
                   spgemm::is_repeatable({method}, limits.backend) ? "fixed" : "as it comes"});
        list.push_back(to_json(r));
        list.back().update({{"method", one.method}, {"chosen", results.size() == 1}});
    }
    const ProductResult<V>& chosen = results.front();
    if (session.settings.json)
        return print(session, {{"a", o.a.text}, {"b", o.b.text.empty() ? o.a.text : o.b.text}, {"type", o.type}, {"chosen", spgemm::to_text(choice.policy)}, {"why", choice.why}, {"methods", list}});
    session.console.print(session.console.styled(fmt::format("{}, {}, on {}\n", equation(o), o.type, chosen.backend), Style::bold) + table.text(session.console) + "\n" +
                          facts_of(chosen, choice).text(session.console));
}

void add_common(Parser& parser, CLI::App* verb, SpgemmOptions& o)
{
    parser.matrix(verb, o.a);
    verb->add_option("B", o.b.text, "second matrix, a file or a sentence; A itself unless given");
    verb->add_option("--backend", o.backend, "cpu (the default), cuda or all")->check(CLI::IsMember({"cpu", "cuda", "all"}))->option_text("WHERE");
    verb->add_option("--policy", o.method, "force a method: adaptive, dense, hash or deltasparse on a CPU, adaptive, nsparse or deltasparse on a GPU")->option_text("METHOD");
    verb->add_option("--devices", o.devices, "on a team of so many: CPU queues, GPUs, or streams of one GPU")->check(CLI::Range(1, 1024))->option_text("N");
    verb->add_flag("--keep-places", o.keep_places, "refill by the places of all products, which the plan keeps: two bytes each");
    verb->add_flag("--transpose-a", o.transpose_a, "multiply with A transposed");
    verb->add_flag("--transpose-b", o.transpose_b, "multiply with B transposed");
    Parser::type(verb, o.type);
}

>>>>>>> sr
}  // namespace

ProductSummary multiply_by_itself(const Context& host, const Context& ctx, const CsrView<double>& a, int repeat, std::uint64_t seed)
{
    SpgemmOptions o;
    o.repeat = repeat;
    o.seed = seed;
    const Factors<double> f{.a = a, .b = {}, .square = true};
    const ProductResult<double> r = measure_product(host, ctx, f, o);
    const Verdict verdict = check_product(host, f, o, r.c);
    const auto entries = static_cast<std::size_t>(a.nonzeros + r.c.nonzeros());
    return {r.backend, r.policy, check_text(verdict), r.median, entries * (sizeof(double) + sizeof(index_t)), verdict.good()};
}

void run_spgemm(const Session& session, const SpgemmOptions& options)
{
    require<UsageError>(options.to.empty() || options.backend != "all", "--out needs one backend, not all");
    require<UsageError>(!options.keep_places || (options.chunks.empty() && options.devices == 0), "--keep-places is for one device and all of C at once");
    require<UsageError>(options.chunks.empty() || options.devices == 0, "--chunks are for one device, --devices for several");
    options.type == "f32" ? run_as<float>(session, options) : run_as<double>(session, options);
}

void add_spgemm_factors(Parser& parser, CLI::App* verb, SpgemmOptions& o)
{
    parser.matrix(verb, o.a);
    verb->add_option("B", o.b.text, "second matrix, a file or a sentence; A itself unless given");
    verb->add_option("--backend", o.backend, "cpu (the default), cuda or all")->check(CLI::IsMember({"cpu", "cuda", "all"}))->option_text("WHERE");
    verb->add_option("--policy", o.method, "force a method: adaptive, dense, hash or deltasparse on a CPU, adaptive, nsparse or deltasparse on a GPU")->option_text("METHOD");
    verb->add_option("--devices", o.devices, "on a team of so many: CPU queues, GPUs, or streams of one GPU")->check(CLI::Range(1, 1024))->option_text("N");
    verb->add_flag("--transpose-a", o.transpose_a, "multiply with A transposed");
    verb->add_flag("--transpose-b", o.transpose_b, "multiply with B transposed");
    Parser::type(verb, o.type);
}

void add_run_spgemm(Parser& parser, CLI::App* run, SpgemmOptions& o)
{
    CLI::App* verb = parser.verb("spgemm", "C = op(A) op(B), timed, and written to a file with --out.",
                                 "tulle run spgemm matrix.mtx --verify\ntulle run spgemm A.mtx B.mtx --out C.mtx\ntulle run spgemm twin:cant --backend all\n"
                                 "tulle run spgemm twin:cant --devices 4 --verify\n"
                                 "tulle run spgemm stencil7:60 --chunks 64MiB --verify", run);
    add_spgemm_factors(parser, verb, o);
    verb->add_option("--chunks", o.chunks, "hold no more than this beside A and B: C comes in stretches of rows")->option_text("BYTES");
    verb->add_option("--repeat", o.repeat, "timed calls after the first (3)")->check(CLI::Range(0, 1'000'000))->option_text("N");
    verb->add_flag("--verify", o.verify, "compare C x with A (B x), row by row; exit code 1 if a bound is broken");
    verb->add_option("--seed", o.seed, "of x")->option_text("N");
    verb->add_option("--out", o.to, "write C to a file")->option_text("FILE");
    parser.device(verb);
    parser.when(verb, [&o](const Session& session) { run_spgemm(session, o); });
}

}  // namespace tulle::cli
