// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Passes of BiCGStab (van der Vorst, SIAM J. Sci. Stat. Comput. 13(2), 1992), preconditioned from the right.
#pragma once

#include "base/hash.hpp"
#include "solve/status.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::solve {

struct BicgstabScalars {
    double rho, alpha, omega, beta;
};

// shadow = r, or after a breakdown r with other signs; p = r.
template <class V>
struct BicgstabStart {
    static constexpr int sums = 1;
    const V* r;
    V *shadow, *p;
    int attempt;
    BicgstabScalars* s;
    Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<1> at(offset_t i) const
    {
        const bool flip = attempt > 0 && hash_of(static_cast<std::uint64_t>(attempt), i) % 4 == 0;
        shadow[i] = flip ? -r[i] : r[i];
        p[i] = r[i];
        return {{static_cast<double>(shadow[i]) * r[i]}};
    }
    constexpr void finish(bool on, const double* sum) const
    {
        if (!on) return;
        s->rho = sum[0];
        if (sum[0] == 0) halt(status, Halt::breakdown, 0);
    }
};

// alpha = rho / (shadow · v).
template <class V>
struct BicgstabAlpha {
    static constexpr int sums = 1;
    const V *shadow, *v;
    BicgstabScalars* s;
    Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<1> at(offset_t i) const { return {{static_cast<double>(shadow[i]) * v[i]}}; }
    constexpr void finish(bool on, const double* sum) const
    {
        status->performed = on;
        if (!on) return;
        s->alpha = s->rho / sum[0];
        if (is_finite(s->alpha)) return;
        status->performed = 0;
        halt(status, Halt::breakdown, sum[0]);
    }
};

// r becomes s = r - alpha v.
template <class V>
struct BicgstabHalf {
    static constexpr int sums = 0;
    V* r;
    const V* v;
    const BicgstabScalars* s;
    const Status* status;
    double alpha = 0;

    constexpr bool load()
    {
        alpha = s->alpha;
        return status->performed != 0;
    }
    constexpr void at(offset_t i) const { r[i] = static_cast<V>(r[i] - alpha * v[i]); }
};

// x += alpha y + omega z; r = s - omega t.
template <class V>
struct BicgstabUpdate {
    static constexpr int sums = 2;
    V* x;
    const V *y, *z;
    V* r;
    const V *t, *shadow;
    ProductDots<V> dots;
    BicgstabScalars* s;
    Status* status;
    double alpha = 0, omega = 0;

    constexpr bool load()
    {
        alpha = s->alpha;
        omega = dots[1] > 0 ? dots[0] / dots[1] : 0;
        return status->performed != 0;
    }
    constexpr vector::Sums<2> at(offset_t i) const
    {
        x[i] = static_cast<V>(x[i] + alpha * y[i] + omega * z[i]);
        const V next = static_cast<V>(r[i] - omega * t[i]);
        r[i] = next;
        return {{static_cast<double>(next) * next, static_cast<double>(shadow[i]) * next}};
    }
    constexpr void finish(bool on, const double* sum) const
    {
        if (!on) return;
        record(status, root(sum[0]));
        s->omega = omega;
        s->beta = sum[1] / s->rho * (alpha / omega);
        s->rho = sum[1];
        if (sum[1] == 0 || !is_finite(s->beta)) halt(status, Halt::breakdown, 0);
    }
};

// p = r + beta (p - omega v).
template <class V>
struct BicgstabDirection {
    static constexpr int sums = 0;
    V* p;
    const V *r, *v;
    const BicgstabScalars* s;
    const Status* status;
    double beta = 0, omega = 0;

    constexpr bool load()
    {
        beta = s->beta;
        omega = s->omega;
        return status->halt == Halt::none;
    }
    constexpr void at(offset_t i) const { p[i] = static_cast<V>(r[i] + beta * (p[i] - omega * v[i])); }
};

}  // namespace tulle::inline TULLE_ABI::solve
