// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which entries of a row a Select keeps, the same on both backends. Magnitudes are compared as the integers that their
// bits are, which orders NaN above infinity: every rule is a bar, and entries at or above it stay.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tulle/graph.hpp"

namespace tulle::inline TULLE_ABI::graph {

template <class V>
using KeyOf = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;

// The magnitude as an integer in the same order.
template <class V>
constexpr KeyOf<V> key_of(V v)
{
    return std::bit_cast<KeyOf<V>>(v) & (~KeyOf<V>{0} >> 1);
}

template <class V>
constexpr V magnitude_of(KeyOf<V> key)
{
    return std::bit_cast<V>(key);
}

// A Select for values of type V; cut: the key of the threshold, rounded up.
template <class V>
struct Rule {
    KeyOf<V> cut;
    offset_t most, recover;
    double share;
    Triangle triangle;
    index_t first_row = 0;  // the matrix is the rows of a larger one from this on

    constexpr bool is_inside(index_t row, index_t col) const
    {
        row += first_row;
        return triangle == Triangle::whole || (triangle == Triangle::lower ? col < row : col > row);
    }
    constexpr bool is_bar_fixed() const { return most == 0 && recover == 0; }
    // With a threshold above zero, entries that are zero never stay.
    constexpr KeyOf<V> lowest() const { return cut > 0 ? 1 : 0; }
    constexpr KeyOf<V> at_least_lowest(KeyOf<V> bar) const { return bar > lowest() ? bar : lowest(); }
};

template <class V>
Rule<V> rule_of(const Select& s)
{
    V cut = static_cast<V>(s.threshold);
    if (static_cast<double>(cut) < s.threshold) cut = std::nextafter(cut, std::numeric_limits<V>::infinity());
    return {key_of(cut), s.most_per_row, s.recover, s.recover_share, s.triangle};
}

// The bar of a row. row.size(): its entries; row.count(bar), row.mass(bar): of those at or above a bar, how many there
// are and the sum of their magnitudes; row.kth(k): the key of the k-th largest, k from 1 to size().
template <class V, class Row>
constexpr KeyOf<V> bar_of(const Rule<V>& rule, Row& row)
{
    if (rule.is_bar_fixed()) return rule.cut;
    const offset_t above = row.count(rule.cut);
    const double enough = rule.recover > 0 ? rule.share * row.mass(0) : 0;
    if (rule.recover > 0 && above < rule.recover && row.mass(rule.cut) < enough)
        return row.size() > rule.recover ? rule.at_least_lowest(row.kth(rule.recover)) : rule.lowest();
    if (rule.most == 0 || above <= rule.most) return rule.cut;
    const KeyOf<V> bar = row.kth(rule.most);
    if (rule.recover == 0 || row.count(bar) >= rule.recover || row.mass(bar) >= enough) return bar;
    return above > rule.recover ? row.kth(rule.recover) : rule.cut;
}

}  // namespace tulle::inline TULLE_ABI::graph
