// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The battery of triangles, and the oracle of a solve with a bound that substitution in any order keeps, and so do
// inverses of clusters:
//
//     |x_computed - x| <= gamma (|L^-1| |L|)^p |x|     componentwise, p = 1 for substitution, 2 where a cluster is
//                                                      solved by its inverse
//
// |L^-1| is bounded by the inverse of the comparison matrix (|l_ii| on the diagonal, -|l_ij| beside it), which has no
// negative entry.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error_bound.hpp"
#include "support/battery.hpp"

namespace tulle::test {

// TULLE_REGIMES=none leaves out the execution_scopes of one block and one cluster, for tools that do not know words of
// shared memory that are their own flags (gpu/run).
inline bool without_regimes()
{
    const char* execution_scopes = std::getenv("TULLE_REGIMES");
    return execution_scopes && std::string_view(execution_scopes) == "none";
}

// Entries of a lower triangle, diagonal included: in [-1, 1) beside a diagonal in ±[1, 2) times 1 + the row's length
// / 2.
template <class V>
V triangle_value(std::uint64_t seed, index_t i, index_t j, index_t entries)
{
    const std::uint64_t h = hash_of(seed, i, j);
    if (i != j) return static_cast<V>(2.0 * unit(h) - 1.0);
    return static_cast<V>((unit(h) + 1.0) * (1.0 + entries / 2.0) * (below(h, 2) ? 1.0 : -1.0));
}

// A lower triangle with an entry wherever keep(i, j) says so, and everywhere on the diagonal.
template <class V, class Keep>
HostCsr<V> triangle_where(index_t n, std::uint64_t seed, Keep&& keep)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (index_t i = 0; i < n; ++i) {
        std::vector<index_t> cols;
        for (index_t j = 0; j < i; ++j)
            if (keep(i, j)) cols.push_back(j);
        cols.push_back(i);
        for (const index_t j : cols)
            entries.emplace_back(i, j, triangle_value<V>(seed, i, j, static_cast<index_t>(cols.size())));
    }
    return csr_of<V>(n, n, entries);
}

template <class V>
std::vector<Case<V>> triangles(unsigned one_in = turns)
{
    std::vector<Case<V>> all;
    unsigned number = 0;
    const auto add = [&](const std::string& name, index_t n, std::uint64_t seed, auto&& keep) {
        if (n <= 1 || name == "diagonal" || has_turn(number++, one_in))
            all.push_back({name, triangle_where<V>(n, seed, keep)});  // those without entries always
    };
    const auto chance = [](double density, std::uint64_t seed) {
        return [=](index_t i, index_t j) { return unit(hash_of(seed, i, j)) < density; };
    };
    add("empty", 0, 1, [](index_t, index_t) { return false; });
    add("one by one", 1, 1, [](index_t, index_t) { return false; });
    add("diagonal", 67, 2, [](index_t, index_t) { return false; });
    for (const index_t n : {2, 31, 32, 33, 64, 65, 100})
        add("chain of " + std::to_string(n), n, 3, [](index_t i, index_t j) { return j == i - 1; });
    add("two chains", 90, 4, [](index_t i, index_t j) { return j == i - 2; });
    add("dense triangle", 70, 5, [](index_t, index_t) { return true; });
    add("band", 150, 6, [](index_t i, index_t j) { return i - j <= 7; });
    add("blocks of a mesh", 96, 7,
        [](index_t i, index_t j) { return i / 6 == j / 6 || (i / 6 - j / 6 == 1 && (i + j) % 2 == 0) || i - j == 40; });
    add("grid", 144, 8, [](index_t i, index_t j) { return j == i - 12 || (j == i - 1 && i % 12 != 0); });
    add("arrow", 400, 9, [](index_t i, index_t) { return i == 399; });
    add("arrow, then a chain", 420, 10, [](index_t i, index_t j) { return i == 330 || (i > 330 && j == i - 1); });
    add("all need the first", 200, 11, [](index_t, index_t j) { return j == 0; });
    add("random, sparse", 200, 12, chance(0.01, 12));
    add("random", 120, 13, chance(0.1, 13));
    add("power law", 180, 14,
        [](index_t i, index_t j) { return below(hash_of(77, i, j), 200) < 400u / static_cast<unsigned>(j + 2); });
    add("tree", 130, 15, [](index_t i, index_t j) { return j == (i - 1) / 2; });
    return all;
}

// The triangle turned round: row i becomes row n-1-i, columns likewise; lower becomes upper.
template <class V>
HostCsr<V> turned(const HostCsr<V>& a)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (const auto& [i, j, v] : a.entries()) entries.emplace_back(a.rows - 1 - i, a.rows - 1 - j, v);
    std::sort(entries.begin(), entries.end());
    return csr_of<V>(a.rows, a.cols, entries);
}

template <class V>
HostCsr<V> transposed_of(const HostCsr<V>& a)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (const auto& [i, j, v] : a.entries()) entries.emplace_back(j, i, v);
    std::sort(entries.begin(), entries.end());
    return csr_of<V>(a.rows, a.cols, entries);
}

template <class V>
struct Solution {
    std::vector<long double> x, bound;
};

// Solves with `a`, a lower triangle on the host, in long double.
template <class V>
Solution<V> oracle_solve(const HostCsr<V>& a, V alpha, const std::vector<V>& b, int power)
{
    const auto n = static_cast<std::size_t>(a.rows);
    Solution<V> s{std::vector<long double>(n, 0), std::vector<long double>(n, 0)};
    // L y = r with the entries as they are, or the comparison matrix with |L| f as the right-hand side
    const auto each = [&](std::size_t i, auto&& f) {
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            f(static_cast<std::size_t>(a.col[static_cast<std::size_t>(k)]),
              static_cast<long double>(a.value[static_cast<std::size_t>(k)]));
    };
    for (std::size_t i = 0; i < n; ++i) {
        long double sum = static_cast<long double>(alpha) * static_cast<long double>(b[i]), diagonal = 1;
        each(i, [&](std::size_t j, long double v) { j == i ? void(diagonal = v) : void(sum -= v * s.x[j]); });
        s.x[i] = sum / diagonal;
        s.bound[i] = std::abs(s.x[i]);
    }
    offset_t longest = 0;
    for (std::size_t i = 0; i < n; ++i) longest = std::max(longest, a.row_begin[i + 1] - a.row_begin[i]);
    for (int p = 0; p < power; ++p) {
        std::vector<long double> f = s.bound;
        for (std::size_t i = 0; i < n; ++i) {
            long double sum = 0, diagonal = 1;
            each(i, [&](std::size_t j, long double v) {
                sum += std::abs(v) * f[j];
                j == i ? void(diagonal = std::abs(v)) : void(sum += std::abs(v) * s.bound[j]);
            });
            s.bound[i] = sum / diagonal;
        }
    }
    for (long double& bound : s.bound) bound = error_bound::of_solve<V>(static_cast<long double>(longest), bound);
    return s;
}

template <class V>
::testing::AssertionResult within_bound(const std::vector<V>& got, const Solution<V>& want)
{
    if (got.size() != want.x.size())
        return ::testing::AssertionFailure() << got.size() << " entries, not " << want.x.size();
    for (std::size_t i = 0; i < got.size(); ++i) {
        const long double error = std::abs(static_cast<long double>(got[i]) - want.x[i]);
        if (!(error <= want.bound[i]))
            return ::testing::AssertionFailure() << "entry " << i << ": " << got[i] << " instead of " << want.x[i]
                                                 << ", error " << error << ", bound " << want.bound[i];
    }
    return ::testing::AssertionSuccess();
}

}  // namespace tulle::test
