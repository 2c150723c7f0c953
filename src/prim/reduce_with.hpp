// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the reductions of both backends are made of, so that they agree on NaN and on sums that do not fit.
#pragma once

#include <limits>
#include <type_traits>

#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

struct Plus {
    template <class A, class B>
    constexpr auto operator()(A a, B b) const
    {
        return a + b;
    }  // CUB joins entries and totals directly
};

// NaN loses against every number, whichever side it stands on: the result does not depend on the order.
struct Larger {
    template <class T>
    constexpr T operator()(T a, T b) const
    {
        return b > a || a != a ? b : a;
    }
};

struct Smaller {
    template <class T>
    constexpr T operator()(T a, T b) const
    {
        return b < a || a != a ? b : a;
    }
};

// The type a sum is taken in: 32-bit integers are added in 64 bits.
template <class T>
using Total = std::conditional_t<std::is_same_v<T, index_t>, offset_t, T>;

template <class T>
T narrow_total(Total<T> total)
{
    if constexpr (std::is_same_v<T, index_t>)
        require<ValueError>(total >= std::numeric_limits<index_t>::min() && total <= max_index,
                            [&] { return concat("the sum ", total, " does not fit 32 bits"); });
    return static_cast<T>(total);
}

}  // namespace tulle::inline TULLE_ABI::prim
