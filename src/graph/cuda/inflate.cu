// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp for every row; sums are in a fixed order.
#include <cmath>

#include "device/cuda/kernel.cuh"
#include "graph/steps.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr int warp = 32;

// The entries of a row that belong to a lane.
struct Lane {
    float* value;
    offset_t begin, end;

    template <class F>
    __device__ double sum(F&& f) const
    {
        double mine = 0;
        for (offset_t p = begin; p < end; p += warp) mine += f(static_cast<double>(value[p]));
        return slice_sum<warp>(mine);
    }
    template <class F>
    __device__ void change(F&& f) const
    {
        for (offset_t p = begin; p < end; p += warp) value[p] = static_cast<float>(f(static_cast<double>(value[p])));
    }
    __device__ double largest() const
    {
        double most = 0;
        for (offset_t p = begin; p < end; p += warp) most = max(most, static_cast<double>(value[p]));
        return slice_max<warp>(most);
    }
    __device__ void scale() const
    {
        const double all = sum([](double v) { return v; });
        change([=](double v) { return v / all; });
    }
};

//   grid: one warp per row      shared memory: none      value: every entry by its lane      chaos: every row once
__global__ void inflate_kernel(index_t rows, const offset_t* row_begin, double power, float* value, double* chaos)
{
    const offset_t i = global_thread() / warp;
    const int lane = static_cast<int>(threadIdx.x % warp);
    const bool is_row = i < rows;
    const offset_t begin = is_row ? row_begin[i] : 0, end = is_row ? row_begin[i + 1] : 0;
    const Lane mine{value, begin + lane, end};
    mine.scale();
    const double squares = mine.sum([](double v) { return v * v; }), largest = mine.largest();
    if (is_row && lane == 0) chaos[i] = (largest - squares) * static_cast<double>(end - begin);
    if (power == 2) mine.change([](double v) { return v * v; });
    else mine.change([=](double v) { return pow(v, power); });
    mine.scale();
}

}  // namespace

void inflate(const CudaQueue& q, index_t rows, const offset_t* row_begin, double power, float* value, double* chaos)
{
    launch(q, one_thread_each(offset_t{rows} * warp), inflate_kernel, rows, row_begin, power, value, chaos);
}

}  // namespace tulle::inline TULLE_ABI::graph
