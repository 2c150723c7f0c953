// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Coefficients of Chebyshev iteration for eigenvalues between two bounds (Saad, algorithm 12.1).
#pragma once

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::solve {

class ChebyshevRecurrence {
public:
    // d = keep d + take r.
    struct Step {
        double keep, take;
    };

    ChebyshevRecurrence(double lowest, double highest)
        : middle_((highest + lowest) / 2),
          half_(highest > lowest ? (highest - lowest) / 2 : 0)
    {}

    Step next()
    {
        if (rho_ == 0 || half_ == 0) {
            rho_ = half_ / middle_;
            return {0, 1 / middle_};
        }
        const double before = rho_;
        rho_ = 1 / (2 * middle_ / half_ - before);
        return {rho_ * before, 2 * rho_ / half_};
    }

private:
    double middle_, half_, rho_ = 0;
};

}  // namespace tulle::inline TULLE_ABI::solve
