// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "vector/local_dot.hpp"

#include <algorithm>

namespace tulle::inline TULLE_ABI::vector {

template <class V>
BinnedSum local_dot(const CpuQueue&, const V* x, const V* y, offset_t n)
{
    constexpr offset_t first = 64, others = 2048;  // the first tells how large products are, and takes two passes
    static_assert(others <= BinnedSum::most_at_once);
    BinnedSum sum;
    for (offset_t i = 0; i < n;) {
        const offset_t count = std::min(i == 0 ? first : others, n - i);
        sum.add_products(x + i, y + i, static_cast<int>(count));
        i += count;
    }
    return sum;
}

template BinnedSum local_dot(const CpuQueue&, const float*, const float*, offset_t);
template BinnedSum local_dot(const CpuQueue&, const double*, const double*, offset_t);

}  // namespace tulle::inline TULLE_ABI::vector
