// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C with at most 32 products, from at most 32 nonzeros of A: a slice of lanes holds one product each. Equal
// columns find each other by a match over the warp; the first of them sums the others up, in their order, and counts
// how many different columns are smaller than its own.
#pragma once

#include "spgemm/adaptive/cuda/rows.cuh"

namespace tulle::inline TULLE_ABI::spgemm {

template <class V>
struct LaneProduct {
    index_t col;      // below zero, and different in every lane, where there is no product; 0 where nobody asks
    V factor, value;  // to be multiplied when they are added
};

// Product number `lane` of the row, in the order of A's nonzeros. `owner` is a word of shared memory for every lane of
// the slice.
template <int Lanes, bool Values, bool Columns = true, class V>
__device__ LaneProduct<V> lane_product(const CsrView<V>& a, const CsrView<V>& b, index_t row, int* owner)
{
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const offset_t begin = row < 0 ? 0 : a.row_begin[row];
    const int length = row < 0 ? 0 : static_cast<int>(a.row_begin[row + 1] - begin);
    offset_t from = 0;
    int count = 0;
    V factor = 0;
    if (lane < length) {
        const index_t j = a.col[begin + lane];
        from = b.row_begin[j];
        count = static_cast<int>(b.row_begin[j + 1] - from);
        if (Values) factor = a.value[begin + lane];
    }
    int end = count;
    for (int distance = 1; distance < Lanes; distance *= 2) {
        const int before = __shfl_up_sync(all_lanes, end, distance, Lanes);
        if (lane >= distance) end += before;
    }
    const int start = end - count, total = __shfl_sync(all_lanes, end, Lanes - 1, Lanes);
    unsigned heads = count > 0 ? 1u << start : 0;  // where the products of each row of B begin
    for (int distance = 1; distance < Lanes; distance *= 2) heads |= __shfl_xor_sync(all_lanes, heads, distance);
    if (count > 0) owner[start] = lane;
    __syncwarp();
    const bool active = lane < total;
    const int mine = active ? owner[31 - __clz(static_cast<int>(heads & ((2u << lane) - 1)))] : 0;
    const offset_t at = __shfl_sync(all_lanes, from - start, mine, Lanes) + lane;
    if (Values) factor = __shfl_sync(all_lanes, factor, mine, Lanes);
    if (!active) return {-1 - lane, V(0), V(0)};
    return {Columns ? b.col[at] : 0, factor, Values ? b.value[at] : V(0)};
}

// Lanes of the same slice with the same column, of which there are `cols` in all. Matching 64 bits costs twice as much
// as 32.
template <int Lanes>
__device__ unsigned peers_of(index_t col, index_t cols)
{
    if constexpr (Lanes == 32) return __match_any_sync(all_lanes, col);
    constexpr int slices = 32 / Lanes;
    const unsigned slice = threadIdx.x % 32 / Lanes;
    if (cols < max_index / slices - 32) return __match_any_sync(all_lanes, static_cast<unsigned>(col) * slices + slice);
    return __match_any_sync(all_lanes, static_cast<unsigned long long>(slice) << 32 | static_cast<unsigned>(col));
}

// The lanes of this slice that are the first with their column.
template <int Lanes>
__device__ unsigned leaders_of(index_t col, unsigned peers)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, base = lane / Lanes * Lanes;
    const unsigned leaders = __ballot_sync(all_lanes, col >= 0 && __ffs(static_cast<int>(peers)) - 1 == lane);
    return leaders >> base & (Lanes == 32 ? all_lanes : (1u << Lanes % 32) - 1);
}

// For leaders, the sum over the lanes with the same column, in order.
template <class V>
__device__ V sum_of_peers(const LaneProduct<V>& p, unsigned peers, bool leads)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    unsigned left = leads ? peers & ~(1u << lane) : 0;
    V sum = fused(p.factor, p.value, V(-0.0));
    while (__any_sync(all_lanes, left != 0)) {
        const int from = left != 0 ? __ffs(static_cast<int>(left)) - 1 : lane;
        const V factor = __shfl_sync(all_lanes, p.factor, from), value = __shfl_sync(all_lanes, p.value, from);
        if (left != 0) sum = fused(factor, value, sum);
        left &= left - 1;
    }
    return sum;
}

}  // namespace tulle::inline TULLE_ABI::spgemm
