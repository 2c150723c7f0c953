// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Passes of Chebyshev iteration (Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 12.1), as a
// method and as a polynomial preconditioner; and the residual that methods without one of their own record.
#pragma once

#include "solve/status.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::solve {

// d = keep d + take D r; x += d, or x = d in the first step of a preconditioner.
template <class V>
struct ChebyshevStep {
    static constexpr int sums = 0;
    V* d;
    const V* r;
    const V* inverse;   // null: D is the identity
    double keep, take;  // keep == 0: d is not read
    V* x;
    bool set;
    const Status* status;  // null: none to ask

    constexpr bool load() { return !status || status->halt == Halt::none; }
    constexpr void at(offset_t i) const
    {
        const double scaled = inverse ? static_cast<double>(inverse[i]) * r[i] : static_cast<double>(r[i]);
        const double next = keep == 0 ? take * scaled : keep * d[i] + take * scaled;
        d[i] = static_cast<V>(next);
        x[i] = static_cast<V>(set ? next : x[i] + next);
    }
};

// Records the norm of r.
template <class V>
struct RecordNorm {
    static constexpr int sums = 1;
    const V* r;
    Status* status;

    constexpr bool load() { return status->halt == Halt::none; }
    constexpr vector::Sums<1> at(offset_t i) const { return {{static_cast<double>(r[i]) * r[i]}}; }
    constexpr void finish(bool on, const double* sum) const
    {
        if (on) record(status, root(sum[0]));
    }
};

}  // namespace tulle::inline TULLE_ABI::solve
