// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs/operations/measure_spmm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/machine.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "apps/cli/verbs/operations/measure_team.hpp"
#include "base/hash.hpp"
#include "tulle/features.hpp"
#include "tulle/narrow.hpp"
#include "tulle/spmm_team.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

constexpr index_t columns_to_check = 8;

template <class V>
DenseView<V> view_of(V* data, index_t rows, const SpmmOptions& o)
{
    const bool by_rows = o.layout == "rows";
    return {rows, o.n, by_rows ? o.n : rows, by_rows ? Layout::row_major : Layout::col_major, data};
}

// A forced kernel as tulle itself would use it: as many lanes, or as wide panels; A's transposed rows are not looked
// at.
template <class V>
spmm::Policy forced_policy(const SpmmOptions& o, spmm::OrderKind order, const DenseProblem<V>& p, Backend backend)
{
    const offset_t longest =
        o.transpose ? 0 : row_statistics(Context::cpu(), p.a.rows, p.a.cols, p.a.row_begin).longest;
    const std::size_t bytes = o.type == "f64" ? 8 : o.type == "f32" || o.type == "tf32" ? 4 : 2;
    return spmm::policy_of(
        spmm::parse_kernel(o.kernel),
        {.rows = p.rows, .nonzeros = p.a.nonzeros, .longest = longest, .n = o.n, .value_bytes = bytes, .order = order},
        {backend});
}

template <class V>
spmm::Options options_of(const SpmmOptions& o, const Context& ctx, const DenseProblem<V>& p)
{
    spmm::Options wish{.op = o.transpose ? tulle::Op::transpose : tulle::Op::none,
                       .n = o.n,
                       .b_layout = o.layout == "rows" ? Layout::row_major : Layout::col_major,
                       .math = o.type == "tf32" ? spmm::Math::tf32 : spmm::Math::exact,
                       .expected_calls = o.expected_calls};
    if (!o.order.empty()) wish.order = spmm::parse_order(o.order);
    const bool tiles = o.kernel == spmm::to_text(spmm::Kernel::tiles);
    if (!o.kernel.empty())
        wish.force = forced_policy(o, wish.order.value_or(tiles ? spmm::OrderKind::bsa : spmm::OrderKind::natural), p,
                                   ctx.backend());
    if (o.delta >= 0) wish.delta = o.delta;
    if (o.search) wish.effort = tulle::Effort::search;
    return wish;
}

// The factor of each nonzero: that of its row of op(A).
template <class V>
std::vector<double> factors_of(const DenseProblem<V>& p, bool transpose)
{
    std::vector<double> factor(static_cast<std::size_t>(p.a.nonzeros), 1.0);
    if (p.row_scale.empty()) return factor;
    for (index_t i = 0; i < p.a.rows; ++i)
        for (offset_t k = p.a.row_begin[i]; k < p.a.row_begin[i + 1]; ++k)
            factor[static_cast<std::size_t>(k)] = p.row_scale[static_cast<std::size_t>(transpose ? p.a.col[k] : i)];
    return factor;
}

// Some columns of C beside plain products of doubles. Magnitudes are products of weights, which differ from the numbers
// on tensor cores only.
template <class V>
Verdict check(const DenseProblem<V>& p, const SpmmOptions& o, const std::vector<ResultOf<V>>& c, bool tensor)
{
    const auto weight = [&](V v) { return static_cast<double>(error_bound::weight(v, tensor)); };
    const std::vector<double> factor = factors_of(p, o.transpose);
    std::vector<double> value, value_weight;
    std::transform(p.value.begin(), p.value.end(), factor.begin(), std::back_inserter(value),
                   [](V v, double f) { return static_cast<double>(v) * f; });
    std::transform(p.value.begin(), p.value.end(), factor.begin(), std::back_inserter(value_weight),
                   [&](V v, double f) { return weight(v) * f; });
    const auto matrix = [&](const std::vector<double>& numbers) {
        return CsrView<double>{p.a.rows, p.a.cols,       p.a.nonzeros, p.a.row_begin,
                               p.a.col,  numbers.data(), p.a.sorted,   p.a.unique};
    };
    using error_bound::Operands;
    const Operands operands = !tensor || sizeof(V) != 4 ? Operands::whole
                              : o.type == "tf32"        ? Operands::tf32
                                                        : Operands::split;
    const error_bound::Rounding rounding = error_bound::rounding_of<V, ResultOf<V>>(tensor && sizeof(V) < 8, operands);
    const auto b = view_of(p.b.data(), p.cols, o);
    const auto before = view_of(p.c.data(), p.rows, o), after = view_of(c.data(), p.rows, o);
    const auto alpha = static_cast<double>(static_cast<spmm::Sum<V>>(o.alpha)),
               beta = static_cast<double>(static_cast<spmm::Sum<V>>(o.beta));
    Verdict worst;
    for (index_t k = 0; k < std::min(o.n, columns_to_check); ++k) {
        const auto j = static_cast<index_t>(offset_t{k} * o.n / std::min(o.n, columns_to_check));
        std::vector<double> x, x_weight, y0, y0_size;
        std::vector<ResultOf<V>> y;
        for (index_t i = 0; i < p.cols; ++i)
            x.push_back(static_cast<double>(b(i, j))), x_weight.push_back(weight(b(i, j)));
        for (index_t i = 0; i < p.rows; ++i)
            y0.push_back(static_cast<double>(before(i, j))), y0_size.push_back(std::abs(y0.back())),
                y.push_back(after(i, j));
        Reference r = reference<double>(matrix(value), o.transpose, alpha, x, beta, y0);
        r.magnitude =
            reference<double>(matrix(value_weight), o.transpose, std::abs(alpha), x_weight, std::abs(beta), y0_size)
                .exact;
        const Verdict v = judge<ResultOf<V>>(r, y, rounding);
        if (v.worst > worst.worst || worst.entry < 0) worst = v;
    }
    return worst;
}

