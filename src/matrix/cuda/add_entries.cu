// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/kernel.cuh"
#include "matrix/inspect_entries.hpp"
#include "matrix/inspect_steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::inspect {
namespace {

using Counter = unsigned long long;  // what the atomics take; same size as offset_t
constexpr int threads = 256;

// What one lane has seen of its row, and what everybody has seen.
struct Seen {
    Counter below, above, diagonal, products;
};

__device__ Seen look_at_row(const offset_t* row_begin, const index_t* col, offset_t row, int lane, bool square)
{
    Seen seen{};
    for (offset_t k = row_begin[row] + lane; k < row_begin[row + 1]; k += 32) {
        const offset_t distance = col[k] - row;
        if (distance < 0 && static_cast<Counter>(-distance) > seen.below) seen.below = static_cast<Counter>(-distance);
        if (distance > 0 && static_cast<Counter>(distance) > seen.above) seen.above = static_cast<Counter>(distance);
        if (distance == 0) ++seen.diagonal;
        if (square) seen.products += static_cast<Counter>(length_of(row_begin, col[k]));
    }
    return seen;
}

// A warp per row. The sums meet in the warp; of the bandwidths only those that exceed what is known go on.
//   grid: ceil(rows * 32 / threads)      all: zero before
__global__ void __launch_bounds__(threads)
    add_entries_kernel(const offset_t* row_begin, const index_t* col, index_t rows, bool square, Seen* all)
{
    const offset_t row = global_thread() / 32;
    const int lane = threadIdx.x % 32;
    const Seen seen = row < rows ? look_at_row(row_begin, col, row, lane, square) : Seen{};
    const Counter diagonal = slice_sum<32>(seen.diagonal);
    const Counter products = slice_sum<32>(seen.products);
    if (seen.below > load_relaxed(&all->below)) atomicMax(&all->below, seen.below);
    if (seen.above > load_relaxed(&all->above)) atomicMax(&all->above, seen.above);
    if (lane == 0 && diagonal > 0) atomicAdd(&all->diagonal, diagonal);
    if (lane == 0 && products > 0) atomicAdd(&all->products, products);
}

}  // namespace

EntrySums add_entries(const CudaQueue& q, const offset_t* row_begin, const index_t* col, index_t rows, index_t cols)
{
    Buffer<Seen> all(q, 1);
    fill_zero(q, all.data(), 1);
    launch(q, one_thread_each(offset_t{rows} * 32, threads), add_entries_kernel, row_begin, col, rows, rows == cols,
           all.data());
    const Seen seen = read_value(q, all.data());
    return {static_cast<offset_t>(seen.below), static_cast<offset_t>(seen.above), static_cast<offset_t>(seen.diagonal),
            static_cast<offset_t>(seen.products)};
}

}  // namespace tulle::inline TULLE_ABI::inspect
