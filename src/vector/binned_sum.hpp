// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A sum of doubles that does not depend on the order: Demmel, Nguyen, Parallel Reproducible Summation, 2015,
// doi:10.1109/TC.2014.2345391, with integer carries.
//
// A number is split: its part in bin j is it rounded to a multiple of the unit, the rest
// goes to the bins below. Parts are functions of the number alone, and sums of parts are integers, so that their order
// does not matter. The three highest bins that are used are kept; what is lost is below 2^-79 of the largest number,
// for each number.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "vector/bins.hpp"
#ifdef __aarch64__
#include <arm_neon.h>
#endif

namespace tulle::inline TULLE_ABI::vector {

class BinnedSum {
public:
    static constexpr int most_at_once = 4096;  // numbers whose parts add up exactly in a double

    // Adds the products of n pairs of numbers, at most most_at_once, each rounded to double. In one pass where no
    // product is larger than those before.
    template <class V>
    void add_products(const V* x, const V* y, int n)
    {
        if (first_ != none && top_of(first_) <= highest_quick) {
            Parts part;
            const double largest = split(
                n, part, [&](int i) { return pair(x, i) * pair(y, i); },
                [&](int i) {
                    return Pair{static_cast<double>(x[i]) * static_cast<double>(y[i]), 0};
                });
            if (largest <= std::ldexp(1.0, top_of(first_))) return add_parts(part);
        }
        std::array<double, most_at_once> product;
        Pair most{};
        for (int i = 0; i < n; ++i) {
            product[at(i)] = static_cast<double>(x[i]) * static_cast<double>(y[i]);
            most = larger(most, Pair{product[at(i)], 0});
        }
        add(product.data(), n, most[0]);
    }

    // Adds n numbers, at most most_at_once; `largest` is the largest of their absolute values, infinite or NaN if one
    // is.
    void add(const double* x, int n, double largest)
    {
        if (!(largest <= std::numeric_limits<double>::max())) return add_special(x, n);
        if (largest == 0) return;
        raise_to(bin_of(largest));
        if (top_of(first_) > highest_quick) return split_slowly(x, n);
        Parts part;
        split(
            n, part, [&](int i) { return pair(x, i); },
            [&](int i) {
                return Pair{x[i], 0};
            });
        add_parts(part);
    }

    // Adds another sum.
    void add(const BinnedSum& other)
    {
        raise_to(other.first_);
        for (int k = 0; k < kept_bins; ++k) {
            const int from = first_ + k - other.first_;
            if (from < 0 || from >= kept_bins) continue;
            high_[at(k)] += other.high_[at(from)];
            low_[at(k)] += other.low_[at(from)];
        }
        positive_ += other.positive_;
        negative_ += other.negative_;
        nan_ += other.nan_;
    }

    double value() const
    {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        if (nan_ > 0 || (positive_ > 0 && negative_ > 0)) return std::numeric_limits<double>::quiet_NaN();
        if (positive_ > 0) return infinity;
        if (negative_ > 0) return -infinity;
        double sum = 0;
        for (int k = kept_bins - 1; k >= 0; --k) {
            const std::int64_t low = low_[at(k)] & mask, high = high_[at(k)] + (low_[at(k)] >> digit);
            const int unit = unit_of(first_ + k);
            sum += std::ldexp(static_cast<double>(low), unit) + std::ldexp(static_cast<double>(high), unit + digit);
        }
        return sum;
    }

    // A sum from the units of its numbers.
    static BinnedSum of(const BinUnits& units)
    {
        BinnedSum sum;
        if (units.largest == 0) return sum;
        sum.first_ = bin_of(units.largest);
        sum.high_ = units.high;
        sum.low_ = units.low;
        return sum;
    }

private:
    static constexpr int none = 1 << 20;  // bin of an empty sum
    static constexpr int digit = 32;
    static constexpr std::int64_t mask = (std::int64_t{1} << digit) - 1;

    static std::size_t at(int k) { return static_cast<std::size_t>(k); }

    void raise_to(int bin)
    {
        if (bin >= first_) return;
        const int shift = first_ - bin;
        for (int k = kept_bins - 1; k >= 0; --k) {
            high_[at(k)] = k >= shift ? high_[at(k - shift)] : 0;
            low_[at(k)] = k >= shift ? low_[at(k - shift)] : 0;
        }
        first_ = bin;
    }

