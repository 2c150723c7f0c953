// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Passes of conjugate gradients (Hestenes, Stiefel 1952), of the form with one pass behind the dot products (Meurant,
// Parallel Computing 5(3), 1987; the sums are computed anew as in Chen, Carson, SIAM J. Sci. Comput. 42(5), 2020), and
// of the pipelined variant (Ghysels, Vanroose, Parallel Computing 40(7), 2014, algorithm 3).
#pragma once

#include "solve/status.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::solve {

struct CgScalars {
    double rho;  // r · z
    double alpha, beta;
    double owed;  // the step along the direction before that x has not made yet; 0: none
};

// The next rho, once r · z is known.
constexpr void continue_cg(Status* status, CgScalars* s, double rz)
{
    if (!(rz > 0)) halt(status, Halt::preconditioner_indefinite, rz);
    s->beta = rz / s->rho;
    s->rho = rz;
}

// p = z.
template <class V>
struct CgStart {
    static constexpr int sums = 1;
    const V* r;
    const V* z;
    V* p;
    CgScalars* s;
    Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<1> at(offset_t i) const
    {
        p[i] = z[i];
        return {{static_cast<double>(r[i]) * z[i]}};
    }
    constexpr void finish(bool on, const double* sum) const
    {
        if (!on) return;
        s->rho = sum[0];
        s->owed = 0;
        if (!(sum[0] > 0)) halt(status, Halt::preconditioner_indefinite, sum[0]);
    }
};

// r -= alpha q; z = D r where the preconditioner is a diagonal.
template <class V>
struct CgResidual {
    static constexpr int sums = 2;
    const V* q;
    V* r;
    const V* inverse;  // null: z is made otherwise
    V* z;              // r itself without a preconditioner
    bool complete;     // z is known after this pass
    ProductDots<V> dots;
    CgScalars* s;
    Status* status;
    double alpha = 0;

    constexpr bool load()
    {
        if (status->halt != Halt::none) return false;
        const double curvature = dots[0];
        alpha = s->rho / curvature;
        return curvature > 0 && is_finite(curvature) && is_finite(alpha);
    }
    struct Loaded {
        V q, r;
    };
    constexpr Loaded fetch(offset_t i) const { return {q[i], r[i]}; }
    constexpr vector::Sums<2> at(offset_t i, const Loaded& loaded) const
    {
        const V next = static_cast<V>(loaded.r - alpha * loaded.q);
        r[i] = next;
        if (inverse) z[i] = inverse[i] * next;
        return {{static_cast<double>(next) * next, inverse ? static_cast<double>(next) * z[i] : 0.0}};
    }
    constexpr void finish(bool on, const double* sum) const
    {
        status->performed = on;
        if (!on) return halt(status, Halt::not_positive_definite, dots[0]);
        s->alpha = alpha;
        record(status, root(sum[0]));
        if (complete && status->halt == Halt::none) continue_cg(status, s, inverse ? sum[1] : sum[0]);
    }
};

// r · z for a preconditioner that is not a diagonal.
template <class V>
struct CgPreconditioned {
    static constexpr int sums = 1;
    const V* r;
    const V* z;
    CgScalars* s;
    Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<1> at(offset_t i) const { return {{static_cast<double>(r[i]) * z[i]}}; }
    constexpr void finish(bool on, const double* sum) const
    {
        if (on) continue_cg(status, s, sum[0]);
    }
};

// x += alpha p; p = z + beta p.
template <class V>
struct CgDirection {
    static constexpr int sums = 0;
    V* x;
    const V* z;
    V* p;
    const CgScalars* s;
    const Status* status;
    double alpha = 0, beta = 0;

    constexpr bool load()
    {
        alpha = s->alpha;
        beta = s->beta;
        return status->performed != 0;
    }
    struct Loaded {
        V x, z, p;
    };
    constexpr Loaded fetch(offset_t i) const { return {x[i], z[i], p[i]}; }
    constexpr void at(offset_t i, const Loaded& loaded) const
    {
        const double direction = loaded.p;
        x[i] = static_cast<V>(loaded.x + alpha * direction);
        p[i] = static_cast<V>(loaded.z + beta * direction);
    }
};

// Below it a sum of squares has lost digits.
inline constexpr double least_square = 1e-290;

// Without a preconditioner r · r of the next residual is alpha² q · q - r · r before any entry of it is known, so that
// one pass has all updates: r -= alpha q; the next direction is r + beta p. The sum of the pass, not the prediction, is
// the next rho. Every second pass brings x up to date, with two directions at once.
template <class V>
struct CgStep {
    static constexpr int sums = 1;
    const V* q;
    V* r;
    const V* p;
    V* next;             // the next direction, in place of the one before p
    V* x;                // null: x owes a step to the next pass
    const double* dots;  // p · q and q · q
    CgScalars* s;
    Status* status;
    double alpha = 0, beta = 0, owed = 0;
    bool in_range = true;  // q · q, which leaves the range of numbers before p · q does

