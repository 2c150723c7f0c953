// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/kernel.cuh"
#include "matrix/inspect_entries.hpp"
#include "matrix/inspect_steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::inspect {
namespace {

using Counter = unsigned long long;  // what atomicAdd takes; same size as offset_t
constexpr int threads = 256;

struct Counts {
    Counter found, equal;
};

template <class V>
__device__ Counts look_at_row(const CsrView<V>& a, const CsrView<V>& mirror, index_t row, int lane)
{
    Counts mine{};
    for (offset_t k = a.row_begin[row] + lane; k < a.row_begin[row + 1]; k += 32) {
        const Mirrored image = mirrored(a, mirror, row, k);
        mine.found += image.found;
        mine.equal += image.equal;
    }
    return mine;
}

// A warp per row, a search per entry.      grid: ceil(rows * 32 / threads)      all: zero before
template <class V>
__global__ void __launch_bounds__(threads) count_mirrored_kernel(CsrView<V> a, CsrView<V> mirror, Counts* all)
{
    const offset_t row = global_thread() / 32;
    const int lane = threadIdx.x % 32;
    const Counts mine = row < a.rows ? look_at_row(a, mirror, static_cast<index_t>(row), lane) : Counts{};
    const Counter found = slice_sum<32>(mine.found);
    const Counter equal = slice_sum<32>(mine.equal);
    if (lane == 0 && found > 0) atomicAdd(&all->found, found);
    if (lane == 0 && equal > 0) atomicAdd(&all->equal, equal);
}

}  // namespace

template <class V>
MirrorSums count_mirrored(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& mirror)
{
    Buffer<Counts> all(q, 1);
    fill_zero(q, all.data(), 1);
    launch(q, one_thread_each(offset_t{a.rows} * 32, threads), count_mirrored_kernel<V>, a, mirror, all.data());
    const Counts counts = read_value(q, all.data());
    return {static_cast<offset_t>(counts.found), static_cast<offset_t>(counts.equal)};
}

template MirrorSums count_mirrored(const CudaQueue&, const CsrView<float>&, const CsrView<float>&);
template MirrorSums count_mirrored(const CudaQueue&, const CsrView<double>&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::inspect
