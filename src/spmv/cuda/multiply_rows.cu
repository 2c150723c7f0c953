// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A slice of lanes per row: short rows share a warp, long ones have it to themselves. With narrow columns, two bytes
// each, counted from the row's first column, or from zero where no matrix column exceeds 65535.
#include "device/cuda/kernel.cuh"

#include "base/constant.hpp"
#include "spmv/cuda/dots.cuh"
#include "spmv/cuda/stored.cuh"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256;

template <class M, class O, class C>
struct Rows {
    index_t rows;
    const O* row_begin;
    const C* col;
    const index_t* base;  // null: columns count from zero
    const M* value;
};

// This lane's share of row i, which has the nonzeros from `begin` on.
template <int Lanes, class V, class M, class O, class C>
__device__ V dot_strided(const Rows<M, O, C>& a, offset_t row, O begin, O end, int lane, const V* __restrict__ x)
{
    if (sizeof(C) == 2 && a.base != nullptr) x += a.base[row];
    V sum = 0;
    for (O k = begin + lane; k < end; k += Lanes) sum += as_sum<V>(a.value[k]) * x[a.col[k]];
    return sum;
}

// One slice of lanes per row; each lane strides the row, then the slice adds up.
//   grid: ceil(rows * Lanes / threads)      shared memory: none      y: every row written once
template <int Lanes, bool WithDots, class V, class M, class O, class C>
__global__ void __launch_bounds__(threads_per_block) multiply_rows_kernel(Rows<M, O, C> a, Vectors<V> v)
{
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const offset_t row = global_thread() / Lanes;
    const bool here = row < a.rows;
    const O begin = here ? a.row_begin[row] : O(0), end = here ? a.row_begin[row + 1] : O(0);
    wait_for_earlier_kernels();
    const V sum = slice_sum<Lanes>(here ? dot_strided<Lanes>(a, row, begin, end, lane, v.x) : V(0));
    Written<WithDots, V> written;
    if (here && lane == 0) written.put(v, row, sum);
    finish<threads_per_block>(written, v.dots);
}

template <class V, class M, class O, class C>
void launch_rows(const CudaQueue& q, const Rows<M, O, C>& a, int lanes, const Vectors<V>& v)
{
    with_constant<1, 2, 4, 8, 16, 32>(lanes, [&](auto n) {
        const LaunchShape shape = one_thread_each(offset_t{a.rows} * n(), threads_per_block, v.early);
        const auto go = [&](auto with_dots) {
            launch(q, shape, multiply_rows_kernel<n(), with_dots(), V, M, O, C>, a, v);
        };
        with_or_without_dots<V, M>(v, go);
    });
}

//   grid: ceil(n / threads)      shared memory: none
__global__ void __launch_bounds__(threads_per_block)
    narrow_offsets_kernel(const offset_t* from, std::int32_t* to, offset_t n)
{
    const offset_t i = global_thread();
    if (i < n) to[i] = static_cast<std::int32_t>(from[i]);
}

// A slice of lanes per row.
//   grid: ceil(rows << log_lanes, threads)
//   shared memory: none
//   base: one a row, if wanted
//   narrow: every nonzero once
__global__ void __launch_bounds__(threads_per_block)
    narrow_columns_kernel(index_t rows, int log_lanes, const offset_t* row_begin, const index_t* col, index_t* base,
                          std::uint16_t* narrow)
{
    const offset_t row = global_thread() >> log_lanes;
    if (row >= rows) return;
    const int lanes = 1 << log_lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
    const offset_t begin = row_begin[row], end = row_begin[row + 1];
    const index_t from = base != nullptr && begin < end ? col[begin] : 0;
    if (base != nullptr && lane == 0) base[row] = from;
    for (offset_t k = begin + lane; k < end; k += lanes) narrow[k] = static_cast<std::uint16_t>(col[k] - from);
}

// Lanes for a row of the mean length, 2 to 32, by their logarithm.
int log_lanes_for(offset_t nonzeros, index_t rows)
{
    int log_lanes = 1;
    while (log_lanes < 5 && (offset_t{rows} << log_lanes) < nonzeros) ++log_lanes;
    return log_lanes;
}

}  // namespace

void narrow_offsets(const CudaQueue& q, const offset_t* from, std::int32_t* to, offset_t n)
{
    launch(q, one_thread_each(n, threads_per_block), narrow_offsets_kernel, from, to, n);
}

template <class M>
Narrow make_narrow(const CudaQueue& q, const CsrView<M>& a)
{
    Narrow n{Buffer<std::int32_t>(q, offset_t{a.rows} + 1), Buffer<std::uint16_t>(q, a.nonzeros), {}};
    if (a.cols > columns_of_16_bits) n.base = Buffer<index_t>(q, a.rows);
    narrow_offsets(q, a.row_begin, n.row_begin.data(), n.row_begin.size());
    const int log_lanes = log_lanes_for(a.nonzeros, a.rows);
    launch(q, one_thread_each(offset_t{a.rows} << log_lanes, threads_per_block), narrow_columns_kernel, a.rows,
           log_lanes, a.row_begin, a.col, n.base.data(), n.col.data());
    return n;
}

template <class V, class M>
void multiply_rows(const CudaQueue& q, const CsrView<M>& a, int lanes, const Narrow& narrow, const Vectors<V>& v)
{
    if (narrow.row_begin.empty())
        launch_rows(q, Rows<M, offset_t, index_t>{a.rows, a.row_begin, a.col, nullptr, a.value}, lanes, v);
    else
        launch_rows(q,
                    Rows<M, std::int32_t, std::uint16_t>{a.rows, narrow.row_begin.data(), narrow.col.data(),
                                                         narrow.base.data(), a.value},
                    lanes, v);
}

template Narrow make_narrow(const CudaQueue&, const CsrView<float>&);
template Narrow make_narrow(const CudaQueue&, const CsrView<double>&);
template void multiply_rows(const CudaQueue&, const CsrView<float>&, int, const Narrow&, const Vectors<float>&);
template void multiply_rows(const CudaQueue&, const CsrView<double>&, int, const Narrow&, const Vectors<double>&);
template void multiply_rows(const CudaQueue&, const CsrView<float>&, int, const Narrow&, const Vectors<double>&);
template void multiply_rows(const CudaQueue&, const CsrView<Float16>&, int, const Narrow&, const Vectors<float>&);
template void multiply_rows(const CudaQueue&, const CsrView<Bfloat16>&, int, const Narrow&, const Vectors<float>&);

}  // namespace tulle::inline TULLE_ABI::spmv
