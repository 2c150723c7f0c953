// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include "solve/method.hpp"

namespace tulle::inline TULLE_ABI::solve {

// On a GPU the product makes dot products on the way, which saves a launch but takes longer than a pass where there are
// many rows (measured on an H200, stencil7:128: 15 us more, a pass takes 10). On a CPU a pass is as fast and adds in
// double.
constexpr index_t few_rows = 1 << 20;
bool dots_on_the_way(const Context& ctx, index_t rows) { return ctx.backend() == Backend::cuda && rows < few_rows; }

template <class V>
System<V>::System(const Context& context, const CsrView<V>& a)
    : ctx(context),
      product(spmv::Plan<V>::make(context, a, {.dots = dots_on_the_way(context, a.rows)}))
{
    ctx.run([&](const auto& q) {
        buffer = vector::PassBuffer(q, a.rows);
        residual = Buffer<V>(q, a.rows);
        made = Buffer<V>(q, 2);
        summed = Buffer<double>(q, 8);
        status = Buffer<Status>(q, 1);
    });
}

template <class V>
ProductDots<V> System<V>::multiply_with_dots(const V* x, V* y)
{
    const auto n = static_cast<std::size_t>(rows());
    if (dots_on_the_way(ctx, rows()) && !dots_apart) {
        product.run(V(1), {x, n}, V(0), {y, n}, made.span());
        return {made.data(), nullptr};
    }
    product.run({x, n}, {y, n});
    ctx.run([&](const auto& q) { vector::dot(q, rows(), x, static_cast<const V*>(y), summed.data(), buffer.space()); });
    return {nullptr, summed.data()};
}

template <class V>
double System<V>::norm_of(const V* x, offset_t n)
{
    return ctx.run([&](const auto& q) {
        vector::PassBuffer larger = n > rows() ? vector::PassBuffer(q, n) : vector::PassBuffer();
        vector::dot(q, n, x, x, summed.data(), n > rows() ? larger.space() : buffer.space());
        return std::sqrt(read_value(q, summed.data()));
    });
}

template <class V>
double System<V>::compute_residual(std::span<const V> b, std::span<const V> x, bool zero, Buffer<V>& r)
{
    ctx.run([&](const auto& q) { copy(q, b.data(), r.data(), rows()); });
    if (!zero) product.run(V(-1), x, V(1), r.span());
    return norm_of(r.data());
}

template class System<float>;
template class System<double>;

}  // namespace tulle::inline TULLE_ABI::solve
