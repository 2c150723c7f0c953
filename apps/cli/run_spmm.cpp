// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run spmm: C = alpha op(A) B + beta C with a dense B, on one backend or on all, timed and checked.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <type_traits>
#include <vector>

#include "apps/cli/failure.hpp"
#include "apps/cli/layout.hpp"
#include "apps/cli/measure_spmv.hpp"
#include "apps/cli/measure_team.hpp"
#include "apps/cli/progress.hpp"
#include "apps/cli/spmm.hpp"
#include "tulle/base/hash.hpp"
#include "tulle/base/text.hpp"
#include "tulle/base/trace.hpp"
#include "tulle/matrix/move.hpp"
#include "tulle/spmm/multi.hpp"

namespace tulle::cli {
namespace {

constexpr index_t columns_to_check = 8;

template <class V> using ResultOf = std::conditional_t<sizeof(V) == 2, float, V>;
template <class V> using LoadedAs = std::conditional_t<sizeof(V) == 8, double, float>;

// The product on the host, with numbers as they are stored.
template <class V>
struct DenseProblem {
    CsrView<LoadedAs<V>> a;
    std::vector<V> value, b;
    std::vector<ResultOf<V>> c;
    index_t rows = 0, cols = 0;                          // of op(A)

    CsrView<V> matrix() const { return {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, value.data(), a.sorted, a.unique}; }
};

template <class V>
DenseProblem<V> make_problem(const CsrView<LoadedAs<V>>& a, const SpmmOptions& o)
{
    DenseProblem<V> p{.a = a, .value = {}, .b = {}, .c = {}, .rows = o.transpose ? a.cols : a.rows, .cols = o.transpose ? a.rows : a.cols};
    std::transform(a.value, a.value + a.nonzeros, std::back_inserter(p.value), [](auto v) { return static_cast<V>(v); });
    const auto number = [&](std::uint64_t which, std::size_t k) { return 2 * unit(hash_of(o.seed, which, k)) - 1; };
    p.b.resize(static_cast<std::size_t>(p.cols) * static_cast<std::size_t>(o.n));
    p.c.resize(static_cast<std::size_t>(p.rows) * static_cast<std::size_t>(o.n));
    for (std::size_t k = 0; k < p.b.size(); ++k) p.b[k] = static_cast<V>(number(0, k));
    for (std::size_t k = 0; k < p.c.size(); ++k) p.c[k] = static_cast<ResultOf<V>>(number(1, k));
    return p;
}

template <class V>
DenseView<V> view_of(V* data, index_t rows, const SpmmOptions& o)
{
    const bool by_rows = o.layout == "rows";
    return {rows, o.n, by_rows ? o.n : rows, by_rows ? Layout::row_major : Layout::col_major, data};
}

struct DenseResult {
    std::string backend, policy, description;
    double plan_seconds = 0, median = 0, best = 0;
    std::size_t bytes = 0, plan_bytes = 0;
    bool tensor = false;                                 // products were those of tensor cores
    std::optional<Verdict> verdict = {};
};

spmm::Options options_of(const SpmmOptions& o, const Context& ctx)
{
    spmm::Options wish{.op = o.transpose ? spmm::Op::transpose : spmm::Op::none, .n = o.n, .b_layout = o.layout == "rows" ? Layout::row_major : Layout::col_major,
                       .math = o.type == "tf32" ? spmm::Math::tf32 : spmm::Math::exact, .expected_calls = o.expected_calls};
    if (!o.order.empty()) wish.order = spmm::parse_order(o.order);
    if (o.kernel.empty()) return wish;
    const spmm::Kernel kernel = spmm::parse_kernel(o.kernel);
    spmm::Policy policy{kernel, 1, wish.order.value_or(spmm::OrderKind::natural)};
    if (kernel == spmm::Kernel::rows)                    // as many lanes as tulle would take
        policy = spmm::choose({.n = o.n, .value_bytes = 8}, {ctx.backend()}).policy;
    wish.force = policy;
    return wish;
}

// Some columns of C beside plain products of doubles.
template <class V>
Verdict check(const DenseProblem<V>& p, const SpmmOptions& o, const std::vector<ResultOf<V>>& c, bool tensor)
{
    std::vector<double> value;
    std::transform(p.value.begin(), p.value.end(), std::back_inserter(value), [](V v) { return static_cast<double>(v); });
    const CsrView<double> wide{p.a.rows, p.a.cols, p.a.nonzeros, p.a.row_begin, p.a.col, value.data(), p.a.sorted, p.a.unique};
    const auto b = view_of(p.b.data(), p.cols, o);
    const auto before = view_of(p.c.data(), p.rows, o), after = view_of(c.data(), p.rows, o);
    Verdict worst;
    for (index_t k = 0; k < std::min(o.n, columns_to_check); ++k) {
        const auto j = static_cast<index_t>(offset_t{k} * o.n / std::min(o.n, columns_to_check));
        std::vector<double> x, y0;
        std::vector<ResultOf<V>> y;
        for (index_t i = 0; i < p.cols; ++i) x.push_back(static_cast<double>(b(i, j)));
        for (index_t i = 0; i < p.rows; ++i) y0.push_back(static_cast<double>(before(i, j))), y.push_back(after(i, j));
        Reference r = reference<double>(wide, o.transpose, o.alpha, x, o.beta, y0);
        if (tensor)
            for (offset_t& products : r.products) products *= 2;                   // a tensor core may drop a bit with every addition
        if (tensor && o.type == "tf32") r.roundings += 1 << 14;                    // two roundings to 11 bits weigh as much as so many to 24
        const Verdict v = judge<ResultOf<V>>(r, y);
        if (v.worst > worst.worst || worst.entry < 0) worst = v;
    }
    return worst;
}

template <class Run>
void time_runs(int repeat, const Run& run, DenseResult& result)
{
    std::vector<double> times;
    for (int k = 0; k < repeat; ++k) {
        const double from = trace::now();
        run();
        times.push_back(trace::now() - from);
    }
    std::sort(times.begin(), times.end());
    result.median = times[times.size() / 2];
    result.best = times.front();
}

template <class V>
DenseResult measure_product(const Context& ctx, const DenseProblem<V>& p, const SpmmOptions& o)
{
    using C = ResultOf<V>;
    using Scalar = spmm::Sum<V>;
    const Csr<V> a = to_device(ctx, p.matrix());
    const auto b = to_device<V>(ctx, std::span<const V>(p.b));
    auto c = to_device<C>(ctx, std::span<const C>(p.c));
    DenseResult result{.backend = ctx.name(), .policy = {}, .description = {}};
    const double begin = trace::now();
    const auto plan = spmm::Plan<V, C>::make(ctx, a.view(), options_of(o, ctx));
    ctx.synchronize();
    result.plan_seconds = trace::now() - begin;
    const auto run = [&] {
        plan.run(static_cast<Scalar>(o.alpha), view_of(b.data(), p.cols, o), static_cast<Scalar>(o.beta), view_of(c.data(), p.rows, o));
        ctx.synchronize();
    };
    run();
    result.policy = spmm::to_text(plan.policy());
    result.description = plan.describe();
    result.plan_bytes = plan.bytes();
    result.bytes = a.bytes() + b.bytes() + c.bytes();
    result.tensor = plan.policy().kernel == spmm::Kernel::panels;
    if (o.verify) {
        const auto here = to_host<C>(ctx, std::span<const C>(c.span()));
        result.verdict = check(p, o, {here.data(), here.data() + here.size()}, result.tensor);
    }
    time_runs(o.repeat, run, result);
    return result;
}

// The same on a team, with A, B and C on the host: what moves to and from GPUs is timed too.
template <class V>
DenseResult measure_on_team(const Session& session, const Context& like, const DenseProblem<V>& p, const SpmmOptions& o)
{
    using C = ResultOf<V>;
    using Scalar = spmm::Sum<V>;
    const Team team = team_like(session, like, o.devices);
    DenseResult result{.backend = fmt::format("{} x {}", team.size(), team[0].name()), .policy = {}, .description = {}};
    const double begin = trace::now();
    auto plan = spmm::TeamPlan<V, C>::make(team, p.matrix(), {.product = options_of(o, like), .split = spmm::parse_split(o.split)});
    result.plan_seconds = trace::now() - begin;
    std::vector<C> c = p.c;
    const auto run = [&] { plan.run(static_cast<Scalar>(o.alpha), view_of(p.b.data(), p.cols, o), static_cast<Scalar>(o.beta), view_of(c.data(), p.rows, o)); };
    plan.reset_traffic();
    run();
    const partition::Traffic t = plan.traffic();
    result.policy = "by " + spmm::to_text(plan.choice().split);
    result.description = plan.describe() + fmt::format("\n  moved:  {} up and {} down in one call with B and C on the host, which the times contain", human_bytes(t.up), human_bytes(t.down));
    result.plan_bytes = plan.bytes();
    for (const spmm::TeamPart& part : plan.parts()) result.tensor = result.tensor || part.policy.starts_with(spmm::to_text(spmm::Kernel::panels));
    if (o.verify) result.verdict = check(p, o, c, result.tensor);
    time_runs(o.repeat, run, result);
    return result;
}

void report(const Session& session, const SpmmOptions& o, offset_t nonzeros, const std::vector<DenseResult>& results)
{
    const auto flops = [&](const DenseResult& r) { return r.median > 0 ? 2.0 * static_cast<double>(nonzeros) * o.n / r.median : 0; };
    if (session.settings.json) {
        Json list = Json::array();
        for (const auto& r : results) {
            Json line{{"backend", r.backend}, {"policy", r.policy}, {"plan_seconds", r.plan_seconds}, {"seconds", r.median}, {"best_seconds", r.best}, {"flops", flops(r)}, {"plan_bytes", r.plan_bytes}};
            if (r.verdict) line["worst_error"] = r.verdict->worst;
            list.push_back(line);
        }
        return print(session, {{"a", o.a.text}, {"n", o.n}, {"type", o.type}, {"repeat", o.repeat}, {"results", list}});
    }
    Table table({{"backend", Align::left}, {"policy", Align::left}, {"plan"}, {"median"}, {"best"}, {"Gflop/s"}, {"result", Align::left}});
    for (const auto& r : results)
        table.add({r.backend, r.policy, seconds_text(r.plan_seconds), seconds_text(r.median), seconds_text(r.best), fixed(flops(r) * 1e-9, 1), check_text(r.verdict)});
    std::string text = session.console.styled(fmt::format("C = A{} B, A = {}, B with {} columns, {}\n", o.transpose ? "^T" : "", o.a.name(), o.n, o.type), Style::bold) + table.text(session.console);
    for (const auto& r : results) text += "\n" + r.description + "\n";
    session.console.print(text);
}

template <class V>
void run_as(const Session& session, const SpmmOptions& o)
{
    const Loaded<LoadedAs<V>> loaded = load<LoadedAs<V>>(session, session.host(), o.a);
    const DenseProblem<V> p = make_problem<V>(loaded.matrix.view(), o);
    std::vector<DenseResult> results;
    for (const Context& ctx : session.contexts(o.backend)) {
        const Activity work(session.console, "multiplying");
        results.push_back(o.devices > 0 ? measure_on_team(session, ctx, p, o) : measure_product(ctx, p, o));
    }
    report(session, o, p.a.nonzeros, results);
    for (const auto& r : results)
        require<CheckFailed>(!r.verdict || r.verdict->good(), [&] {
            return concat("spmm on ", r.backend, ": an entry of row ", r.verdict->entry, " of C is ", r.verdict->is, " and should be ", r.verdict->should, ": the error is ", r.verdict->worst, " times its bound");
        });
}

}  // namespace

DenseSummary multiply_dense_matrix(const Context& ctx, const CsrView<double>& a, int repeat, std::uint64_t seed)
{
    SpmmOptions o;
    o.repeat = std::max(1, repeat);
    o.seed = seed;
    o.verify = true;
    const DenseResult r = measure_product(ctx, make_problem<double>(a, o), o);
    return {r.backend, r.policy, check_text(r.verdict), r.median, r.bytes, r.verdict->good()};
}

void run_spmm(const Session& session, const SpmmOptions& o)
{
    require<UsageError>(o.devices > 0 || o.split == "automatic", "--split says what the members of a team get", "add --devices 4");
    if (o.type == "f16") return run_as<Float16>(session, o);
    if (o.type == "bf16") return run_as<Bfloat16>(session, o);
    return o.type == "f64" ? run_as<double>(session, o) : run_as<float>(session, o);
}

void add_run_spmm(Parser& parser, CLI::App* run, SpmmOptions& o)
{
    CLI::App* verb = parser.verb("spmm", "C = alpha op(A) B + beta C with a dense B, timed.",
                                 "tulle run spmm matrix.mtx --n 128 --verify\ntulle run spmm twin:cant --n 128 --type f16 --backend all\ntulle run spmm twin:cant --type tf32 --backend cuda --order pack\n"
                                 "tulle run spmm twin:cant --n 128 --devices 4 --verify", run);
    parser.matrix(verb, o.a);
    verb->add_option("--n", o.n, "columns of B (32)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    verb->add_option("--type", o.type, "f64 (the default), f32, tf32, f16 or bf16; the last two with sums and C in f32")->check(CLI::IsMember({"f64", "f32", "tf32", "f16", "bf16"}))->option_text("TYPE");
    verb->add_option("--backend", o.backend, "cpu (the default), cuda or all")->check(CLI::IsMember({"cpu", "cuda", "all"}))->option_text("WHERE");
    verb->add_option("--layout", o.layout, "of B and C: rows (the default) or columns are contiguous")->check(CLI::IsMember({"rows", "columns"}))->option_text("WHICH");
    verb->add_option("--kernel", o.kernel, "force a kernel: rows, or panels on a GPU")->option_text("KERNEL");
    verb->add_option("--order", o.order, "order of the rows of panels: natural, degree, minhash, pack, bsa")->option_text("ORDER");
    verb->add_option("--devices", o.devices, "on a team of so many: CPU queues, GPUs, or streams of one GPU")->check(CLI::Range(1, 1024))->option_text("N");
    verb->add_option("--split", o.split, "with --devices: what members have of their own, rows of A or columns of B (automatic: what moves fewer bytes)")->check(CLI::IsMember({"automatic", "rows", "columns"}))->option_text("WHICH");
    verb->add_flag("--transpose", o.transpose, "multiply with the transposed matrix");
    verb->add_option("--alpha", o.alpha, "(1)")->option_text("NUMBER");
    verb->add_option("--beta", o.beta, "(0)")->option_text("NUMBER");
    verb->add_option("--expected-calls", o.expected_calls, "runs to prepare for (1000)")->check(CLI::PositiveNumber)->option_text("N");
    verb->add_option("--repeat", o.repeat, "timed runs (10)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    verb->add_flag("--verify", o.verify, "compare some columns with plain products, entry by entry; exit code 1 if a bound is broken");
    verb->add_option("--seed", o.seed, "of B and C")->option_text("N");
    parser.device(verb);
    parser.when(verb, [&o](const Session& session) { run_spmm(session, o); });
}

}  // namespace tulle::cli
