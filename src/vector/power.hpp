// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The power method.
#pragma once

#include <cmath>
#include <utility>

#include "tulle/memory.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::vector {

// The largest eigenvalue of a linear operator, from below: step(f) replaces x by the operator applied to f x. 1 where
// it maps to zero. Waits.
template <class Queue, class V, class Step>
double largest_by_power(const Queue& q, Buffer<V>& x, int steps, const Step& step)
{
    PassBuffer buffer(q, x.size());
    Buffer<double> square(q, 2);
    fill_scattered(q, x.size(), x.data());
    double norm = 1;
    for (int k = 0;; ++k) {
        const V* now = std::as_const(x).data();
        dot(q, x.size(), now, now, square.data(), buffer.space());
        norm = std::sqrt(read_value(q, square.data()));
        if (!(norm > 0)) return 1;
        if (k == steps) return norm;
        step(1 / norm);
    }
}

}  // namespace tulle::inline TULLE_ABI::vector
