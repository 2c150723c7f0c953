// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A row of sums as a dense array, of which some ranges are not zero, as cutoff_of() asks for it. Where the sum of all
// magnitudes is known before, only what reaches the threshold is looked for; else, and where all entries are counted,
// one pass of vectors finds all that is asked with the threshold. Keys of smaller entries are put together only where
// one of the largest is looked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>

#include "base/vector.hpp"
#include "graph/cpu/key_row.hpp"
#include "graph/cpu/sums.hpp"
#include "graph/cpu/touched.hpp"

namespace tulle::inline TULLE_ABI::graph {

template <class V, class Sums>
class DenseRow {
public:
    using Key = KeyOf<V>;
    static constexpr int lanes =
        sums_at_once;  // the array is as long as a multiple of this, with zeros behind the columns

    // places: all others are zero; keys, list: room for as many; mass: the sum of all magnitudes, if it is known.
    DenseRow(const Sums& sums, const PlaceRanges& places, const Rule<V>& rule, Key* keys, index_t* list,
             std::optional<double> mass)
        : sums_(sums),
          places_(places),
          threshold_(rule.threshold),
          keys_{keys, 0},
          list_(list)
    {
        if (rule.is_cutoff_fixed()) return;
        if (mass) find_above(*mass);
        else measure();
    }

    offset_t size()
    {
        if (!measured_) measure();
        return entries_;
    }
    offset_t count(Key cutoff) const { return cutoff == threshold_ ? above_ : keys_.count(cutoff); }
    double mass(Key cutoff) const
    {
        return cutoff == 0 ? mass_ : cutoff == threshold_ ? mass_above_ : keys_.mass(cutoff);
    }
    Key kth(offset_t k)
    {
        collect(k <= above_ ? threshold_ : 1);
        return keys_.kth(k);
    }

    // The places of sums at or above the cutoff, which is not 0, to the list in ascending order; how many there are.
    offset_t keep(Key cutoff)
    {
        if (cutoff < listed_from_) collect(cutoff);
        offset_t n = 0;
        for (offset_t k = 0; k < keys_.entries; ++k)
            if (key_of(sums_.value(list_[k])) >= cutoff) list_[n++] = list_[k];
        return n;
    }

private:
    using Int = std::conditional_t<sizeof(V) == 4, std::int32_t, std::int64_t>;
    using Ints = simd::Vector<Int, lanes>;
    using Values = simd::Vector<V, lanes>;
    static constexpr offset_t block = 8 * lanes;

    // Keys have no sign bit: the order of signed integers is theirs.
    Ints keys_at(offset_t j) const { return simd::bits_as<Ints>(sums_.values(j)) & static_cast<Int>(~Key{0} >> 1); }
    template <class Visit>
    static void visit_where(const Ints& flags, offset_t j, Visit&& visit)
    {
        for (int w = 0; w < lanes; ++w)
            if (flags[w]) visit(j + w);
    }
    static bool is_none(const Ints& flags)
    {
        const auto words = simd::bits_as<simd::Vector<std::int64_t, sizeof(Ints) / 8>>(flags);
        std::int64_t any = 0;
        for (std::size_t w = 0; w < sizeof(Ints) / 8; ++w) any |= words[w];
        return any == 0;
    }
    // The places in a range where the sum is sought, in ascending order, to the list behind its first n; how many it
    // has then.
    template <class Sought>
    offset_t list_reaching(const Sought& sought, const PlaceRanges::Range& range, offset_t n) const
    {
        const auto put = [&](offset_t j) { list_[n++] = static_cast<index_t>(j); };
        offset_t j = range.begin;
        if constexpr (requires { sums_.list_reaching(j, j, sought, list_, n); }) {
            std::tie(n, j) = sums_.list_reaching(j, range.end, sought, list_, n);
        } else {
            for (; j + 4 * lanes <= range.end; j += 4 * lanes) {
                const Ints first = sums_.reaches(j, sought), second = sums_.reaches(j + lanes, sought);
                const Ints third = sums_.reaches(j + 2 * lanes, sought), last = sums_.reaches(j + 3 * lanes, sought);
                if (is_none((first | second) | (third | last))) continue;
                visit_where(first, j, put);
                visit_where(second, j + lanes, put);
                visit_where(third, j + 2 * lanes, put);
                visit_where(last, j + 3 * lanes, put);
            }
        }
        for (; j < range.end; j += lanes) visit_where(sums_.reaches(j, sought), j, put);
        return n;
    }
    // The cutoff is not 0.
    void collect(Key cutoff)
    {
        listed_from_ = cutoff;
        const auto sought = sums_.sought(cutoff);
        keys_.entries = 0;
        for (const PlaceRanges::Range& range : places_) keys_.entries = list_reaching(sought, range, keys_.entries);
        for (offset_t k = 0; k < keys_.entries; ++k) keys_.key[k] = key_of(sums_.value(list_[k]));
    }
    void find_above(double mass)
    {
        collect(threshold_);
        above_ = keys_.entries;
        mass_above_ = keys_.mass(threshold_);
        mass_ = mass;
    }
    void measure()
    {
        measured_ = true;
        entries_ = above_ = 0;
        mass_ = mass_above_ = 0;
        for (const PlaceRanges::Range& range : places_)
            for (offset_t first = range.begin; first < range.end; first += block)
                measure_block(first, std::min(first + block, range.end));
    }
    // Magnitudes are added up in V for `block` places and then in double.
    void measure_block(offset_t first, offset_t end)
    {
        const Int cut = static_cast<Int>(threshold_);
        Values all{}, above{};
        Ints entries{}, count{};
        for (offset_t j = first; j < end; j += lanes) {
            const Ints key = keys_at(j), reaches = key >= cut;
            entries -= key != 0;  // -1 where it is true
            count -= reaches;
            all += simd::bits_as<Values>(key);
            above += simd::bits_as<Values>(key & reaches);
        }
        entries_ += total<offset_t>(entries);
        above_ += total<offset_t>(count);
        mass_ += total<double>(all);
        mass_above_ += total<double>(above);
    }
    template <class Sum, class Vector>
    static Sum total(const Vector& of)
    {
        return (Sum(of[0]) + Sum(of[1])) + (Sum(of[2]) + Sum(of[3]));
    }

    Sums sums_;
    const PlaceRanges& places_;
    Key threshold_;
    KeyRow<V> keys_;
    index_t* list_;              // places of the keys, until kth() changes their order
    Key listed_from_ = ~Key{0};  // the list has all places from this cutoff on
    bool measured_ = false;
    offset_t entries_ = 0, above_ = 0;
    double mass_ = 0, mass_above_ = 0;
};

}  // namespace tulle::inline TULLE_ABI::graph
