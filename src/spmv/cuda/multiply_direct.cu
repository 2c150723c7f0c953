// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A slice of lanes per row, on the caller's arrays as they are: offsets of 32 or 64 bits. The arrays may have changed
// since they were looked through, so what leads outside the matrix is left out.
#include "device/cuda/kernel.cuh"

#include "base/constant.hpp"
#include "spmv/direct.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256;

template <class M, class O>
struct Rows {
    index_t rows, cols;
    offset_t nonzeros;
    const O* row_begin;
    const index_t* col;
    const M* value;
};

// This lane's share of a row.
template <int Lanes, class V, class M, class O>
__device__ V dot_inside(const Rows<M, O>& a, offset_t row, int lane, const V* __restrict__ x)
{
    const auto inside = [&](O at) { return max(offset_t{0}, min(a.nonzeros, static_cast<offset_t>(at))); };
    const offset_t begin = inside(a.row_begin[row]), end = inside(a.row_begin[row + 1]);
    V sum = 0;
    for (offset_t k = begin + lane; k < end; k += Lanes) {
        const index_t c = a.col[k];
        if (c >= 0 && c < a.cols) sum += static_cast<V>(a.value[k]) * x[c];
    }
    return sum;
}

// One slice of lanes per row; each lane strides the row, then the slice adds up.
//   grid: ceil(rows * Lanes / threads)      shared memory: none      y: every row written once
template <int Lanes, class V, class M, class O>
__global__ void __launch_bounds__(threads_per_block)
    multiply_direct_kernel(Rows<M, O> a, V alpha, const V* x, V beta, V* y)
{
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const offset_t row = global_thread() / Lanes;
    const V sum = slice_sum<Lanes>(row < a.rows ? dot_inside<Lanes>(a, row, lane, x) : V(0));
    if (row < a.rows && lane == 0) y[row] = scaled(alpha, sum, beta, y + row);
}

}  // namespace

template <class V, class View>
void multiply_rows_direct(const CudaQueue& q, const View& a, int lanes, const Vectors<V>& v)
{
    using M = std::remove_cvref_t<decltype(*a.value)>;
    using O = std::remove_cvref_t<decltype(*a.row_begin)>;
    const Rows<M, O> rows{a.rows, a.cols, a.nonzeros, a.row_begin, a.col, a.value};
    with_constant<1, 2, 4, 8, 16, 32>(lanes, [&](auto n) {
        launch(q, one_thread_each(offset_t{a.rows} * n(), threads_per_block), multiply_direct_kernel<n(), V, M, O>,
               rows, v.alpha, v.x, v.beta, v.y);
    });
}

template void multiply_rows_direct(const CudaQueue&, const CsrView<float>&, int, const Vectors<float>&);
template void multiply_rows_direct(const CudaQueue&, const CsrView<double>&, int, const Vectors<double>&);
template void multiply_rows_direct(const CudaQueue&, const CsrView<float>&, int, const Vectors<double>&);
template void multiply_rows_direct(const CudaQueue&, const Csr32View<float>&, int, const Vectors<float>&);
template void multiply_rows_direct(const CudaQueue&, const Csr32View<double>&, int, const Vectors<double>&);
template void multiply_rows_direct(const CudaQueue&, const Csr32View<float>&, int, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
