// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C by a hash table in shared memory, at most half full: a warp per row for short ones, a block for longer
// ones. No sum is made by atomics. A warp takes 32 products at a time, in order; lanes that may hold the same column
// take turns. A block takes one row of B at a time, whose columns are all different. Then the keys alone are sorted,
// and each finds its sum in the table again.
//
// Long rows can also get their columns alone here: keys come in any order, so no thread waits for another, and tables
// take a third of the room. Their values are then those of a refill, which cuts them into parts.
#include "spgemm/adaptive/cuda/fill_steps.hpp"
#include "spgemm/adaptive/cuda/pieces.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/cuda/block_memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int warps_per_block = 4;
constexpr int batch_of_block = 64;  // nonzeros of A that a block looks up at once

constexpr int most_segments = 4;  // of a window, that take turns one after the other

// Shared memory of a team.
template <int Slots, class V>
struct Table {
    V* sum;           // (Slots)
    offset_t* from;   // (batch) where the products of each nonzero of A begin in B …
    V* factor;        // (batch)
    index_t* key;     // (Slots)
    int* start;       // (batch) … and in the batch
    index_t* sorted;  // (Slots / 2, and one for every 32 of them)

    static constexpr std::size_t bytes(int batch)
    {
        return Slots * (sizeof(V) + sizeof(index_t)) +
               static_cast<std::size_t>(batch) * (sizeof(offset_t) + sizeof(V) + sizeof(int)) +
               (Slots / 2 + Slots / 64) * sizeof(index_t);
    }

    __device__ static Table at(unsigned char* memory, int batch)
    {
        Table t{};
        t.from = reinterpret_cast<offset_t*>(memory);
        t.sum = reinterpret_cast<V*>(t.from + batch);
        t.factor = t.sum + Slots;
        t.key = reinterpret_cast<index_t*>(t.factor + batch);
        t.start = t.key + Slots;
        t.sorted = t.start + batch;
        return t;
    }
};

// ---- a warp: 32 products at a time ----

// A batch of 32 nonzeros of A, those without products left out: returns how many products it has.
template <int Slots, class V>
__device__ int load_batch(const Table<Slots, V>& t, const CsrView<V>& a, const CsrView<V>& b, offset_t batch,
                          offset_t end)
{
    const int lane = team_rank<32>();
    const offset_t k = batch + lane;
    const bool exists = k < end;
    const index_t j = exists ? a.col[k] : 0;
    const offset_t from = exists ? b.row_begin[j] : 0;
    const int count = exists ? static_cast<int>(b.row_begin[j + 1] - from) : 0;
    int last = count;
    for (int distance = 1; distance < 32; distance *= 2) {
        const int before = __shfl_up_sync(all_lanes, last, distance);
        if (lane >= distance) last += before;
    }
    const int place = __popc(__ballot_sync(all_lanes, count > 0) & ((1u << lane) - 1));
    t.start[lane] = 0x7fffffff;
    __syncwarp();
    if (count > 0) {
        t.start[place] = last - count;
        t.from[place] = from - (last - count);
        t.factor[place] = a.value[k];
    }
    __syncwarp();
    return __shfl_sync(all_lanes, last, 31);
}

template <class V>
struct Window {
    index_t col;  // vacant where there is no product
    V factor, value;
    int turn, turns;  // lanes of the same turn hold different columns; no turns: nobody knows yet
};

// Products first … first + 31 of the batch. `start` is this lane's entry of the batch.
template <int Slots, class V>
__device__ Window<V> load_window(const Table<Slots, V>& t, const CsrView<V>& b, int start, int first, int products)
{
    const int lane = team_rank<32>(), k = first + lane;
    const unsigned heads =
        __reduce_or_sync(all_lanes, start >= first && start < first + 32 ? 1u << (start - first) : 0u);
    const int before = __popc(__ballot_sync(all_lanes, start < first));
    const int owner = before - 1 + __popc(heads & ((2u << lane) - 1));
    const int segments = 1 + __popc(heads & ~1u);  // parts of different rows of B; the columns of one are different
    Window<V> w{vacant, V(0), V(0), __popc(heads & ~1u & ((2u << lane) - 1)), segments <= most_segments ? segments : 0};
    if (k >= products) return w;
    const offset_t at = t.from[owner] + k;
    w.col = b.col[at];
    w.value = b.value[at];
    w.factor = t.factor[owner];
    return w;
}