// Values of 16 bits, with powers of two of rows.
template <class V>
void narrow_values(const SpmmOptions& o, DenseProblem<V>& p)
{
    const auto narrowed = narrow<V>(Context::cpu(), p.a,
                                    {.scaling = parse_scaling(o.scale),
                                     .op = o.transpose ? tulle::Op::transpose : tulle::Op::none,
                                     .checked = false});
    p.value.assign(narrowed.value.data(), narrowed.value.data() + narrowed.value.size());
    p.row_scale.assign(narrowed.row_scale.data(), narrowed.row_scale.data() + narrowed.row_scale.size());
    if (o.scale != "off") p.zeroed = narrowed.zeroed;  // else reported by the reader
}

}  // namespace

template <class V>
DenseProblem<V> make_problem(const Context& host, const CsrView<LoadedAs<V>>& a, const SpmmOptions& o)
{
    DenseProblem<V> p{.a = a,
                      .value = {},
                      .b = {},
                      .c = {},
                      .rows = o.transpose ? a.cols : a.rows,
                      .cols = o.transpose ? a.rows : a.cols};
    const offset_t column_bytes =
        offset_t{p.cols} * offset_t{sizeof(V)} + offset_t{p.rows} * offset_t{sizeof(ResultOf<V>)};
    require_budget(host, o.n, column_bytes, "B and C");
    if constexpr (sizeof(V) == 2) narrow_values(o, p);
    else p.value.assign(a.value, a.value + a.nonzeros);
    const auto number = [&](std::uint64_t which, std::size_t k) { return 2 * unit(hash_of(o.seed, which, k)) - 1; };
    p.b = host_array<V>(p.cols, o.n, "B");
    p.c = host_array<ResultOf<V>>(p.rows, o.n, "C");
    for (std::size_t k = 0; k < p.b.size(); ++k) p.b[k] = static_cast<V>(number(0, k));
    for (std::size_t k = 0; k < p.c.size(); ++k) p.c[k] = static_cast<ResultOf<V>>(number(1, k));
    return p;
}

template <class V>
DenseResult measure_product(const Context& ctx, const DenseProblem<V>& p, const SpmmOptions& o)
{
    using C = ResultOf<V>;
    using Scalar = spmm::Sum<V>;
    const Csr<V> a = to_device(ctx, p.matrix());
    const auto b = to_device<V>(ctx, std::span<const V>(p.b));
    auto c = to_device<C>(ctx, std::span<const C>(p.c));
    const auto row_scale = to_device<float>(ctx, std::span<const float>(p.row_scale));
    spmm::Options wish = options_of(o, ctx, p);
    wish.row_scale = row_scale.span();
    DenseResult result{{.backend = ctx.name()}};
    const double begin = trace::now();
    const auto plan = spmm::Plan<V, C>::make(ctx, a.view(), wish);
    ctx.synchronize();
    result.plan_seconds = trace::now() - begin;
    const auto run = [&] {
        plan.run(static_cast<Scalar>(o.alpha), view_of(b.data(), p.cols, o), static_cast<Scalar>(o.beta),
                 view_of(c.data(), p.rows, o));
        ctx.synchronize();
    };
    run();
    result.policy = spmm::to_text(plan.policy());
    result.description = plan.describe();
    result.plan_bytes = plan.bytes();
    result.bytes = a.bytes() + b.bytes() + c.bytes();
    result.tensor = ctx.backend() == Backend::cuda && plan.policy().kernel != spmm::Kernel::rows;
    if (o.verify) {
        const auto here = to_host<C>(ctx, std::span<const C>(c.span()));
        result.verdict = check(p, o, {here.data(), here.data() + here.size()}, result.tensor);
    }
    time_runs(o.repeat, run, result);
    return result;
}

