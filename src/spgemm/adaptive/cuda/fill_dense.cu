// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The longest rows of C: a block keeps an array of sums for a window of columns and moves it over the row's columns.
// Rows of B are taken one at a time, so their columns are all different, and nothing is added by atomics. What was
// touched comes out in order.
//
// Where columns come first, they are bits that the block sets in any order; the values are then those of a refill, in
// parts that wait for nobody.
#include "prim/search.hpp"
#include "spgemm/adaptive/cuda/fill_steps.hpp"
#include "spgemm/adaptive/cuda/pattern.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/cuda/block_memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int threads = 1024;
constexpr int wide_window = 20 * 1024;   // columns
constexpr int narrow_window = 8 * 1024;  // where a block may have 99 KiB of shared memory only
constexpr int batch = 512;               // nonzeros of A looked up at once
constexpr int warps = threads / 32;

template <class V, int Window = wide_window>
struct Strip {
    V* sum;                  // (Window)
    offset_t* from;          // (batch) the part of each row of B that lies in the window …
    V* factor;               // (batch)
    int* length;             // (batch) … and how long it is
    unsigned char* touched;  // (Window)
    int* warp_total;         // (warps)

    static constexpr std::size_t bytes()
    {
        return Window * (sizeof(V) + 1) + batch * (sizeof(offset_t) + sizeof(V) + sizeof(int)) + warps * sizeof(int);
    }

    __device__ static Strip at(unsigned char* memory)
    {
        Strip s{};
        s.from = reinterpret_cast<offset_t*>(memory);
        s.sum = reinterpret_cast<V*>(s.from + batch);
        s.factor = s.sum + Window;
        s.length = reinterpret_cast<int*>(s.factor + batch);
        s.warp_total = s.length + batch;
        s.touched = reinterpret_cast<unsigned char*>(s.warp_total + warps);
        return s;
    }
};

// The parts of a batch of rows of B that lie in begin … begin + Window - 1.
template <class V, int Window>
__device__ void load_batch(const Strip<V, Window>& s, const CsrView<V>& a, const CsrView<V>& b, offset_t first,
                           int count, offset_t begin)
{
    const int rank = static_cast<int>(threadIdx.x);
    if (rank < count) {
        const index_t j = a.col[first + rank];
        const offset_t from = b.row_begin[j], length = b.row_begin[j + 1] - from;
        const auto below = [&](offset_t col) {
            return col > max_index ? length : prim::lower_bound(b.col + from, length, static_cast<index_t>(col));
        };
        const offset_t low = below(begin), high = below(begin + Window);
        s.from[rank] = from + low;
        s.length[rank] = static_cast<int>(high - low);
        s.factor[rank] = a.value[first + rank];
    }
    __syncthreads();
}

template <class V, int Window>
__device__ void add_products(const Strip<V, Window>& s, const CsrView<V>& a, const CsrView<V>& b, index_t row,
                             offset_t begin)
{
    const int rank = static_cast<int>(threadIdx.x);
    const offset_t end = a.row_begin[row + 1];
    for (offset_t first = a.row_begin[row]; first < end; first += batch) {
        const int count = static_cast<int>(min(offset_t{batch}, end - first));
        load_batch(s, a, b, first, count, begin);
        for (int k = 0; k < count; ++k) {
            for (int l = rank; l < s.length[k]; l += threads) {
                const offset_t at = s.from[k] + l;
                const auto column = static_cast<int>(b.col[at] - begin);
                s.sum[column] = fused(s.factor[k], b.value[at], s.sum[column]);
                s.touched[column] = 1;
            }
            if (s.length[k] > 0) __syncthreads();  // all threads see the same length
        }
        __syncthreads();
    }
}

// What was touched, in order; returns how many columns that were.
template <class V, int Window>
__device__ int write_window(const Strip<V, Window>& s, offset_t begin, index_t* col, V* value)
{
    constexpr int warp_columns = Window / warps;
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32,
              first = warp * warp_columns;
    int mine = 0;
    for (int k = first + lane; k < first + warp_columns; k += 32) mine += s.touched[k];
    mine = __reduce_add_sync(all_lanes, mine);
    if (lane == 0) s.warp_total[warp] = mine;
    __syncthreads();
    int to = 0, total = 0;
    for (int w = 0; w < warps; ++w) {
        if (w == warp) to = total;
        total += s.warp_total[w];
    }
    for (int k = first + lane; k < first + warp_columns; k += 32) {
        const bool filled = s.touched[k] != 0;
        const unsigned mask = __ballot_sync(all_lanes, filled);
        if (filled) {
            const int at = to + __popc(mask & ((1u << lane) - 1));
            col[at] = static_cast<index_t>(begin + k);
            value[at] = s.sum[k];
        }
        to += __popc(mask);
    }
    __syncthreads();
    return total;
}

