// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A near null space of any scale: what matters is the directions of its vectors, but their squares must be in the range
// of the type.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "tulle/context.hpp"
#include "tulle/dense.hpp"
#include "tulle/error.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::amg {

// The exponent of a column's largest value; 0 for a column of zeros.
template <class V>
int exponent_of_column(const V* value, index_t rows, index_t cols, index_t column)
{
    double largest = 0;
    for (offset_t i = 0; i < rows; ++i) {
        const auto v = static_cast<double>(value[i * cols + column]);
        require<ValueError>(std::isfinite(v), [&] {
            return concat("row ", i, ", column ", column, " of the near null space (counted from 0) is ", v);
        });
        largest = std::max(largest, std::abs(v));
    }
    return largest > 0 ? std::ilogb(largest) : 0;
}

// A near null space, row-major without gaps, whose columns are multiplied by powers of two: the largest value of each
// is between 1 and 2. ValueError if a value is not finite. Waits: the powers are found on the host.
template <class To, class From>
Dense<To> unit_columns(const Context& ctx, const DenseView<const From>& given)
{
    const offset_t size = given.cols > 0 ? offset_t{given.rows} * given.cols : 0;
    Buffer<From> from(ctx.host(), size);
    Buffer<To> to(ctx.host(), size);
    ctx.run([&](const auto& q) { download(q, given.data, from.data(), size); });
    for (index_t c = 0; c < given.cols; ++c) {
        const int exponent = exponent_of_column(from.data(), given.rows, given.cols, c);
        for (offset_t k = c; k < size; k += given.cols)
            to.data()[k] = static_cast<To>(std::scalbn(from.data()[k], -exponent));
    }
    return ctx.run([&](const auto& q) {
        auto there = Dense<To>::make(q, given.cols > 0 ? given.rows : 0, given.cols);
        upload(q, std::as_const(to).data(), there.data.data(), size);
        return there;
    });
}

}  // namespace tulle::inline TULLE_ABI::amg
