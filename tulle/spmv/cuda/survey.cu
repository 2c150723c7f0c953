// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What choose() wants to know, and whether the matrix may be used at all, in two short kernels and one reading back. Order inside rows is
// checked without knowing which row a nonzero is in: places where a column does not exceed the one before are counted over all nonzeros and
// over the beginnings of rows; where the two counts agree, there are none inside rows.
#include "tulle/device/cuda/kernel.cuh"

#include <algorithm>

#include "tulle/base/math.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/spmv/steps.hpp"

namespace tulle::spmv {
namespace {

constexpr int threads_per_block = 256;
constexpr offset_t most_blocks = 2048;
constexpr unsigned all_lanes = 0xffffffffu;

using Count = unsigned long long;

struct Tally {
    Count longest, widest, repeats, shifts, padded;
    Count wrong;                         // offsets that do not ascend, columns out of range
    Count steps_back, steps_back_at_rows;
};

__device__ Count warp_sum(Count value) { return slice_sum<32>(value); }

__device__ Count warp_max(Count value)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        const Count other = __shfl_xor_sync(all_lanes, value, distance);
        if (other > value) value = other;
    }
    return value;
}

// One lane of each warp adds; a warp with nothing to say stays silent.
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

// One thread per row, one warp per slice of 32 rows.
//   grid: ceil(rows / threads)      shared memory: none      tally: atomically, integers
__global__ void __launch_bounds__(threads_per_block) survey_rows_kernel(index_t rows, offset_t nonzeros, const offset_t* row_begin, const index_t* col, bool strict, Tally* tally)
{
    const offset_t row = global_thread();
    bool wrong = false, wrong_before = false;
    Ends r{0, 0}, p{0, 0};
    if (row < rows) r = ends_of(row_begin, nonzeros, row, wrong);
    if (row > 0 && row < rows) p = ends_of(row_begin, nonzeros, row - 1, wrong_before);
    if (row == 0 && rows > 0) wrong = wrong || row_begin[0] != 0 || row_begin[rows] != nonzeros;
    const bool some = r.length() > 0;
    const bool back = some && r.begin > 0 && (strict ? col[r.begin] <= col[r.begin - 1] : col[r.begin] < col[r.begin - 1]);
    const Count slice_width = warp_max(static_cast<Count>(r.length()));
    if (threadIdx.x % 32 == 0 && slice_width != 0) {
        atomicMax(&tally->longest, slice_width);
        atomicAdd(&tally->padded, slice_width * 32);
    }
    raise(&tally->widest, width_of(col, r));
    add(&tally->repeats, looks_like(col, r, p, 0) ? 1 : 0);
    add(&tally->shifts, looks_like(col, r, p, 1) ? 1 : 0);
    add(&tally->wrong, wrong ? 1 : 0);
    add(&tally->steps_back_at_rows, back ? 1 : 0);
}

// Every thread strides the nonzeros.
//   grid: as many as fit the GPU well      shared memory: none      tally: atomically, integers
__global__ void __launch_bounds__(threads_per_block) survey_columns_kernel(offset_t nonzeros, index_t cols, const index_t* col, bool strict, Tally* tally)
{
    Count wrong = 0, back = 0;
    for (offset_t k = global_thread(); k < nonzeros; k += static_cast<offset_t>(gridDim.x) * threads_per_block) {
        const index_t c = col[k], before = k > 0 ? col[k - 1] : -1;
        wrong += c < 0 || c >= cols;
        back += k > 0 && (strict ? c <= before : c < before);
    }
    add(&tally->wrong, wrong);
    add(&tally->steps_back, back);
}

}  // namespace

template <class M>
Survey survey(const CudaQueue& q, const CsrView<M>& a, bool whole)
{
    Buffer<Tally> there(q, 1);
    fill_zero(q, there.data(), 1);
    launch(q, one_thread_each(a.rows, threads_per_block), survey_rows_kernel, a.rows, a.nonzeros, a.row_begin, a.col, a.unique, there.data());
    const offset_t blocks = std::min(most_blocks, ceil_div(a.nonzeros, offset_t{threads_per_block} * 4));
    if (whole) launch(q, {blocks, threads_per_block}, survey_columns_kernel, a.nonzeros, a.cols, a.col, a.unique, there.data());
    const auto t = read_value<Tally>(q, there.data());
    Survey s;
    s.row = {.rows = a.rows, .cols = a.cols, .nonzeros = a.nonzeros, .longest = static_cast<offset_t>(t.longest),
             .mean = a.rows > 0 ? static_cast<double>(a.nonzeros) / a.rows : 0, .widest = static_cast<index_t>(t.widest), .repeats = static_cast<index_t>(t.repeats),
             .shifts = static_cast<index_t>(t.shifts), .padded = static_cast<offset_t>(t.padded), .value_bytes = sizeof(M)};
    if (!a.sorted) s.row.widest = a.cols;                // first and last tell nothing
    s.sound = t.wrong == 0 && (!whole || !a.sorted || t.steps_back == t.steps_back_at_rows);
    return s;
}

template Survey survey(const CudaQueue&, const CsrView<float>&, bool);
template Survey survey(const CudaQueue&, const CsrView<double>&, bool);

}  // namespace tulle::spmv