template <int Window, class V>
__device__ inline void fill_row(unsigned char* memory, const CsrView<V>& a, const CsrView<V>& b, const Task& t,
                                const RowRange<V>& c)
{
    const auto s = Strip<V, Window>::at(memory);
    const index_t row = t.list[blockIdx.x];
    const RowStats f = facts_of(t, blockIdx.x, row);
    offset_t to = c.row_begin[row] - c.base;
    for (offset_t done = 0; done < f.width; done += Window) {
        team_fill<threads>(s.sum, Window, V(-0.0));  // what changes no sum, not even the sign of zero
        team_fill<threads>(s.touched, Window, static_cast<unsigned char>(0));
        __syncthreads();
        add_products(s, a, b, row, f.first + done);
        to += write_window(s, f.first + done, c.col + to, c.value + to);
    }
}

// A block per row.
//   grid: rows of the group      shared memory: a Strip      c: every entry of the group's rows, once
template <class V>
__global__ void __launch_bounds__(threads) fill_dense_kernel(CsrView<V> a, CsrView<V> b, Task t, RowRange<V> c)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    fill_row<wide_window>(memory, a, b, t, c);
}

// The same for GPUs whose blocks may have less shared memory.
//   grid: rows of the group      shared memory: a Strip of narrow_window      c: every entry of the group's rows, once
template <class V>
__global__ void __launch_bounds__(threads) fill_dense_narrow_kernel(CsrView<V> a, CsrView<V> b, Task t, RowRange<V> c)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    fill_row<narrow_window>(memory, a, b, t, c);
}

// ---- columns alone ----

// The columns of `used` words of bits, from column `first` on, in order; returns how many there are. A warp has
// neighbouring words.
__device__ int write_bits(const unsigned* word, int used, offset_t first, int* warp_total, index_t* col)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int stretch = (used + warps - 1) / warps, begin = min(used, warp * stretch), end = min(used, begin + stretch);
    int mine = 0;
    for (int w = begin + lane; w < end; w += 32) mine += __popc(word[w]);
    mine = __reduce_add_sync(all_lanes, mine);
    if (lane == 0) warp_total[warp] = mine;
    __syncthreads();
    int to = 0, total = 0;
    for (int w = 0; w < warps; ++w) {
        if (w == warp) to = total;
        total += warp_total[w];
    }
    for (int w = begin; w < end; ++w) {
        const unsigned bits = word[w];
        if ((bits >> lane & 1) != 0)
            col[to + __popc(bits & ((1u << lane) - 1))] = static_cast<index_t>(first + w * 32 + lane);
        to += __popc(bits);
    }
    __syncthreads();
    return total;
}

// A block per row.
//   grid: rows of the group
//   shared memory: a bit for every column of a round
//   c.col: every column of the group's rows, once
__global__ void __launch_bounds__(threads)
    fill_wide_columns_kernel(Pattern a, Pattern b, Task t, RowRange<float> c, index_t columns)
{
    TULLE_DYNAMIC_SHARED(unsigned, word);
    TULLE_SHARED(int, warp_total, warps);
    const index_t row = t.list[blockIdx.x];
    const RowStats f = facts_of(t, blockIdx.x, row);
    index_t* col = c.col + (c.row_begin[row] - c.base);
    for (offset_t done = 0; done < f.width; done += columns) {
        const auto here = static_cast<index_t>(min(offset_t{columns}, f.width - done));
        const int used = static_cast<int>(words_of(here));
        team_fill<threads>(word, used, 0u);
        __syncthreads();
        mark_columns<threads>(a, b, nullptr, row, f.products, static_cast<index_t>(f.first + done), here, word);
        __syncthreads();
        col += write_bits(word, used, f.first + done, warp_total, col);
    }
}

}  // namespace

template <class V>
void fill_wide_columns(const FillArguments<V>& f)
{
    const index_t columns = bitmap_columns(f.q, f.b.cols, map_block_columns);
    launch(f.q, {f.task.rows, threads, static_cast<std::size_t>(columns) / 8}, fill_wide_columns_kernel,
           pattern_of(f.a), pattern_of(f.b), f.task,
           RowRange<float>{f.c.first, f.c.rows, f.c.row_begin, f.c.base, f.c.col, nullptr}, columns);
}

template <class V>
void fill_dense(const FillArguments<V>& f)
{
    using Narrow = Strip<V, narrow_window>;
    static_assert(Strip<V>::bytes() <= 227 * 1024 && Narrow::bytes() <= smallest_block_bytes);
    const bool fits = fits_block(f.q, Strip<V>::bytes());
    launch(f.q, {f.task.rows, threads, fits ? Strip<V>::bytes() : Narrow::bytes()},
           fits ? fill_dense_kernel<V> : fill_dense_narrow_kernel<V>, f.a, f.b, f.task, f.c);
}

template void fill_wide_columns(const FillArguments<float>&);
template void fill_wide_columns(const FillArguments<double>&);
template void fill_dense(const FillArguments<float>&);
template void fill_dense(const FillArguments<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm
