// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products without a plan, of matrices that were looked through before.
#include "tulle/spmv_direct.hpp"

#include <variant>

#include "device/placed.hpp"
#include "matrix/plan_checks.hpp"
#include "prim/scale.hpp"
#include "spmv/direct.hpp"
#include "spmv/prepare_split.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

template <class M>
using Widened = std::variant<CsrView<M>>;

template <class M>
CsrView<M> with_wide_offsets(const Context& ctx, const AnyCsr<M>& a, Buffer<offset_t>& wide)
{
    return std::get<CsrView<M>>(matrix::widened<Widened<M>>(ctx, a, wide));
}

// Addresses that this thread found to be in the memory of a device last.
struct Known {
    int device = -1;
    const void* x = nullptr;
    const void* y = nullptr;
};

int device_of(const Context& ctx)
{
    return ctx.run([](const auto& q) {
        if constexpr (requires { q.device; }) return q.device;
        else return -1;
    });
}

template <class V>
void require_vectors(const Context& ctx, const matrix::MatrixSize& a, std::span<const V> x, std::span<V> y)
{
    thread_local Known known;
    const int device = device_of(ctx);
    if (known.device != device) known = {.device = device};
    require(std::ssize(x) == a.cols,
            [&] { return concat("x has ", x.size(), " entries, but A has ", a.cols, " columns"); });
    require(std::ssize(y) == a.rows,
            [&] { return concat("y has ", y.size(), " entries, but A has ", a.rows, " rows"); });
    require<ValueError>(are_apart(x, y), "x and y overlap", "give y memory of its own");
    require_placed(ctx, x.data(), x.size(), known.x, "x");
    require_placed(ctx, y.data(), y.size(), known.y, "y");
}

template <class V, class M>
void split_once(const Context& ctx, const CudaQueue& q, const AnyCsr<M>& a, const Vectors<V>& v)
{
    Buffer<offset_t> wide;
    const CsrView<M> rows = with_wide_offsets(ctx, a, wide);
    Workspace<V, M> work;
    prepare_split(q, rows, work);
    multiply_split(q, rows, work, v);
}

template <class V, class M>
void multiply_on(const Context& ctx, const CudaQueue& q, const AnyCsr<M>& a, const Policy& policy, const Vectors<V>& v)
{
    if (policy.kernel == Kernel::split) return split_once(ctx, q, a, v);
    std::visit([&](const auto& rows) { multiply_rows_direct(q, rows, policy.lanes, v); }, a);
}

template <class V, class M>
void multiply_on(const Context& ctx, const CpuQueue&, const AnyCsr<M>& a, const Policy&, const Vectors<V>& v)
{
    const auto size = std::visit([](const auto& m) { return matrix::size_of(m); }, a);
    const std::span<const V> x(v.x, static_cast<std::size_t>(size.cols));
    const std::span<V> y(v.y, static_cast<std::size_t>(size.rows));
    std::visit([&](const auto& m) { Plan<V, M>::once(ctx, m, v.alpha, x, v.beta, y, {.checked = false}); }, a);
}

}  // namespace

template <class M>
Policy direct_policy(const Context& ctx, const AnyCsr<M>& a)
{
    check_arrays(ctx, a);
    Buffer<offset_t> wide;
    const CsrView<M> rows = with_wide_offsets(ctx, a, wide);
    const Survey found = ctx.run([&](const auto& q) { return glance(q, rows, true); });
    if (!found.sound || (!rows.sorted && rows.unique)) {
        const Findings why = validate_pattern(ctx, rows);
        require<ValueError>(why.ok(), why.problem);
    }
    return choose({.format = Format::csr, .deterministic = ctx.is_deterministic(), .reused = false, .row = found.row},
                  {.backend = ctx.backend(), .threads = ctx.host().threads, .costs = typical_costs()})
        .policy;
}

template <class V, class M>
void multiply_direct(const Context& ctx, const AnyCsr<M>& a, const Policy& policy, V alpha, std::span<const V> x,
                     V beta, std::span<V> y)
{
    require<ValueError>(policy.kernel == Kernel::rows || policy.kernel == Kernel::split,
                        [&] { return concat("there is no direct product by ", to_text(policy.kernel)); });
    check_arrays(ctx, a);
    const auto size = std::visit([](const auto& m) { return matrix::size_of(m); }, a);
    require_vectors(ctx, size, x, y);
    if (size.rows == 0) return;
    const Vectors<V> v{alpha, x.data(), beta, y.data()};
    ctx.run([&](const auto& q) {
        if (alpha == V(0)) prim::scale(q, v.y, size.rows, v.beta);
        else multiply_on(ctx, q, a, policy, v);
    });
}

template Policy direct_policy(const Context&, const AnyCsr<float>&);
template Policy direct_policy(const Context&, const AnyCsr<double>&);
template void multiply_direct(const Context&, const AnyCsr<float>&, const Policy&, float, std::span<const float>, float,
                              std::span<float>);
template void multiply_direct(const Context&, const AnyCsr<double>&, const Policy&, double, std::span<const double>,
                              double, std::span<double>);
template void multiply_direct(const Context&, const AnyCsr<float>&, const Policy&, double, std::span<const double>,
                              double, std::span<double>);

}  // namespace tulle::inline TULLE_ABI::spmv
