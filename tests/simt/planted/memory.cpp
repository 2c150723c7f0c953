// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Mistakes with global memory.
#include "simt/planted/planted.hpp"

namespace tulle::test {
namespace {

constexpr int rows = 100;

// Differences of neighbours: row_begin has one entry more than there are rows.
__global__ void lengths(int* out, const int* row_begin)
{
    const int row = static_cast<int>(global_thread());
    if (row < rows) out[row] = row_begin[row + 1] - row_begin[row];
}

const Plant read_past_the_end("read_past_the_end", [](bool broken) {
    DeviceArray<int> row_begin(std::vector<int>(static_cast<std::size_t>(rows + (broken ? 0 : 1)), 3));
    const auto got = results_of<int>(rows, {4, 32}, lengths, row_begin.data());
    return std::vector<int>(got.begin(), got.end() - 1) == std::vector<int>(rows - 1, 0);
});

template <bool Broken>
__global__ void write_rows(int* out)
{
    const int row = static_cast<int>(global_thread());
    if (Broken ? row <= rows : row < rows) out[row] = 1;
}

const Plant write_past_the_end("write_past_the_end", [](bool broken) {
    return results_of<int>(rows, {4, 32}, broken ? write_rows<true> : write_rows<false>) == std::vector<int>(rows, 1);
});

__global__ void count_all(int* total) { atomicAdd(total, 1); }

const Plant output_not_cleared("output_not_cleared", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    Buffer<int> total(q, 1);
    if (!broken) fill_zero(q, total.data(), 1);
    launch(q, {2, 32}, count_all, total.data());
    return read_value(q, total.data()) == 64;
});

// Asks for more than the device has, twice; the bug goes on without the memory.
const Plant ignored_out_of_memory("ignored_out_of_memory", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    void* data = nullptr;
    cudaError_t error = cudaMallocAsync(&data, simt::config().bytes + 1, q.stream);
    if (!broken && error == cudaErrorMemoryAllocation) error = cudaMallocAsync(&data, rows * sizeof(int), q.stream);
    if (!broken && error != cudaSuccess) return false;
    launch(q, {4, 32}, write_rows<false>, static_cast<int*>(data));
    synchronize(q);
    return cudaFreeAsync(data, q.stream) == cudaSuccess;
});

}  // namespace
}  // namespace tulle::test
