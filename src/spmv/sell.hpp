// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Sliced ELL as both backends read it.
#pragma once

#include "spmv/steps.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::spmv {

inline constexpr int slice_rows = 32;                      // a warp; four vectors of a CPU
inline constexpr index_t window_rows = 4096;               // rows change places with rows of their window only
inline constexpr offset_t most_units = offset_t{1} << 30;  // of 32 bytes: what SellColumn can address

inline void require_units(offset_t units)
{
    require<ValueError>(units < most_units, "the distances of this matrix exceed 32 GiB",
                        "force another kernel than sell");
}

// slice_begin holds, for every slice, its first column * 2, plus one if some row in it is shorter than the others.
struct SliceSpan {
    offset_t begin, end;
    bool ragged;
};
constexpr SliceSpan span_of(const offset_t* slice_begin, offset_t slice)
{
    return {slice_begin[slice] / 2, slice_begin[slice + 1] / 2, slice_begin[slice] % 2 != 0};
}

// The matrix row of a lane, -1 if it has none. Without a list, rows are in their own order.
constexpr index_t row_of(const index_t* list, index_t rows, offset_t slice, int lane)
{
    const offset_t place = slice * slice_rows + lane;
    if (list != nullptr) return list[place];
    return place < rows ? static_cast<index_t>(place) : -1;
}

constexpr offset_t length_of(const offset_t* row_begin, index_t row)
{
    return row < 0 ? 0 : row_begin[row + 1] - row_begin[row];
}

// The longest row of a window first.
constexpr std::uint64_t window_key(index_t row, offset_t length)
{
    const offset_t most = max_index, shown = length < most ? length : most;
    return static_cast<std::uint64_t>(row / window_rows) << 32 | static_cast<std::uint64_t>(most - shown);
}

constexpr int bytes_of(SellKind kind)
{
    return kind == SellKind::follow ? 0 : kind == SellKind::bytes1 ? 1 : kind == SellKind::bytes2 ? 2 : 4;
}

// The shortest form of distances up to `width`.
constexpr SellKind kind_for(index_t width)
{
    return width < 256 ? SellKind::bytes1 : width < 65536 ? SellKind::bytes2 : SellKind::bytes4;
}

// Whether lanes from column `start` on may be read as base + lane: also those that have no entry.
constexpr bool may_follow(index_t start, index_t cols) { return start >= 0 && offset_t{start} + slice_rows <= cols; }

constexpr SellColumn column_of(index_t base, SellKind kind, offset_t unit)
{
    return {base, static_cast<std::uint32_t>(unit) * 4 + static_cast<std::uint32_t>(kind)};
}

}  // namespace tulle::inline TULLE_ABI::spmv
