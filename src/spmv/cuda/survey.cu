// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What choose() wants to know, and whether the matrix may be used at all, in one short kernel and one reading back.
// Order inside rows is checked without knowing which row a nonzero is in: places where a column does not exceed the one
// before are counted over all nonzeros and over the beginnings of rows; where the two counts agree, there are none
// inside rows.
#include "device/cuda/kernel.cuh"

#include <algorithm>

#include "base/math.hpp"
#include "spmv/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256;
constexpr offset_t most_row_blocks = 512,
                   most_column_blocks = 1024;  // every block ends with a few atomics on the same line
constexpr unsigned all_lanes = 0xffffffffu;

using Count = unsigned long long;

struct Tally {
    Count longest, widest;  // the largest of all; the others are sums
    Count repeats, shifts, padded;
    Count wrong;  // offsets that do not ascend, columns out of range
    Count steps_back, steps_back_at_rows;
};
constexpr unsigned raised = 2;  // members that are the largest of all

__device__ Count warp_sum(Count value) { return slice_sum<32>(value); }

__device__ Count warp_max(Count value)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        const Count other = __shfl_xor_sync(all_lanes, value, distance);
        if (other > value) value = other;
    }
    return value;
}

// What a thread has seen; warps put it together in the block's tally, and blocks theirs in the matrix's.
__device__ void add(Count* to, Count value)
{
    const Count sum = warp_sum(value);
    if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(to, sum);
}

__device__ void raise(Count* to, Count value)
{
    const Count most = warp_max(value);
    if (threadIdx.x % 32 == 0 && most != 0) atomicMax(to, most);
}

struct Ends {
    offset_t begin, end;
    __device__ offset_t length() const { return end - begin; }
};

// The row's place in the arrays, cut to what exists; `wrong` if that was needed.
__device__ Ends ends_of(const offset_t* row_begin, offset_t nonzeros, offset_t row, bool& wrong)
{
    Ends e{row_begin[row], row_begin[row + 1]};
    wrong = e.begin < 0 || e.end < e.begin || e.end > nonzeros;
    return wrong ? Ends{0, 0} : e;
}

// Whether row `r` is row `p` moved by `step` columns, judged by three columns of each.
__device__ bool looks_like(const index_t* col, Ends r, Ends p, offset_t step)
{
    if (r.length() != p.length() || r.length() == 0) return false;
    const auto same = [&](offset_t k) { return col[r.begin + k] == col[p.begin + k] + step; };
    return same(0) && same(r.length() / 2) && same(r.length() - 1);
}

// From first to last column; cut to what an index can be, so that columns out of range do no harm.
__device__ Count width_of(const index_t* col, Ends r)
{
    if (r.length() == 0) return 0;
    const offset_t width = offset_t{col[r.end - 1]} - col[r.begin];
    return static_cast<Count>(min(width < 0 ? -width : width, offset_t{max_index}));
}

struct Pattern {
    index_t rows, cols;
    offset_t nonzeros;
    const offset_t* row_begin;
    const index_t* col;
    bool strict;  // no column twice in a row
    __device__ bool is_back(offset_t k) const { return k > 0 && (strict ? col[k] <= col[k - 1] : col[k] < col[k - 1]); }
};

// A thread per row, a warp per slice of 32 rows, `blocks` blocks in turn.
__device__ void look_at_rows(const Pattern& a, offset_t block, offset_t blocks, Tally& of_block)
{
    Tally t{};
    for (offset_t first = block * threads_per_block; first < a.rows; first += blocks * threads_per_block) {
        const offset_t row = first + threadIdx.x;
        bool wrong = false, wrong_before = false;
        Ends r{0, 0}, p{0, 0};
        if (row < a.rows) r = ends_of(a.row_begin, a.nonzeros, row, wrong);
        if (row > 0 && row < a.rows) p = ends_of(a.row_begin, a.nonzeros, row - 1, wrong_before);
        if (row == 0) wrong = wrong || a.row_begin[0] != 0 || a.row_begin[a.rows] != a.nonzeros;
        const auto length = static_cast<Count>(r.length());
        const Count slice_width = warp_max(length);
        t.longest = max(t.longest, length);
        t.padded += slice_width;  // as a lane's share: 32 of them are the slice
        t.widest = max(t.widest, width_of(a.col, r));
        t.repeats += looks_like(a.col, r, p, 0);
        t.shifts += looks_like(a.col, r, p, 1);
        t.wrong += wrong;
        t.steps_back_at_rows += length > 0 && a.is_back(r.begin);
    }
    raise(&of_block.longest, t.longest);
    raise(&of_block.widest, t.widest);
    add(&of_block.padded, t.padded);
    add(&of_block.repeats, t.repeats);
    add(&of_block.shifts, t.shifts);
    add(&of_block.wrong, t.wrong);
    add(&of_block.steps_back_at_rows, t.steps_back_at_rows);
}

