// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Blocks of whole rows with at most 2048 nonzeros together. Nonzeros are read one after the other whatever row they
// belong to, products go to shared memory, and there as many lanes as the block can spare add up each row. A row of
// more than 2048 nonzeros is cut into pieces, one block each; whoever finishes last adds their sums in order. No
// atomics on numbers: the same bits every time.
//
// After CSR-stream: Greathouse, Daga, SC'14, doi:10.1109/SC.2014.68.
#include "device/cuda/kernel.cuh"

#include <algorithm>

#include "base/math.hpp"
#include "prim/merge_path.hpp"
#include "prim/scan.hpp"
#include "spmv/cuda/dots.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 512;
constexpr int most_nonzeros = 2048, most_rows = 1024;  // of a block
constexpr int loads_per_thread = most_nonzeros / threads_per_block;
constexpr int row_per_lane = 64;  // nonzeros of a row one lane adds up; longer rows have a warp
constexpr unsigned all_lanes = 0xffffffffu;
static_assert(most_rows == 32 * 32, "two steps of a warp's search find the end of a block");

// ---- multiplying ----

template <class M, class O>
struct Rows {
    const O* row_begin;
    const index_t* col;
    const M* value;
};

// Products of nonzeros [begin, end) to product[0 …].
template <class V, class M, class O>
__device__ void load_products(const Rows<M, O>& a, offset_t begin, int count, const V* __restrict__ x,
                              V* __restrict__ product)
{
    V a_k[loads_per_thread];
    index_t c[loads_per_thread];
    const auto place = [](int i) { return i * threads_per_block + static_cast<int>(threadIdx.x); };
#pragma unroll
    for (int i = 0; i < loads_per_thread; ++i) {  // all loads first: none waits for a store to shared memory
        c[i] = place(i) < count ? load_streaming(a.col + begin + place(i)) : 0;
        a_k[i] = place(i) < count ? static_cast<V>(load_streaming(a.value + begin + place(i))) : V(0);
    }
#pragma unroll
    for (int i = 0; i < loads_per_thread; ++i) a_k[i] *= place(i) < count ? __ldg(x + c[i]) : V(0);
#pragma unroll
    for (int i = 0; i < loads_per_thread; ++i)
        if (place(i) < count) product[place(i)] = a_k[i];
}

// The most lanes that a block can give each of its rows, as a power of two: 0 for one lane, 5 for a warp.
__device__ int lanes_power(int rows)
{
    const int most = threads_per_block / max(rows, 1);
    return most == 0 ? 0 : min(5, 31 - __clz(most));
}

// Sum of product[begin … end) by 2^power neighbouring lanes; all 32 lanes call.
template <class V>
__device__ V sum_by(int power, const V* product, int begin, int end)
{
    const int lanes = 1 << power, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
    V sum = 0;
    for (int k = begin + lane; k < end; k += lanes) sum += product[k];
    for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(all_lanes, sum, distance);
    return sum;
}

struct RowEnds {
    int begin, end;  // among the products of the block
};

template <class M, class O>
__device__ RowEnds ends_of(const Rows<M, O>& a, const StreamBlock& block, int row)
{
    if (row >= block.rows) return {0, 0};
    return {static_cast<int>(a.row_begin[block.row + row] - block.begin),
            static_cast<int>(a.row_begin[block.row + row + 1] - block.begin)};
}

// Adds up the rows of a block, first those a few lanes can do, then, warp by warp, the long ones among them. `ends` are
// those of this thread's first row, fetched while the products were made.
template <bool WithDots, class V, class M, class O>
__device__ void add_rows(const Rows<M, O>& a, const StreamBlock& block, int power, RowEnds ends, const V* product,
                         const Vectors<V>& v, Written<WithDots, V>& written)
{
    const int warp_lane = static_cast<int>(threadIdx.x) % 32, step = threads_per_block >> power;
    const bool leads = (static_cast<int>(threadIdx.x) & ((1 << power) - 1)) == 0;
    for (int first = 0, row = static_cast<int>(threadIdx.x) >> power; first < block.rows; first += step, row += step) {
        if (first > 0) ends = ends_of(a, block, row);
        const bool is_long = ends.end - ends.begin > row_per_lane << power;
        const V sum = sum_by(power, product, ends.begin, is_long ? ends.begin : ends.end);
        if (row < block.rows && !is_long && leads) written.put(v, offset_t{block.row} + row, sum);
        for (unsigned left = __ballot_sync(all_lanes, is_long && leads); left != 0; left &= left - 1) {
            const int owner = __ffs(static_cast<int>(left)) - 1;
            const V whole =
                sum_by(5, product, __shfl_sync(all_lanes, ends.begin, owner), __shfl_sync(all_lanes, ends.end, owner));
            if (warp_lane == owner) written.put(v, offset_t{block.row} + row, whole);
        }
    }
}

