// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <type_traits>

#include "device/cuda/kernel.cuh"
#include "device/cuda_devices.hpp"
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

constexpr offset_t blocks_per_multiprocessor = 8;  // as many as there is room for

// How often columns do not ascend, less how often they do not at the beginning of a row: how often that is wrong. A
// search for the row of every such place, as the check itself does it, takes ten times as long, and so does an atomic
// for every warp's share of the places.
//   grid: any, as many as run at once      wrong: 0 before
__global__ void count_falls_kernel(RowOrder order, offset_t n, Position* wrong)
{
    const offset_t first = global_thread(), step = offset_t{gridDim.x} * blockDim.x;
    offset_t found = 0;
    for (offset_t k = first; k < n; k += step) found += order.falls(k) ? 1 : 0;
    for (offset_t row = first; row < order.key.rows; row += step) {
        const offset_t begin = order.key.begin[row];
        if (begin < order.key.begin[row + 1] && order.falls(begin)) --found;
    }
    found = slice_sum<32>(found);
    if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(wrong, static_cast<Position>(found));
}

template <class Check>
offset_t search_first(const CudaQueue& q, const Check& check, offset_t n)
{
    if (n == 0) return 0;
    Buffer<Position> first(q, 1);
    fill_bytes(q, first.data(), 0xff, first.bytes());
    launch(q, one_thread_each(n), first_where_kernel<Check>, check, n, first.data());
    return static_cast<offset_t>(std::min(read_value(q, first.data()), static_cast<Position>(n)));
}

// Whether columns of a row do not ascend somewhere.
bool has_falls(const CudaQueue& q, const RowOrder& order, offset_t n)
{
    Buffer<Position> wrong(q, 1);
    fill_zero(q, wrong.data(), 1);
    LaunchShape shape = one_thread_each(std::max(n, offset_t{order.key.rows}));
    shape.blocks = std::min(shape.blocks, blocks_per_multiprocessor * cuda::device_limits(q.device).multiprocessors);
    launch(q, shape, count_falls_kernel, order, n, wrong.data());
    return read_value(q, wrong.data()) != 0;
}

}  // namespace

template <class Check>
offset_t first_where(const CudaQueue& q, const Check& check, offset_t n)
{
    if constexpr (std::is_same_v<Check, RowOrder>)
        if (!has_falls(q, check, n)) return n;
    return search_first(q, check, n);
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
