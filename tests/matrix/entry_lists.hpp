// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the tests of conversions and reorderings share: a matrix in any format as a list of entries, and lists put in
// order by plain loops.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/battery.hpp"
#include "support/faults.hpp"
#include "support/host_matrix.hpp"
#include "tulle/convert.hpp"
#include "tulle/error.hpp"

namespace tulle::test {

template <class V>
using Entries = std::vector<std::tuple<index_t, index_t, V>>;

// The same body for float and double: body(V{}).
template <class F>
void for_both(F&& body)
{
    {
        SCOPED_TRACE("float");
        body(float{});
    }
    {
        SCOPED_TRACE("double");
        body(double{});
    }
}

template <class V, class F>
void for_battery(F&& body)
{
    for (const Case<V>& c : battery<V>(Values::integers)) {
        SCOPED_TRACE(c.name);
        body(c.a);
    }
}

template <class T>
std::vector<T> vector_of(const Context& ctx, const Buffer<T>& there)
{
    const Buffer<T> here = to_host(ctx, there.span());
    return {here.span().begin(), here.span().end()};
}

template <class V>
Entries<V> entries_of(const Context& ctx, const Csr<V>& a)
{
    return host_of(ctx, a.view()).entries();
}

template <class V>
Entries<V> swapped(Entries<V> entries)
{
    for (auto& [i, j, v] : entries) std::swap(i, j);
    return entries;
}

template <class V>
Entries<V> entries_of(const Context& ctx, const Csc<V>& a)
{
    return swapped(host_of(ctx, transposed(a.view())).entries());
}

template <class V>
Entries<V> entries_of(const Context& ctx, const Coo<V>& a)
{
    const Coo<V> here = to_host(ctx, a.view());
    Entries<V> all;
    for (offset_t k = 0; k < here.nonzeros(); ++k)
        all.emplace_back(here.row.data()[k], here.col.data()[k], here.value.data()[k]);
    return all;
}

template <class V>
Entries<V> entries_of(const Context& ctx, const Dense<V>& a)
{
    const std::vector<V> data = vector_of(ctx, a.data);
    Entries<V> all;
    for (index_t i = 0; i < a.rows; ++i)
        for (index_t j = 0; j < a.cols; ++j)
            if (const V v = data[static_cast<std::size_t>(a.view().at(i, j))]; v != V(0)) all.emplace_back(i, j, v);
    return all;
}

template <class V>
Entries<V> entries_of(const Context& ctx, const BlockedEll<V>& a)
{
    const BlockedEll<V> here = to_host(ctx, a.view());
    const BlockedEllView<V> e = here.view();
    Entries<V> all;
    for (offset_t slot = 0; slot < e.slots(); ++slot)
        for (index_t i = 0; i < e.block; ++i)
            for (index_t j = 0; j < e.block; ++j)
                if (const V v = e.value[(slot * e.block + i) * e.block + j]; v != V(0))
                    all.emplace_back(static_cast<index_t>(slot / e.width) * e.block + i,
                                     e.block_col[slot] * e.block + j, v);
    return all;
}

// By row, then column; entries at the same position stay in the order given.
template <class V>
Entries<V> in_order(Entries<V> entries)
{
    const auto before = [](const auto& x, const auto& y) {
        const auto row = std::get<0>(x), other = std::get<0>(y);
        return row < other || (row == other && std::get<1>(x) < std::get<1>(y));
    };
    if (!std::is_sorted(entries.begin(), entries.end(), before))
        std::stable_sort(entries.begin(), entries.end(), before);
    return entries;
}

// … and added up in that order.
template <class V>
Entries<V> summed(const Entries<V>& entries)
{
    std::map<std::pair<index_t, index_t>, V> sum;
    for (const auto& [i, j, v] : entries)
        if (const auto [at, fresh] = sum.try_emplace({i, j}, v); !fresh) at->second += v;
    Entries<V> all;
    for (const auto& [at, v] : sum) all.emplace_back(at.first, at.second, v);
    return all;
}

template <class V>
Entries<V> without_zeros(Entries<V> entries)
{
    std::erase_if(entries, [](const auto& e) { return std::get<2>(e) == V(0); });
    return entries;
}

// The entries in an order that has nothing to do with their positions.
template <class V>
Entries<V> shuffled(Entries<V> entries, std::uint64_t seed)
{
    for (std::size_t k = entries.size(); k > 1; --k) std::swap(entries[k - 1], entries[below(hash_of(seed, k), k)]);
    return entries;
}

template <class V>
::testing::AssertionResult same_entries(const Entries<V>& got, const Entries<V>& want)
{
    if (got.size() != want.size())
        return ::testing::AssertionFailure() << got.size() << " entries instead of " << want.size();
    for (std::size_t k = 0; k < got.size(); ++k) {
        const auto& [i, j, v] = got[k];
        const auto& [wi, wj, wv] = want[k];
        if (i != wi || j != wj || std::memcmp(&v, &wv, sizeof v) != 0)
            return ::testing::AssertionFailure() << "entry " << k << " is (" << i << ", " << j << ", " << v
                                                 << ") instead of (" << wi << ", " << wj << ", " << wv << ")";
    }
    return ::testing::AssertionSuccess();
}

// A CSR result: its shape, its offsets, exactly these entries in this order, and the flags.
template <class V>
::testing::AssertionResult is_csr(const Context& ctx, const Csr<V>& got, index_t rows, index_t cols,
                                  const Entries<V>& want, bool sorted, bool unique)
{
    if (got.rows != rows || got.cols != cols)
        return ::testing::AssertionFailure()
               << got.rows << " x " << got.cols << " instead of " << rows << " x " << cols;
    const HostCsr<V> here = host_of(ctx, got.view()), wanted = csr_of<V>(rows, cols, want);
    if (here.row_begin != wanted.row_begin) return ::testing::AssertionFailure() << "row_begin is wrong";
    if (got.sorted != sorted || got.unique != unique)
        return ::testing::AssertionFailure()
               << "sorted " << got.sorted << " unique " << got.unique << " instead of " << sorted << " " << unique;
    return same_entries(here.entries(), want);
}

// A COO matrix in the context's memory.
template <class V>
Coo<V> coo_of(const Context& ctx, index_t rows, index_t cols, const Entries<V>& entries, CooOrder order, bool unique)
{
    std::vector<index_t> row, col;
    std::vector<V> value;
    for (const auto& [i, j, v] : entries) row.push_back(i), col.push_back(j), value.push_back(v);
    return to_device(ctx, CooView<V>{rows, cols, std::ssize(row), row.data(), col.data(), value.data(), order, unique});
}

template <class V>
::testing::AssertionResult unchanged(const Context& ctx, const Csr<V>& a, const HostCsr<V>& before)
{
    const HostCsr<V> now = host_of(ctx, a.view());
    if (now.row_begin == before.row_begin && now.col == before.col && now.value == before.value)
        return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "the input was changed";
}

}  // namespace tulle::test
