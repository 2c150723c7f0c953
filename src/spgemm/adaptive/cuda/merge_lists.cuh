// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A thread merges up to eight sorted lists, parts of rows of B, column after column: no table, no search, no sort. A
// warp brings the lists of its lanes to shared memory first, where it also collects what they write, so that neighbours
// in memory move together.
//
// The next entry of every list is a number in a register: its column, and in the lowest bits which list it is. The
// smallest one is the next to be added: equal columns come in the order of the lists, which is that of A's nonzeros.
#pragma once

#include "device/cuda/copies.cuh"
#include "spgemm/adaptive/cuda/rows.cuh"

namespace tulle::inline TULLE_ABI::spgemm {

inline constexpr int list_bits = 3;
static_assert(most_lists == 1 << list_bits);
// What the columns behind the end of a list, max_index, become; columns of C are less than most_list_columns, and so
// are their numbers.
inline constexpr unsigned list_end = static_cast<unsigned>(max_index) << list_bits;
static_assert(((static_cast<unsigned>(most_list_columns) - 1) << list_bits | (most_lists - 1)) < list_end);

inline constexpr int burst = 8;               // entries of C of every lane between two writes
inline constexpr int out_stride = burst + 1;  // one more may be unfinished; odd, so that lanes meet different banks

// Shared memory of a warp.
template <int Lists, bool Values, class V>
struct Board {
    offset_t* from;    // (32 Lists) where each list begins in B, those of lane 0 first; no empty ones
    V* value;          // (slots)
    V* factor;         // (32 Lists)
    V* out_value;      // (32, out_stride)
    index_t* col;      // (slots) with max_index behind each list
    index_t* out_col;  // (32, out_stride)
    int* start;        // (32 Lists + 1) where each list begins in the slots, then its next entry

    static constexpr std::size_t bytes(int slots)
    {
        const std::size_t numbers = Values ? static_cast<std::size_t>(slots) + 32 * Lists + 32 * out_stride : 0;
        return 32 * Lists * sizeof(offset_t) + numbers * sizeof(V) +
               (static_cast<std::size_t>(slots) + (Values ? 32 * out_stride : 0) + 32 * Lists + 1) * sizeof(index_t);
    }

