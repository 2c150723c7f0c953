// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The reproducible sum of x_i y_i on one queue; waits. The same bits on all queues.
#pragma once

#include <vector>

#include "vector/binned_sum.hpp"

namespace tulle::inline TULLE_ABI::vector {

template <class V>
BinnedSum local_dot(const CpuQueue& q, const V* x, const V* y, offset_t n);

// Infinities, NaN and the largest numbers are left to the host.
template <class V>
BinnedSum local_dot(const CudaQueue& q, const V* x, const V* y, offset_t n)
{
    const BinUnits units = units_of_products(q, x, y, n);
    if (units.largest == 0 || is_quick(units.largest)) return BinnedSum::of(units);
    std::vector<V> here_x(static_cast<std::size_t>(n)), here_y(here_x.size());
    download(q, x, here_x.data(), n);
    download(q, y, here_y.data(), n);
    return local_dot(CpuQueue(1, q.memory), here_x.data(), here_y.data(), n);
}

}  // namespace tulle::inline TULLE_ABI::vector
