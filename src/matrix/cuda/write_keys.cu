// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/kernel.cuh"
#include "matrix/inspect_steps.hpp"

namespace tulle::inline TULLE_ABI::inspect {
namespace {

// One thread per position.      grid: ceil(n / 256)      key_at, position: every entry written once
template <class Key>
__global__ void write_keys_kernel(Key key, offset_t n, std::uint64_t* key_at, offset_t* position)
{
    const offset_t k = global_thread();
    if (k >= n) return;
    key_at[k] = key(k);
    position[k] = k;
}

}  // namespace

template <class Key>
void write_keys(const CudaQueue& q, const Key& key, offset_t n, std::uint64_t* key_at, offset_t* position)
{
    launch(q, one_thread_each(n), write_keys_kernel<Key>, key, n, key_at, position);
}

template void write_keys(const CudaQueue&, const RowKey&, offset_t, std::uint64_t*, offset_t*);
template void write_keys(const CudaQueue&, const PairKey&, offset_t, std::uint64_t*, offset_t*);
template void write_keys(const CudaQueue&, const SlotKey&, offset_t, std::uint64_t*, offset_t*);

}  // namespace tulle::inline TULLE_ABI::inspect
