// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which entries of a row a Select keeps, the same on both backends. Magnitudes are compared as the integers that their
// bits are, which orders NaN above infinity: every rule is a cutoff, and entries at or above it stay.
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

// A Select for values of type V; threshold: its key, rounded up.
template <class V>
struct Rule {
    KeyOf<V> threshold;
    offset_t most, recover;
    double share;
    Triangle triangle;
    index_t first_row = 0;  // the matrix is the rows of a larger one from this on

    constexpr bool is_inside(index_t row, index_t col) const
    {
        row += first_row;
        return triangle == Triangle::whole || (triangle == Triangle::lower ? col < row : col > row);
    }
    constexpr bool is_cutoff_fixed() const { return most == 0 && recover == 0; }
    // With a threshold above zero, entries that are zero never stay.
    constexpr KeyOf<V> lowest() const { return threshold > 0 ? 1 : 0; }
    constexpr KeyOf<V> at_least_lowest(KeyOf<V> cutoff) const { return cutoff > lowest() ? cutoff : lowest(); }
};

template <class V>
Rule<V> rule_of(const Select& s)
{
    V cut = static_cast<V>(s.threshold);
    if (static_cast<double>(cut) < s.threshold) cut = std::nextafter(cut, std::numeric_limits<V>::infinity());
    return {key_of(cut), s.most_per_row, s.recover, s.recover_share, s.triangle};
}

// The cutoff of a row. row.size(): its entries; row.count(cutoff), row.mass(cutoff): of those at or above a cutoff, how
// many there are and the sum of their magnitudes; row.kth(k): the key of the k-th largest, k from 1 to size().
template <class V, class Row>
constexpr KeyOf<V> cutoff_of(const Rule<V>& rule, Row& row)
{
    if (rule.is_cutoff_fixed()) return rule.threshold;
    const offset_t above = row.count(rule.threshold);
    const double enough = rule.recover > 0 ? rule.share * row.mass(0) : 0;
    if (rule.recover > 0 && above < rule.recover && row.mass(rule.threshold) < enough)
        return row.size() > rule.recover ? rule.at_least_lowest(row.kth(rule.recover)) : rule.lowest();
    if (rule.most == 0 || above <= rule.most) return rule.threshold;
    const KeyOf<V> cutoff = row.kth(rule.most);
    if (rule.recover == 0 || row.count(cutoff) >= rule.recover || row.mass(cutoff) >= enough) return cutoff;
    return above > rule.recover ? row.kth(rule.recover) : rule.threshold;
}

}  // namespace tulle::inline TULLE_ABI::graph
