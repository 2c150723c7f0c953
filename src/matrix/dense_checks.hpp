// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What operations with a sparse matrix and dense ones check of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/error.hpp"
#include "tulle/float16.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::matrix {

template <class V>
std::string type_name()
{
    if constexpr (std::is_same_v<V, Float16>) return "f16";
    else if constexpr (std::is_same_v<V, Bfloat16>) return "bf16";
    else return sizeof(V) == 4 ? "f32" : "f64";
}

// Sizes and arrays are known to be sound. Nobody looks at the numbers, which may be NaN.
template <class V>
void check_matrix(const Context& ctx, const CsrView<V>& a)
{
    const Findings found = validate_pattern(ctx, a);
    require<ValueError>(found.ok(), found.problem);
}

// The addresses between which a matrix lies.
template <class V>
std::pair<std::uintptr_t, std::uintptr_t> reach(const DenseView<V>& m)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(m.data);
    return {begin,
            begin + static_cast<std::size_t>(matrix::count_reach(m.rows, m.cols, m.leading, m.layout, sizeof(V))) *
                        sizeof(V)};
}

template <class V>
void require_shape(const DenseView<V>& m, index_t rows, index_t cols, std::string_view name)
{
    require(m.rows == rows && m.cols == cols,
            [&] { return concat(name, " is ", m.rows, " x ", m.cols, ", but must be ", rows, " x ", cols); });
    check_dense(m, name);
}

}  // namespace tulle::inline TULLE_ABI::matrix