template <class V>
DenseResult measure_on_team(const Session& session, const Context& like, const DenseProblem<V>& p, const SpmmOptions& o)
{
    using C = ResultOf<V>;
    using Scalar = spmm::Sum<V>;
    const Team team = team_like(session, like, o.devices);
    DenseResult result{{.backend = fmt::format("{} x {}", team.size(), team[0].name())}};
    spmm::Options wish = options_of(o, like, p);
    wish.row_scale = p.row_scale;
    const double begin = trace::now();
    auto plan = spmm::TeamPlan<V, C>::make(team, p.matrix(), {.product = wish, .split = spmm::parse_split(o.split)});
    result.plan_seconds = trace::now() - begin;
    std::vector<C> c = p.c;
    const auto run = [&] {
        plan.run(static_cast<Scalar>(o.alpha), view_of(p.b.data(), p.cols, o), static_cast<Scalar>(o.beta),
                 view_of(c.data(), p.rows, o));
    };
    plan.reset_traffic();
    run();
    const partition::Traffic t = plan.traffic();
    result.policy = "by " + spmm::to_text(plan.choice().split);
    result.description =
        plan.describe() +
        fmt::format("\n  moved:  {} up and {} down in one call with B and C on the host, which the times contain",
                    human_bytes(t.host_to_device), human_bytes(t.device_to_host));
    result.plan_bytes = plan.bytes();
    for (const spmm::TeamPart& part : plan.parts())
        result.tensor = result.tensor || (like.backend() == Backend::cuda && !part.policy.empty() &&
                                          !part.policy.starts_with(spmm::to_text(spmm::Kernel::rows)));
    if (o.verify) result.verdict = check(p, o, c, result.tensor);
    time_runs(o.repeat, run, result);
    return result;
}

void report(const Session& session, const std::vector<DenseResult>& results, DenseReport what)
{
    const auto flops = [&](const DenseResult& r) { return r.median > 0 ? what.flops / r.median : 0; };
    if (session.settings.json) {
        Json list = Json::array();
        for (const auto& r : results) {
            list.push_back(measured_json(r));
            list.back()["flops"] = flops(r);
        }
        what.about["results"] = list;
        return print(session, what.about);
    }
    Table table({{"backend", Align::left},
                 {"policy", Align::left},
                 {"plan"},
                 {"median"},
                 {"best"},
                 {"Gflop/s"},
                 {"result", Align::left}});
    for (const auto& r : results)
        table.add({r.backend, r.policy, seconds_text(r.plan_seconds), seconds_text(r.median), seconds_text(r.best),
                   fixed(flops(r) * 1e-9, 1), check_text(r.verdict)});
    std::string text = session.console.styled(what.heading, Style::bold) + table.text(session.console);
    for (const auto& r : results) text += "\n" + shown(session, r.description);
    session.console.print(text);
}

template DenseProblem<double> make_problem(const Context&, const CsrView<double>&, const SpmmOptions&);
template DenseResult measure_product(const Context&, const DenseProblem<double>&, const SpmmOptions&);
template DenseResult measure_on_team(const Session&, const Context&, const DenseProblem<double>&, const SpmmOptions&);
template DenseProblem<float> make_problem(const Context&, const CsrView<float>&, const SpmmOptions&);
template DenseResult measure_product(const Context&, const DenseProblem<float>&, const SpmmOptions&);
template DenseResult measure_on_team(const Session&, const Context&, const DenseProblem<float>&, const SpmmOptions&);
template DenseProblem<Float16> make_problem(const Context&, const CsrView<float>&, const SpmmOptions&);
template DenseResult measure_product(const Context&, const DenseProblem<Float16>&, const SpmmOptions&);
template DenseResult measure_on_team(const Session&, const Context&, const DenseProblem<Float16>&, const SpmmOptions&);
template DenseProblem<Bfloat16> make_problem(const Context&, const CsrView<float>&, const SpmmOptions&);
template DenseResult measure_product(const Context&, const DenseProblem<Bfloat16>&, const SpmmOptions&);
template DenseResult measure_on_team(const Session&, const Context&, const DenseProblem<Bfloat16>&, const SpmmOptions&);

}  // namespace tulle::cli
