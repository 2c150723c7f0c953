// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Passes of GMRES and FGMRES (Saad, Schultz 1986; Saad 1993). The basis is orthogonalised by classical Gram-Schmidt,
// twice (Giraud, Langou, Rozložník 2005), so that dot products come many to a pass; Givens rotations are done by the
// thread that finishes the pass.
#pragma once

#include "solve/status.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::solve {

// Scalars in the memory of the queue.
struct GmresScalars {
    int restart;
    double* dots;      // of the new vector with the basis
    double* column;    // of the Hessenberg matrix, in progress: restart + 1
    double* triangle;  // its R, restart columns of restart
    double *cosine, *sine;
    double* rhs;     // restart + 1
    double* result;  // y
    double* length;  // of the new vector
    int* columns;    // that are done

    static constexpr offset_t doubles(int restart) { return offset_t{restart} * restart + 6 * (restart + 1) + 1; }
};

template <class V>
struct GmresStart {
    static constexpr int sums = 0;
    const V* r;
    V* basis;
    const Status* status;
    double scale = 0;

    constexpr bool load()
    {
        scale = 1 / status->norm;
        return status->halt == Halt::none;
    }
    constexpr void at(offset_t i) const { basis[i] = static_cast<V>(scale * r[i]); }
};

struct GmresReset {
    GmresScalars s;
    const Status* status;

    constexpr bool load() { return true; }
    constexpr void finish(bool, const double*) const
    {
        *s.columns = 0;
        s.rhs[0] = status->norm;
    }
};

// Dot products of w with up to eight vectors of the basis.
template <class V>
struct GmresDots {
    static constexpr int sums = vector::most_sums;
    const V* basis;
    offset_t n;
    int first, count;
    const V* w;
    double* dots;
    const Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<sums> at(offset_t i) const
    {
        const double here = w[i];
        vector::Sums<sums> share{};
        for (int k = 0; k < sums; ++k)
            if (first + k < count) share.of[k] = here * basis[(first + k) * n + i];
        return share;
    }
    constexpr void finish(bool on, const double* sum) const
    {
        for (int k = 0; on && k < sums && first + k < count; ++k) dots[first + k] = sum[k];
    }
};

// A new column of the Hessenberg matrix becomes one of R.
constexpr void rotate_column(const GmresScalars& s, Status* status, int j)
{
    for (int k = 0; k < j; ++k) {
        const double above = s.column[k], below = s.column[k + 1];
        s.column[k] = s.cosine[k] * above + s.sine[k] * below;
        s.column[k + 1] = s.cosine[k] * below - s.sine[k] * above;
    }
    const double above = s.column[j], below = s.column[j + 1];
    const double size = root(above * above + below * below);
    if (!is_finite(size)) return record(status, size);
    if (size == 0) {
        record(status, status->norm);
        return halt(status, Halt::breakdown, 0);
    }
    s.cosine[j] = above / size;
    s.sine[j] = below / size;
    for (int k = 0; k < j; ++k) s.triangle[j * s.restart + k] = s.column[k];
    s.triangle[j * s.restart + j] = size;
    s.rhs[j + 1] = -s.sine[j] * s.rhs[j];
    s.rhs[j] *= s.cosine[j];
    *s.columns = j + 1;
    record(status, s.rhs[j + 1] < 0 ? -s.rhs[j + 1] : s.rhs[j + 1]);
}

// w -= basis * dots; the second time the new column is complete.
template <class V>
struct GmresSubtract {
    static constexpr int sums = 1;
    const V* basis;
    offset_t n;
    int count;
    V* w;
    bool second;
    GmresScalars s;
    Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<1> at(offset_t i) const
    {
        double next = w[i];
        for (int k = 0; k < count; ++k) next -= s.dots[k] * basis[k * n + i];
        w[i] = static_cast<V>(next);
        return {{next * next}};
    }
    constexpr void finish(bool on, const double* sum) const
    {
        if (!on) return;
        for (int k = 0; k < count; ++k) s.column[k] = (second ? s.column[k] : 0) + s.dots[k];
        if (!second) return;
        *s.length = s.column[count] = root(sum[0]);
        rotate_column(s, status, count - 1);
    }
};

// The next vector of the basis: w over its length.
template <class V>
struct GmresNext {
    static constexpr int sums = 0;
    const V* w;
    V* next;
    const double* length;
    const Status* status;
    double scale = 0;

    constexpr bool load()
    {
        scale = *length > 0 ? 1 / *length : 0;
        return status->halt == Halt::none;
    }
    constexpr void at(offset_t i) const { next[i] = static_cast<V>(scale * w[i]); }
};

// R y = rhs.
struct GmresSolve {
    GmresScalars s;

    constexpr bool load() { return true; }
    constexpr void finish(bool, const double*) const
    {
        for (int k = *s.columns - 1; k >= 0; --k) {
            double sum = s.rhs[k];
            for (int j = k + 1; j < *s.columns; ++j) sum -= s.triangle[j * s.restart + k] * s.result[j];
            s.result[k] = sum / s.triangle[k * s.restart + k];
        }
    }
};

// to = basis * y, or added to what is there.
template <class V>
struct GmresCombine {
    static constexpr int sums = 0;
    const V* basis;
    offset_t n;
    const double* y;
    const int* columns;
    bool add;
    V* to;
    int count = 0;

    constexpr bool load()
    {
        count = *columns;
        return true;
    }
    constexpr void at(offset_t i) const
    {
        double sum = add ? static_cast<double>(to[i]) : 0.0;
        for (int k = 0; k < count; ++k) sum += y[k] * basis[k * n + i];
        to[i] = static_cast<V>(sum);
    }
};

}  // namespace tulle::inline TULLE_ABI::solve
