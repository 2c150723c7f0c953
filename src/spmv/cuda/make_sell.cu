// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A matrix in slices: order of the rows, width of the slices, then for each column of a slice the shortest form of its
// matrix columns.
#include "base/math.hpp"
#include "device/cuda/kernel.cuh"
#include "prim/scan.hpp"
#include "prim/sort.hpp"
#include "spmv/sell.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256;
constexpr unsigned all_lanes = 0xffffffffu;

// Keys that bring the rows of a window together, longest first.
//   grid: ceil(rows / threads)      shared memory: none
__global__ void __launch_bounds__(threads_per_block)
    make_keys_kernel(index_t rows, const offset_t* row_begin, std::uint64_t* key, offset_t* row)
{
    const offset_t i = global_thread();
    if (i >= rows) return;
    key[i] = window_key(static_cast<index_t>(i), row_begin[i + 1] - row_begin[i]);
    row[i] = i;
}

//   grid: ceil(places / threads)      shared memory: none      list: every lane of every slice
__global__ void __launch_bounds__(threads_per_block)
    list_rows_kernel(index_t rows, offset_t places, const offset_t* sorted, index_t* list)
{
    const offset_t i = global_thread();
    if (i < places) list[i] = i < rows ? static_cast<index_t>(sorted[i]) : -1;
}

// A warp per slice.
//   grid: ceil(32 * slices / threads)      shared memory: none      width: one a slice      ragged: one a slice
__global__ void __launch_bounds__(threads_per_block)
    measure_slices_kernel(index_t rows, const offset_t* row_begin, offset_t slices, const index_t* list,
                          offset_t* width, std::uint8_t* ragged)
{
    const offset_t slice = global_thread() / slice_rows;
    const int lane = static_cast<int>(threadIdx.x) % slice_rows;
    if (slice >= slices) return;
    const index_t row = row_of(list, rows, slice, lane);
    const offset_t length = length_of(row_begin, row), most = slice_max<slice_rows>(length);
    const bool differs = __ballot_sync(all_lanes, length != most) != 0;
    if (lane == 0) {
        width[slice] = most;
        ragged[slice] = differs ? 1 : 0;
    }
}

//   grid: ceil((slices + 1) / threads)      shared memory: none      slice_begin: in place, see SliceSpan
__global__ void __launch_bounds__(threads_per_block)
    mark_ragged_kernel(offset_t slices, const std::uint8_t* ragged, offset_t* slice_begin)
{
    const offset_t i = global_thread();
    if (i <= slices) slice_begin[i] = slice_begin[i] * 2 + (i < slices ? ragged[i] : 0);
}

// A column of a slice: its base, how it is stored, and this lane's distance.
struct Form {
    index_t base;
    SellKind kind;
    std::uint32_t distance;
};

__device__ Form form_of(index_t col, bool here, index_t cols, int lane)
{
    const index_t low = slice_min<slice_rows>(here ? col : max_index), high = slice_max<slice_rows>(here ? col : 0);
    const index_t start = low == max_index ? 0
                                           : __shfl_sync(all_lanes, col - lane,
                                                         __ffs(static_cast<int>(__ballot_sync(all_lanes, here))) - 1);
    const bool follows = __ballot_sync(all_lanes, here && col - lane != start) == 0 && may_follow(start, cols);
    if (follows) return {start, SellKind::follow, 0};
    return {low, kind_for(high - low), here ? static_cast<std::uint32_t>(col - low) : 0};
}

