// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp computes a row of C in shared memory: a sum and a mark for every column. Sums are taken in the order of A's
// nonzeros, as in every other kernel.
#include "device/cuda/pinned_readback.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/small/small.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm::small {
namespace {

constexpr int most_warps = 8;                   // of a block
constexpr std::size_t bytes_of_block = 75'000;  // three blocks to a multiprocessor of 227 KiB
constexpr int rows_under_way = 4;               // of B, read before the first is added
constexpr int marks_of_word = 4, columns_of_step = 32 * marks_of_word;

// What all blocks share.
struct Progress {
    unsigned long long entries;  // of C that have a place
    int blocks;                  // that have come to their end
    int long_rows;               // of A, left out
};

// The row of C that a warp is computing.
template <class V>
struct Sums {
    V* sum;
    unsigned char* mark;  // 1: the column has a sum

    __device__ void add(V factor, index_t col, V value) const
    {
        sum[col] = fused(factor, value, mark[col] != 0 ? sum[col] : V(-0.0));
        mark[col] = 1;
    }
    // Of four columns, beginning with four times `number`.
    __device__ unsigned marks(int number) const { return reinterpret_cast<const unsigned*>(mark)[number]; }
};

template <class V>
__device__ Sums<V> cleared_sums(unsigned char* memory, int columns)
{
    const Sums<V> sums{reinterpret_cast<V*>(memory), memory + static_cast<std::size_t>(columns) * sizeof(V)};
    auto* const words = reinterpret_cast<unsigned*>(sums.mark);
    for (int k = team_rank<32>(); k < columns / marks_of_word; k += 32) words[k] = 0;
    __syncwarp();
    return sums;
}

// Up to 32 rows of B, one a lane, added one after the other. The first 32 entries of several are on their way at once.
template <class V>
__device__ void add_batch(const Sums<V>& sums, const CsrView<V>& b, offset_t from, int length, V factor, int rows)
{
    const int lane = team_rank<32>();
    for (int first = 0; first < rows; first += rows_under_way) {
        index_t col[rows_under_way];
        V value[rows_under_way];
        int wide[rows_under_way];
        offset_t at[rows_under_way];
#pragma unroll
        for (int r = 0; r < rows_under_way; ++r) {
            at[r] = __shfl_sync(all_lanes, from, first + r) + lane;
            wide[r] = __shfl_sync(all_lanes, length, first + r);
            col[r] = lane < wide[r] ? b.col[at[r]] : 0;
            value[r] = lane < wide[r] ? b.value[at[r]] : V(0);
        }
#pragma unroll
        for (int r = 0; r < rows_under_way; ++r) {
            const V times = __shfl_sync(all_lanes, factor, first + r);
            if (lane < wide[r]) sums.add(times, col[r], value[r]);
            for (int k = 32; k + lane < wide[r]; k += 32) sums.add(times, b.col[at[r] + k], b.value[at[r] + k]);
            __syncwarp();
        }
    }
}

template <class V>
__device__ void add_row(const Sums<V>& sums, const CsrView<V>& a, const CsrView<V>& b, index_t row)
{
    const offset_t end = a.row_begin[row + 1];
    for (offset_t batch = a.row_begin[row]; batch < end; batch += 32) {
        const offset_t k = batch + team_rank<32>();
        const bool exists = k < end;
        const index_t j = exists ? a.col[k] : 0;
        const offset_t from = exists ? b.row_begin[j] : 0;
        const int length = exists ? static_cast<int>(b.row_begin[j + 1] - from) : 0;
        add_batch(sums, b, from, length, exists ? a.value[k] : V(0), static_cast<int>(min(offset_t{32}, end - batch)));
    }
}

template <class V>
__device__ int count_marks(const Sums<V>& sums, int columns)
{
    int count = 0;
    for (int k = team_rank<32>(); k < columns / marks_of_word; k += 32) count += __popc(sums.marks(k));
    return slice_sum<32>(count);
}

template <class V>
__device__ void write_row(const Sums<V>& sums, int columns, index_t* to_col, V* to_value)
{
    const int lane = team_rank<32>();
    int written = 0;
    for (int step = 0; step < columns; step += columns_of_step) {
        if (__ballot_sync(all_lanes, sums.marks(step / marks_of_word + lane) != 0) == 0) continue;
        for (int col = step + lane; col < step + columns_of_step; col += 32) {
            const bool is_marked = sums.mark[col] != 0;
            const unsigned all = __ballot_sync(all_lanes, is_marked);
            const int at = written + __popc(all & ((1u << lane) - 1));
            if (is_marked) {
                to_col[at] = col;
                to_value[at] = sums.sum[col];
            }
            written += __popc(all);
        }
    }
}

// Where each row begins in C, and how many entries there are. By the block that comes last.
__device__ void order_rows(const RowPlace* place, index_t rows, offset_t* row_begin, offset_t* of_warps, offset_t* told)
{
    const auto threads = static_cast<index_t>(blockDim.x), thread = static_cast<index_t>(threadIdx.x);
    const index_t each = (rows + threads - 1) / threads;
    const index_t first = min(thread * each, rows), last = min(first + each, rows);
    offset_t mine = 0;
    for (index_t row = first; row < last; ++row) mine += load_relaxed(&place[row].count);
    const offset_t of_warp = warp_running_sum(mine);
    if (thread % 32 == 31) of_warps[thread / 32] = of_warp;
    __syncthreads();
    offset_t at = of_warp - mine;
    for (index_t warp = 0; warp < thread / 32; ++warp) at += of_warps[warp];
    for (index_t row = first; row < last; ++row) {
        row_begin[row] = at;
        at += load_relaxed(&place[row].count);
    }
    if (first < last && last == rows) *told = row_begin[rows] = at;
}

// A row of C, and where it lies.
template <class V>
__device__ void multiply_row(const CsrView<V>& a, const CsrView<V>& b, index_t row, const Sums<V>& sums, int columns,
                             offset_t room, Progress* progress, RowPlace* place, index_t* col, V* value)
{
    add_row(sums, a, b, row);
    const int count = count_marks(sums, columns);
    unsigned long long begin = 0;
    if (threadIdx.x % 32 == 0) {
        begin = atomicAdd(&progress->entries, static_cast<unsigned long long>(count));
        place[row] = {static_cast<index_t>(begin), count};
    }
    begin = __shfl_sync(all_lanes, begin, 0);
    if (static_cast<offset_t>(begin) + count <= room) write_row(sums, columns, col + begin, value + begin);
}

// A warp per row.
//   grid: ceil(rows / warps of a block)
//   shared memory: for every warp, a sum and a mark a column
//   place, row_begin: every row, once      col, value: every entry, once, where `room` is enough      told: once
//   none of them but told if A has a long row
template <class V>
__global__ void __launch_bounds__(32 * most_warps)
    multiply_rows_kernel(CsrView<V> a, CsrView<V> b, int columns, offset_t room, Progress* progress, RowPlace* place,
                         index_t* col, V* value, offset_t* row_begin, offset_t* told)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    TULLE_SHARED(offset_t, of_warps, most_warps);
    TULLE_SHARED(int, before, 1);
    const offset_t number = team_number<32>();
    if (number < a.rows) {
        const auto row = static_cast<index_t>(number);
        const Sums<V> sums = cleared_sums<V>(memory + threadIdx.x / 32 * (columns * (sizeof(V) + 1)), columns);
        if (a.row_begin[row + 1] - a.row_begin[row] <= longest_row)
            multiply_row(a, b, row, sums, columns, room, progress, place, col, value);
        else if (threadIdx.x % 32 == 0) atomicAdd(&progress->long_rows, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) *before = arrive(&progress->blocks);
    __syncthreads();
    if (*before < static_cast<int>(gridDim.x) - 1) return;
    if (load_relaxed(&progress->long_rows) == 0) order_rows(place, a.rows, row_begin, of_warps, told);
    else if (threadIdx.x == 0) *told = gave_up;
}

// A warp per row.
//   grid: ceil(rows / 8)      to_col, to_value: every entry, once
template <class V>
__global__ void __launch_bounds__(256)
    gather_rows_kernel(const RowPlace* place, const offset_t* row_begin, offset_t rows, const index_t* col,
                       const V* value, index_t* to_col, V* to_value)
{
    const offset_t row = team_number<32>();
    if (row >= rows) return;  // a whole warp
    const RowPlace from = place[row];
    const offset_t to = row_begin[row];
    for (int k = team_rank<32>(); k < from.count; k += 32) {
        to_col[to + k] = col[from.begin + k];
        to_value[to + k] = value[from.begin + k];
    }
}

// Columns and values for so many entries. Tells how many there are.
template <class V>
void multiply_within(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, offset_t room, PlacedRows<V>& c)
{
    const int columns = static_cast<int>(ceil_div(offset_t{b.cols}, offset_t{columns_of_step})) * columns_of_step;
    const std::size_t of_warp = static_cast<std::size_t>(columns) * (sizeof(V) + 1);
    const int warps = std::clamp(static_cast<int>(bytes_of_block / of_warp), 1, most_warps);
    c.col = Buffer<index_t>(q, room);
    c.value = Buffer<V>(q, room);
    Buffer<Progress> progress(q, 1);
    fill_zero(q, progress.data(), 1);
    cuda::PinnedReadback<offset_t> told(q);
    launch(q, {ceil_div(offset_t{a.rows}, offset_t{warps}), 32 * warps, of_warp * static_cast<std::size_t>(warps)},
           multiply_rows_kernel<V>, a, b, columns, room, progress.data(), c.place.data(), c.col.data(), c.value.data(),
           c.row_begin.data(), told.there());
    c.nonzeros = told.wait();
}

}  // namespace

