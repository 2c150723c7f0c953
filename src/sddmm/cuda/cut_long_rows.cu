// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The rows of more than so many nonzeros, cut into pieces: a list of all pieces, those of a row one behind the other.
#include "device/cuda/kernel.cuh"
#include "prim/scan.hpp"
#include "sddmm/steps.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr int threads = 256;

__device__ inline offset_t pieces_of(const offset_t* row_begin, index_t row, int longest)
{
    const offset_t length = row_begin[row + 1] - row_begin[row];
    return length > longest ? (length + longest - 1) / longest : 0;
}

//   grid: ceil(rows / threads)      shared memory: none      count: one a row
__global__ void __launch_bounds__(threads)
    count_pieces_kernel(const offset_t* row_begin, index_t rows, int longest, offset_t* count)
{
    const offset_t row = global_thread();
    if (row < rows) count[row] = pieces_of(row_begin, static_cast<index_t>(row), longest);
}

//   grid: ceil(rows / threads)      shared memory: none      piece: all of them
__global__ void __launch_bounds__(threads)
    list_pieces_kernel(const offset_t* row_begin, index_t rows, int longest, const offset_t* first, Piece* piece)
{
    const offset_t i = global_thread();
    if (i >= rows) return;
    const auto row = static_cast<index_t>(i);
    const offset_t pieces = pieces_of(row_begin, row, longest);
    for (offset_t p = 0; p < pieces; ++p) piece[first[row] + p] = {row, static_cast<std::int32_t>(first[row])};
}

}  // namespace

Buffer<Piece> cut_long_rows(const CudaQueue& q, const offset_t* row_begin, index_t rows, int longest)
{
    Buffer<offset_t> first(q, offset_t{rows} + 1);
    const LaunchShape shape = one_thread_each(rows, threads);
    launch(q, shape, count_pieces_kernel, row_begin, rows, longest, first.data());
    prim::exclusive_scan(q, first.data(), first.data(), rows);
    const auto pieces = read_value<offset_t>(q, first.data() + rows);
    require<ValueError>(pieces <= max_index, "too many pieces of long rows");
    Buffer<Piece> made(q, pieces);
    launch(q, shape, list_pieces_kernel, row_begin, rows, longest, first.data(), made.data());
    return made;
}

}  // namespace tulle::inline TULLE_ABI::sddmm
