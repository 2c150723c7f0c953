// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Operations of passes that any method needs.
#pragma once

#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::vector {

// x · y and y · y to result[0] and result[1].
template <class V>
struct Dot {
    static constexpr int sums = 2;
    const V* x;
    const V* y;
    double* result;

    constexpr bool load() { return true; }
    constexpr Sums<2> at(offset_t i) const
    {
        const double a = x[i], b = y[i];
        return {{a * b, b * b}};
    }
    constexpr void finish(bool, const double* sum) const
    {
        result[0] = sum[0];
        result[1] = sum[1];
    }
};

// y = alpha x + beta y; beta == 0: y is not read.
template <class V>
struct Axpby {
    static constexpr int sums = 0;
    double alpha;
    const V* x;
    double beta;
    V* y;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        const double scaled = alpha * x[i];
        y[i] = static_cast<V>(beta == 0 ? scaled : scaled + beta * y[i]);
    }
};

// z[i] = d[i] r[i].
template <class V>
struct Multiply {
    static constexpr int sums = 0;
    const V* d;
    const V* r;
    V* z;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const { z[i] = d[i] * r[i]; }
};

// to = scale * from, in another type; the scale is in the memory of the queue.
template <class From, class To>
struct Convert {
    static constexpr int sums = 0;
    const From* from;
    To* to;
    const double* scale;
    double s = 1;

    constexpr bool load()
    {
        if (scale) s = *scale;
        return true;
    }
    constexpr void at(offset_t i) const { to[i] = static_cast<To>(s * from[i]); }
};

}  // namespace tulle::inline TULLE_ABI::vector
