// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs/operations/measure_spgemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/support/hints.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "tulle/context.hpp"
#include "tulle/convert.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

// Chunks of C come to the host one after the other.
template <class V>
Csr<V> joined(const Context& host, const Context& ctx, const CsrView<V>& a, const CsrView<V>& b,
              const spgemm::Options& wish, int& chunks)
{
    std::vector<offset_t> begin{0};
    std::vector<index_t> col;
    std::vector<V> value;
    index_t cols = 0;
    chunks = 0;
    spgemm::for_each_chunk(
        ctx, a, b,
        [&](index_t, const Csr<V>& rows) {
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
        },
        wish);
    return to_host(host, CsrView<V>{static_cast<index_t>(begin.size()) - 1, cols, static_cast<offset_t>(col.size()),
                                    begin.data(), col.data(), value.data()});
}

// What --budget leaves on the device of a context.
std::size_t left_of_budget(const Context& ctx)
{
    const Space space = ctx.backend() == Backend::cpu ? Space::host : Space::device;
    const std::size_t budget = ctx.memory().budget(space);
    return budget - std::min(budget, ctx.memory().live(space));
}

// What is too little here is --chunks, whatever the library calls it, unless --budget leaves less.
template <class V>
Csr<V> in_chunks(const Context& host, const Context& ctx, const CsrView<V>& a, const CsrView<V>& b,
                 const spgemm::Options& wish, int& chunks)
{
    try {
        return joined(host, ctx, a, b, wish, chunks);
    } catch (const OutOfMemory& fault) {
        if (left_of_budget(ctx) < wish.budget) throw;
        const std::size_t held = wish.budget - std::min(wish.budget, fault.available());
        throw OutOfMemory(concat("over --chunks ", human_bytes(wish.budget), ": ", human_bytes(fault.needed()),
                                 " needed beside ", human_bytes(held)),
                          fault.needed(), fault.available(),
                          raise_hint("--chunks", wish.budget, fault.needed(), fault.available()));
    }
}

}  // namespace

template <class V>
Factors<V> load_factors(const Session& session, const Context& host, const SpgemmOptions& o)
{
    if (!o.b.text.empty()) check_exists(o.b);
    Factors<V> f{.a = {}, .b = {}, .square = o.b.text.empty(), .loaded_a = load<V>(session, host, o.a)};
    if (!f.square) f.loaded_b = load<V>(session, host, o.a.with_text(o.b.text));
    f.a = f.loaded_a.matrix.view();
    f.b = f.loaded_b.matrix.view();
    return f;
}

spgemm::Options options_of(const SpgemmOptions& o, const Context& ctx)
{
    spgemm::Options wish{.op_a = o.transpose_a ? tulle::Op::transpose : tulle::Op::none,
                         .op_b = o.transpose_b ? tulle::Op::transpose : tulle::Op::none};
    if (!o.chunks.empty()) wish.budget = parse_bytes(o.chunks);
    wish.refill = spgemm::parse_reuse(o.refill);
    if (o.method.empty()) return wish;
    const spgemm::Method method = spgemm::parse_method(o.method);
    const auto all = spgemm::candidates({ctx.backend(), ctx.host().threads});
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const spgemm::Policy& p) { return p.method == method; });
    wish.force = found != all.end()
                     ? *found
                     : spgemm::Policy{method, false};  // what cannot be done the plan refuses, and says what could
    return wish;
}

namespace {

// A plan for new values of the same pattern, and how long it takes to fill C again.
template <class V>
void refill_by_plan(const Context& ctx, const CsrView<V>& a, const CsrView<V>& b, const spgemm::Options& wish,
                    ProductResult<V>& result)
{
    double begin = trace::now();
    const auto plan = spgemm::Plan<V>::make(ctx, a, b, wish);
    ctx.synchronize();
    result.plan_seconds = trace::now() - begin;
    Csr<V> c = plan.run();
    ctx.synchronize();
    begin = trace::now();
    plan.run(c);
    ctx.synchronize();
    result.refill = trace::now() - begin;
    result.products = plan.products();
    result.policy = spgemm::to_text(plan.policy());
    result.description = plan.describe();
    result.plan_bytes = plan.bytes();
}

}  // namespace

