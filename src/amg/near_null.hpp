// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A near null space of any scale: what matters is the directions of its vectors, but their squares must be in the range
// of the type.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tulle/context.hpp"
#include "tulle/dense.hpp"
#include "tulle/error.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::amg {

// The largest magnitude in each column. ValueError if a value is not finite; it names the row, counted from first_row.
template <class V>
std::vector<double> largest_of_columns(const V* value, index_t rows, index_t cols, offset_t first_row = 0)
{
    std::vector<double> largest(static_cast<std::size_t>(cols), 0.0);
    for (offset_t i = 0; i < rows; ++i)
        for (index_t c = 0; c < cols; ++c) {
            const auto v = static_cast<double>(value[i * cols + c]);
            require<ValueError>(std::isfinite(v), [&] {
                return concat("row ", first_row + i, ", column ", c, " of the near null space (counted from 0) is ", v);
            });
            double& most = largest[static_cast<std::size_t>(c)];
            most = std::max(most, std::abs(v));
        }
    return largest;
}

// Columns multiplied by powers of two: the largest value of each is between 1 and 2, or zero.
template <class To, class From>
void scale_columns(const From* from, index_t rows, const std::vector<double>& largest, To* to)
{
    const auto cols = std::ssize(largest);
    for (offset_t c = 0; c < cols; ++c) {
        const double most = largest[static_cast<std::size_t>(c)];
        const int exponent = most > 0 ? std::ilogb(most) : 0;
        for (offset_t k = c; k < rows * cols; k += cols) to[k] = static_cast<To>(std::scalbn(from[k], -exponent));
    }
}

// A near null space, row-major without gaps, with scaled columns. ValueError if a value is not finite. Waits: the
// powers are found on the host.
template <class To, class From>
Dense<To> unit_columns(const Context& ctx, const DenseView<const From>& given)
{
    const index_t rows = given.cols > 0 ? given.rows : 0;
    const offset_t size = offset_t{rows} * given.cols;
    Buffer<From> from(ctx.host(), size);
    Buffer<To> to(ctx.host(), size);
    ctx.run([&](const auto& q) { download(q, given.data, from.data(), size); });
    scale_columns(from.data(), rows, largest_of_columns(from.data(), rows, given.cols), to.data());
    return ctx.run([&](const auto& q) {
        auto there = Dense<To>::make(q, rows, given.cols);
        upload(q, std::as_const(to).data(), there.data.data(), size);
        return there;
    });
}

}  // namespace tulle::inline TULLE_ABI::amg