    using Pair = double __attribute__((vector_size(2 * sizeof(double))));
    using Bits = std::int64_t __attribute__((vector_size(2 * sizeof(double))));
    using Counts = std::uint64_t __attribute__((vector_size(2 * sizeof(double))));
    template <class V>
    static Pair pair(const V* x, int i)
    {
        return Pair{static_cast<double>(x[i]), static_cast<double>(x[i + 1])};
    }
    // The larger of most, which is not negative, and the absolute value of v; infinities and NaN are above all numbers.
    static Pair larger(Pair most, Pair v)
    {
#ifdef __aarch64__
        return vmaxq_f64(most, vabsq_f64(v));  // NaN where one is
#else
        const Bits bits = reinterpret_cast<Bits>(v) & std::numeric_limits<std::int64_t>::max();
        return reinterpret_cast<Pair>(bits > reinterpret_cast<Bits>(most) ? bits : reinterpret_cast<Bits>(most));
#endif
    }
    static double larger_of(Pair v)
    {
        return std::bit_cast<double>(std::max(std::bit_cast<std::int64_t>(v[0]), std::bit_cast<std::int64_t>(v[1])));
    }

    // Rounds by the addition of a large number; four independent sums of pairs for every bin, in registers. The last
    // bin needs no remainder: units are counted in the bits of the rounded numbers. Returns the largest absolute value.
    struct Parts {
        double high = 0, middle = 0;
        std::int64_t low = 0;  // units
    };
    struct Sums {
        Pair high{}, middle{};
        Counts low{};
        Pair most{};

        void add(const Sums& other)
        {
            high += other.high;
            middle += other.middle;
            low += other.low;
            most = larger(most, other.most);
        }
    };
    template <class Two, class One>
    double split(int n, Parts& part, const Two& two, const One& one) const
    {
        const double big0 = rounder(first_), big1 = rounder(first_ + 1), big2 = rounder(first_ + 2);
        const Counts none_of = Counts{} + std::bit_cast<std::uint64_t>(big2);
        const auto add_pair = [&](Pair v, Sums& s) {
            const Pair a = (v + big0) - big0;
            const Pair rest = v - a;
            const Pair b = (rest + big1) - big1;
            s.high += a;
            s.middle += b;
            s.low += reinterpret_cast<Counts>((rest - b) + big2);
            s.most = larger(s.most, v);
        };
        Sums s, t, u, w;
        int i = 0;
        for (; i + 8 <= n; i += 8) {
            add_pair(two(i), s);
            add_pair(two(i + 2), t);
            add_pair(two(i + 4), u);
            add_pair(two(i + 6), w);
        }
        const int rest = n - i;
        for (; i < n; ++i) add_pair(one(i), s);
        s.add(t);
        s.add(u);
        s.add(w);
        const Counts low = s.low - none_of * static_cast<std::uint64_t>((n - rest) / 2 + rest);
        part = {s.high[0] + s.high[1], s.middle[0] + s.middle[1], static_cast<std::int64_t>(low[0] + low[1])};
        return larger_of(s.most);
    }
    void add_parts(const Parts& part)
    {
        static_assert(kept_bins == 3);
        add_units(0, units(part.high, first_));
        add_units(1, units(part.middle, first_ + 1));
        add_units(2, part.low);
    }
    // The same parts for numbers that are too large for the quick way.
    void split_slowly(const double* x, int n)
    {
        for (int i = 0; i < n; ++i) {
            double rest = x[i];
            for (int k = 0; k < kept_bins; ++k) {
                const int unit = unit_of(first_ + k);
                const double scaled = std::nearbyint(std::ldexp(rest, -unit));
                add_units(k, static_cast<std::int64_t>(scaled));
                rest -= std::ldexp(scaled, unit);
            }
        }
    }

    static std::int64_t units(double part, int bin)
    {
        return static_cast<std::int64_t>(std::ldexp(part, -unit_of(bin)));
    }
    void add_units(int k, std::int64_t count)
    {
        high_[at(k)] += count >> digit;
        low_[at(k)] += count & mask;
    }

    void add_special(const double* x, int n)
    {
        for (int i = 0; i < n; ++i) {
            if (std::isnan(x[i])) ++nan_;
            else if (std::isinf(x[i])) ++(x[i] > 0 ? positive_ : negative_);
        }
    }

    int first_ = none;
    std::array<std::int64_t, kept_bins> high_{}, low_{};  // units of bin first_ + k: high 2^32 + low
    std::int64_t positive_ = 0, negative_ = 0, nan_ = 0;
};

}  // namespace tulle::inline TULLE_ABI::vector
