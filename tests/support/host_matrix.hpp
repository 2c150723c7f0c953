// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Matrices on the host for tests: plain vectors that can be looked at, and views of them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "tulle/csr.hpp"
#include "tulle/transfer.hpp"

namespace tulle::test {

template <class V>
struct HostCsr {
    index_t rows = 0, cols = 0;
    std::vector<offset_t> row_begin{0};
    std::vector<index_t> col;
    std::vector<V> value;
    bool sorted = true, unique = true;

    CsrView<V> view() const
    {
        return {rows,   cols,  static_cast<offset_t>(col.size()), row_begin.data(), col.data(), value.data(),
                sorted, unique};
    }

    // Entries in row order: {row, col, value}.
    std::vector<std::tuple<index_t, index_t, V>> entries() const
    {
        std::vector<std::tuple<index_t, index_t, V>> all;
        for (index_t i = 0; i < rows; ++i)
            for (offset_t k = row_begin[static_cast<std::size_t>(i)]; k < row_begin[static_cast<std::size_t>(i) + 1];
                 ++k)
                all.emplace_back(i, col[static_cast<std::size_t>(k)], value[static_cast<std::size_t>(k)]);
        return all;
    }
};

// The view of a temporary owner, which does not give one itself: for the expression it stands in.
template <class Owner>
auto view_of(const Owner& temporary)
{
    return temporary.view();
}

// From {row, col, value} triples in any order; kept in the order given inside each row.
template <class V>
HostCsr<V> csr_of(index_t rows, index_t cols, const std::vector<std::tuple<index_t, index_t, V>>& entries)
{
    HostCsr<V> a{.rows = rows,
                 .cols = cols,
                 .row_begin = std::vector<offset_t>(static_cast<std::size_t>(rows) + 1, 0),
                 .col = std::vector<index_t>(entries.size()),
                 .value = std::vector<V>(entries.size())};
    for (const auto& [i, j, v] : entries) ++a.row_begin[static_cast<std::size_t>(i) + 1];
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) a.row_begin[i + 1] += a.row_begin[i];
    std::vector<offset_t> next = a.row_begin;
    for (const auto& [i, j, v] : entries) {
        const offset_t k = next[static_cast<std::size_t>(i)]++;
        a.col[static_cast<std::size_t>(k)] = j;
        a.value[static_cast<std::size_t>(k)] = v;
        if (k > a.row_begin[static_cast<std::size_t>(i)] && j <= a.col[static_cast<std::size_t>(k) - 1])
            a.sorted = false;
    }
    if (a.sorted) return a;
    std::set<std::pair<index_t, index_t>> seen;
    for (const auto& [i, j, v] : entries) a.unique = seen.emplace(i, j).second && a.unique;
    return a;
}

// What an owner in a context's memory contains, brought to the host.
template <class V>
HostCsr<V> host_of(const Context& ctx, const CsrView<V>& a)
{
    const Csr<V> here = to_host(ctx, a);
    HostCsr<V> b{.rows = a.rows,
                 .cols = a.cols,
                 .row_begin = {},
                 .col = {},
                 .value = {},
                 .sorted = a.sorted,
                 .unique = a.unique};
    b.row_begin.assign(here.row_begin.span().begin(), here.row_begin.span().end());
    b.col.assign(here.col.span().begin(), here.col.span().end());
    b.value.assign(here.value.span().begin(), here.value.span().end());
    return b;
}

template <class V>
HostCsr<V> host_of(const Context& ctx, const Csr<V>& a)
{
    return host_of(ctx, a.view());
}

// An array on the host.
template <class T>
std::vector<T> host_vector(const Context& c, const Buffer<T>& there)
{
    const Buffer<T> here = to_host<T>(c, there.span());
    return {here.data(), here.data() + here.size()};
}

}  // namespace tulle::test
