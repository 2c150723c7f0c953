// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// An array of sums of products, as long as a row is wide, zero between rows.
//
// In fixed point every product is cut to a multiple of the quantum and sums are integers: the order of additions does
// not matter, so that sums of the same products are equal, and products below the quantum can be left out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/vector.hpp"
#include "tulle/types.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tulle::inline TULLE_ABI::graph {

inline constexpr int sums_at_once = 4;

// Sums over the semiring S.
template <class S, class V>
struct PlainSums {
    using Values = simd::Vector<V, sums_at_once>;
    V* at;

    V scaled(V factor) const { return factor; }
    void set(index_t j, V factor, V b) const { at[j] = S::times(factor, b); }
    void add(index_t j, V factor, V b) const { at[j] = S::add(at[j], S::times(factor, b)); }
    void add_block(offset_t j, V factor, const V* b) const
    {
        const Values added = simd::load<sums_at_once>(at + j) + factor * simd::load<sums_at_once>(b);
        std::memcpy(at + j, &added, sizeof(added));
    }
    V value(offset_t j) const { return at[j]; }
    Values values(offset_t j) const { return simd::load<sums_at_once>(at + j); }
    V take(offset_t j) const { return std::exchange(at[j], V(0)); }
    void clear(offset_t places) const { std::fill_n(at, places, V(0)); }
};

// Sums of products that are not negative, as integers; per_one: one divided by the quantum.
template <class V>
struct FixedSums {
    using Values = simd::Vector<V, sums_at_once>;
    using Ints = simd::Vector<std::int32_t, sums_at_once>;
    std::int32_t* at;
    V per_one;

    V scaled(V factor) const { return std::min(factor * per_one, std::numeric_limits<V>::max()); }
    void set(index_t j, V factor, V b) const { at[j] = static_cast<std::int32_t>(factor * b); }
    void add(index_t j, V factor, V b) const { at[j] += static_cast<std::int32_t>(factor * b); }
    void add_block(offset_t j, V factor, const V* b) const
    {
        const Ints added = ints(j) + __builtin_convertvector(factor * simd::load<sums_at_once>(b), Ints);
        std::memcpy(at + j, &added, sizeof(added));
    }
    V value(offset_t j) const { return static_cast<V>(at[j]) / per_one; }
    Values values(offset_t j) const { return __builtin_convertvector(ints(j), Values) * (1 / per_one); }
    V take(offset_t j) const { return static_cast<V>(std::exchange(at[j], 0)) / per_one; }
    void clear(offset_t places) const { std::fill_n(at, places, 0); }

private:
    Ints ints(offset_t j) const
    {
        Ints v;
        std::memcpy(&v, at + j, sizeof(v));
        return v;
    }
};

// The quantum: the largest power of two that is not above what is negligible. None for sums in double, where integers
// of the same size have no vector conversions on every machine.
template <class V>
class Quantum {
public:
    explicit Quantum(double negligible)
    {
        if (std::is_same_v<V, float> && negligible >= smallest && negligible <= 1)
            value_ = static_cast<V>(std::exp2(std::floor(std::log2(negligible))));
    }
    V value() const { return value_; }
    V per_one() const { return 1 / value_; }
    // Whether integers hold the sums of a row, none of which is above its mass.
    bool holds(std::optional<double> mass) const
    {
        return value_ > 0 && mass && *mass < most * static_cast<double>(value_);
    }

private:
    static constexpr double smallest = 1e-30, most = 2e9;
    V value_ = 0;  // 0: none
};

}  // namespace tulle::inline TULLE_ABI::graph

#pragma GCC diagnostic pop