// Adds the products of a window; lanes with the same slot one after the other.
template <int Slots, class V>
__device__ void add_window(const Table<Slots, V>& t, const Window<V>& w)
{
    const int lane = team_rank<32>();
    const int slot = w.col != vacant ? insert<Slots>(t.key, w.col).slot : -1 - lane;
    int turn = w.turn, turns = w.turns;
    if (turns == 0) {
        turn = __popc(__match_any_sync(all_lanes, slot) & ((1u << lane) - 1));
        turns = 1 + __reduce_max_sync(all_lanes, turn);
    }
    for (int k = 0; k < turns; ++k) {
        if (slot >= 0 && turn == k) t.sum[slot] = fused(w.factor, w.value, t.sum[slot]);
        __syncwarp();
    }
}

template <int Slots, class V>
__device__ void add_by_warp(const Table<Slots, V>& t, const CsrView<V>& a, const CsrView<V>& b, index_t row)
{
    const offset_t end = a.row_begin[row + 1];
    for (offset_t batch = a.row_begin[row]; batch < end; batch += 32) {
        const int products = load_batch(t, a, b, batch, end), start = t.start[team_rank<32>()];
        Window<V> next = load_window(t, b, start, 0, products);
        for (int first = 0; first < products; first += 32) {
            const Window<V> w = next;
            if (first + 32 < products)
                next = load_window(t, b, start, first + 32, products);  // on its way while this one is added
            add_window(t, w);
        }
        __syncwarp();
    }
}

// ---- a block: one row of B at a time ----

// The first round of several rows of B is on its way at once; then they are added one after the other.
constexpr int rows_in_flight = 4;
static_assert(batch_of_block % rows_in_flight == 0);

template <int Slots, class V>
__device__ inline void add(const Table<Slots, V>& t, index_t col, V factor, V value)
{
    V& sum = t.sum[insert<Slots>(t.key, col).slot];
    sum = fused(factor, value, sum);
}

// Rows k … k + rows_in_flight - 1 of the batch; those beyond it have no length.
template <int Team, int Slots, class V>
__device__ void add_some_rows(const Table<Slots, V>& t, const CsrView<V>& b, int k)
{
    const int rank = team_rank<Team>();
    index_t col[rows_in_flight];
    V value[rows_in_flight];
#pragma unroll
    for (int r = 0; r < rows_in_flight; ++r) {
        const bool exists = rank < t.start[k + r];
        col[r] = exists ? b.col[t.from[k + r] + rank] : vacant;
        value[r] = exists ? b.value[t.from[k + r] + rank] : V(0);
    }
#pragma unroll
    for (int r = 0; r < rows_in_flight; ++r) {
        const int length = t.start[k + r];
        const V factor = t.factor[k + r];
        if (col[r] != vacant) add(t, col[r], factor, value[r]);
        for (int l = rank + Team; l < length; l += Team)
            add(t, b.col[t.from[k + r] + l], factor, b.value[t.from[k + r] + l]);
        if (length > 0) __syncthreads();  // all threads see the same length
    }
}

template <int Team, int Slots, class V>
__device__ void add_by_block(const Table<Slots, V>& t, const CsrView<V>& a, const CsrView<V>& b, index_t row)
{
    const int rank = team_rank<Team>();
    const offset_t end = a.row_begin[row + 1];
    for (offset_t batch = a.row_begin[row]; batch < end; batch += batch_of_block) {
        if (rank < batch_of_block) {
            const bool exists = batch + rank < end;
            const index_t j = exists ? a.col[batch + rank] : 0;
            t.from[rank] = exists ? b.row_begin[j] : 0;
            t.start[rank] = exists ? static_cast<int>(b.row_begin[j + 1] - b.row_begin[j]) : 0;  // here: its length
            t.factor[rank] = exists ? a.value[batch + rank] : V(0);
        }
        __syncthreads();
        const int here = static_cast<int>(min(offset_t{batch_of_block}, end - batch));
        for (int k = 0; k < here; k += rows_in_flight) add_some_rows<Team>(t, b, k);
        __syncthreads();
    }
}

// ---- sorting ----

// The keys of the table to the front of `sorted`, in any order.
template <int Team, int Slots>
__device__ void gather_keys(const index_t* key, index_t* sorted, int* counter)
{
    const int rank = team_rank<Team>(), lane = rank % 32;
    int found = 0;  // warps: the keys so far
    for (int s = rank; s < Slots; s += Team) {
        const index_t mine = key[s];
        const unsigned mask = __ballot_sync(all_lanes, mine != vacant);
        int base = found;
        if constexpr (Team > 32) {
            if (lane == 0) base = atomicAdd(counter, __popc(mask));
            base = __shfl_sync(all_lanes, base, 0);
        }
        if (mine != vacant) sorted[base + __popc(mask & ((1u << lane) - 1))] = mine;
        found += __popc(mask);
    }
}

