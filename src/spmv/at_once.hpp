// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A product without a plan on a CPU.
#pragma once

#include <span>
#include <variant>

#include "device/placed.hpp"
#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// Rows and nonzeros from which on a plan, or a single product, is worth the measurement of the machine that the first
// of them makes: some milliseconds.
inline constexpr offset_t worth_measuring = 50'000, worth_measuring_once = 100'000;

// A deterministic context must not depend on a clock.
inline bool is_measured(const Context& ctx, offset_t work, const Options& options, bool reused)
{
    return ctx.backend() == Backend::cpu && work >= (reused ? worth_measuring : worth_measuring_once) &&
           !options.force && !ctx.is_deterministic();
}

// What the machine is known to do well.
template <class Sum>
Limits limits_for(const Context& ctx, offset_t work, const Options& options, bool reused)
{
    return {.backend = ctx.backend(),
            .threads = ctx.host().threads,
            .costs = is_measured(ctx, work, options, reused) ? measured_costs(sizeof(Sum)) : typical_costs()};
}

// Whether a product done once may check columns while it multiplies: not where a y that is added to would be lost with
// a matrix that is refused half-way, nor where a survey cannot see all faults.
template <class V, class M>
bool checks_with_product(const Context& ctx, const AnyView<M>& a, const Vectors<V>& v, const Options& options)
{
    const bool plain = options.checked && !options.force && options.op == Op::none;
    if (!plain || ctx.backend() != Backend::cpu || v.alpha == V(0) || v.beta != V(0)) return false;
    return std::visit(
        []<class View>(const View& m) {
            if constexpr (std::is_same_v<View, CsrView<M>> || std::is_same_v<View, Csr32View<M>>)
                return m.sorted || !m.unique;
            else return false;
        },
        a);
}

// Whether a matrix and vectors can be what they should be, before anything of them is read.
template <class V, class View>
bool look_right(const View& a, std::span<const V> x, std::span<V> y)
{
    return a.rows > 0 && a.nonzeros > 0 && a.row_begin != nullptr && a.col != nullptr && a.value != nullptr &&
           std::ssize(x) == a.cols && std::ssize(y) == a.rows && x.data() != nullptr && y.data() != nullptr &&
           are_apart(x, y);
}

// Sums of a row side by side; 0 where threads that get whole rows would wait for one of them.
template <class V>
int lanes_at_once(const Context& ctx, int threads, const RowFeatures& row, offset_t work, const Options& options)
{
    if (threads == 1)
        return lanes_on_cpu(row, is_measured(ctx, work, options, false) ? measured_costs(sizeof(V)) : RowCosts{});
    const Features features{.format = Format::csr,
                            .deterministic = ctx.is_deterministic(),
                            .reused = false,
                            .row = row};
    const Policy policy = choose(features, limits_for<V>(ctx, work, options, false)).policy;
    return policy.kernel == Kernel::rows ? policy.lanes : 0;
}

template <class V, class View>
bool is_done_by_rows(const Context& ctx, const View& a, std::span<const V> x, std::span<V> y, const Options& options,
                     const Vectors<V>& v)
{
    if (!look_right(a, x, y)) return false;
    const offset_t work = a.nonzeros + std::max(a.rows, a.cols);
    CpuQueue q = ctx.host();
    q.threads = threads_for(q, work);
    const Survey found = sample(q, a);
    if (!found.sound) return false;
    const int lanes = lanes_at_once<V>(ctx, q.threads, found.row, work, options);
    return lanes > 0 && multiply_rows_checked(q, a, lanes, v);
}

// A checked product of the caller's rows, which needs nothing of a plan. False where it is another, or where something
// is wrong: a plan tells what.
template <class V, class M>
bool is_done_at_once(const Context& ctx, const AnyView<M>& given, std::span<const V> x, std::span<V> y,
                     const Options& options, const Vectors<V>& v)
{
    if (const auto* a = std::get_if<CsrView<M>>(&given)) return is_done_by_rows(ctx, *a, x, y, options, v);
    if (const auto* a = std::get_if<Csr32View<M>>(&given)) return is_done_by_rows(ctx, *a, x, y, options, v);
    return false;
}

}  // namespace tulle::inline TULLE_ABI::spmv