// The nonzeros, `blocks` blocks in turn.
__device__ void look_at_columns(const Pattern& a, offset_t block, offset_t blocks, Tally& of_block)
{
    Count wrong = 0, back = 0;
    for (offset_t k = block * threads_per_block + threadIdx.x; k < a.nonzeros; k += blocks * threads_per_block) {
        const index_t c = a.col[k];
        wrong += c < 0 || c >= a.cols;
        back += a.is_back(k);
    }
    add(&of_block.wrong, wrong);
    add(&of_block.steps_back, back);
}

// The first row_blocks blocks look at rows, the others at columns.
//   grid: row_blocks and as many more as look at columns      shared memory: a tally      tally: atomically, integers
__global__ void __launch_bounds__(threads_per_block) survey_kernel(Pattern a, int row_blocks, Tally* tally)
{
    TULLE_SHARED(Tally, here, 1);
    if (threadIdx.x == 0) here[0] = {};
    __syncthreads();
    const offset_t block = blockIdx.x;
    if (block < row_blocks) look_at_rows(a, block, row_blocks, here[0]);
    else look_at_columns(a, block - row_blocks, static_cast<offset_t>(gridDim.x) - row_blocks, here[0]);
    __syncthreads();
    if (threadIdx.x >= sizeof(Tally) / sizeof(Count)) return;
    const Count seen = reinterpret_cast<const Count*>(here)[threadIdx.x];
    Count* to = reinterpret_cast<Count*>(tally) + threadIdx.x;
    if (seen == 0) return;
    if (threadIdx.x < raised) atomicMax(to, seen);
    else atomicAdd(to, seen);
}

}  // namespace

template <class M>
Survey survey(const CudaQueue& q, const CsrView<M>& a, bool whole)
{
    Buffer<Tally> there(q, 1);
    fill_zero(q, there.data(), 1);
    const offset_t row_blocks = std::min(most_row_blocks, ceil_div(offset_t{a.rows}, offset_t{threads_per_block}));
    const offset_t column_blocks =
        whole ? std::min(most_column_blocks, ceil_div(a.nonzeros, offset_t{threads_per_block} * 4)) : 0;
    const Pattern pattern{a.rows, a.cols, a.nonzeros, a.row_begin, a.col, a.unique};
    launch(q, {row_blocks + column_blocks, threads_per_block}, survey_kernel, pattern, static_cast<int>(row_blocks),
           there.data());
    const auto t = read_value<Tally>(q, there.data());
    Survey s;
    s.row = {.rows = a.rows,
             .cols = a.cols,
             .nonzeros = a.nonzeros,
             .longest = static_cast<offset_t>(t.longest),
             .mean = a.rows > 0 ? static_cast<double>(a.nonzeros) / a.rows : 0,
             .widest = static_cast<index_t>(t.widest),
             .steady = 0,
             .repeats = static_cast<index_t>(t.repeats),
             .shifts = static_cast<index_t>(t.shifts),
             .padded = static_cast<offset_t>(t.padded),
             .value_bytes = sizeof(M)};
    if (!a.sorted) s.row.widest = a.cols;  // first and last tell nothing
    s.sound = t.wrong == 0 && (!whole || !a.sorted || t.steps_back == t.steps_back_at_rows);
    return s;
}

template Survey survey(const CudaQueue&, const CsrView<float>&, bool);
template Survey survey(const CudaQueue&, const CsrView<double>&, bool);

}  // namespace tulle::inline TULLE_ABI::spmv