    __device__ static Board at(unsigned char* memory, int slots)
    {
        Board t{};
        t.from = reinterpret_cast<offset_t*>(memory);
        t.value = reinterpret_cast<V*>(t.from + 32 * Lists);
        t.factor = t.value + (Values ? slots : 0);
        t.out_value = t.factor + (Values ? 32 * Lists : 0);
        t.col = reinterpret_cast<index_t*>(t.out_value + (Values ? 32 * out_stride : 0));
        t.out_col = t.col + slots;
        t.start = t.out_col + (Values ? 32 * out_stride : 0);
        return t;
    }
};

// The lists of a thread, as far as it merges them.
template <int Lists>
struct Parts {
    offset_t from[Lists];
    int length[Lists];
};

// The rows of B that a row of A asks for; none where there is no row.
template <int Lists, class V>
__device__ Parts<Lists> load_parts(const CsrView<V>& a, const CsrView<V>& b, index_t row)
{
    const offset_t begin = row < 0 ? 0 : a.row_begin[row], count = row < 0 ? 0 : a.row_begin[row + 1] - begin;
    Parts<Lists> p;
#pragma unroll
    for (int k = 0; k < Lists; ++k) {
        const index_t j = k < count ? a.col[begin + k] : -1;
        p.from[k] = j < 0 ? 0 : b.row_begin[j];
        p.length[k] = j < 0 ? 0 : static_cast<int>(b.row_begin[j + 1] - p.from[k]);
    }
    return p;
}

// Leaves what lies from column `first` on, up to where the next lane begins if it has the same row. All lists are
// searched at once, so that their loads overlap.
template <int Lists, class V>
__device__ void trim(Parts<Lists>& p, const CsrView<V>& b, index_t row, index_t first)
{
    int longest = 0, below[Lists];
#pragma unroll
    for (int k = 0; k < Lists; ++k) {
        longest = max(longest, p.length[k]);
        below[k] = 0;
    }
#pragma unroll 1
    for (int step = longest > 0 ? 1 << (31 - __clz(longest)) : 0; step > 0; step /= 2)
#pragma unroll
        for (int k = 0; k < Lists; ++k) {
            const int next = below[k] + step;
            if (next <= p.length[k] && b.col[p.from[k] + next - 1] < first) below[k] = next;
        }
    const index_t next_row = __shfl_down_sync(all_lanes, row, 1);
    const bool goes_on = team_rank<32>() < 31 && next_row == row;
#pragma unroll
    for (int k = 0; k < Lists; ++k) {
        const int end = __shfl_down_sync(all_lanes, below[k], 1);
        p.length[k] = (goes_on ? end : p.length[k]) - below[k];
        p.from[k] += below[k];
    }
}

// Where the lists of a lane stand: in the table, and in the slots of the whole warp.
struct Share {
    int lists, first_list, end_list;
    int first_slot, end_slot;
};

// All lists that are not empty into the table. `nonzero`: the first of A.
template <int Lists, bool Values, class V>
__device__ Share enter_parts(const Board<Lists, Values, V>& t, const Parts<Lists>& p, const V* factor)
{
    int lists = 0, slots = 0;
#pragma unroll
    for (int k = 0; k < Lists; ++k) {
        lists += p.length[k] > 0 ? 1 : 0;
        slots += p.length[k] > 0 ? p.length[k] + 1 : 0;
    }
    const int end_list = warp_running_sum(lists), end_slot = warp_running_sum(slots);
    int list = end_list - lists, slot = end_slot - slots;
#pragma unroll
    for (int k = 0; k < Lists; ++k) {
        if (p.length[k] <= 0) continue;
        t.from[list] = p.from[k];
        t.start[list] = slot;
        if (Values) t.factor[list] = factor[k];
        slot += p.length[k] + 1;
        ++list;
    }
    if (team_rank<32>() == 31) t.start[end_list] = end_slot;
    __syncwarp();
    return {lists, end_list - lists, end_list, end_slot - slots, end_slot};
}

// Lists first … last - 1 to the slots, the first of them to slot `base`; slices of lanes take one each.
template <int Slice, int Lists, bool Values, class V>
__device__ void bring(const Board<Lists, Values, V>& t, const CsrView<V>& b, int first, int last, int base)
{
    const int lane = team_rank<32>();
    for (int q = first + lane / Slice; q < last; q += 32 / Slice) {
        const int to = t.start[q] - base, length = t.start[q + 1] - t.start[q] - 1;
        const offset_t from = t.from[q];
        for (int l = lane % Slice; l < length; l += Slice) {
            copy_async<sizeof(index_t)>(SharedAddress(t.col + to + l), b.col + from + l);
            if (Values) copy_async<sizeof(V)>(SharedAddress(t.value + to + l), b.value + from + l);
        }
        if (lane % Slice == 0) t.col[to + length] = max_index;
    }
    end_copy_group();
    wait_for_copies<0>();
    __syncwarp();
}

// The next entries of a lane's lists.
template <int Lists>
struct Heads {
    unsigned next[Lists];