// Places in shared memory that keep threads with several keys each in different banks.
__device__ inline int padded(int k) { return k + k / 32; }

// The keys of the thread `distance` keys away: another lane's, or another warp's through shared memory.
template <int Team, int Each>
__device__ void fetch(const index_t (&key)[Each], index_t (&other)[Each], int distance, index_t* room)
{
    const int away = distance / Each;  // threads
    if (Team == 32 || away < 32) {
#pragma unroll
        for (int e = 0; e < Each; ++e) other[e] = __shfl_xor_sync(all_lanes, key[e], away);
        return;
    }
    const int rank = team_rank<Team>();
#pragma unroll
    for (int e = 0; e < Each; ++e) room[padded(rank * Each + e)] = key[e];
    __syncthreads();
#pragma unroll
    for (int e = 0; e < Each; ++e) other[e] = room[padded((rank ^ away) * Each + e)];
    __syncthreads();
}

// Bitonic, Each keys a thread, thread after thread: pairs are compared at distances that halve, in runs that double;
// near ones in registers.
template <int Team, int Each>
__device__ void sort(index_t (&key)[Each], index_t* room)
{
    constexpr int levels = bits_of(Team * Each);
    const int first = team_rank<Team>() * Each;
#pragma unroll
    for (int level = 1; level <= levels; ++level)
#pragma unroll
        for (int step = level - 1; step >= 0; --step) {
            const int run = 1 << level, distance = 1 << step;
            if (distance >= Each) {
                index_t other[Each];
                fetch<Team>(key, other, distance, room);
                const bool keeps_smaller = ((first & run) == 0) == ((first & distance) == 0);
#pragma unroll
                for (int e = 0; e < Each; ++e) key[e] = keeps_smaller ? min(key[e], other[e]) : max(key[e], other[e]);
                continue;
            }
#pragma unroll
            for (int e = 0; e < Each; ++e) {
                if ((e & distance) != 0) continue;
                const bool ascending = ((first + e) & run) == 0;
                const index_t low = min(key[e], key[e | distance]), high = max(key[e], key[e | distance]);
                key[e] = ascending ? low : high;
                key[e | distance] = ascending ? high : low;
            }
        }
}

// The keys of a table, in order and padded, in `sorted`.
template <int Team, int Slots>
__device__ void sort_keys(const index_t* table, index_t* sorted, int nonzeros, int* counter)
{
    constexpr int each = Slots / 2 / Team;
    const int rank = team_rank<Team>();
    gather_keys<Team, Slots>(table, sorted, counter);
    team_sync<Team>();
    index_t key[each];
#pragma unroll
    for (int e = 0; e < each; ++e) key[e] = rank + e * Team < nonzeros ? sorted[rank + e * Team] : max_index;
    team_sync<Team>();
    sort<Team>(key, sorted);
#pragma unroll
    for (int e = 0; e < each; ++e) sorted[padded(rank * each + e)] = key[e];
    team_sync<Team>();
}

// The table's entries in order of their columns to C.
template <int Team, int Slots, class V>
__device__ void write_sorted(const Table<Slots, V>& t, int nonzeros, int* counter, index_t* col, V* value)
{
    const int rank = team_rank<Team>();
    sort_keys<Team, Slots>(t.key, t.sorted, nonzeros, counter);
    for (int k = rank; k < nonzeros; k += Team) {
        const index_t mine = t.sorted[padded(k)];
        col[k] = mine;
        value[k] = t.sum[slot_of<Slots>(t.key, mine)];
    }
}

// A warp or a block per row.
//   grid: ceil(rows / teams in a block)
//   shared memory: a Table for every team
//   c: every entry of the group's rows, once
template <int Team, int Slots, class V>
__global__ void __launch_bounds__(Team == 32 ? 32 * warps_per_block : Team)
    fill_hashed_kernel(CsrView<V> a, CsrView<V> b, Task t, RowRange<V> c)
{
    constexpr int batch = Team == 32 ? 32 : batch_of_block;
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    TULLE_SHARED(int, counter, 1);
    const offset_t number = team_number<Team>();
    if (number >= t.rows) return;  // a whole team
    const auto table = Table<Slots, V>::at(memory + threadIdx.x / Team * Table<Slots, V>::bytes(batch), batch);
    const index_t row = t.list[number];
    if (Team > 32 && threadIdx.x == 0) *counter = 0;
    team_fill<Team>(table.key, Slots, vacant);
    team_fill<Team>(table.sum, Slots, V(-0.0));  // what changes no sum, not even the sign of zero
    team_sync<Team>();
    if constexpr (Team == 32) add_by_warp(table, a, b, row);
    else add_by_block<Team>(table, a, b, row);
    const offset_t to = c.row_begin[row] - c.base;
    write_sorted<Team>(table, static_cast<int>(c.row_begin[row + 1] - c.row_begin[row]), counter, c.col + to,
                       c.value + to);
}