// Adds the products of a piece up; the block that comes last adds the pieces of the row.
template <bool WithDots, class V, class M, class O>
__device__ void add_piece(const Rows<M, O>& a, const StreamBlock& block, int count, const V* product, V* piece_sum,
                          int* arrived, const Vectors<V>& v, Written<WithDots, V>& written)
{
    TULLE_SHARED(V, room, threads_per_block / 32);
    TULLE_SHARED(int, is_last, 1);
    V sum = 0;
    for (int k = static_cast<int>(threadIdx.x); k < count; k += threads_per_block) sum += product[k];
    sum = block_sum<threads_per_block>(sum, room);
    const offset_t first = static_cast<offset_t>(blockIdx.x) + block.rows;
    const offset_t length =
        static_cast<offset_t>(a.row_begin[block.row + 1]) - static_cast<offset_t>(a.row_begin[block.row]);
    const int pieces = static_cast<int>((length + most_nonzeros - 1) / most_nonzeros);
    if (threadIdx.x == 0) {
        piece_sum[blockIdx.x] = sum;
        is_last[0] = arrive(arrived + first) == pieces - 1;
    }
    __syncthreads();
    if (!is_last[0]) return;
    V all = 0;
    for (int p = static_cast<int>(threadIdx.x); p < pieces; p += threads_per_block) all += piece_sum[first + p];
    all = block_sum<threads_per_block>(all, room);
    if (threadIdx.x == 0) {
        written.put(v, block.row, all);
        arrived[first] = 0;  // for the next run
    }
}

//   grid: blocks of the plan      shared memory: 2048 numbers      y: every row written once
template <bool WithDots, class V, class M, class O>
__global__ void __launch_bounds__(threads_per_block)
    multiply_stream_kernel(Rows<M, O> a, const StreamBlock* blocks, V* piece_sum, int* arrived, Vectors<V> v)
{
    TULLE_SHARED(V, product, most_nonzeros);
    const StreamBlock block = blocks[blockIdx.x];
    const int count = static_cast<int>(blocks[blockIdx.x + 1].begin - block.begin);
    const int power = lanes_power(block.rows);
    const RowEnds ends = ends_of(a, block, static_cast<int>(threadIdx.x) >> power);
    wait_for_earlier_kernels();
    load_products(a, block.begin, count, v.x, product);
    __syncthreads();
    Written<WithDots, V> written;
    if (block.rows > 0) add_rows(a, block, power, ends, product, v, written);
    else add_piece(a, block, count, product, piece_sum, arrived, v, written);
    finish<threads_per_block>(written, v.dots);
}

// ---- cutting rows into blocks ----

// How many whole rows from `row` on, up to `stop`, fit into a block. All lanes call and get it; 0: the first alone is
// too long.
__device__ int rows_that_fit(const offset_t* row_begin, offset_t row, offset_t stop, int lane)
{
    const auto fits = [&](offset_t end) {
        return end <= stop && end <= row + most_rows && row_begin[end] - row_begin[row] <= most_nonzeros;
    };
    const int coarse = 32 * __popc(__ballot_sync(all_lanes, fits(row + 32 * (lane + 1))));
    return coarse + __popc(__ballot_sync(all_lanes, fits(row + coarse + 1 + lane) && lane < 31));
}

// A warp cuts the rows that end in its stretch of the merge path, from front to back. Without `blocks` it only counts.
//   grid: ceil(32 * stretches / threads)      shared memory: none      count: one a stretch      blocks: from count on
__global__ void __launch_bounds__(256) cut_kernel(const offset_t* row_begin, const prim::MergePoint* point,
                                                  offset_t stretches, offset_t* count, StreamBlock* blocks)
{
    const offset_t stretch = global_thread() / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (stretch >= stretches) return;
    const offset_t stop = point[stretch + 1].row;
    offset_t at = blocks != nullptr ? count[stretch] : 0;
    for (offset_t row = point[stretch].row; row < stop;) {
        const int rows = rows_that_fit(row_begin, row, stop, lane);
        const offset_t begin = row_begin[row];
        const offset_t pieces = rows > 0 ? 1 : (row_begin[row + 1] - begin + most_nonzeros - 1) / most_nonzeros;
        for (offset_t p = lane; blocks != nullptr && p < pieces; p += 32)
            blocks[at + p] = {begin + p * most_nonzeros, static_cast<index_t>(row),
                              rows > 0 ? rows : -static_cast<std::int32_t>(p)};
        at += pieces;
        row += rows > 0 ? rows : 1;
    }
    if (blocks == nullptr && lane == 0) count[stretch] = at;
}

