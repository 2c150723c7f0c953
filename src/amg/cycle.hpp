// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The cycle: smooth, restrict, recurse, prolong, smooth; products and updates of vectors.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "amg/setup.hpp"
#include "amg/steps.hpp"

namespace tulle::inline TULLE_ABI::amg {

inline constexpr double smoothed_part = 8;  // Chebyshev: largest over smallest eigenvalue that is smoothed
inline constexpr int coarse_sweeps = 4;     // of the smoother on a coarsest level that is not inverted

// A cycle over levels whose products may be those of one process or of several ranks. A Level is a LevelRows with
// `multiply`, `direct` and `next`, whose `down` and `up` are plans of products, and with store_dot().
template <class V, class Level>
struct CycleOf {
    const Context& ctx;
    const Options& options;
    const std::vector<std::unique_ptr<Level>>& level;

    template <class Step>
    void update(const Level& l, const Step& step) const
    {
        ctx.run([&](const auto& q) { for_each(q, l.rows(), step); });
    }

    // residual = r - A z.
    void find_residual(Level& l, std::span<const V> r, std::span<const V> z) const
    {
        ctx.run([&](const auto& q) { copy(q, r.data(), l.residual.data(), l.rows()); });
        l.multiply->run(V(-1), z, V(1), l.residual.span());
    }

    // The same after smooth(). The Chebyshev smoother leaves r - A (z - direction) behind, unless it has no products.
    void find_smoothed_residual(Level& l, std::span<const V> r, std::span<const V> z, bool from_zero) const
    {
        const bool known = !l.given && options.smoother == Smoother::chebyshev && (options.degree > 1 || !from_zero);
        if (known) l.multiply->run(V(-1), std::as_const(l.direction).span(), V(1), l.residual.span());
        else find_residual(l, r, z);
    }

    // Improves z; from_zero: z is not read, and taken to be zero.
    void smooth(Level& l, std::span<const V> r, std::span<V> z, bool from_zero, int sweeps,
                bool backwards = false) const
    {
        if (l.given) {
            for (int n = 0; n < sweeps * options.sweeps; ++n) smooth_as_given(l, r, z, from_zero && n == 0);
            return;
        }
        if (l.lower) {
            for (int n = 0; n < sweeps * options.sweeps; ++n)
                smooth_gauss_seidel(l, r, z, from_zero && n == 0, backwards ? *l.upper : *l.lower);
            return;
        }
        if (options.smoother == Smoother::chebyshev) {
            for (int n = 0; n < sweeps; ++n) smooth_chebyshev(l, r, z, from_zero && n == 0);
            return;
        }
        const V factor =
            options.smoother == Smoother::l1_jacobi ? V(1) : static_cast<V>(l.largest > 0 ? 4.0 / 3.0 / l.largest : 1);
        for (int n = 0; n < sweeps * options.sweeps; ++n) {
            if (from_zero && n == 0) {
                update(l, SmoothFirst<V>{l.inverse.data(), r.data(), factor, nullptr, z.data()});
                continue;
            }
            find_residual(l, r, z);
            update(l, SmoothNext<V>{l.inverse.data(), l.residual.data(), V(0), factor, nullptr, z.data()});
        }
    }

    // z += w M (r - A z), M made by a module above.
    void smooth_as_given(Level& l, std::span<const V> r, std::span<V> z, bool from_zero) const
    {
        if (!from_zero) find_residual(l, r, z);
        l.given->apply(from_zero ? r : std::as_const(l.residual).span(), l.direction.span());
        const V* step = std::as_const(l.direction).data();
        ctx.run([&](const auto& q) { vector::axpby(q, l.rows(), l.damping, step, from_zero ? 0.0 : 1.0, z.data()); });
    }

    // z += T^-1 (r - A z), T a triangle of A.
    void smooth_gauss_seidel(Level& l, std::span<const V> r, std::span<V> z, bool from_zero,
                             const sptrsv::Plan<V>& triangle) const
    {
        if (from_zero) return triangle.solve(r, z);
        find_residual(l, r, z);
        triangle.solve(std::as_const(l.residual).span(), l.direction.span());
        update(l, SmoothNext<V>{l.inverse.data(), l.residual.data(), V(1), V(0), l.direction.data(), z.data()});
    }

    // Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, algorithm 12.1, for D^-1 A.
    void smooth_chebyshev(Level& l, std::span<const V> r, std::span<V> z, bool from_zero) const
    {
        const double high = l.largest > 0 ? l.largest : 1, low = high / smoothed_part;
        const double middle = (high + low) / 2, radius = (high - low) / 2, sigma = middle / radius;
        double rho = 1 / sigma;
        const V* residual = r.data();
        if (!from_zero) {
            find_residual(l, r, z);
            residual = l.residual.data();
        }
        const V first = static_cast<V>(1 / middle);
        if (from_zero) update(l, SmoothFirst<V>{l.inverse.data(), residual, first, l.direction.data(), z.data()});
        else update(l, SmoothNext<V>{l.inverse.data(), residual, V(0), first, l.direction.data(), z.data()});
        for (int k = 1; k < options.degree; ++k) {
            if (from_zero && k == 1) ctx.run([&](const auto& q) { copy(q, r.data(), l.residual.data(), l.rows()); });
            l.multiply->run(V(-1), std::as_const(l.direction).span(), V(1), l.residual.span());
            const double next = 1 / (2 * sigma - rho);
            update(l, SmoothNext<V>{l.inverse.data(), l.residual.data(), static_cast<V>(next * rho),
                                    static_cast<V>(2 * next / radius), l.direction.data(), z.data()});
            rho = next;
        }
    }

    void solve_coarsest(Level& l, std::span<const V> r, std::span<V> z, bool from_zero) const
    {
        if (l.direct) return l.direct->run(r, z);
        smooth(l, r, z, from_zero, coarse_sweeps);
        if (l.lower) smooth(l, r, z, false, coarse_sweeps, true);
    }

    // Two steps of flexible CG for A z = r, whose preconditioner is a cycle; r is overwritten (krylov.hpp).
    void run_krylov(std::size_t n) const
    {
        Level& l = *level[n];
        Krylov<V>& k = *l.krylov;
        const auto dot = [&](const Buffer<V>& x, const Buffer<V>& y, int to) { l.store_dot(ctx, x, y, to); };
        run(n, std::as_const(l.r).span(), k.c.span(), true);
        l.multiply->run(std::as_const(k.c).span(), k.v.span());
        dot(l.r, k.c, KrylovDots::r_c);
        dot(k.v, k.c, KrylovDots::c_v);
        update(l, KrylovResidual<V>{{k.dots.data()}, k.v.data(), l.r.data()});
        run(n, std::as_const(l.r).span(), l.z.span(), true);
        l.multiply->run(std::as_const(l.z).span(), k.w.span());
        dot(k.v, l.z, KrylovDots::v_d);
        dot(k.w, l.z, KrylovDots::w_d);
        dot(l.r, l.z, KrylovDots::s_d);
        update(l, KrylovSum<V>{{k.dots.data()}, k.c.data(), l.z.data()});
    }

    // z: a cycle from z, or from zero.
    void run(std::size_t n, std::span<const V> r, std::span<V> z, bool from_zero) const
    {
        Level& l = *level[n];
        if (!l.next) return solve_coarsest(l, r, z, from_zero);
        smooth(l, r, z, from_zero, 1);
        find_smoothed_residual(l, r, z, from_zero);
        Level& coarse = *level[n + 1];
        l.next->down->run(std::as_const(l.residual).span(), coarse.r.span());
        if (options.cycle == Cycle::k && coarse.next) run_krylov(n + 1);
        else run(n + 1, std::as_const(coarse.r).span(), coarse.z.span(), true);
        if (options.cycle == Cycle::w && coarse.next)
            run(n + 1, std::as_const(coarse.r).span(), coarse.z.span(), false);
        l.next->up->run(V(1), std::as_const(coarse.z).span(), V(1), z);
        smooth(l, r, z, false, 1, true);
    }
};

}  // namespace tulle::inline TULLE_ABI::amg
