// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Slices of 32 rows, a lane each. The lanes fetch what is known of the next 32 columns of the slice together and hand
// it round; a column's matrix columns follow each other, or are short distances from a base. Places behind the end of a
// row take no part.
//
// Sliced ELL: Monakov, Lokhmotov, Avetisyan, HiPEAC 2010, doi:10.1007/978-3-642-11515-8_10; sorting inside windows:
// Kreutzer et al., SIAM J. Sci. Comput. 36, 2014, doi:10.1137/130930352.
#include "device/cuda/resident.cuh"
#include "spmv/cuda/dots.cuh"
#include "spmv/cuda/stored.cuh"
#include "spmv/sell.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256;
constexpr unsigned all_lanes = 0xffffffffu;

struct Columns {
    const SellColumn* column;
    const std::uint8_t* distance;
};

// The matrix column of this lane in a column of the slice.
__device__ index_t matrix_column(index_t base, std::uint32_t at, const std::uint8_t* distance, int lane)
{
    const std::uint8_t* from = distance + static_cast<offset_t>(at / 4) * slice_rows;
    switch (static_cast<SellKind>(at % 4)) {
    case SellKind::follow: return base + lane;
    case SellKind::bytes1: return base + from[lane];
    case SellKind::bytes2: return base + reinterpret_cast<const std::uint16_t*>(from)[lane];
    case SellKind::bytes4: break;
    }
    return base + static_cast<index_t>(reinterpret_cast<const std::uint32_t*>(from)[lane]);
}

constexpr int columns_at_once = 2;
[[maybe_unused]] constexpr int resident_blocks =
    multiprocessor_threads / threads_per_block;  // of a multiprocessor: 32 registers a thread

// Products of this lane in columns [j, j + n) of the 32 whose descriptions the lanes hold in `mine`; `taken` of them
// have an entry.
template <int n, class V, class M>
__device__ V sum_columns(const SellColumn& mine, int j, offset_t taken, const std::uint8_t* __restrict__ distance,
                         const M* __restrict__ value, const V* __restrict__ x, int lane)
{
    V a[n], xc[n], sum = 0;
    index_t c[n];
#pragma unroll
    for (int u = 0; u < n; ++u) {  // all loads first
        const index_t base = __shfl_sync(all_lanes, mine.base, j + u);
        const std::uint32_t at = __shfl_sync(all_lanes, mine.at, j + u);
        a[u] = u < taken ? load_as_sum<V>(value + u * slice_rows) : V(0);
        c[u] = u < taken ? matrix_column(base, at, distance, lane) : 0;
    }
#pragma unroll
    for (int u = 0; u < n; ++u) xc[u] = u < taken ? __ldg(x + c[u]) : V(0);
#pragma unroll
    for (int u = 0; u < n; ++u) sum += a[u] * xc[u];
    return sum;
}

// This lane's row; `length` of its places are taken.
template <class V, class M>
__device__ V sum_lane(const SliceSpan& span, offset_t length, const Columns& c, const M* __restrict__ value,
                      const V* __restrict__ x, int lane)
{
    V sum = 0;
    for (offset_t first = span.begin; first < span.end; first += slice_rows) {
        const SellColumn mine = first + lane < span.end ? c.column[first + lane] : SellColumn{0, 0};
        const int count = static_cast<int>(min(offset_t{slice_rows}, span.end - first));
        const auto add = [&](auto n, int j) {
            sum += sum_columns<n()>(mine, j, length - (first - span.begin) - j, c.distance,
                                    value + (first + j) * slice_rows + lane, x, lane);
        };
        int j = 0;
        for (; j + columns_at_once <= count; j += columns_at_once)
            add(std::integral_constant<int, columns_at_once>{}, j);
        for (; j < count; ++j) add(std::integral_constant<int, 1>{}, j);
    }
    return sum;
}

// One warp per slice.
//   grid: ceil(32 * slices / threads)      shared memory: none      y: every row written once
template <bool WithDots, class V, class M>
__global__ void __launch_bounds__(threads_per_block, resident_blocks)
    multiply_sell_kernel(index_t rows, const offset_t* row_begin, offset_t slices, const offset_t* slice_begin,
                         const index_t* list, Columns columns, const M* value, Vectors<V> v)
{
    const offset_t slice = global_thread() / slice_rows;
    const int lane = static_cast<int>(threadIdx.x) % slice_rows;
    Written<WithDots, V> written;
    if (slice < slices) {
        const SliceSpan span = span_of(slice_begin, slice);
        const index_t row = row_of(list, rows, slice, lane);
        const offset_t length = span.ragged ? length_of(row_begin, row) : span.end - span.begin;
        wait_for_earlier_kernels();
        const V sum = sum_lane(span, length, columns, value, v.x, lane);
        if (row >= 0) written.put(v, row, sum);
    }
    finish<threads_per_block>(written, v.dots);
}

// Values of type T, which need not be that of the matrix: doubles that are floats take half the memory, and the sums
// the same bits.
template <class V, class M, class T>
void launch_sell(const CudaQueue& q, const CsrView<M>& a, const Sell<M>& s, const T* value, const Vectors<V>& v)
{
    const offset_t slices = s.slice_begin.size() - 1;
    const LaunchShape shape = one_thread_each(slices * slice_rows, threads_per_block, v.early);
    const Columns columns{s.column.data(), s.distance.data()};
    with_or_without_dots<V, M>(v, [&](auto with_dots) {
        launch(q, shape, multiply_sell_kernel<with_dots(), V, T>, a.rows, a.row_begin, slices, s.slice_begin.data(),
               s.row.data(), columns, value, v);
    });
}

}  // namespace

template <class V, class M>
void multiply_sell(const CudaQueue& q, const CsrView<M>& a, int, const Sell<M>& s, const Vectors<V>& v)
{
    if constexpr (sizeof(M) == sizeof(double))
        if (!s.exact.empty()) return launch_sell(q, a, s, s.exact.data(), v);
    launch_sell(q, a, s, s.value.data(), v);
}

template void multiply_sell(const CudaQueue&, const CsrView<float>&, int, const Sell<float>&, const Vectors<float>&);
template void multiply_sell(const CudaQueue&, const CsrView<double>&, int, const Sell<double>&, const Vectors<double>&);
template void multiply_sell(const CudaQueue&, const CsrView<float>&, int, const Sell<float>&, const Vectors<double>&);
template void multiply_sell(const CudaQueue&, const CsrView<Float16>&, int, const Sell<Float16>&,
                            const Vectors<float>&);
template void multiply_sell(const CudaQueue&, const CsrView<Bfloat16>&, int, const Sell<Bfloat16>&,
                            const Vectors<float>&);

}  // namespace tulle::inline TULLE_ABI::spmv
