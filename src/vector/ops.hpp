// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Operations of passes that any method needs.
#pragma once

#include "base/hash.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::vector {

// x · y and y · y to result[0] and result[1].
template <class V>
struct Dot {
    static constexpr int sums = 2;
    static constexpr bool from_end = true;  // behind a product, whose last entries are in the L2
    const V* x;
    const V* y;
    double* result;

    constexpr bool load() { return true; }
    struct Loaded {
        V x, y;
    };
    constexpr Loaded fetch(offset_t i) const { return {x[i], y[i]}; }
    constexpr Sums<2> at(offset_t, const Loaded& loaded) const
    {
        const double a = loaded.x, b = loaded.y;
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

// A fixed vector with entries from -1 to 1.
template <class V>
struct FillScattered {
    static constexpr int sums = 0;
    V* x;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const { x[i] = static_cast<V>(2 * unit(hash_of(1, i)) - 1); }
};

// The norm of w in the inner product of D.
template <class V>
struct LanczosStart {
    static constexpr int sums = 1;
    const V* diagonal;
    const V* w;
    Lanczos* state;

    constexpr bool load() { return true; }
    constexpr Sums<1> at(offset_t i) const { return {{static_cast<double>(w[i]) * w[i] * diagonal[i]}}; }
    constexpr void finish(bool, const double* sum) const
    {
        state->steps = 0;
        state->norm = root(std::max(sum[0], 0.0));
        state->on = state->norm > 0 && is_finite(state->norm);
    }
};

// alpha = v · A v, for v = w / |w| and y = A w.
template <class V>
struct LanczosAlpha {
    static constexpr int sums = 1;
    const V* w;
    const V* y;
    Lanczos* state;

    constexpr bool load() { return state->on; }
    constexpr Sums<1> at(offset_t i) const { return {{static_cast<double>(w[i]) * y[i]}}; }
    constexpr void finish(bool on, const double* sum) const
    {
        if (on) state->alpha[state->steps] = sum[0] / (state->norm * state->norm);
    }
};

// The next w over u, which is the one before: D^-1 A v - alpha v - beta v_before, and its norm.
template <class V>
struct LanczosNext {
    static constexpr int sums = 1;
    const V* y;
    const V* diagonal;
    const V* w;
    V* u;
    Lanczos* state;
    double alpha = 0, scale = 0, before = 0;

    constexpr bool load()
    {
        if (!state->on) return false;
        alpha = state->alpha[state->steps];
        scale = 1 / state->norm;
        before = state->steps > 0 ? state->norm / state->norm_before : 0;
        return true;
    }
    constexpr Sums<1> at(offset_t i) const
    {
        const double d = diagonal[i], a = d > 0 ? y[i] / d : 0;
        const double next = scale * (a - alpha * w[i]) - (before > 0 ? before * u[i] : 0);
        u[i] = static_cast<V>(next);
        return {{next * next * d}};
    }
    constexpr void finish(bool on, const double* sum) const
    {
        if (!on) return;
        const double norm = root(std::max(sum[0], 0.0)), first = state->alpha[0];
        state->beta[state->steps++] = norm;
        state->norm_before = state->norm;
        state->norm = norm;
        state->on = is_finite(norm) && norm > 0 && norm >= least_lanczos_norm * (first < 0 ? -first : first);
    }
};

}  // namespace tulle::inline TULLE_ABI::vector
