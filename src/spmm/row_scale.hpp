// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Options::row_scale: factors of the rows of C, for matrices of 16-bit numbers whose rows were scaled (narrow.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "device/placed.hpp"
#include "spmm/arguments.hpp"
#include "spmm/host_pattern.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// Which factors there are: how many other than 1, and their exponents.
struct RowScaleFacts {
    index_t scaled = 0;
    int least = 0, most = 0;
};

// Whether the factors are for numbers of this type and for so many rows of op(A).
template <class V>
void require_row_scale(std::span<const float> scale, index_t rows)
{
    require<ValueError>(is_half<V> || scale.empty(), "row_scale is for matrices of 16-bit numbers",
                        "multiply the rows of A, or leave it empty");
    require<ShapeError>(scale.empty() || std::ssize(scale) == rows, [&] {
        return concat("row_scale has ", scale.size(), " factors, but op(A) has ", rows, " rows");
    });
}

// Looks at all factors, which must be powers of two; waits.
inline RowScaleFacts inspect_row_scale(const Context& ctx, std::span<const float> scale)
{
    RowScaleFacts facts;
    if (scale.empty()) return facts;
    const void* unknown = nullptr;
    require_placed(ctx, scale.data(), scale.size(), unknown, "row_scale");
    const Buffer<float> here =
        ctx.run([&](const auto& q) { return fetch(q, ctx.host(), scale.data(), std::ssize(scale)); });
    for (offset_t i = 0; i < here.size(); ++i) {
        const float factor = here.data()[i];
        int exponent = 0;
        require<ValueError>(
            std::isfinite(factor) && std::frexp(factor, &exponent) == 0.5f,
            [&] { return concat("row_scale[", i, "] is ", factor, ", which is not a power of two"); },
            "narrow() makes such factors");
        if (--exponent == 0) continue;
        facts.least = facts.scaled == 0 ? exponent : std::min(facts.least, exponent);
        facts.most = facts.scaled == 0 ? exponent : std::max(facts.most, exponent);
        ++facts.scaled;
    }
    return facts;
}

// A line of describe().
inline std::string row_scale_text(std::span<const float> scale, const RowScaleFacts& facts)
{
    if (scale.empty()) return "";
    const std::string range = facts.scaled == 0 ? "" : concat(", 2^", facts.least, " to 2^", facts.most);
    return concat("\n  scale:  ", grouped(facts.scaled), " of ", grouped(std::ssize(scale)),
                  " rows of C by powers of two", range);
}

}  // namespace tulle::inline TULLE_ABI::spmm
