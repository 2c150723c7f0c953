// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C that are one scaled row of B, eight lanes each; long ones by a whole warp.
#pragma once

#include "spgemm/adaptive/cuda/rows.cuh"

namespace tulle::inline TULLE_ABI::spgemm {

inline constexpr offset_t long_copy = 128;  // entries; longer rows are copied by a whole warp

template <bool Columns, class V>
__device__ void copy_scaled(const CsrView<V>& b, offset_t from, offset_t length, V factor, const RowRange<V>& c,
                            offset_t to, int lane, int lanes)
{
    for (offset_t k = lane; k < length; k += lanes) {
        if (Columns) c.col[to + k] = b.col[from + k];
        c.value[to + k] = factor * b.value[from + k];
    }
}

template <bool Columns, class V>
__device__ void copy_rows(const CsrView<V>& a, const CsrView<V>& b, const Task& t, const RowRange<V>& c)
{
    const offset_t number = team_number<8>();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool exists = number < t.rows;
    const index_t row = exists ? t.list[number] : 0;
    const offset_t only = exists ? a.row_begin[row] : 0;
    const V factor = exists ? a.value[only] : V(0);
    const offset_t from = exists ? b.row_begin[a.col[only]] : 0,
                   length = exists ? b.row_begin[a.col[only] + 1] - from : 0;
    const offset_t to = exists ? c.row_begin[row] - c.base : 0;
    if (length <= long_copy) copy_scaled<Columns>(b, from, length, factor, c, to, lane % 8, 8);
    for (unsigned left = __ballot_sync(all_lanes, length > long_copy && lane % 8 == 0); left != 0; left &= left - 1) {
        const int owner = __ffs(static_cast<int>(left)) - 1;
        copy_scaled<Columns>(b, __shfl_sync(all_lanes, from, owner), __shfl_sync(all_lanes, length, owner),
                             __shfl_sync(all_lanes, factor, owner), c, __shfl_sync(all_lanes, to, owner), lane, 32);
    }
}

}  // namespace tulle::inline TULLE_ABI::spgemm
