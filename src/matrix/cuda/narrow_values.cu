// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/narrow_steps.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

//   grid: ceil(n / threads)      shared memory: none      least, most: by atomics, whose order does not matter
template <class V, class From>
__global__ void find_exponents_kernel(const From* value, const index_t* line, offset_t n, int* least, int* most)
{
    const offset_t k = global_thread();
    if (k >= n || !has_exponent(value[k])) return;
    const int exponent = exponent_of<V>(value[k]);
    atomicMin(&least[line[k]], exponent);
    atomicMax(&most[line[k]], exponent);
}

//   grid: ceil(n / threads)      shared memory: none      to: every value once
template <class V, class From>
__global__ void narrow_values_kernel(const From* value, const index_t* line, const float* scale, offset_t n, V* to,
                                     Losses* losses)
{
    const offset_t k = global_thread();
    if (k >= n) return;
    to[k] = narrowed<V>(value[k], scale == nullptr ? 1.0 : static_cast<double>(scale[line[k]]));
    const Loss loss = loss_of<V>(value[k], to[k]);
    if (loss == Loss::overflowed) atomicAdd(&losses->overflowed, 1ull);
    if (loss == Loss::subnormal) atomicAdd(&losses->subnormal, 1ull);
    if (loss == Loss::zeroed) atomicAdd(&losses->zeroed, 1ull);
}

}  // namespace

template <class V, class From>
void find_exponents(const CudaQueue& q, const From* value, const index_t* line, offset_t n, int* least, int* most)
{
    launch(q, one_thread_each(n), find_exponents_kernel<V, From>, value, line, n, least, most);
}

template <class V, class From>
void narrow_values(const CudaQueue& q, const From* value, const index_t* line, const float* scale, offset_t n, V* to,
                   Losses* losses)
{
    launch(q, one_thread_each(n), narrow_values_kernel<V, From>, value, line, scale, n, to, losses);
}

template void find_exponents<Float16>(const CudaQueue&, const float*, const index_t*, offset_t, int*, int*);
template void find_exponents<Float16>(const CudaQueue&, const double*, const index_t*, offset_t, int*, int*);
template void find_exponents<Bfloat16>(const CudaQueue&, const float*, const index_t*, offset_t, int*, int*);
template void find_exponents<Bfloat16>(const CudaQueue&, const double*, const index_t*, offset_t, int*, int*);
template void narrow_values(const CudaQueue&, const float*, const index_t*, const float*, offset_t, Float16*, Losses*);
template void narrow_values(const CudaQueue&, const double*, const index_t*, const float*, offset_t, Float16*, Losses*);
template void narrow_values(const CudaQueue&, const float*, const index_t*, const float*, offset_t, Bfloat16*, Losses*);
template void narrow_values(const CudaQueue&, const double*, const index_t*, const float*, offset_t, Bfloat16*,
                            Losses*);

}  // namespace tulle::inline TULLE_ABI::matrix
