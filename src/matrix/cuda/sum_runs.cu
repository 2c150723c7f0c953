// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert_steps.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

__global__ void flag_heads_kernel(const index_t* __restrict__ row, const index_t* __restrict__ col, offset_t n,
                                  offset_t* __restrict__ head)
{
    const offset_t k = global_thread();
    if (k < n) head[k] = k == 0 || row[k] != row[k - 1] || col[k] != col[k - 1] ? 1 : 0;
}

// The thread of a run's first entry adds up the run, in order; the others have nothing to do.
template <class V>
__global__ void sum_runs_kernel(const index_t* __restrict__ col, const V* __restrict__ value,
                                const offset_t* __restrict__ number, offset_t n, index_t* __restrict__ run_col,
                                V* __restrict__ run_value)
{
    const offset_t k = global_thread();
    if (k >= n || number[k + 1] == number[k]) return;
    V sum = value[k];
    for (offset_t next = k + 1; next < n && number[next + 1] == number[next]; ++next) sum += value[next];
    run_col[number[k]] = col[k];
    run_value[number[k]] = sum;
}

}  // namespace

void flag_heads(const CudaQueue& q, const index_t* row, const index_t* col, offset_t n, offset_t* head)
{
    launch(q, one_thread_each(n), flag_heads_kernel, row, col, n, head);
}

template <class V>
void sum_runs(const CudaQueue& q, const index_t* col, const V* value, const offset_t* number, offset_t n,
              index_t* run_col, V* run_value)
{
    launch(q, one_thread_each(n), sum_runs_kernel<V>, col, value, number, n, run_col, run_value);
}

template void sum_runs(const CudaQueue&, const index_t*, const float*, const offset_t*, offset_t, index_t*, float*);
template void sum_runs(const CudaQueue&, const index_t*, const double*, const offset_t*, offset_t, index_t*, double*);

}  // namespace tulle::inline TULLE_ABI::matrix
