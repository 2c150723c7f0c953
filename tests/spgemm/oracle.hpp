// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The oracle of C = A B: plain loops in long double over all pairs of nonzeros, and the bound that any order of
// summation keeps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/error_bound.hpp"
#include "support/host_matrix.hpp"

namespace tulle::test {

struct Entry {
    long double value = 0, magnitude = 0;
    offset_t terms = 0;
};

struct SparseProduct {
    index_t rows = 0, cols = 0;
    std::vector<std::map<index_t, Entry>> row;

    offset_t nonzeros() const
    {
        offset_t n = 0;
        for (const auto& r : row) n += static_cast<offset_t>(r.size());
        return n;
    }
};

template <class V>
HostCsr<V> transposed(const HostCsr<V>& a)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (const auto& [i, j, v] : a.entries()) entries.emplace_back(j, i, v);
    return csr_of<V>(a.cols, a.rows, entries);
}

template <class V>
SparseProduct oracle_product(const HostCsr<V>& a, const HostCsr<V>& b)
{
    SparseProduct c{a.rows, b.cols, std::vector<std::map<index_t, Entry>>(static_cast<std::size_t>(a.rows))};
    for (const auto& [i, j, v] : a.entries())
        for (offset_t k = b.row_begin[static_cast<std::size_t>(j)]; k < b.row_begin[static_cast<std::size_t>(j) + 1];
             ++k) {
            const long double term =
                static_cast<long double>(v) * static_cast<long double>(b.value[static_cast<std::size_t>(k)]);
            Entry& e = c.row[static_cast<std::size_t>(i)][b.col[static_cast<std::size_t>(k)]];
            e.value += term;
            e.magnitude += std::abs(term);
            ++e.terms;
        }
    return c;
}

template <class V>
bool is_close(long double got, const Entry& want)
{
    if (std::isnan(want.value) || std::isnan(want.magnitude)) return std::isnan(got);
    if (std::isinf(want.magnitude)) return std::isinf(want.value) ? got == want.value : std::isnan(got);
    return std::abs(got - want.value) <= error_bound::of_sum<V>(static_cast<long double>(want.terms), want.magnitude);
}

// Sorted, without duplicates, exactly the oracle's pattern, every value within its bound.
template <class V>
::testing::AssertionResult matches(const HostCsr<V>& got, const SparseProduct& want)
{
    if (got.rows != want.rows || got.cols != want.cols)
        return ::testing::AssertionFailure() << got.rows << " x " << got.cols;
    if (static_cast<offset_t>(got.row_begin.size()) != offset_t{got.rows} + 1 || got.row_begin.front() != 0)
        return ::testing::AssertionFailure() << "row_begin is damaged";
    for (index_t i = 0; i < got.rows; ++i) {
        const auto& row = want.row[static_cast<std::size_t>(i)];
        const offset_t begin = got.row_begin[static_cast<std::size_t>(i)],
                       end = got.row_begin[static_cast<std::size_t>(i) + 1];
        if (end - begin != static_cast<offset_t>(row.size()))
            return ::testing::AssertionFailure()
                   << "row " << i << " has " << end - begin << " entries, not " << row.size();
        offset_t k = begin;
        for (const auto& [col, entry] : row) {
            const auto at = static_cast<std::size_t>(k++);
            if (got.col[at] != col)
                return ::testing::AssertionFailure()
                       << "row " << i << ": column " << got.col[at] << " instead of " << col;
            if (!is_close<V>(static_cast<long double>(got.value[at]), entry))
                return ::testing::AssertionFailure()
                       << "C(" << i << ", " << col << ") = " << got.value[at] << " instead of " << entry.value;
        }
    }
    return ::testing::AssertionSuccess();
}

}  // namespace tulle::test
