// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Right-hand sides so small or large that their squares leave the range of double, or products with them that of float:
// A x = b is solved times a power of two, which changes no digit.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "tulle/solve.hpp"

namespace tulle::inline TULLE_ABI::solve {

// Norms of b with which a solve computes as they are: squares of residuals far smaller are ordinary numbers too.
template <class V>
constexpr bool is_ordinary(double norm)
{
    constexpr double most = std::is_same_v<V, float> ? 1e25 : 1e140;
    return norm >= 1 / most && norm <= most;
}

// to = 2^exponent from, in two steps: the power itself may be out of range. The vectors may be the same.
template <class System, class In, class Out>
void scale_vector(System& system, int exponent, In from, Out to)
{
    const int half = exponent / 2;
    system.axpby(std::ldexp(1.0, half), from, 0, to);
    system.axpby(std::ldexp(1.0, exponent - half), to, 0, to);
}

// Norm of v, right in all places but the exponent: v is written to scratch times 2^exponent.
struct ScaledNorm {
    double norm;
    int exponent;
};

// norm: of v, as it was computed, not ordinary. Squares of float are ordinary in double.
template <class V, class System, class In, class Out>
ScaledNorm scaled_norm(System& system, double norm, In v, Out scratch)
{
    const int exponent = std::is_same_v<V, float> ? 0 : norm < 1 ? 600 : -600;
    scale_vector(system, exponent, v, scratch);
    return {system.norm_of(scratch), exponent};
}

// The exponent of the power of two that makes the norm of v about 1; 0 where v is zero or not finite.
template <class V, class System, class In, class Out>
int exponent_for(System& system, double norm, In v, Out scratch)
{
    const ScaledNorm scaled = scaled_norm<V>(system, norm, v, scratch);
    if (scaled.norm == 0 || !std::isfinite(scaled.norm)) return 0;
    return scaled.exponent - std::ilogb(scaled.norm);
}

// Whether no entry is NaN or infinite.
template <class V, class System, class In, class Out>
bool is_finite_vector(System& system, In v, Out scratch)
{
    return std::isfinite(scaled_norm<V>(system, std::numeric_limits<double>::infinity(), v, scratch).norm);
}

// The power of two that b and x of one solve are multiplied by: 1 unless b is of unusual scale.
template <class V, class System>
class Scaling {
public:
    using Vector = typename System::Vector;
    using Input = typename System::Input;
    using Output = typename System::Output;

    // The scratch is written where b is of unusual scale.
    Scaling(System& system, Vector& scratch) : system_(system), scratch_(scratch) {}

    bool changes() const { return exponent_ != 0; }
    // b itself where it is zero or not finite. norm: of b, not ordinary.
    Input apply(Input b, double norm)
    {
        exponent_ = exponent_for<V>(system_, norm, b.data(), scratch_.data());
        if (!changes()) return b;
        b_ = make_vector();
        scale_vector(system_, exponent_, b.data(), b_.data());
        if constexpr (std::is_same_v<Input, std::span<const V>>) return std::as_const(b_).span();
        else return Input(std::as_const(b_).data());
    }
    // A first guess; whether it can be used: one that is out of range beside b is worth nothing.
    bool apply_to_guess(Output x)
    {
        if (!is_finite_vector<V>(system_, x.data(), scratch_.data())) return true;  // the caller's mistake
        scale_vector(system_, exponent_, x.data(), x.data());
        return is_finite_vector<V>(system_, x.data(), scratch_.data());
    }
    // x as the caller will have it: its last digits may be lost, or it may be out of range.
    void round(Output x)
    {
        undo(x);
        scale_vector(system_, exponent_, x.data(), x.data());
    }
    void undo(Output x) { scale_vector(system_, -exponent_, x.data(), x.data()); }
    void undo(Report& r) const
    {
        r.residual = undone(r.residual);
        r.target = undone(r.target);
        r.value = std::ldexp(r.value, -2 * exponent_);  // p · A p
        for (double& norm : r.history) norm = undone(norm);
    }
    double applied(double norm) const { return std::ldexp(norm, exponent_); }
    double undone(double norm) const { return std::ldexp(norm, -exponent_); }

private:
    // Collective where the system is distributed.
    Vector make_vector() const
    {
        if constexpr (requires { system_.make_vector_together(); }) return system_.make_vector_together();
        else return system_.make_vector();
    }

    System& system_;
    Vector& scratch_;
    int exponent_ = 0;
    Vector b_ = {};
};

}  // namespace tulle::inline TULLE_ABI::solve
