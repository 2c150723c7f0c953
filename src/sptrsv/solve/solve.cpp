// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a plan does after it was made: solve, take new values, wait. Nothing is decided here.
#include <string_view>
#include <vector>

#include "device/placed.hpp"
#include "prim/scale.hpp"
#include "sptrsv/plan_state.hpp"
#include "tulle/memory.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

template <class V>
void require_shape(const DenseView<V>& m, index_t rows, index_t cols, std::string_view name)
{
    require(m.rows == rows && m.cols == cols,
            [&] { return concat(name, " is ", m.rows, " x ", m.cols, ", not ", rows, " x ", cols); });
    check_dense(m, name);
}

template <class V>
offset_t row_step(const DenseView<V>& m)
{
    return m.layout == Layout::row_major ? m.leading : 1;
}
template <class V>
offset_t col_step(const DenseView<V>& m)
{
    return m.layout == Layout::row_major ? 1 : m.leading;
}

template <class V>
offset_t extent(const DenseView<V>& m)
{
    return matrix::count_reach(m.rows, m.cols, m.leading, m.layout, sizeof(V));
}

template <class V>
void require_apart_or_same(const DenseView<const V>& b, const DenseView<V>& x)
{
    const bool same = b.data == x.data && (b.layout == x.layout || b.cols <= 1 || b.rows <= 1) &&
                      (b.leading == x.leading || b.cols <= 1);
    const bool apart = b.data + extent(b) <= x.data || x.data + extent(x) <= b.data;
    require<ValueError>(same || apart, "b and x overlap without being the same",
                        "give x memory of its own, or that of b");
}

// alpha = 0: nothing of the triangle and b is read.
template <class V>
void clear(const Context& ctx, const DenseView<V>& x)
{
    const bool by_rows = x.layout == Layout::row_major;
    ctx.run([&](const auto& q) {
        prim::scale(q, prim::Lines<V>{x.data, by_rows ? x.rows : x.cols, by_rows ? x.cols : x.rows, x.leading}, V(0));
    });
}

// Values are all that is read of a matrix whose pattern is known.
template <class V>
WideView<V> without_offsets(const AnyView<V>& any)
{
    return std::visit(
        []<class View>(const View& a) -> WideView<V> {
            if constexpr (matrix::is_narrow<View>) return matrix::with_offsets(a, nullptr);
            else return a;
        },
        any);
}

// What the kernels wrote down, for each that was prepared: a row plus one, or zero.
template <class V>
std::vector<int> faults(const CudaQueue& q, const Prepared<V>& p)
{
    std::vector<int> found;
    for (const SolveScratch<V>* shared : {&p.shared, &p.many_shared})
        if (!shared->turns.empty()) found.push_back(read_value(q, &shared->turns.data()->fault));
    if (!p.flags.flag.empty()) found.push_back(read_value(q, p.flags.flag.data() + p.flags.flag.size() - 1));
    return found;
}

}  // namespace

template <class V>
void Plan<V>::solve(V alpha, const DenseView<const V>& b, const DenseView<V>& x) const
{
    State& s = *state_;
    require<ValueError>(s.usable, "the plan has no values it could solve with: the last update_values was refused",
                        "call update_values with a diagonal without zeros");
    require_shape(b, rows(), x.cols, "b");
    require_shape(x, rows(), x.cols, "x");
    require_apart_or_same(b, x);
    require_placed(s.ctx, b.data, static_cast<std::size_t>(extent(b)), s.known_b, "b");
    require_placed(s.ctx, x.data, static_cast<std::size_t>(extent(x)), s.known_x, "x");
    if (x.rows == 0 || x.cols == 0) return;
    if (alpha == V(0)) return clear(s.ctx, x);
    run(s.ctx, s.prepared,
        RhsView<V>{alpha, b.data, row_step(b), col_step(b), x.data, row_step(x), col_step(x), x.cols});
}

template <class V>
void Plan<V>::solve(V alpha, std::span<const V> b, std::span<V> x) const
{
    require(std::ssize(b) == rows(),
            [&] { return concat("b has ", b.size(), " entries, but the triangle has ", rows(), " rows"); });
    require(std::ssize(x) == rows(),
            [&] { return concat("x has ", x.size(), " entries, but the triangle has ", rows(), " rows"); });
    solve(alpha, DenseView<const V>{rows(), 1, rows(), Layout::col_major, b.data()},
          DenseView<V>{rows(), 1, rows(), Layout::col_major, x.data()});
}

template <class V>
void Plan<V>::update_values(const AnyView<V>& given)
{
    State& s = *state_;
    check_arrays(s.ctx, given);
    const auto a = without_offsets(given);
    require<PlanMismatch>(a.index() == s.format, "the plan is for a matrix in another format");
    const CsrView<V> m = as_rows(a);
    require<PlanMismatch>(m.rows == rows() && m.cols == rows() && m.nonzeros == s.nonzeros, [&] {
        return concat("the plan is for ", rows(), " x ", rows(), " with ", s.nonzeros,
                      " stored values, the new matrix is ", m.rows, " x ", m.cols, " with ", m.nonzeros);
    });
    s.usable = false;
    set_values(s.ctx, m.value, s.prepared);
    s.usable = true;
}

template <class V>
void Plan<V>::wait() const
{
    const State& s = *state_;
    s.ctx.synchronize();
    s.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const int row : faults(q, s.prepared))
                require<DeviceError>(
                    row == 0, [&] { return concat("row ", row - 1, ": gave up waiting for the rows it needs"); },
                    "was memory of the plan overwritten?");
        (void)q;
    });
}

template void Plan<float>::solve(float, const DenseView<const float>&, const DenseView<float>&) const;
template void Plan<float>::solve(float, std::span<const float>, std::span<float>) const;
template void Plan<float>::update_values(const AnyView<float>&);
template void Plan<float>::wait() const;
template void Plan<double>::solve(double, const DenseView<const double>&, const DenseView<double>&) const;
template void Plan<double>::solve(double, std::span<const double>, std::span<double>) const;
template void Plan<double>::update_values(const AnyView<double>&);
template void Plan<double>::wait() const;

}  // namespace tulle::inline TULLE_ABI::sptrsv