template <class V>
PlacedRows<V> multiply_rows(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Features& features)
{
    PlacedRows<V> c{.place = Buffer<RowPlace>(q, a.rows),
                    .col = {},
                    .value = {},
                    .row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1)};
    const offset_t room = first_room(features);
    multiply_within(q, a, b, room, c);
    if (c.nonzeros > room) multiply_within(q, a, b, c.nonzeros, c);
    return c;
}

template <class V>
void gather_rows(const CudaQueue& q, const PlacedRows<V>& rows, index_t* col, V* value)
{
    const offset_t n = rows.place.size();
    launch(q, one_thread_each(n * 32), gather_rows_kernel<V>, rows.place.data(), rows.row_begin.data(), n,
           rows.col.data(), rows.value.data(), col, value);
}

template PlacedRows<float> multiply_rows(const CudaQueue&, const CsrView<float>&, const CsrView<float>&,
                                         const Features&);
template PlacedRows<double> multiply_rows(const CudaQueue&, const CsrView<double>&, const CsrView<double>&,
                                          const Features&);
template void gather_rows(const CudaQueue&, const PlacedRows<float>&, index_t*, float*);
template void gather_rows(const CudaQueue&, const PlacedRows<double>&, index_t*, double*);

}  // namespace tulle::inline TULLE_ABI::spgemm::small
