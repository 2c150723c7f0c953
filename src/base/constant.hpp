// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From run-time numbers to compile-time ones, for kernels whose shape is a template argument.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {

// with_constant<1, 2, 4>(n, [&](auto lanes) { kernel<lanes()>… }): refuses numbers that were never compiled.
template <int... Choices, class F>
void with_constant(int n, F&& f)
{
    const bool found = ((n == Choices && (f(std::integral_constant<int, Choices>{}), true)) || ...);
    require<ValueError>(found, [&] { return concat("no kernel was compiled for the value ", n); });
}

// f(0), f(1), … f(N-1) with each number known at compile time.
template <std::size_t N, class F>
constexpr void for_each_index(F&& f)
{
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(std::integral_constant<std::size_t, I>{}), ...); }
    (std::make_index_sequence<N>{});
}

}  // namespace tulle::inline TULLE_ABI
