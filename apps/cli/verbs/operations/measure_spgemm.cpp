// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs/operations/measure_spgemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

// What is too little here is --chunks, whatever the library calls it.
template <class V>
Csr<V> in_chunks(const Context& host, const Context& ctx, const CsrView<V>& a, const CsrView<V>& b,
                 const spgemm::Options& wish, int& chunks)
{
    try {
        return joined(host, ctx, a, b, wish, chunks);
    } catch (const OutOfMemory& fault) {
        const std::size_t more = fault.needed() - std::min(fault.needed(), fault.available());
        throw OutOfMemory(concat("--chunks ", human_bytes(wish.budget),
                                 " are too little: ", human_bytes(fault.needed()), " are needed at once, ",
                                 human_bytes(fault.available()), " are left"),
                          fault.needed(), fault.available(),
                          concat("raise --chunks to more than ", human_bytes(wish.budget + more)));
    }
}

}  // namespace

template <class V>
Factors<V> load_factors(const Session& session, const Context& host, const SpgemmOptions& o)
{
    Factors<V> f{.a = {}, .b = {}, .square = o.b.text.empty(), .loaded_a = load<V>(session, host, o.a)};
    Source b = o.a;  // what was asked for A holds for B; a format is that of stdin
    b.text = o.b.text;
    if (!b.is_stdin()) b.format.clear();
    if (!f.square) f.loaded_b = load<V>(session, host, b);
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
            Csr<V> c = in_chunks(host, ctx, a.view(), b, wish, result.chunks);
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
    Json line{{"backend", r.backend}, {"nonzeros", r.c.nonzeros()}, {"products", r.products}, {"chunks", r.chunks},
              {"seconds", r.median},  {"refill_seconds", r.refill}, {"peak_bytes", r.peak}};
    if (r.verdict) line["worst_error"] = r.verdict->worst;
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
