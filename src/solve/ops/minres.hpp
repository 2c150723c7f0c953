// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Passes of MINRES (Paige, Saunders, SIAM J. Numer. Anal. 12(4), 1975), with the names of their program.
#pragma once

#include "solve/status.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::solve {

struct MinresScalars {
    double beta, old_beta, alpha;
    double dbar, epsilon, phibar, cosine, sine;  // of the last rotation
    double old_epsilon, delta, gamma, phi;       // of the solution's update
    double unit;                                 // norm of the residual for a phibar of 1
};

// r · y gives the first beta; older vectors are zero.
template <class V>
struct MinresStart {
    static constexpr int sums = 1;
    const V *r, *y;
    V *r1, *r2, *w1, *w2;
    MinresScalars* s;
    Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<1> at(offset_t i) const
    {
        r1[i] = w1[i] = w2[i] = V(0);
        r2[i] = r[i];
        return {{static_cast<double>(r[i]) * y[i]}};
    }
    constexpr void finish(bool on, const double* sum) const
    {
        if (!on) return;
        if (!(sum[0] > 0)) halt(status, Halt::preconditioner_indefinite, sum[0]);
        const double beta = root(sum[0]);
        *s = {beta, 0, 0, 0, 0, beta, -1, 0, 0, 0, 0, 0, status->norm / beta};
    }
};

// v = y / beta.
template <class V>
struct MinresScale {
    static constexpr int sums = 0;
    const V* y;
    V* v;
    const MinresScalars* s;
    const Status* status;
    double scale = 0;

    constexpr bool load()
    {
        scale = 1 / s->beta;
        return status->halt == Halt::none;
    }
    constexpr void at(offset_t i) const { v[i] = static_cast<V>(scale * y[i]); }
};

// The next Lanczos vector, in place of the oldest: r1 = t - beta / old_beta r1 - alpha / beta r2.
template <class V>
struct MinresLanczos {
    static constexpr int sums = 1;
    const V* t;
    V* r1;
    const V* r2;
    ProductDots<V> dots;
    MinresScalars* s;
    Status* status;
    bool complete;  // y is r1 itself: its product with r1 is known after this pass
    double before = 0, here = 0;

    constexpr bool load()
    {
        before = s->old_beta > 0 ? s->beta / s->old_beta : 0;
        here = dots[0] / s->beta;
        return status->halt == Halt::none;
    }
    constexpr vector::Sums<1> at(offset_t i) const
    {
        const double next = t[i] - before * r1[i] - here * r2[i];
        r1[i] = static_cast<V>(next);
        return {{next * next}};
    }
    constexpr void finish(bool on, const double* sum) const;
};

// The rotation, once the next beta is known.
constexpr void continue_minres(Status* status, MinresScalars* s, double product)
{
    if (!(product >= 0)) {
        status->performed = 0;
        return halt(status, Halt::preconditioner_indefinite, product);
    }
    s->old_beta = s->beta;
    s->beta = root(product);
    s->old_epsilon = s->epsilon;
    s->delta = s->cosine * s->dbar + s->sine * s->alpha;
    const double gbar = s->sine * s->dbar - s->cosine * s->alpha;
    s->epsilon = s->sine * s->beta;
    s->dbar = -s->cosine * s->beta;
    s->gamma = root(gbar * gbar + s->beta * s->beta);
    if (!(s->gamma > 0)) {
        status->performed = 0;
        return halt(status, Halt::breakdown, s->gamma);
    }
    s->cosine = gbar / s->gamma;
    s->sine = s->beta / s->gamma;
    s->phi = s->cosine * s->phibar;
    s->phibar = s->sine * s->phibar;
    record(status, s->phibar * s->unit);
    if (s->beta == 0) halt(status, Halt::breakdown, 0);
}

template <class V>
constexpr void MinresLanczos<V>::finish(bool on, const double* sum) const
{
    status->performed = on;
    if (!on) return;
    s->alpha = dots[0];
    if (complete) continue_minres(status, s, sum[0]);
}

// The next beta for a preconditioner.
template <class V>
struct MinresPreconditioned {
    static constexpr int sums = 1;
    const V *r, *y;
    MinresScalars* s;
    Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<1> at(offset_t i) const { return {{static_cast<double>(r[i]) * y[i]}}; }
    constexpr void finish(bool on, const double* sum) const
    {
        if (on) continue_minres(status, s, sum[0]);
    }
};

// w = (v - old_epsilon w1 - delta w2) / gamma, in place of w1; x += phi w.
template <class V>
struct MinresUpdate {
    static constexpr int sums = 0;
    const V* v;
    V* w1;
    const V* w2;
    V* x;
    const MinresScalars* s;
    const Status* status;
    MinresScalars now = {};

    constexpr bool load()
    {
        now = *s;
        return status->performed != 0;
    }
    constexpr void at(offset_t i) const
    {
        const double w = (v[i] - now.old_epsilon * w1[i] - now.delta * w2[i]) / now.gamma;
        w1[i] = static_cast<V>(w);
        x[i] = static_cast<V>(x[i] + now.phi * w);
    }
};

}  // namespace tulle::inline TULLE_ABI::solve
