// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Copies of matrices and arrays between the host and the memory of a context.
/// @code
/// auto A = tulle::to_device(ctx, host.view());        // host arrays to the memory of ctx
/// auto B = tulle::to_host(ctx, A.view());             // and back
/// @endcode
#pragma once

#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/memory.hpp"
#include "tulle/outline.hpp"

namespace tulle::inline TULLE_ABI {
namespace detail {

// How an array travels: up to a queue's memory, or down from it to the host.
template <class Queue>
struct Up {
    const Queue& q;
    template <class T>
    Buffer<T> operator()(const T* from, offset_t n) const
    {
        return to_queue(q, from, n);
    }
    const Queue& end() const { return q; }
};

template <class Queue>
struct Down {
    const Queue& q;
    CpuQueue host;
    template <class T>
    Buffer<T> operator()(const T* from, offset_t n) const
    {
        Buffer<T> here(host, n);
        download(q, from, here.data(), n);
        return here;
    }
    const CpuQueue& end() const { return host; }
};

template <class V, class Travel>
Csr<V> travel(const CsrView<V>& a, const Travel& go)
{
    return {a.rows,   a.cols,  go(a.row_begin, offset_t{a.rows} + 1), go(a.col, a.nonzeros), go(a.value, a.nonzeros),
            a.sorted, a.unique};
}

template <class V, class Travel>
Csc<V> travel(const CscView<V>& a, const Travel& go)
{
    return {a.rows,   a.cols,  go(a.col_begin, offset_t{a.cols} + 1), go(a.row, a.nonzeros), go(a.value, a.nonzeros),
            a.sorted, a.unique};
}

template <class V, class Travel>
Coo<V> travel(const CooView<V>& a, const Travel& go)
{
    return {a.rows, a.cols, go(a.row, a.nonzeros), go(a.col, a.nonzeros), go(a.value, a.nonzeros), a.order, a.unique};
}

template <class V, class Travel>
BlockedEll<V> travel(const BlockedEllView<V>& a, const Travel& go)
{
    return {a.rows, a.cols, a.block, a.width, go(a.block_col, a.slots()), go(a.value, a.slots() * a.block * a.block)};
}

// Offsets of 32 bits travel as they are and are widened where they arrive.
template <class Travel>
Buffer<offset_t> travel_and_widen(const std::int32_t* from, offset_t n, const Travel& go)
{
    const Buffer<std::int32_t> narrow = go(from, n);
    Buffer<offset_t> wide(go.end(), n);
    matrix::widen_offsets(go.end(), narrow.data(), n, wide.data());
    return wide;
}

template <class V, class Travel>
Csr<V> travel(const Csr32View<V>& a, const Travel& go)
{
    return {a.rows,
            a.cols,
            travel_and_widen(a.row_begin, offset_t{a.rows} + 1, go),
            go(a.col, a.nonzeros),
            go(a.value, a.nonzeros),
            a.sorted,
            a.unique};
}

template <class V, class Travel>
Csc<V> travel(const Csc32View<V>& a, const Travel& go)
{
    return {a.rows,
            a.cols,
            travel_and_widen(a.col_begin, offset_t{a.cols} + 1, go),
            go(a.row, a.nonzeros),
            go(a.value, a.nonzeros),
            a.sorted,
            a.unique};
}

// Whether to_device() can copy what it is given.
template <class View>
constexpr bool check_copied()
{
    static_assert(is_sparse_view<View>, "tulle: to_device() takes a view of a sparse matrix or a std::span<const T>");
    if constexpr (is_sparse_view<View>) check_value<typename ValueOf<View>::type, true>();
    return is_sparse_view<View>;
}

// ValueError if the array is null but not empty.
template <class T>
void require_data(std::span<T> array)
{
    require<ValueError>(array.data() != nullptr || array.empty(), [&] {
        return concat("the array is null, but must have ", array.size(), array.size() == 1 ? " entry" : " entries");
    });
}

}  // namespace detail

/// A copy of a sparse matrix in the memory of the context; waits. Offsets of 32 bits become offsets of 64 bits.
/// @param ctx where the copy goes: also a copy for a CPU context.
/// @param a a view of a sparse matrix whose arrays are on the host. Offsets and columns are copied as they are, also
/// where they are out of range: validate() finds that.
/// @return the owner of the copy: Csr for CsrView and Csr32View, Csc for CscView and Csc32View, Coo, BlockedEll.
/// @throws ValueError if a size is negative or an array missing.
/// @throws OutOfMemory if the budget or the device does not allow it.
template <class View>
auto to_device(const Context& ctx, const View& a)
{
    if constexpr (!detail::check_views<View>()) return to_device(ctx, a.view());
    else if constexpr (detail::check_copied<View>()) {
        matrix::require_outline(ctx.host(), matrix::outline(a));
        return ctx.run(
            [&](const auto& q) { return detail::travel(a, detail::Up<std::remove_cvref_t<decltype(q)>>{q}); });
    }
}

/// A copy of a sparse matrix on the host, counted in the memory of the context; waits.
/// @param ctx where the arrays of the view are.
/// @param a a view of a sparse matrix in the memory of the context.
/// @return the owner of the copy, as for to_device().
/// @throws ValueError if a size is negative, or an array missing or not in the memory of the context.
/// @throws OutOfMemory if the budget or the machine does not allow it.
template <class View>
auto to_host(const Context& ctx, const View& a)
{
    return ctx.run([&](const auto& q) {
        matrix::require_outline(q, matrix::outline(a));
        return detail::travel(a, detail::Down<std::remove_cvref_t<decltype(q)>>{q, ctx.host()});
    });
}

/// A copy of an array in the memory of the context; waits.
/// @param ctx where the copy goes.
/// @param host array on the host.
/// @throws ValueError if the array is null but not empty.
/// @throws OutOfMemory if the budget or the device does not allow it.
template <class T>
Buffer<T> to_device(const Context& ctx, std::span<const T> host)
{
    detail::require_data(host);
    return ctx.run([&](const auto& q) { return to_queue(q, host.data(), std::ssize(host)); });
}

/// A copy of an array on the host; waits.
/// @param ctx where the array is.
/// @param there array in the memory of the context.
/// @throws ValueError if the array is null but not empty.
/// @throws OutOfMemory if the budget or the machine does not allow it.
template <class T>
Buffer<T> to_host(const Context& ctx, std::span<const T> there)
{
    detail::require_data(there);
    return ctx.run([&](const auto& q) {
        return detail::Down<std::remove_cvref_t<decltype(q)>>{q, ctx.host()}(there.data(), std::ssize(there));
    });
}

}  // namespace tulle::inline TULLE_ABI
