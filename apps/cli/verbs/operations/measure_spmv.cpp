// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs/operations/measure_spmv.hpp"

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/machine.hpp"
#include "base/hash.hpp"
#include "tulle/convert.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

template <class V>
std::size_t bytes_of(const CsrView<V>& a)
{
    return static_cast<std::size_t>(a.nonzeros) * (sizeof(V) + sizeof(index_t)) +
           (static_cast<std::size_t>(a.rows) + 1) * sizeof(offset_t);
}

template <class V>
std::size_t bytes_of(const CscView<V>& a)
{
    return bytes_of(transposed(a));
}

template <class V>
std::size_t bytes_of(const CooView<V>& a)
{
    return static_cast<std::size_t>(a.nonzeros) * (sizeof(V) + 2 * sizeof(index_t));
}

template <class V>
std::size_t bytes_of(const BlockedEllView<V>& a)
{
    return static_cast<std::size_t>(a.slots()) *
           (static_cast<std::size_t>(a.block) * static_cast<std::size_t>(a.block) * sizeof(V) + sizeof(index_t));
}

// The matrix where the product is done.
template <class V, class View>
SpmvResult<V> measure_there(const Context& ctx, const View& a, const SpmvProblem<V>& p, int repeat)
{
    SpmvResult<V> result;
    result.backend = ctx.name();
    const Buffer<V> x = to_device(ctx, std::span<const V>(p.x));
    Buffer<V> y = to_device(ctx, std::span<const V>(p.y));

    const double begin = trace::now();
    const auto plan =
        spmv::Plan<V>::make(ctx, a, {.op = p.transpose ? tulle::Op::transpose : tulle::Op::none, .force = p.force});
    ctx.synchronize();
    result.plan_seconds = trace::now() - begin;
    result.policy = to_text(plan.policy());
    result.description = plan.describe();
    result.plan_bytes = plan.bytes();

    plan.run(p.alpha, x.span(), p.beta, y.span());
    const Buffer<V> back = to_host(ctx, std::span<const V>(y.span()));
    result.y.assign(back.span().begin(), back.span().end());

    const auto run = [&] {
        plan.run(p.alpha, x.span(), p.beta, y.span());
        ctx.synchronize();
    };
    time_runs(repeat, run, result);
    result.bytes = bytes_of(a) + x.bytes() + y.bytes() * (p.beta != V(0) ? 2 : 1);
    return result;
}

template <class V, class View>
SpmvResult<V> measure_from(const Context& ctx, const View& on_host, const SpmvProblem<V>& p, int repeat)
{
    if (ctx.backend() == Backend::cpu) return measure_there<V>(ctx, on_host, p, repeat);
    const auto there = to_device(ctx, on_host);
    return measure_there<V>(ctx, there.view(), p, repeat);
}

}  // namespace

template <class V>
std::vector<V> seeded_vector(offset_t size, std::uint64_t seed)
{
    std::vector<V> all = host_array<V>(size, 1, "a vector");
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<V>(2 * unit(hash_of(seed, i)) - 1);
    return all;
}

template <class V>
SpmvResult<V> measure(const Context& host, const Context& ctx, const SpmvProblem<V>& p, int repeat)
{
    const auto measure_owner = [&](const auto& a) { return measure_from(ctx, a.view(), p, repeat); };
    switch (p.format) {
    case spmv::Format::csc: return measure_owner(to_csc(host, p.a));
    case spmv::Format::coo: return measure_owner(to_coo(host, p.a));
    case spmv::Format::blocked_ell: return measure_owner(to_blocked_ell(host, p.a, p.block));
    case spmv::Format::csr: break;
    }
    return measure_from(ctx, p.a, p, repeat);
}

template <class V>
Json to_json(const SpmvResult<V>& r)
{
    Json line = measured_json(r);
    line.update({{"bytes", r.bytes}, {"bytes_per_second", r.bandwidth()}});
    return line;
}

template std::vector<float> seeded_vector(offset_t, std::uint64_t);
template std::vector<double> seeded_vector(offset_t, std::uint64_t);
template SpmvResult<float> measure(const Context&, const Context&, const SpmvProblem<float>&, int);
template SpmvResult<double> measure(const Context&, const Context&, const SpmvProblem<double>&, int);
template Json to_json(const SpmvResult<float>&);
template Json to_json(const SpmvResult<double>&);

}  // namespace tulle::cli
