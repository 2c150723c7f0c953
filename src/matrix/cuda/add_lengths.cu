// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "base/math.hpp"
#include "device/cuda/kernel.cuh"
#include "matrix/inspect_entries.hpp"
#include "matrix/inspect_steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::inspect {
namespace {

using Counter = unsigned long long;  // what the atomics take; same size as offset_t
constexpr int threads = 256;
constexpr int rows_per_block = 4 * threads;

// The numbers of LengthSums as one array.
enum Place { shortest, longest, squares_low, squares_high, by_bits, places = by_bits + 64 };

// Threads join their rows in registers, but for the lengths' histogram, warps theirs in shared memory, and blocks
// theirs with everybody's.
//   grid: ceil(rows / rows_per_block)      shared memory: one set of sums      sums: start values before
__global__ void __launch_bounds__(threads)
    add_lengths_kernel(const offset_t* row_begin, index_t rows, offset_t middle, Counter* sums)
{
    TULLE_SHARED(Counter, mine, by_bits);
    TULLE_SHARED(unsigned, rows_of_bits, 64);
    const auto me = static_cast<int>(threadIdx.x);
    if (me < by_bits) mine[me] = me == shortest ? Counter{max_offset} : Counter{0};
    if (me < 64) rows_of_bits[me] = 0;
    __syncthreads();
    Counter least = max_offset, most = 0, low = 0, high = 0;
    const offset_t begin = offset_t{blockIdx.x} * rows_per_block;
    const offset_t end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
    for (offset_t i = begin + me; i < end; i += threads) {
        const offset_t length = length_of(row_begin, i);
        const std::uint64_t square = squared_distance(length, middle);
        least = min(least, static_cast<Counter>(length));
        most = max(most, static_cast<Counter>(length));
        low += square & 0xffffffffu;
        high += square >> 32;
        atomicAdd(&rows_of_bits[bit_length(length)], 1u);
    }
    least = slice_min<32>(least), most = slice_max<32>(most), low = slice_sum<32>(low), high = slice_sum<32>(high);
    if (me % 32 == 0) {
        atomicMin(&mine[shortest], least);
        atomicMax(&mine[longest], most);
        atomicAdd(&mine[squares_low], low);
        atomicAdd(&mine[squares_high], high);
    }
    __syncthreads();
    if (me == shortest) atomicMin(&sums[me], mine[me]);
    else if (me == longest) atomicMax(&sums[me], mine[me]);
    else if (me < by_bits) atomicAdd(&sums[me], mine[me]);
    if (me < 64 && rows_of_bits[me] > 0) atomicAdd(&sums[by_bits + me], Counter{rows_of_bits[me]});
}

}  // namespace

LengthSums add_lengths(const CudaQueue& q, const offset_t* row_begin, index_t rows, offset_t middle)
{
    std::array<Counter, places> host{};
    host[shortest] = max_offset;
    Buffer<Counter> sums = to_queue(q, host.data(), places);
    launch(q, {ceil_div(offset_t{rows}, offset_t{rows_per_block}), threads}, add_lengths_kernel, row_begin, rows,
           middle, sums.data());
    download(q, sums.data(), host.data(), places);

    const auto at = [&](int place) { return static_cast<offset_t>(host[static_cast<std::size_t>(place)]); };
    LengthSums all{.shortest = at(shortest),
                   .longest = at(longest),
                   .squares_low = at(squares_low),
                   .squares_high = at(squares_high)};
    for (int bits = 0; bits < 64; ++bits) all.by_bits[static_cast<std::size_t>(bits)] = at(by_bits + bits);
    return all;
}

}  // namespace tulle::inline TULLE_ABI::inspect
