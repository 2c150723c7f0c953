// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How an iteration stands, in the memory of the queue: passes read it and write it, the host looks at it from time to
// time. After a halt the passes of further iterations leave everything as it is.
#pragma once

#include "tulle/types.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::solve {

enum class Halt : int {
    none,
    target,
    not_positive_definite,
    preconditioner_indefinite,
    breakdown,
    not_finite,
    diverged
};

// Iterations that may be done between two looks of the host.
inline constexpr int most_unseen = 64;

struct Status {
    Halt halt;
    int performed;        // whether the iteration in progress is done, not skipped
    offset_t iterations;  // since the method began
    double norm;          // of the residual
    double target, limit;
    double value;  // what the halt speaks of
    double history[most_unseen];
};

using vector::is_finite;
using vector::root;

constexpr void halt(Status* s, Halt why, double value)
{
    if (s->halt != Halt::none) return;
    s->halt = is_finite(value) ? why : Halt::not_finite;
    s->value = value;
}

// An iteration is done.
constexpr void record(Status* s, double norm)
{
    s->history[s->iterations % most_unseen] = norm;
    ++s->iterations;
    s->norm = norm;
    if (!is_finite(norm)) halt(s, Halt::not_finite, norm);
    else if (norm <= s->target) halt(s, Halt::target, norm);
    else if (norm > s->limit) halt(s, Halt::diverged, norm);
}

// Two dot products: made in V by the product with the matrix, or summed in double by a pass of their own.
template <class V>
struct ProductDots {
    const V* made;
    const double* summed;
    constexpr double operator[](int k) const { return made ? static_cast<double>(made[k]) : summed[k]; }
};

}  // namespace tulle::inline TULLE_ABI::solve