template <int Team, int Slots, class V>
void fill_hashed_by(const FillArguments<V>& f)
{
    constexpr int teams = Team == 32 ? warps_per_block : 1;
    constexpr std::size_t bytes = Table<Slots, V>::bytes(Team == 32 ? 32 : batch_of_block) * teams;
    static_assert(bytes <= 227 * 1024);
    if (bytes > smallest_block_bytes && !fits_block(f.q, bytes)) return fill_dense(f);  // adds in the same order
    launch(f.q, {ceil_div(f.task.rows, offset_t{teams}), Team * teams, bytes}, fill_hashed_kernel<Team, Slots, V>, f.a,
           f.b, f.task, f.c);
}

// ---- columns alone ----

template <int Slots>
constexpr std::size_t keys_bytes = (Slots + Slots / 2 + Slots / 64) * sizeof(index_t);

// A block per row.
//   grid: rows of the group      shared memory: keys_bytes      c.col: every column of the group's rows, once
template <int Team, int Slots>
__global__ void __launch_bounds__(Team) fill_columns_kernel(Pattern a, Pattern b, Task t, RowRange<float> c)
{
    TULLE_DYNAMIC_SHARED(index_t, key);
    TULLE_SHARED(int, counter, 1);
    index_t* sorted = key + Slots;
    const index_t row = t.list[blockIdx.x];
    const int nonzeros = static_cast<int>(c.row_begin[row + 1] - c.row_begin[row]);
    if (threadIdx.x == 0) *counter = 0;
    team_fill<Team>(key, Slots, vacant);
    __syncthreads();
    walk_columns<Team>(a, b, nullptr, row, facts_of(t, blockIdx.x, row).products,
                       [&](index_t col) { insert<Slots>(key, col); });
    __syncthreads();
    sort_keys<Team, Slots>(key, sorted, nonzeros, counter);
    for (int k = team_rank<Team>(); k < nonzeros; k += Team) c.col[c.row_begin[row] - c.base + k] = sorted[padded(k)];
}

template <int Team, int Slots, class V>
void fill_columns_by(const FillArguments<V>& f)
{
    static_assert(keys_bytes<Slots> <= smallest_block_bytes);
    launch(f.q, {f.task.rows, Team, keys_bytes<Slots>}, fill_columns_kernel<Team, Slots>, pattern_of(f.a),
           pattern_of(f.b), f.task, RowRange<float>{f.c.first, f.c.rows, f.c.row_begin, f.c.base, f.c.col, nullptr});
}

}  // namespace

template <class V>
void fill_columns(const FillArguments<V>& f, NumericKernel size)
{
    switch (size) {
    case NumericKernel::hash1024: return fill_columns_by<128, 2048>(f);
    case NumericKernel::hash2048: return fill_columns_by<256, 4096>(f);
    case NumericKernel::hash4096: return fill_columns_by<512, 8192>(f);
    case NumericKernel::hash8192: return fill_columns_by<1024, 16384>(f);
    default: return fill_wide_columns(f);
    }
}

template <class V>
void fill_hashed(const FillArguments<V>& f, NumericKernel size)
{
    switch (size) {
    case NumericKernel::hash64: return fill_hashed_by<32, 128>(f);
    case NumericKernel::hash128: return fill_hashed_by<32, 256>(f);
    case NumericKernel::hash256: return fill_hashed_by<32, 512>(f);
    case NumericKernel::hash512: return fill_hashed_by<32, 1024>(f);
    case NumericKernel::hash1024: return fill_hashed_by<128, 2048>(f);
    case NumericKernel::hash2048: return fill_hashed_by<256, 4096>(f);
    case NumericKernel::hash4096: return fill_hashed_by<512, 8192>(f);
    default: return fill_hashed_by<1024, 16384>(f);
    }
}

template void fill_columns(const FillArguments<float>&, NumericKernel);
template void fill_columns(const FillArguments<double>&, NumericKernel);
template void fill_hashed(const FillArguments<float>&, NumericKernel);
template void fill_hashed(const FillArguments<double>&, NumericKernel);

}  // namespace tulle::inline TULLE_ABI::spgemm
