// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// DeltaSPARSE, columns and values: the hash table with a sum beside every key, or an array of sums and a bitmap over
// ranges of columns. Sums are added by atomics, in no fixed order. Short rows are sorted here, by counting; long ones
// leave unsorted and are sorted by digits (sort.cu).
#include "base/constant.hpp"
#include "spgemm/cuda/block_memory.hpp"
#include "spgemm/deltasparse/cuda/deltasparse.cuh"
#include "spgemm/deltasparse/cuda/sort.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {
namespace {

constexpr int dense_threads = filling[filling_groups - 1].threads, dense_warps = dense_threads / 32;
constexpr int narrow_window = 8 * 1024;  // where a block may have 99 KiB of shared memory only

// A hash table in shared memory, and room for its entries without gaps where they are sorted.
template <int Slots, int Room, class V>
struct Table {
    V* sum;        // (Slots)
    V* value;      // (Room)
    index_t* key;  // (Slots)
    index_t* col;  // (Room)
    int* entries;

    static constexpr std::size_t bytes() { return (Slots + Room) * (sizeof(V) + sizeof(index_t)) + sizeof(int); }

    __device__ static Table at(unsigned char* memory)
    {
        Table t{};
        t.sum = reinterpret_cast<V*>(memory);
        t.value = t.sum + Slots;
        t.key = reinterpret_cast<index_t*>(t.value + Room);
        t.col = t.key + Slots;
        t.entries = t.col + Room;
        return t;
    }
};

// Entries without gaps, in the order in which warps come by. Every thread of the block must come.
template <int Threads, int Slots, class V>
__device__ void make_compact(const index_t* key, const V* sum, int* entries, index_t* col, V* value)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int k = static_cast<int>(threadIdx.x); k < Slots; k += Threads) {  // Slots is a multiple of Threads
        const bool holds = key[k] != vacant;
        const unsigned mask = __ballot_sync(all_lanes, holds);
        int at = lane == 0 ? atomicAdd(entries, __popc(mask)) : 0;
        at = __shfl_sync(all_lanes, at, 0) + __popc(mask & ((1u << lane) - 1));
        if (!holds) continue;
        col[at] = key[k];
        value[at] = sum[k];
    }
}

template <int Threads, class V>
__device__ void write_counted(const index_t* col, const V* value, int entries, index_t* to_col, V* to_value)
{
    for (int k = static_cast<int>(threadIdx.x); k < entries; k += Threads) {
        int smaller = 0;
        for (int other = 0; other < entries; ++other) smaller += col[other] < col[k] ? 1 : 0;
        to_col[smaller] = col[k];
        to_value[smaller] = value[k];
    }
}

// A block and a hash table per row. At most half of the slots are taken, so every column is found.
//   grid: rows of the group
//   shared memory: a Table
//   c: every entry of the group's rows, once; sorted where Room > 0
template <int Threads, int Slots, int Room, class V>
__global__ void __launch_bounds__(Threads) fill_hashed_kernel(CsrView<V> a, CsrView<V> b, Rows rows, RowRange<V> c)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    const auto t = Table<Slots, Room, V>::at(memory);
    const index_t row = rows[blockIdx.x];
    const offset_t to = c.row_begin[row] - c.base;
    team_fill<Threads>(t.key, Slots, vacant);
    team_fill<Threads>(t.sum, Slots, V(-0.0));  // what changes no sum, not even the sign of zero
    if (threadIdx.x == 0) *t.entries = 0;
    __syncthreads();
    walk_products<Threads>(a, b, row, [&](offset_t k, offset_t l) {
        atomicAdd(t.sum + insert<Slots>(t.key, b.col[l]).slot, a.value[k] * b.value[l]);
    });
    __syncthreads();
    if constexpr (Room == 0) {
        make_compact<Threads, Slots>(t.key, t.sum, t.entries, c.col + to, c.value + to);
    } else {
        make_compact<Threads, Slots>(t.key, t.sum, t.entries, t.col, t.value);
        __syncthreads();
        write_counted<Threads>(t.col, t.value, *t.entries, c.col + to, c.value + to);
    }
}

template <class V, int Window = fill_window>
struct Strip {
    V* sum;           // (Window)
    unsigned* word;   // (Window / 32)
    int* warp_total;  // (dense_warps)

    static constexpr std::size_t bytes()
    {
        return Window * sizeof(V) + Window / 32 * sizeof(unsigned) + dense_warps * sizeof(int);
    }

    __device__ static Strip at(unsigned char* memory)
    {
        Strip s{};
        s.sum = reinterpret_cast<V*>(memory);
        s.word = reinterpret_cast<unsigned*>(s.sum + Window);
        s.warp_total = reinterpret_cast<int*>(s.word + Window / 32);
        return s;
    }
};

