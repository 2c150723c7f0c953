// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The K-cycle (Notay, Vassilevski 2008, doi:10.1002/nla.542): the system of a coarser level is solved by two steps of
// flexible CG whose preconditioner is the cycle from there on. With c and d what that cycle makes of the residuals
// before the first and the second step, v = A c and w = A d:
//
//   z = (c·r / c·v) c                                       after the first step, residual s = r - (c·r / c·v) v
//   z += (d·s / rho) (d - (d·v / c·v) c)                    after the second, rho = d·w - (d·v)^2 / c·v
//
// Numbers stay in the memory of the queue: nothing waits.
#pragma once

#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::amg {

// Where vector::dot() leaves the dot products, two numbers each.
struct KrylovDots {
    const double* at;
    static constexpr int r_c = 0, c_v = 2, v_d = 4, w_d = 6, s_d = 8, size = 10;

    constexpr double first() const { return at[c_v] > 0 ? at[r_c] / at[c_v] : 0; }
    constexpr double second() const
    {
        if (!(at[c_v] > 0)) return 0;
        const double rho = at[w_d] - at[v_d] * at[v_d] / at[c_v];
        return rho > 0 ? at[s_d] / rho : 0;
    }
};

// s = r - first() v, in the place of r.
template <class V>
struct KrylovResidual {
    KrylovDots dots;
    const V* v;
    V* r;
    constexpr void operator()(offset_t i) const { r[i] -= static_cast<V>(dots.first()) * v[i]; }
};

// z, in the place of d.
template <class V>
struct KrylovSum {
    KrylovDots dots;
    const V* c;
    V* d;
    constexpr void operator()(offset_t i) const
    {
        const double second = dots.second();
        const double of_c =
            dots.first() - (second != 0 ? second * dots.at[KrylovDots::v_d] / dots.at[KrylovDots::c_v] : 0);
        d[i] = static_cast<V>(of_c) * c[i] + static_cast<V>(second) * d[i];
    }
};

}  // namespace tulle::inline TULLE_ABI::amg
