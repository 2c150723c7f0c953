// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Finds runs of rows with the same columns and cuts them into groups of at most two, three or four rows, whichever
// wastes least. A block looks at a chunk of rows by itself: a run that reaches into the next chunk is cut there, at the
// cost of one group more in 256 rows.
#include "device/cuda/kernel.cuh"

#include "base/math.hpp"
#include "spmv/group_size.hpp"
#include "spmv/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int chunk_rows = 256;  // and a thread for each
constexpr int warps = chunk_rows / 32;
constexpr int lanes_per_row = 8;
constexpr unsigned all_lanes = 0xffffffffu;

// What the last block of the first pass leaves for the host and the second.
struct Found {
    index_t groups;
    int most;
};

// A bit for every row of a chunk that begins a run; the chunk's first row always does.
struct Starts {
    const unsigned* word;

    // Rows of its run before this one.
    __device__ int place_of(int row) const
    {
        int w = row / 32;
        unsigned bits = word[w] & (all_lanes >> (31 - row % 32));
        while (bits == 0) bits = word[--w];
        return row - (w * 32 + 31 - __clz(static_cast<int>(bits)));
    }
    // Rows from this one to the end of its run, as far as `most`.
    __device__ int rows_left(int row, int most) const
    {
        int n = 1;
        while (n < most && row + n < chunk_rows && (word[(row + n) / 32] >> ((row + n) % 32) & 1u) == 0) ++n;
        return n;
    }
};

// Lanes of this slice of the warp.
__device__ unsigned slice_mask() { return 0xffu << (threadIdx.x % 32 / lanes_per_row * lanes_per_row); }

// Whether a row does not have the columns of the row before it; a slice of lanes calls together, all slices of a warp
// at once.
__device__ bool begins_run(index_t rows, const offset_t* row_begin, const index_t* col, offset_t row,
                           bool first_of_chunk)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes_per_row;
    bool differs = row >= rows || first_of_chunk;
    if (!differs) {
        const offset_t before = row_begin[row - 1], begin = row_begin[row], length = row_begin[row + 1] - begin;
        differs = length != begin - before;
        for (offset_t k = lane; !differs && k < length; k += lanes_per_row) differs = col[begin + k] != col[before + k];
    }
    return (__ballot_sync(all_lanes, differs) & slice_mask()) != 0;
}

// The totals of the chunks, for each of the three sizes; then the better size, and where each chunk's groups begin. One
// block, all threads.
__device__ void add_up_chunks(int chunks, index_t* count, Found* found)
{
    TULLE_SHARED(unsigned long long, total, group_sizes);
    TULLE_SHARED(index_t, of_thread, chunk_rows);
    if (threadIdx.x < group_sizes) total[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < group_sizes; ++k) {
        unsigned long long sum = 0;
        for (int c = static_cast<int>(threadIdx.x); c < chunks; c += chunk_rows)
            sum += static_cast<unsigned long long>(count[c * group_sizes + k]);
        sum = slice_sum<32>(sum);
        if (threadIdx.x % 32 == 0) atomicAdd(total + k, sum);
    }
    __syncthreads();
    const int most = best_group({total[0], total[1], total[2]}), k = most - smallest_group;
    // Every thread adds up a stretch of chunks, one thread the stretches, and each numbers its own.
    const int each = (chunks + chunk_rows - 1) / chunk_rows, begin = min(chunks, static_cast<int>(threadIdx.x) * each),
              end = min(chunks, begin + each);
    index_t sum = 0;
    for (int c = begin; c < end; ++c) sum += count[c * group_sizes + k];
    of_thread[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        index_t before = 0;
        for (int t = 0; t < chunk_rows; ++t) {
            const index_t here = of_thread[t];
            of_thread[t] = before;
            before += here;
        }
        *found = {before, most};
    }
    __syncthreads();
    index_t at = of_thread[threadIdx.x];
    for (int c = begin; c < end; ++c) {
        const index_t here = count[c * group_sizes + k];
        count[c * group_sizes] = at;
        at += here;
    }
}

