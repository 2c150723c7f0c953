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

namespace tulle::inline TULLE_ABI::vector {

// The parts of some numbers in three consecutive bins; the lowest in units.
struct Parts {
    double high = 0, middle = 0;
    std::int64_t low = 0;
};

// The parts of the products x_i y_i, at most BinnedSum::most_at_once, each rounded to double, in the bins from `bin`
// on. Returns the largest absolute value; if it is beyond the first bin, or NaN, parts mean nothing.
template <class V>
double split_products(const V* x, const V* y, int n, int bin, Parts& part);

class BinnedSum {
public:
    static constexpr int most_at_once = 4096;  // numbers whose parts add up exactly in a double

    // Adds the products of n pairs of numbers, at most most_at_once, each rounded to double. In one pass where no
    // product is larger than those before.
    template <class V>
    void add_products(const V* x, const V* y, int n)
    {
        if (is_quick() && add_split(x, y, n)) return;
        const auto product = [&](int i) { return static_cast<double>(x[i]) * static_cast<double>(y[i]); };
        std::int64_t most = 0;  // bits of the largest absolute value: infinities and NaN are above all numbers
        for (int i = 0; i < n; ++i) most = std::max(most, std::bit_cast<std::int64_t>(std::fabs(product(i))));
        const auto largest = std::bit_cast<double>(most);
        if (largest == 0) return;
        const bool is_finite = largest <= std::numeric_limits<double>::max();
        if (is_finite) raise_to(bin_of(largest));
        if (is_finite && is_quick()) {
            add_split(x, y, n);
            return;
        }
        for (int i = 0; i < n; ++i) is_finite ? split_slowly(product(i)) : add_special(product(i));
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

    bool is_quick() const { return first_ != none && top_of(first_) <= highest_quick; }
    // False, and nothing is added, where a product is too large for the bins.
    template <class V>
    bool add_split(const V* x, const V* y, int n)
    {
        Parts part;
        if (!(split_products(x, y, n, first_, part) <= std::ldexp(1.0, top_of(first_)))) return false;
        add_parts(part);
        return true;
    }
    void add_parts(const Parts& part)
    {
        static_assert(kept_bins == 3);
        add_units(0, units(part.high, first_));
        add_units(1, units(part.middle, first_ + 1));
        add_units(2, part.low);
    }
    // The same parts of a number that is too large for the quick way.
    void split_slowly(double number)
    {
        for (int k = 0; k < kept_bins; ++k) {
            const int unit = unit_of(first_ + k);
            const double scaled = std::nearbyint(std::ldexp(number, -unit));
            add_units(k, static_cast<std::int64_t>(scaled));
            number -= std::ldexp(scaled, unit);
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

    void add_special(double number)
    {
        if (std::isnan(number)) ++nan_;
        else if (std::isinf(number)) ++(number > 0 ? positive_ : negative_);
    }

    int first_ = none;
    std::array<std::int64_t, kept_bins> high_{}, low_{};  // units of bin first_ + k: high 2^32 + low
    std::int64_t positive_ = 0, negative_ = 0, nan_ = 0;
};

}  // namespace tulle::inline TULLE_ABI::vector
