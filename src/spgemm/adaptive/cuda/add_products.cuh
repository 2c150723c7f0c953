// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp adds 32 products at a time to sums in shared memory, in the order of A's nonzeros, to all entries of a row of
// C or to a window of them. Lanes that have the same place take turns. Where a product falls is what a Finder says:
// from a place that is kept (KeptPlaces), or by a look at the column (FoundColumns in refill.cu).
//
// A Finder has an index for every product, in a row of B ascending (`index`, or what is `kept`); `first` and `last` of
// the window in those numbers, `whole` if that is all of the row; and place(index) in the sums.
#pragma once

#include "spgemm/adaptive/cuda/rows.cuh"

namespace tulle::inline TULLE_ABI::spgemm {

constexpr int most_segments = 4;  // of 32 products, that take turns one after the other

// 32 nonzeros of A, in the shared memory of a warp; those without products are left out.
template <class V>
struct Batch {
    offset_t* from;   // (32) where the products of each begin in B, …
    offset_t* index;  // (32) … in the Finder's indices, …
    V* factor;        // (32)
    int* start;       // (32) … and in the batch: less than that

    static constexpr std::size_t bytes() { return 32 * (2 * sizeof(offset_t) + sizeof(V) + sizeof(int)); }

    __device__ static Batch at(unsigned char* memory)
    {
        Batch t{};
        t.from = reinterpret_cast<offset_t*>(memory);
        t.index = t.from + 32;
        t.factor = reinterpret_cast<V*>(t.index + 32);
        t.start = reinterpret_cast<int*>(t.factor + 32);
        return t;
    }
};

// A nonzero of A and its row of B.
template <class V>
struct Nonzero {
    offset_t from = 0, length = 0;
    V factor = 0;
};

template <class V>
__device__ Nonzero<V> load_nonzero(const CsrView<V>& a, const CsrView<V>& b, offset_t k, index_t j, offset_t end)
{
    if (k >= end) return {};
    const offset_t from = b.row_begin[j];
    return {from, b.row_begin[j + 1] - from, a.value[k]};
}

struct Part {
    offset_t low, high;
};

// Which of a row of B's indices lie in the window: both ends are searched at once, so that their loads overlap.
template <class Finder>
__device__ Part part_in(const Finder& f, offset_t at, offset_t length)
{
    Part low{0, length}, high{0, length};
    while (low.low < low.high || high.low < high.high) {
        const offset_t m = (low.low + low.high) / 2, n = (high.low + high.high) / 2;
        const bool below = low.low < low.high && static_cast<int>(f.index[at + m]) < f.first,
                   not_above = high.low < high.high && static_cast<int>(f.index[at + n]) <= f.last;
        low = low.low == low.high ? low : below ? Part{m + 1, low.high} : Part{low.low, m};
        high = high.low == high.high ? high : not_above ? Part{n + 1, high.high} : Part{high.low, n};
    }
    return {low.low, max(low.low, high.low)};  // columns of another C need not ascend
}

// Returns how many products the batch has in the window. `before`: products before the batch.
template <class Finder, class V>
__device__ int load_batch(const Batch<V>& t, const Nonzero<V>& a, const Finder& f, offset_t& before)
{
    const int lane = team_rank<32>();
    offset_t at = a.from;
    if constexpr (Finder::kept) {
        const offset_t last_place = warp_running_sum(a.length);
        at = before + last_place - a.length;
        before += __shfl_sync(all_lanes, last_place, 31);
    }
    const Part part = f.whole ? Part{0, a.length} : part_in(f, at, a.length);
    const int count = static_cast<int>(part.high - part.low), last = warp_running_sum(count), first = last - count;
    const int to = __popc(__ballot_sync(all_lanes, count > 0) & ((1u << lane) - 1));
    t.start[lane] = 0x7fffffff;
    __syncwarp();
    if (count > 0) {
        t.start[to] = first;
        t.from[to] = a.from + part.low - first;
        if (Finder::kept) t.index[to] = at + part.low - first;
        t.factor[to] = a.factor;
    }
    __syncwarp();
    return __shfl_sync(all_lanes, last, 31);
}

template <class V, class Index>
struct Products {
    bool exists;
    Index index;
    V factor, value;
    int turn, turns;  // lanes of the same turn have different places; no turns: nobody knows yet
};

// Products first … first + 31 of the batch. `start` is this lane's entry of it.
template <class Finder, class V>
__device__ Products<V, typename Finder::Index> load_products(const Batch<V>& t, const CsrView<V>& b, const Finder& f,
                                                             int start, int first, int products)
{
    const int lane = team_rank<32>(), k = first + lane;
    const unsigned heads =
        __reduce_or_sync(all_lanes, start >= first && start < first + 32 ? 1u << (start - first) : 0u);
    const int before = __popc(__ballot_sync(all_lanes, start < first));
    const int owner = before - 1 + __popc(heads & ((2u << lane) - 1));
    const int segments = 1 + __popc(heads & ~1u);  // parts of different rows of B; the places of one are different
    Products<V, typename Finder::Index> p{k < products,
                                          0,
                                          V(0),
                                          V(0),
                                          __popc(heads & ~1u & ((2u << lane) - 1)),
                                          segments <= most_segments ? segments : 0};
    if (!p.exists) return p;
    p.index = f.index[(Finder::kept ? t.index : t.from)[owner] + k];
    p.value = b.value[t.from[owner] + k];
    p.factor = t.factor[owner];
    return p;
}

template <class Finder, class V>
__device__ void add_turns(V* sum, const Products<V, typename Finder::Index>& p, const Finder& f)
{
    const int lane = team_rank<32>(), place = p.exists ? f.place(p.index) : -1 - lane;
    int turn = p.turn, turns = p.turns;
    if (turns == 0) {
        turn = __popc(__match_any_sync(all_lanes, place) & ((1u << lane) - 1));
        turns = 1 + __reduce_max_sync(all_lanes, turn);
    }
    for (int k = 0; k < turns; ++k) {
        if (place >= 0 && turn == k) sum[place] = fused(p.factor, p.value, sum[place]);
        __syncwarp();
    }
}

// All batches; the columns of A are on their way two batches ahead, rows of B one.
template <class Finder, class V>
__device__ void add_window(V* sum, const Batch<V>& t, const CsrView<V>& a, const CsrView<V>& b, const Finder& f,
                           index_t row)
{
    const offset_t end = a.row_begin[row + 1];
    const auto col = [&](offset_t k) { return k < end ? a.col[k] : 0; };
    offset_t before = 0, mine = a.row_begin[row] + team_rank<32>();
    Nonzero<V> next = load_nonzero(a, b, mine, col(mine), end);
    index_t next_col = col(mine + 32);
    for (offset_t batch = a.row_begin[row]; batch < end; batch += 32, mine += 32) {
        const Nonzero<V> now = next;
        next = load_nonzero(a, b, mine + 32, next_col, end);
        next_col = col(mine + 64);
        const int products = load_batch(t, now, f, before), start = t.start[team_rank<32>()];
        auto coming = load_products(t, b, f, start, 0, products);
        for (int first = 0; first < products; first += 32) {
            const auto p = coming;
            if (first + 32 < products)
                coming = load_products(t, b, f, start, first + 32, products);  // on its way while these are added
            add_turns(sum, p, f);
        }
        __syncwarp();
    }
}

// Places that are kept.
template <class P>
struct KeptPlaces {
    using Index = P;
    static constexpr bool kept = true;  // in the order of the additions; otherwise an index for every entry of B

    const P* index;
    int first, last;
    bool whole;

    __device__ int place(P found) const { return static_cast<int>(found) - first; }
};

}  // namespace tulle::inline TULLE_ABI::spgemm
