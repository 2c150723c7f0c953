// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "device/cuda/kernel.cuh"
#include "matrix/inspect_steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::inspect {
namespace {

using Position = unsigned long long;  // what atomicMin takes; same size as offset_t
static_assert(sizeof(Position) == sizeof(offset_t));

// One thread per position. The look at what others have found spares the atomic where everything is wrong.
//   grid: ceil(n / 256)      first: beyond all positions before, the smallest position found after
template <class Check>
__global__ void first_where_kernel(Check check, offset_t n, Position* first)
{
    const offset_t k = global_thread();
    if (k >= n || !check(k)) return;
    const auto found = static_cast<Position>(k);
    if (found < load_relaxed(first)) atomicMin(first, found);
}

}  // namespace

template <class Check>
offset_t first_where(const CudaQueue& q, const Check& check, offset_t n)
{
    if (n == 0) return 0;
    Buffer<Position> first(q, 1);
    fill_bytes(q, first.data(), 0xff, first.bytes());
    launch(q, one_thread_each(n), first_where_kernel<Check>, check, n, first.data());
    return static_cast<offset_t>(std::min(read_value(q, first.data()), static_cast<Position>(n)));
}

template offset_t first_where(const CudaQueue&, const BadBegin&, offset_t);
template offset_t first_where(const CudaQueue&, const Outside&, offset_t);
template offset_t first_where(const CudaQueue&, const RowOrder&, offset_t);
template offset_t first_where(const CudaQueue&, const PairOrder&, offset_t);
template offset_t first_where(const CudaQueue&, const SlotOrder&, offset_t);
template offset_t first_where(const CudaQueue&, const SameKey&, offset_t);
template offset_t first_where(const CudaQueue&, const BlockAfterPadding&, offset_t);
template offset_t first_where(const CudaQueue&, const NotZeroBeyondEdge<float>&, offset_t);
template offset_t first_where(const CudaQueue&, const NotZeroBeyondEdge<double>&, offset_t);
template offset_t first_where(const CudaQueue&, const HasLength&, offset_t);

}  // namespace tulle::inline TULLE_ABI::inspect
