// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Matrices between the host and a context's memory.
//
//     auto A = tulle::to_device(ctx, host.view());        // host arrays to wherever ctx works
//     auto B = tulle::to_host(ctx, A.view());             // and back
#pragma once

#include "tulle/device/context.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/matrix/blocked_ell.hpp"
#include "tulle/matrix/coo.hpp"
#include "tulle/matrix/csc.hpp"
#include "tulle/matrix/csr.hpp"
#include "tulle/matrix/dense.hpp"

namespace tulle {
namespace detail {

// How an array travels: up to a queue's memory, or down from it to the host.
template <class Queue>
struct Up {
    const Queue& q;
    template <class T>
    Buffer<T> operator()(const T* from, offset_t n) const { return to_queue(q, from, n); }
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
};

template <class V, class Travel>
Csr<V> travel(const CsrView<V>& a, const Travel& go)
{
    return {a.rows, a.cols, go(a.row_begin, offset_t{a.rows} + 1), go(a.col, a.nonzeros), go(a.value, a.nonzeros), a.sorted, a.unique};
}

template <class V, class Travel>
Csc<V> travel(const CscView<V>& a, const Travel& go)
{
    return {a.rows, a.cols, go(a.col_begin, offset_t{a.cols} + 1), go(a.row, a.nonzeros), go(a.value, a.nonzeros), a.sorted, a.unique};
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

}  // namespace detail

// A copy in the memory of the context; the view's arrays are on the host.
template <class View>
auto to_device(const Context& ctx, const View& a)
{
    return ctx.run([&](const auto& q) { return detail::travel(a, detail::Up<std::remove_cvref_t<decltype(q)>>{q}); });
}

// A copy on the host; the view's arrays are in the memory of the context. Waits.
template <class View>
auto to_host(const Context& ctx, const View& a)
{
    return ctx.run([&](const auto& q) { return detail::travel(a, detail::Down<std::remove_cvref_t<decltype(q)>>{q, ctx.host()}); });
}

// The same for plain arrays.
template <class T>
Buffer<T> to_device(const Context& ctx, std::span<const T> host)
{
    return ctx.run([&](const auto& q) { return to_queue(q, host.data(), std::ssize(host)); });
}

template <class T>
Buffer<T> to_host(const Context& ctx, std::span<const T> there)
{
    return ctx.run([&](const auto& q) { return detail::Down<std::remove_cvref_t<decltype(q)>>{q, ctx.host()}(there.data(), std::ssize(there)); });
}

}  // namespace tulle
