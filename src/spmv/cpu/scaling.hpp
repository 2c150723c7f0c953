// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// y = A x, y = alpha A x, y = alpha A x + beta y: in rows of a few nonzeros a product more is felt.
enum class Scaling { none, alpha, alpha_and_beta };

template <class V>
Scaling scaling_of(const Vectors<V>& v)
{
    if (v.beta != V(0)) return Scaling::alpha_and_beta;
    return v.alpha == V(1) ? Scaling::none : Scaling::alpha;
}

}  // namespace tulle::inline TULLE_ABI::spmv
