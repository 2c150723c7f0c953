// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp adds rows of B, one after the other, to sums that stand in shared memory by their place in a row of C: the row
// itself, or up to three neighbours of equal pattern. Rows of B that follow each other in a row of A and have equal
// columns are read together too: a place is found once for up to nine products. Where none have, the beginning of the
// next row is on its way while one is added. Every sum is taken in the order of A's nonzeros, whatever is done
// together.
#pragma once

#include "spgemm/adaptive/cuda/rows.cuh"

namespace tulle::inline TULLE_ABI::spgemm {

// Count rows of B with equal columns, one behind the other, times a block of A: `rows` rows of it, nonzeros_a apart.
// Where these are fewer than Rows, the last one is added again to sums that nobody reads. place_of(index[l]) is where
// entry l of the rows falls.
template <int Rows, int Count, class Index, class PlaceOf, class V>
__device__ void add_rows(V* sums, int nonzeros, const PlaceOf& place_of, const Index* __restrict__ index,
                         const V* __restrict__ value, int length, const V* __restrict__ factors, offset_t nonzeros_a,
                         int rows)
{
    V factor[Rows][Count];
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
        for (int k = 0; k < Count; ++k) factor[r][k] = factors[min(r, rows - 1) * nonzeros_a + k];
#pragma unroll 2
    for (int l = team_rank<32>(); l < length; l += 32) {
        V b[Count];
#pragma unroll
        for (int k = 0; k < Count; ++k) b[k] = value[k * length + l];
        V* at = sums + place_of(index[l]);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            V sum = at[r * nonzeros];
#pragma unroll
            for (int k = 0; k < Count; ++k) sum = fused(factor[r][k], b[k], sum);
            at[r * nonzeros] = sum;
        }
    }
    __syncwarp();
}

// Which of 32 nonzeros of A open a group of rows of B that are read together: bits. `repeat`: the row equals the one
// before.
__device__ inline unsigned openers(bool exists, bool repeat)
{
    const int lane = team_rank<32>();
    const unsigned fresh = __ballot_sync(all_lanes, !repeat || lane == 0);
    const int since = lane - (31 - __clz(static_cast<int>(fresh & ((2u << lane) - 1))));
    return __ballot_sync(all_lanes, exists && since % run_limit == 0);
}

// Rows of B of a batch of `count` nonzeros of A, one after the other, each of its own columns: lane i of the warp
// knows nonzero i, where its row of B begins, how long it is, and where its index does.
template <int Rows, class Index, class PlaceOf, class V>
__device__ void add_single_rows(V* sums, int nonzeros, const PlaceOf& place_of, const Index* __restrict__ index,
                                const V* __restrict__ value, offset_t from, offset_t index_from, int length,
                                const V* __restrict__ factors, offset_t nonzeros_a, int rows, int count)
{
    const int lane = team_rank<32>();
    V mine[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) mine[r] = lane < count ? factors[min(r, rows - 1) * nonzeros_a + lane] : V(0);
    Index ahead_index = {};
    V ahead_value = V(0);
    const auto ask = [&](int k) {
        const offset_t at = __shfl_sync(all_lanes, from, k), at_index = __shfl_sync(all_lanes, index_from, k);
        if (lane >= __shfl_sync(all_lanes, length, k)) return;
        ahead_index = index[at_index + lane];
        ahead_value = value[at + lane];
    };
    ask(0);
    for (int k = 0; k < count; ++k) {
        const Index first_index = ahead_index;
        const V first_value = ahead_value;
        if (k + 1 < count) ask(k + 1);
        const offset_t at = __shfl_sync(all_lanes, from, k), at_index = __shfl_sync(all_lanes, index_from, k);
        const int wide = __shfl_sync(all_lanes, length, k);
        V factor[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) factor[r] = __shfl_sync(all_lanes, mine[r], k);
        const auto add = [&](const Index& i, V b) {
            V* const to = sums + place_of(i);
#pragma unroll
            for (int r = 0; r < Rows; ++r) to[r * nonzeros] = fused(factor[r], b, to[r * nonzeros]);
        };
        if (lane < wide) add(first_index, first_value);
#pragma unroll 2
        for (int l = lane + 32; l < wide; l += 32) add(index[at_index + l], value[at + l]);
        __syncwarp();
    }
}

static_assert(run_limit == 3, "add_products knows the cases one by one");

// All products of a row. `index` are the columns of B (ByRow false), or whatever stands for them one after the other in
// the order of the additions, once for rows of B that equal their predecessor (ByRow true).
template <int Rows, bool ByRow, class Index, class PlaceOf, class V>
__device__ void add_products(V* sums, int nonzeros, const PlaceOf& place_of, const Index* index, const CsrView<V>& a,
                             const CsrView<V>& b, const unsigned char* runs_b, index_t row, int rows)
{
    const offset_t begin = a.row_begin[row], end = a.row_begin[row + 1];
    offset_t before = 0;
    for (offset_t batch = begin; batch < end; batch += 32) {
        const offset_t k = batch + team_rank<32>();
        const bool exists = k < end;
        const index_t j = exists ? a.col[k] : 0;
        const offset_t from = exists ? b.row_begin[j] : 0;
        const int length = exists ? static_cast<int>(b.row_begin[j + 1] - from) : 0;
        const bool repeat = exists && repeats(a.col, begin, k, runs_b);
        offset_t place = 0;
        if constexpr (ByRow) {
            const int last = warp_running_sum(repeat ? 0 : length);
            place = before + last - length;  // a repeated row ends where the one before it does
            before += __shfl_sync(all_lanes, last, 31);
        }
        const int here = static_cast<int>(min(offset_t{32}, end - batch));
        if (__ballot_sync(all_lanes, repeat) == 0) {
            add_single_rows<Rows>(sums, nonzeros, place_of, index, b.value, from, ByRow ? place : from, length,
                                  a.value + batch, end - begin, rows, here);
            continue;
        }
        unsigned open = openers(exists, repeat);
        while (open != 0) {
            const int first = __ffs(static_cast<int>(open)) - 1;
            open &= open - 1;
            const int count = (open != 0 ? __ffs(static_cast<int>(open)) - 1 : here) - first;
            const offset_t at = __shfl_sync(all_lanes, from, first);
            const int wide = __shfl_sync(all_lanes, length, first);
            const V* factors = a.value + batch + first;
            const Index* at_index = index + (ByRow ? __shfl_sync(all_lanes, place, first) : at);
            if (count == 1)
                add_rows<Rows, 1>(sums, nonzeros, place_of, at_index, b.value + at, wide, factors, end - begin, rows);
            else if (count == 2)
                add_rows<Rows, 2>(sums, nonzeros, place_of, at_index, b.value + at, wide, factors, end - begin, rows);
            else
                add_rows<Rows, run_limit>(sums, nonzeros, place_of, at_index, b.value + at, wide, factors, end - begin,
                                          rows);
        }
    }
}

}  // namespace tulle::inline TULLE_ABI::spgemm
