// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert_steps.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

template <class V>
__global__ void scatter_dense_kernel(CooView<V> a, DenseView<V> to)
{
    const offset_t k = global_thread();
    if (k < a.nonzeros) to(a.row[k], a.col[k]) = a.value[k];
}

template <class V>
__global__ void scatter_blocks_kernel(CooView<V> a, BlockNumbers blocks, index_t block, index_t width,
                                      index_t* __restrict__ block_col, V* __restrict__ value)
{
    const offset_t k = global_thread();
    if (k < a.nonzeros) scatter_to_block(a, blocks, block, width, k, block_col, value);
}

}  // namespace

template <class V>
void scatter_dense(const CudaQueue& q, const CooView<V>& a, const DenseView<V>& to)
{
    launch(q, one_thread_each(a.nonzeros), scatter_dense_kernel<V>, a, to);
}

template <class V>
void scatter_blocks(const CudaQueue& q, const CooView<V>& a, const BlockNumbers& blocks, index_t block, index_t width,
                    index_t* block_col, V* value)
{
    launch(q, one_thread_each(a.nonzeros), scatter_blocks_kernel<V>, a, blocks, block, width, block_col, value);
}

template void scatter_dense(const CudaQueue&, const CooView<float>&, const DenseView<float>&);
template void scatter_dense(const CudaQueue&, const CooView<double>&, const DenseView<double>&);
template void scatter_blocks(const CudaQueue&, const CooView<float>&, const BlockNumbers&, index_t, index_t, index_t*,
                             float*);
template void scatter_blocks(const CudaQueue&, const CooView<double>&, const BlockNumbers&, index_t, index_t, index_t*,
                             double*);

}  // namespace tulle::inline TULLE_ABI::matrix
