// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/base/math.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/device/cuda/kernel.cuh"
#include "tulle/matrix/inspect_entries.hpp"
#include "tulle/matrix/inspect_steps.hpp"

namespace tulle::inspect {
namespace {

using Counter = unsigned long long;   // what the atomics take; same size as offset_t
constexpr int threads = 256;
constexpr int rows_per_block = 16 * threads;

// The numbers of LengthSums as one array, so that a block can add its own to everybody's in one loop.
enum Place { shortest, longest, squares_low, squares_high, by_bits, places = by_bits + 64 };

__device__ void join(Counter* sums, int place, Counter value)
{
    if (place == shortest) atomicMin(&sums[place], value);
    else if (place == longest) atomicMax(&sums[place], value);
    else atomicAdd(&sums[place], value);
}

__device__ Counter start_of(int place) { return place == shortest ? Counter{max_offset} : Counter{0}; }

__device__ void join_row(Counter* sums, offset_t length, offset_t middle)
{
    const std::uint64_t square = squared_distance(length, middle);
    join(sums, shortest, static_cast<Counter>(length));
    join(sums, longest, static_cast<Counter>(length));
    join(sums, squares_low, square & 0xffffffffu);
    join(sums, squares_high, square >> 32);
    join(sums, by_bits + bit_length(length), 1);
}

// A block joins its rows in shared memory and then its sums with those of the others.
//   grid: ceil(rows / rows_per_block)      shared memory: one set of sums      sums: start values before
__global__ void __launch_bounds__(threads) add_lengths_kernel(const offset_t* row_begin, index_t rows, offset_t middle, Counter* sums)
{
    TULLE_SHARED(Counter, mine, places);
    for (auto place = static_cast<int>(threadIdx.x); place < places; place += threads) mine[place] = start_of(place);
    __syncthreads();
    const offset_t begin = offset_t{blockIdx.x} * rows_per_block;
    const offset_t end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
    for (offset_t i = begin + threadIdx.x; i < end; i += threads) join_row(mine, length_of(row_begin, i), middle);
    __syncthreads();
    for (auto place = static_cast<int>(threadIdx.x); place < places; place += threads) join(sums, place, mine[place]);
}

}  // namespace

LengthSums add_lengths(const CudaQueue& q, const offset_t* row_begin, index_t rows, offset_t middle)
{
    std::array<Counter, places> host{};
    host[shortest] = max_offset;
    Buffer<Counter> sums = to_queue(q, host.data(), places);
    launch(q, {ceil_div(offset_t{rows}, offset_t{rows_per_block}), threads}, add_lengths_kernel, row_begin, rows, middle, sums.data());
    download(q, sums.data(), host.data(), places);

    const auto at = [&](int place) { return static_cast<offset_t>(host[static_cast<std::size_t>(place)]); };
    LengthSums all{.shortest = at(shortest), .longest = at(longest), .squares_low = at(squares_low), .squares_high = at(squares_high)};
    for (int bits = 0; bits < 64; ++bits) all.by_bits[static_cast<std::size_t>(bits)] = at(by_bits + bits);
    return all;
}

}  // namespace tulle::inspect