    __device__ unsigned smallest() const
    {
        unsigned best = next[0];
#pragma unroll
        for (int k = 1; k < Lists; ++k) best = min(best, next[k]);
        return best;
    }
    __device__ void replace(int list, unsigned with)
    {
#pragma unroll
        for (int k = 0; k < Lists; ++k) next[k] = k == list ? with : next[k];
    }
};

__device__ inline unsigned numbered(index_t col, int list)
{
    return static_cast<unsigned>(col) << list_bits | static_cast<unsigned>(list);
}

template <int Lists, bool Values, class V>
__device__ Heads<Lists> open_lists(const Board<Lists, Values, V>& t, const Share& mine, int lists, int base)
{
    Heads<Lists> heads;
#pragma unroll
    for (int k = 0; k < Lists; ++k) {
        heads.next[k] = list_end;
        if (k >= lists) continue;
        const int at = t.start[mine.first_list + k] - base;
        t.start[mine.first_list + k] = at;
        heads.next[k] = numbered(t.col[at], k);
    }
    return heads;
}

// Takes the smallest entry; returns its slot.
template <int Lists, bool Values, class V>
__device__ int take(const Board<Lists, Values, V>& t, const Share& mine, Heads<Lists>& heads, unsigned smallest)
{
    const int list = static_cast<int>(smallest & (most_lists - 1)), at = t.start[mine.first_list + list];
    t.start[mine.first_list + list] = at + 1;
    heads.replace(list, numbered(t.col[at + 1], list));
    return at;
}

// How many different columns the lists of a lane have.
template <int Lists, class V>
__device__ int count_merged(const Board<Lists, false, V>& t, const Share& mine, int lists, int base)
{
    Heads<Lists> heads = open_lists(t, mine, lists, base);
    unsigned column = ~0u;
    int nonzeros = 0;
    for (unsigned best = heads.smallest(); best < list_end; best = heads.smallest()) {
        nonzeros += best >> list_bits != column ? 1 : 0;
        column = best >> list_bits;
        take(t, mine, heads, best);
    }
    return nonzeros;
}

// What the lanes have collected, to C: eight of them write what one has. `ready` entries of this lane go to `to`.
template <bool Columns, int Lists, class V>
__device__ void write_collected(const Board<Lists, true, V>& t, const RowRange<V>& c, offset_t to, int ready)
{
    const int lane = team_rank<32>();
    __syncwarp();
#pragma unroll
    for (int first = 0; first < 32; first += 32 / burst) {
        const int owner = first + lane / burst, count = __shfl_sync(all_lanes, ready, owner);
        const offset_t at = __shfl_sync(all_lanes, to, owner);
        for (int e = lane % burst; e < count; e += burst) {
            if (Columns) c.col[at + e] = t.out_col[owner * out_stride + e];
            c.value[at + e] = t.out_value[owner * out_stride + e];
        }
    }
    __syncwarp();
}

// Sums of the lists of every lane, in order of their columns, to C from `to` on.
template <bool Columns, int Lists, class V>
__device__ void write_merged(const Board<Lists, true, V>& t, const Share& mine, int lists, int base,
                             const RowRange<V>& c, offset_t to)
{
    Heads<Lists> heads = open_lists(t, mine, lists, base);
    index_t* out_col = t.out_col + team_rank<32>() * out_stride;
    V* out_value = t.out_value + team_rank<32>() * out_stride;
    unsigned best = heads.smallest(), column = ~0u;
    V sum = 0;
    int collected = 0;  // the last one may be unfinished
    do {
        for (int step = 0; step < burst && best < list_end; ++step) {
            const bool is_new = best >> list_bits != column;
            column = best >> list_bits;
            const V factor = t.factor[mine.first_list + static_cast<int>(best & (most_lists - 1))];
            sum = fused(factor, t.value[take(t, mine, heads, best)], is_new ? V(-0.0) : sum);
            collected += is_new ? 1 : 0;
            out_col[collected - 1] = static_cast<index_t>(column);
            out_value[collected - 1] = sum;
            best = heads.smallest();
        }
        const int ready = best < list_end ? collected - 1 : collected;
        write_collected<Columns>(t, c, to, ready);
        to += ready;
        collected -= ready;
        if (collected > 0) {
            out_col[0] = static_cast<index_t>(column);
            out_value[0] = sum;
        }
    } while (__any_sync(all_lanes, best < list_end));
}

// work(base, lists) for as many lanes at a time as the slots have room for; `lists` is 0 for the others.
template <int Slice, int Lists, bool Values, class V, class Work>
__device__ void merge_by_turns(const Board<Lists, Values, V>& t, const CsrView<V>& b, const Share& mine, int slots,
                               Work&& work)
{
    const int lane = team_rank<32>();
    for (unsigned left = __ballot_sync(all_lanes, mine.lists > 0); left != 0;) {
        const int first = __ffs(static_cast<int>(left)) - 1, base = __shfl_sync(all_lanes, mine.first_slot, first);
        const bool now = (left >> lane & 1) != 0 && (mine.end_slot - base <= slots || lane == first);
        const unsigned turn = __ballot_sync(all_lanes, now);
        bring<Slice>(t, b, __shfl_sync(all_lanes, mine.first_list, first),
                     __shfl_sync(all_lanes, mine.end_list, 31 - __clz(static_cast<int>(turn))), base);
        work(base, now ? mine.lists : 0);
        __syncwarp();
        left &= ~turn;
    }
}

}  // namespace tulle::inline TULLE_ABI::spgemm