// A warp per slice goes over its columns. First call: bytes a lane of each column's distances, into `bytes`. Second:
// `bytes` are where they begin, and columns, distances and values are written.
//   grid: ceil(32 * slices / threads)      shared memory: none      column, distance, value: every one once
template <bool Write, class M>
__global__ void __launch_bounds__(threads_per_block)
    fill_columns_kernel(CsrView<M> a, offset_t slices, const offset_t* slice_begin, const index_t* list,
                        offset_t* bytes, SellColumn* column, std::uint8_t* distance)
{
    const offset_t slice = global_thread() / slice_rows;
    const int lane = static_cast<int>(threadIdx.x) % slice_rows;
    if (slice >= slices) return;
    const SliceSpan span = span_of(slice_begin, slice);
    const index_t row = row_of(list, a.rows, slice, lane);
    const offset_t length = length_of(a.row_begin, row), begin = row < 0 ? 0 : a.row_begin[row];
    for (offset_t j = span.begin; j < span.end; ++j) {
        const offset_t k = j - span.begin;
        const bool here = k < length;
        const Form form = form_of(here ? a.col[begin + k] : 0, here, a.cols, lane);
        if constexpr (!Write) {
            if (lane == 0) bytes[j] = bytes_of(form.kind);
        } else {
            std::uint8_t* to = distance + bytes[j] * slice_rows;
            if (lane == 0) column[j] = column_of(form.base, form.kind, bytes[j]);
            if (form.kind == SellKind::bytes1) to[lane] = static_cast<std::uint8_t>(form.distance);
            if (form.kind == SellKind::bytes2)
                reinterpret_cast<std::uint16_t*>(to)[lane] = static_cast<std::uint16_t>(form.distance);
            if (form.kind == SellKind::bytes4) reinterpret_cast<std::uint32_t*>(to)[lane] = form.distance;
        }
    }
}

//   grid: ceil(32 * slices / threads)
//   shared memory: none
//   value: every place once, zero where there is no entry
template <class M, class T>
__global__ void __launch_bounds__(threads_per_block)
    fill_values_kernel(CsrView<M> a, offset_t slices, const offset_t* slice_begin, const index_t* list, T* value)
{
    const offset_t slice = global_thread() / slice_rows;
    const int lane = static_cast<int>(threadIdx.x) % slice_rows;
    if (slice >= slices) return;
    const SliceSpan span = span_of(slice_begin, slice);
    const index_t row = row_of(list, a.rows, slice, lane);
    const offset_t length = length_of(a.row_begin, row), begin = row < 0 ? 0 : a.row_begin[row];
    for (offset_t k = 0; k < span.end - span.begin; ++k)
        value[(span.begin + k) * slice_rows + lane] = k < length ? static_cast<T>(a.value[begin + k]) : T(0);
}

constexpr int checked_at_once = 8;  // values of a thread

//   grid: ceil(n / 8 / threads)      others: one, if some value is not a float; zero before
__global__ void __launch_bounds__(threads_per_block) find_others_kernel(const double* value, offset_t n, int* others)
{
    const offset_t threads = offset_t{gridDim.x} * threads_per_block;
    bool all = true;
#pragma unroll
    for (int k = 0; k < checked_at_once; ++k) {
        const offset_t i = global_thread() + k * threads;
        const double d = i < n ? value[i] : 0;
        all = all && static_cast<double>(static_cast<float>(d)) == d;
    }
    if (!all) atomicOr(others, 1);
}

bool are_floats(const CudaQueue& q, const double* value, offset_t n)
{
    Buffer<int> others(q, 1);
    fill_zero(q, others.data(), 1);
    launch(q, one_thread_each(ceil_div(n, offset_t{checked_at_once}), threads_per_block), find_others_kernel, value, n,
           others.data());
    return read_value(q, others.data()) == 0;
}

template <class M, class T>
void fill_values(const CudaQueue& q, const CsrView<M>& a, const Sell<M>& s, T* value)
{
    const offset_t slices = s.slice_begin.size() - 1;
    launch(q, one_thread_each(slices * slice_rows, threads_per_block), fill_values_kernel<M, T>, a, slices,
           s.slice_begin.data(), s.row.data(), value);
}

Buffer<index_t> sort_rows(const CudaQueue& q, const offset_t* row_begin, index_t rows)
{
    Buffer<std::uint64_t> key(q, rows);
    Buffer<offset_t> row(q, rows);
    const offset_t places = ceil_div(rows, slice_rows) * offset_t{slice_rows};
    Buffer<index_t> list(q, places);
    launch(q, one_thread_each(rows, threads_per_block), make_keys_kernel, rows, row_begin, key.data(), row.data());
    prim::sort_pairs(q, key.data(), row.data(), rows,
                     32 + prim::bits_for(static_cast<std::uint64_t>(rows / window_rows) + 1));
    launch(q, one_thread_each(places, threads_per_block), list_rows_kernel, rows, places, row.data(), list.data());
    return list;
}