// The columns of a range whose bits are set, in order: every warp takes neighbouring words, a running sum over the
// warps says where its go. Returns how many there are. Every thread of the block must come.
template <class V, int Window>
__device__ int write_range(const Strip<V, Window>& s, offset_t begin, int words, index_t* col, V* value)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int share = (words + dense_warps - 1) / dense_warps, first = min(warp * share, words),
              last = min(first + share, words);
    int mine = 0;
    for (int w = first + lane; w < last; w += 32) mine += __popc(s.word[w]);
    mine = __reduce_add_sync(all_lanes, mine);
    if (lane == 0) s.warp_total[warp] = mine;
    __syncthreads();
    int to = 0, total = 0;
    for (int w = 0; w < dense_warps; ++w) {
        if (w == warp) to = total;
        total += s.warp_total[w];
    }
    for (int w = first; w < last; ++w) {  // a lane for every column of the word
        const unsigned bits = s.word[w];
        if ((bits >> lane & 1u) != 0) {
            const int at = to + __popc(bits & ((1u << lane) - 1));
            col[at] = static_cast<index_t>(begin + w * 32 + lane);
            value[at] = s.sum[w * 32 + lane];
        }
        to += __popc(bits);
    }
    return total;
}

// A row by an array of sums and a bitmap, one range of columns after the other.
template <int Window, class V>
__device__ inline void fill_row(unsigned char* memory, index_t* cells, const CsrView<V>& a, const CsrView<V>& b,
                                const Rows& rows, const RowRange<V>& c)
{
    const auto s = Strip<V, Window>::at(memory);
    const index_t row = rows[blockIdx.x];
    const Range range = range_of(a, b, row, cells);
    offset_t to = c.row_begin[row] - c.base;
    for (offset_t begin = range.first; begin <= range.last; begin += Window) {
        const offset_t here = min(offset_t{Window}, range.last + 1 - begin);
        const int words = static_cast<int>((here + 31) / 32);
        team_fill<dense_threads>(s.sum, static_cast<int>(here), V(-0.0));
        team_fill<dense_threads>(s.word, words, 0u);
        __syncthreads();
        walk_range<dense_threads>(a, b, row, begin, begin + here, [&](offset_t k, offset_t l) {
            const auto at = static_cast<unsigned>(b.col[l] - begin), bit = 1u << at % 32;
            if ((peek(s.word + at / 32) & bit) == 0) atomicOr(s.word + at / 32, bit);
            atomicAdd(s.sum + at, a.value[k] * b.value[l]);
        });
        __syncthreads();
        to += write_range(s, begin, words, c.col + to, c.value + to);
        __syncthreads();
    }
}

// A block per row.
//   grid: rows of the group      shared memory: a Strip      c: every entry of the group's rows, once, sorted
template <class V>
__global__ void __launch_bounds__(dense_threads) fill_dense_kernel(CsrView<V> a, CsrView<V> b, Rows rows, RowRange<V> c)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    TULLE_SHARED(index_t, cells, 2);
    fill_row<fill_window>(memory, cells, a, b, rows, c);
}

// The same for GPUs whose blocks may have less shared memory.
//   grid: rows of the group
//   shared memory: a Strip of narrow_window
//   c: every entry of the group's rows, once, sorted
template <class V>
__global__ void __launch_bounds__(dense_threads)
    fill_dense_narrow_kernel(CsrView<V> a, CsrView<V> b, Rows rows, RowRange<V> c)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    TULLE_SHARED(index_t, cells, 2);
    fill_row<narrow_window>(memory, cells, a, b, rows, c);
}

template <class V>
void fill_dense(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Rows& rows, const RowRange<V>& c)
{
    using Narrow = Strip<V, narrow_window>;
    static_assert(Strip<V>::bytes() <= 227 * 1024 && Narrow::bytes() <= smallest_block_bytes);
    const bool fits = fits_block(q, Strip<V>::bytes());
    launch(q, {rows.count, dense_threads, fits ? Strip<V>::bytes() : Narrow::bytes()},
           fits ? fill_dense_kernel<V> : fill_dense_narrow_kernel<V>, a, b, rows, c);
}

template <int Threads, int Slots, int Room, class V>
void fill_hashed(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Rows& rows, const RowRange<V>& c)
{
    launch(q, {rows.count, Threads, Table<Slots, Room, V>::bytes()}, fill_hashed_kernel<Threads, Slots, Room, V>, a, b,
           rows, c);
}

}  // namespace

template <class V>
void fill_group(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, int group, const Rows& rows,
                const RowRange<V>& c, const Sorting& sorting)
{
    if (group == filling_groups) return fill_dense(q, a, b, rows, c);
    const bool counts = sorting.wanted && filling[static_cast<std::size_t>(group - 1)].up_to <= sorting.by_counting;
    for_each_index<filling_groups - 1>([&](auto k) {
        constexpr Group g = filling[k()];
        constexpr int room = g.up_to <= most_count_sorted ? static_cast<int>(g.up_to) : 0;
        if (group != static_cast<int>(k()) + 1) return;
        if (room > 0 && counts) fill_hashed<g.threads, g.table, room>(q, a, b, rows, c);
        else fill_hashed<g.threads, g.table, 0>(q, a, b, rows, c);
    });
    if (sorting.wanted && !counts) sort_by_digits(q, rows, b.cols, c);
}

std::size_t fill_bytes_for(const CudaQueue&, std::size_t) { return 0; }

template void fill_group(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, int, const Rows&,
                         const RowRange<float>&, const Sorting&);
template void fill_group(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, int, const Rows&,
                         const RowRange<double>&, const Sorting&);

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