// A block per chunk: which rows begin runs, and how many groups there would be, for each of the three sizes. The last
// block adds up.
//   grid: chunks
//   shared memory: a byte a row
//   starts: a word per 32 rows
//   count: three a chunk, at the end the first of them is where its groups begin
__global__ void __launch_bounds__(chunk_rows)
    find_groups_kernel(index_t rows, const offset_t* row_begin, const index_t* col, unsigned* starts, index_t* count,
                       int* arrived, Found* found)
{
    TULLE_SHARED(unsigned char, begins, chunk_rows);
    TULLE_SHARED(unsigned, word, warps);
    TULLE_SHARED(int, groups, group_sizes);
    TULLE_SHARED(int, is_last, 1);
    const int t = static_cast<int>(threadIdx.x);
    const offset_t first = static_cast<offset_t>(blockIdx.x) * chunk_rows;
    if (t < group_sizes) groups[t] = 0;
    for (int r = t / lanes_per_row; r < chunk_rows; r += chunk_rows / lanes_per_row) {
        const bool begins_one = begins_run(rows, row_begin, col, first + r, r == 0);
        if (t % lanes_per_row == 0) begins[r] = begins_one ? 1 : 0;
    }
    __syncthreads();
    const unsigned mine = __ballot_sync(all_lanes, begins[t] != 0);
    if (t % 32 == 0) {
        word[t / 32] = mine;
        starts[blockIdx.x * static_cast<unsigned>(warps) + static_cast<unsigned>(t / 32)] = mine;
    }
    __syncthreads();
    const int place = Starts{word}.place_of(t);
    for (int k = 0; k < group_sizes; ++k) {
        const unsigned heads = __ballot_sync(all_lanes, first + t < rows && place % (smallest_group + k) == 0);
        if (t % 32 == 0) atomicAdd(groups + k, __popc(heads));
    }
    __syncthreads();
    if (t == 0) {
        for (int k = 0; k < group_sizes; ++k)
            count[blockIdx.x * static_cast<unsigned>(group_sizes) + static_cast<unsigned>(k)] = groups[k];
        is_last[0] = arrive(arrived) == static_cast<int>(gridDim.x) - 1;
    }
    __syncthreads();
    if (is_last[0]) add_up_chunks(static_cast<int>(gridDim.x), count, found);
}

// A block per chunk; rows that begin a group write it.
//   grid: chunks      shared memory: words      group: every group once
__global__ void __launch_bounds__(chunk_rows)
    write_groups_kernel(index_t rows, const offset_t* row_begin, const unsigned* starts, const index_t* count, int most,
                        RowGroup* group)
{
    TULLE_SHARED(unsigned, word, warps);
    TULLE_SHARED(int, heads_of, warps);
    const int t = static_cast<int>(threadIdx.x), warp = t / 32;
    const offset_t row = static_cast<offset_t>(blockIdx.x) * chunk_rows + t;
    if (t < warps) word[t] = starts[blockIdx.x * static_cast<unsigned>(warps) + static_cast<unsigned>(t)];
    __syncthreads();
    const Starts chunk{word};
    const bool is_head = row < rows && chunk.place_of(t) % most == 0;
    const unsigned heads = __ballot_sync(all_lanes, is_head);
    if (t % 32 == 0) heads_of[warp] = __popc(heads);
    __syncthreads();
    if (!is_head) return;
    index_t at = count[blockIdx.x * static_cast<unsigned>(group_sizes)] + __popc(heads & ((1u << (t % 32)) - 1));
    for (int w = 0; w < warp; ++w) at += heads_of[w];
    const auto length = static_cast<std::int32_t>(row_begin[row + 1] - row_begin[row]);
    group[at] = {row_begin[row], static_cast<index_t>(row), length * 8 + chunk.rows_left(t, most)};
}

}  // namespace

template <class M>
Groups make_groups(const CudaQueue& q, const CsrView<M>& a)
{
    const offset_t chunks = ceil_div(offset_t{a.rows}, offset_t{chunk_rows});
    Buffer<unsigned> starts(q, chunks * warps);
    Buffer<index_t> count(q, chunks * group_sizes);
    Buffer<int> arrived(q, 1);
    Buffer<Found> there(q, 1);
    if (chunks == 0) return {.group = {}, .most = smallest_group};
    fill_zero(q, arrived.data(), 1);
    launch(q, {chunks, chunk_rows}, find_groups_kernel, a.rows, a.row_begin, a.col, starts.data(), count.data(),
           arrived.data(), there.data());
    const auto found = read_value<Found>(q, there.data());
    Groups made{.group = Buffer<RowGroup>(q, found.groups), .most = found.most};
    launch(q, {chunks, chunk_rows}, write_groups_kernel, a.rows, a.row_begin, starts.data(), count.data(), made.most,
           made.group.data());
    return made;
}

template Groups make_groups(const CudaQueue&, const CsrView<float>&);
template Groups make_groups(const CudaQueue&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