//   grid: 1      one thread ends the list
__global__ void end_blocks_kernel(StreamBlock* end, offset_t nonzeros, index_t rows) { *end = {nonzeros, rows, 1}; }

constexpr offset_t stretch_steps = 65536;  // rows and nonzeros one warp cuts into blocks

Buffer<StreamBlock> cut(const CudaQueue& q, const offset_t* row_begin, index_t rows, offset_t nonzeros)
{
    const offset_t stretches = std::max(offset_t{1}, ceil_div(rows + nonzeros, stretch_steps));
    Buffer<prim::MergePoint> point(q, stretches + 1);
    Buffer<offset_t> count(q, stretches + 1);
    prim::merge_path(q, row_begin, rows, nonzeros, stretches, point.data());
    const LaunchShape shape = one_thread_each(32 * stretches, 256);
    launch(q, shape, cut_kernel, row_begin, point.data(), stretches, count.data(), nullptr);
    prim::exclusive_scan(q, count.data(), count.data(), stretches);
    const auto blocks = read_value<offset_t>(q, count.data() + stretches);
    Buffer<StreamBlock> block(q, blocks + 1);
    launch(q, shape, cut_kernel, row_begin, point.data(), stretches, count.data(), block.data());
    launch(q, {1, 1}, end_blocks_kernel, block.data() + blocks, nonzeros, rows);
    return block;
}

template <class V, class M, class O>
void launch_stream(const CudaQueue& q, const Rows<M, O>& a, const Stream<V>& s, const Vectors<V>& v)
{
    const LaunchShape shape{s.block.size() - 1, threads_per_block, 0, 1, v.early};
    V* piece_sum = const_cast<V*>(s.piece_sum.data());
    int* arrived = const_cast<int*>(s.arrived.data());
    const auto go = [&](auto with_dots) {
        launch(q, shape, multiply_stream_kernel<with_dots(), V, M, O>, a, s.block.data(), piece_sum, arrived, v);
    };
    with_or_without_dots<V, M>(v, go);
}

}  // namespace

template <class V, class M>
Stream<V> make_stream(const CudaQueue& q, const CsrView<M>& a, offset_t longest)
{
    Stream<V> s{.block = cut(q, a.row_begin, a.rows, a.nonzeros), .row_begin = {}, .piece_sum = {}, .arrived = {}};
    if (a.nonzeros <= max_index) {
        s.row_begin = Buffer<std::int32_t>(q, offset_t{a.rows} + 1);
        narrow_offsets(q, a.row_begin, s.row_begin.data(), offset_t{a.rows} + 1);
    }
    if (longest > most_nonzeros) {
        s.piece_sum = Buffer<V>(q, s.block.size());
        s.arrived = Buffer<int>(q, s.block.size());
        fill_zero(q, s.arrived.data(), s.arrived.size());
    }
    return s;
}

template <class V, class M>
void multiply_stream(const CudaQueue& q, const CsrView<M>& a, const Stream<V>& s, const Vectors<V>& v)
{
    if (s.row_begin.empty()) launch_stream(q, Rows<M, offset_t>{a.row_begin, a.col, a.value}, s, v);
    else launch_stream(q, Rows<M, std::int32_t>{s.row_begin.data(), a.col, a.value}, s, v);
}

template Stream<float> make_stream(const CudaQueue&, const CsrView<float>&, offset_t);
template Stream<double> make_stream(const CudaQueue&, const CsrView<double>&, offset_t);
template Stream<double> make_stream(const CudaQueue&, const CsrView<float>&, offset_t);
template void multiply_stream(const CudaQueue&, const CsrView<float>&, const Stream<float>&, const Vectors<float>&);
template void multiply_stream(const CudaQueue&, const CsrView<double>&, const Stream<double>&, const Vectors<double>&);
template void multiply_stream(const CudaQueue&, const CsrView<float>&, const Stream<double>&, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