// Slices as wide as their longest row; how many columns they have together. In the natural order the survey has counted
// them: no waiting.
offset_t measure_slices(const CudaQueue& q, const offset_t* row_begin, index_t rows, const index_t* list,
                        offset_t padded, Buffer<offset_t>& slice_begin)
{
    const offset_t slices = ceil_div(rows, slice_rows);
    Buffer<std::uint8_t> ragged(q, slices);
    slice_begin = Buffer<offset_t>(q, slices + 1);
    launch(q, one_thread_each(slices * slice_rows, threads_per_block), measure_slices_kernel, rows, row_begin, slices,
           list, slice_begin.data(), ragged.data());
    prim::exclusive_scan(q, slice_begin.data(), slice_begin.data(), slices);
    const offset_t columns =
        list == nullptr ? padded / slice_rows : read_value<offset_t>(q, slice_begin.data() + slices);
    launch(q, one_thread_each(slices + 1, threads_per_block), mark_ragged_kernel, slices, ragged.data(),
           slice_begin.data());
    return columns;
}

}  // namespace

template <class M>
void fill_sell(const CudaQueue& q, const CsrView<M>& a, Sell<M>& s)
{
    if (!s.exact.empty()) {  // whether new values are floats too is not asked: that would have to be waited for
        s.value = Buffer<M>(q, s.exact.size());
        s.exact = {};
    }
    fill_values(q, a, s, s.value.data());
}

template <class M>
Sell<M> make_sell(const CudaQueue& q, const CsrView<M>& a, bool sort, offset_t padded)
{
    Sell<M> s;
    if (sort) s.row = sort_rows(q, a.row_begin, a.rows);
    const offset_t columns = measure_slices(q, a.row_begin, a.rows, s.row.data(), padded, s.slice_begin),
                   slices = s.slice_begin.size() - 1;
    const LaunchShape by_slice = one_thread_each(slices * slice_rows, threads_per_block);
    Buffer<offset_t> bytes(q, columns + 1);
    launch(q, by_slice, fill_columns_kernel<false, M>, a, slices, s.slice_begin.data(), s.row.data(), bytes.data(),
           nullptr, nullptr);
    prim::exclusive_scan(q, bytes.data(), bytes.data(), columns);
    const auto units = read_value<offset_t>(q, bytes.data() + columns);
    require_units(units);
    s.column = Buffer<SellColumn>(q, columns);
    s.distance = Buffer<std::uint8_t>(q, units * slice_rows);
    launch(q, by_slice, fill_columns_kernel<true, M>, a, slices, s.slice_begin.data(), s.row.data(), bytes.data(),
           s.column.data(), s.distance.data());
    if constexpr (sizeof(M) == sizeof(double)) {
        if (are_floats(q, a.value, a.nonzeros)) {
            s.exact = Buffer<float>(q, columns * slice_rows);
            fill_values(q, a, s, s.exact.data());
            return s;
        }
    }
    s.value = Buffer<M>(q, columns * slice_rows);
    fill_values(q, a, s, s.value.data());
    return s;
}

template void fill_sell(const CudaQueue&, const CsrView<float>&, Sell<float>&);
template void fill_sell(const CudaQueue&, const CsrView<double>&, Sell<double>&);
template Sell<float> make_sell(const CudaQueue&, const CsrView<float>&, bool, offset_t);
template Sell<double> make_sell(const CudaQueue&, const CsrView<double>&, bool, offset_t);
template void fill_sell(const CudaQueue&, const CsrView<Float16>&, Sell<Float16>&);
template void fill_sell(const CudaQueue&, const CsrView<Bfloat16>&, Sell<Bfloat16>&);
template Sell<Float16> make_sell(const CudaQueue&, const CsrView<Float16>&, bool, offset_t);
template Sell<Bfloat16> make_sell(const CudaQueue&, const CsrView<Bfloat16>&, bool, offset_t);

}  // namespace tulle::inline TULLE_ABI::spmv
