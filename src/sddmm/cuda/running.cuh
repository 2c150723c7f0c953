// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A running softmax: what a lane has added up of a row of H relative to the largest score so far, and how it reads rows
// of V.
#pragma once

#include <cmath>

#include "device/cuda/float16.cuh"
#include "device/cuda/kernel.cuh"
#include "sddmm/steps.hpp"

namespace tulle::inline TULLE_ABI::sddmm {

inline constexpr unsigned whole_warp = 0xffffffffu;

template <class S>
__device__ inline S minus_infinity()
{
    return -std::numeric_limits<S>::infinity();
}

// What a lane has added up: its columns of `weights times rows of V`, for the nonzeros of its team.
template <int Runs, class S>
struct Running {
    S largest, total;
    S sum[Runs * run_length];
};

// The four columns from j on of a row of V; what is beyond the last is zero. `Whole`: all four are there, in a run.
template <bool Whole = false, class V>
__device__ inline Run<V> load_columns(const Strided<const V>& v, index_t row, index_t j, index_t width,
                                      bool has_run = false)
{
    const V* from = v.data + row * v.row + j * v.col;
    if (Whole || (has_run && j + run_length <= width)) return *reinterpret_cast<const Run<V>*>(from);
    Run<V> run = {};
    for (int c = 0; c < run_length; ++c)
        if (j + c < width) run.value[c] = from[c * v.col];
    return run;
}

// Scales what was added up before to the largest score there is now.
template <int Runs, class S>
__device__ inline S move_base(S largest, Running<Runs, S>& r)
{
    const S base = largest == minus_infinity<S>() ? S(0) : largest;
    const S scale = std::exp(r.largest - base);
    r.total *= scale;
#pragma unroll
    for (int c = 0; c < Runs * run_length; ++c) r.sum[c] *= scale;
    r.largest = largest;
    return base;
}

// The largest score of so many neighbouring lanes and of what was largest before. A score that is not a number is left
// to its weight. All 32 lanes must call.
template <int Lanes, class S>
__device__ inline S largest_of(S score, S before)
{
    S largest = score > before ? score : before;
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        const S other = __shfl_xor_sync(whole_warp, largest, distance);
        largest = other > largest ? other : largest;
    }
    return largest;
}

}  // namespace tulle::inline TULLE_ABI::sddmm