    constexpr bool load()
    {
        if (status->halt != Halt::none) return false;
        alpha = s->rho / dots[0];
        const double predicted = alpha * alpha * dots[1] - s->rho;
        beta = predicted > 0 ? predicted / s->rho : 0;
        owed = s->owed;
        in_range = is_finite(predicted) && dots[1] > least_square;
        return dots[0] > 0 && is_finite(alpha) && in_range;
    }
    struct Loaded {
        V q, r, p, x, before;
    };
    constexpr Loaded fetch(offset_t i) const { return {q[i], r[i], p[i], x ? x[i] : V(0), x ? next[i] : V(0)}; }
    constexpr vector::Sums<1> at(offset_t i, const Loaded& loaded) const
    {
        const double residual = static_cast<V>(loaded.r - alpha * loaded.q);
        r[i] = static_cast<V>(residual);
        next[i] = static_cast<V>(residual + beta * loaded.p);
        if (x) x[i] = static_cast<V>(static_cast<V>(loaded.x + owed * loaded.before) + alpha * loaded.p);
        return {{residual * residual}};
    }
    constexpr void finish(bool on, const double* sum) const
    {
        status->performed = on;
        if (!on && dots[0] > 0 && !in_range) return halt(status, Halt::not_finite, dots[1]);
        if (!on) return halt(status, Halt::not_positive_definite, dots[0]);
        *s = {.rho = sum[0], .alpha = alpha, .beta = beta, .owed = x ? 0 : alpha};
        record(status, root(sum[0]));
    }
};

// Brings x up to date: the same bits as from a CgStep.
template <class V>
struct CgSettle {
    static constexpr int sums = 1;  // none is needed, but what is owed is written at the end
    V* x;
    const V* p;
    CgScalars* s;
    double owed = 0;

    constexpr bool load() { return (owed = s->owed) != 0; }
    constexpr vector::Sums<1> at(offset_t i) const
    {
        x[i] = static_cast<V>(x[i] + owed * p[i]);
        return {{0}};
    }
    constexpr void finish(bool, const double*) const { s->owed = 0; }
};

// Vectors of pipelined CG, with the names of the paper.
template <class V>
struct PipelinedVectors {
    V *x, *r, *u, *w, *z, *q, *s, *p;
};

// One pass does it all; m = M w and n = A m are known.
template <class V>
struct PipelinedStep {
    static constexpr int sums = 3;
    PipelinedVectors<V> v;
    const V* m;
    const V* n;
    bool first;
    CgScalars* s;  // rho: r · u
    Status* status;
    double alpha = 0, beta = 0;

    constexpr bool load()
    {
        if (status->halt != Halt::none) return false;
        alpha = s->alpha;
        beta = s->beta;
        return true;
    }
    constexpr V next(const V* from, V* to, offset_t i) const
    {
        to[i] = first ? from[i] : static_cast<V>(from[i] + beta * to[i]);
        return to[i];
    }
    constexpr vector::Sums<3> at(offset_t i) const
    {
        const double z = next(n, v.z, i), q = next(m, v.q, i), s_ = next(v.w, v.s, i), p = next(v.u, v.p, i);
        v.x[i] = static_cast<V>(v.x[i] + alpha * p);
        v.r[i] = static_cast<V>(v.r[i] - alpha * s_);
        if (v.u != v.r) v.u[i] = static_cast<V>(v.u[i] - alpha * q);
        v.w[i] = static_cast<V>(v.w[i] - alpha * z);
        const double r = v.r[i], u = v.u[i];
        return {{r * r, r * u, static_cast<double>(v.w[i]) * u}};
    }
    constexpr void finish(bool on, const double* sum) const;
};

// alpha and beta of the next step from r · u and w · u.
constexpr void continue_pipelined(Status* status, CgScalars* s, double ru, double wu, bool first)
{
    const double beta = first ? 0 : ru / s->rho;
    const double curvature = first ? wu : wu - beta * ru / s->alpha;
    if (!(ru > 0)) halt(status, Halt::preconditioner_indefinite, ru);
    if (!(curvature > 0)) halt(status, Halt::not_positive_definite, curvature);
    s->beta = beta;
    s->alpha = ru / curvature;
    s->rho = ru;
}

template <class V>
constexpr void PipelinedStep<V>::finish(bool on, const double* sum) const
{
    if (!on) return;
    record(status, root(sum[0]));
    if (status->halt == Halt::none) continue_pipelined(status, s, sum[1], sum[2], false);
}

template <class V>
struct PipelinedStart {
    static constexpr int sums = 2;
    const V *r, *u, *w;
    CgScalars* s;
    Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<2> at(offset_t i) const
    {
        const double a = u[i];
        return {{r[i] * a, w[i] * a}};
    }
    constexpr void finish(bool on, const double* sum) const
    {
        if (on) continue_pipelined(status, s, sum[0], sum[1], true);
    }
};

}  // namespace tulle::inline TULLE_ABI::solve
