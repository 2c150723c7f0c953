// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products over semirings by plain loops over maps of entries.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "support/battery.hpp"
#include "tulle/graph.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::graph {

using namespace tulle::test;

inline constexpr Semiring all_semirings[] = {Semiring::plus_times, Semiring::min_plus,   Semiring::max_plus,
                                             Semiring::max_min,    Semiring::or_and,     Semiring::plus_pair,
                                             Semiring::min_first,  Semiring::plus_second};

inline double times(Semiring s, double a, double b)
{
    switch (s) {
    case Semiring::plus_times: return a * b;
    case Semiring::min_plus:
    case Semiring::max_plus: return a + b;
    case Semiring::max_min: return std::min(a, b);
    case Semiring::or_and: return a != 0 && b != 0;
    case Semiring::plus_pair: return 1;
    case Semiring::min_first: return a;
    default: return b;
    }
}

inline double add(Semiring s, double a, double b)
{
    switch (s) {
    case Semiring::min_plus:
    case Semiring::min_first: return std::min(a, b);
    case Semiring::max_plus:
    case Semiring::max_min: return std::max(a, b);
    case Semiring::or_and: return a != 0 || b != 0;
    default: return a + b;
    }
}

using Entries = std::map<std::pair<index_t, index_t>, double>;

inline Entries product(Semiring s, const HostCsr<double>& a, const HostCsr<double>& b)
{
    Entries c;
    for (const auto& [i, k, x] : a.entries())
        for (offset_t p = b.row_begin[static_cast<std::size_t>(k)]; p < b.row_begin[static_cast<std::size_t>(k) + 1];
             ++p) {
            const double v = times(s, x, b.value[static_cast<std::size_t>(p)]);
            const auto [at, is_new] = c.try_emplace({i, b.col[static_cast<std::size_t>(p)]}, v);
            if (!is_new) at->second = add(s, at->second, v);
        }
    return c;
}

inline Entries entries_of(const Context& c, const Csr<double>& m)
{
    Entries all;
    for (const auto& [i, j, v] : host_of(c, m).entries()) EXPECT_TRUE(all.try_emplace({i, j}, v).second);
    return all;
}

}  // namespace tulle::inline TULLE_ABI::graph