template <class V>
ProductResult<V> measure_product(const Context& host, const Context& ctx, const Factors<V>& f, const SpgemmOptions& o)
{
    ProductResult<V> result{{.backend = ctx.name()}};
    const Csr<V> a = to_device(ctx, f.first()), other = f.square ? Csr<V>{} : to_device(ctx, f.second());
    const CsrView<V> b = f.square ? a.view() : other.view();
    const spgemm::Options wish = options_of(o, ctx);
    const auto call = [&] {
        if (!o.chunks.empty()) return in_chunks(host, ctx, a.view(), b, wish, result.chunks);
        Csr<V> c = spgemm::multiply(ctx, a.view(), b, wish);
        ctx.synchronize();
        return c;
    };
    const double begin = trace::now();
    {
        Csr<V> c = call();
        result.c = o.chunks.empty() ? to_host(ctx, c.view()) : std::move(c);
    }
    result.first = result.median = result.best = trace::now() - begin;
    time_runs(o.repeat, call, result);
    result.peak = ctx.peak_bytes();
    if (!o.chunks.empty()) return result;
    refill_by_plan(ctx, a.view(), b, wish, result);
    return result;
}

template <class V>
Verdict check_product(const Context& host, const Factors<V>& f, const SpgemmOptions& o, const Csr<V>& c)
{
    const Csr<V> at = o.transpose_a ? transpose(host, f.first()) : Csr<V>{},
                 bt = o.transpose_b ? transpose(host, f.second()) : Csr<V>{};
    const CsrView<V> a = o.transpose_a ? at.view() : f.first(), b = o.transpose_b ? bt.view() : f.second(),
                     product = c.view();
    const std::vector<V> x = seeded_vector<V>(b.cols, o.seed);
    const std::vector<V> none(static_cast<std::size_t>(b.rows));
    const Reference inner = reference<V>(b, false, V(1), x, V(0), none);
    Reference outer{std::vector<long double>(static_cast<std::size_t>(a.rows)),
                    std::vector<long double>(static_cast<std::size_t>(a.rows)),
                    std::vector<offset_t>(static_cast<std::size_t>(a.rows))};
    std::vector<V> cx(static_cast<std::size_t>(a.rows));
    for (index_t i = 0; i < a.rows; ++i) {
        const auto at_row = static_cast<std::size_t>(i);
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const auto j = static_cast<std::size_t>(a.col[k]);
            outer.exact[at_row] += static_cast<long double>(a.value[k]) * inner.exact[j];
            outer.magnitude[at_row] += std::abs(static_cast<long double>(a.value[k])) * inner.magnitude[j];
            outer.products[at_row] += inner.products[j];
        }
        long double sum = 0;
        for (offset_t k = product.row_begin[i]; k < product.row_begin[i + 1]; ++k) {
            require<ValueError>(k == product.row_begin[i] || product.col[k] > product.col[k - 1],
                                [&] { return concat("row ", i, " (counted from 0) of C is not sorted"); });
            sum += static_cast<long double>(product.value[k]) *
                   static_cast<long double>(x[static_cast<std::size_t>(product.col[k])]);
        }
        cx[at_row] = static_cast<V>(sum);
    }
    return judge<V>(outer, cx);
}

std::string equation(const SpgemmOptions& o)
{
    return fmt::format("C = A{} {}{}, A = {}{}", o.transpose_a ? "^T" : "", o.b.text.empty() ? "A" : "B",
                       o.transpose_b ? "^T" : "", o.a.name(), o.b.text.empty() ? "" : ", B = " + o.b.name());
}

template <class V>
Json to_json(const ProductResult<V>& r)
{
    Json line = measured_json(r);
    line.update({{"nonzeros", r.c.nonzeros()},
                 {"products", r.products},
                 {"chunks", r.chunks},
                 {"first_seconds", r.first},
                 {"refill_seconds", r.refill},
                 {"peak_bytes", r.peak}});
    if (r.policy.empty()) line["plan_seconds"] = line["plan_bytes"] = Json();  // in chunks there is no plan
    return line;
}

template Factors<float> load_factors(const Session&, const Context&, const SpgemmOptions&);
template ProductResult<float> measure_product(const Context&, const Context&, const Factors<float>&,
                                              const SpgemmOptions&);
template Verdict check_product(const Context&, const Factors<float>&, const SpgemmOptions&, const Csr<float>&);
template Json to_json(const ProductResult<float>&);
template Factors<double> load_factors(const Session&, const Context&, const SpgemmOptions&);
template ProductResult<double> measure_product(const Context&, const Context&, const Factors<double>&,
                                               const SpgemmOptions&);
template Verdict check_product(const Context&, const Factors<double>&, const SpgemmOptions&, const Csr<double>&);
template Json to_json(const ProductResult<double>&);

}  // namespace tulle::cli
