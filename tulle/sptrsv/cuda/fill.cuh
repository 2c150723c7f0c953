// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reciprocals of the diagonal, formed once per set of values: solving multiplies.
#pragma once

#include "tulle/device/copy.hpp"
#include "tulle/device/cuda/kernel.cuh"
#include "tulle/sptrsv/steps.hpp"

namespace tulle::sptrsv {

constexpr int fill_threads = 256;

// diagonal null: ones. first_zero: beyond all rows before, the first row with a zero after.
template <class V>
__global__ void __launch_bounds__(fill_threads) fill_reciprocals_kernel(const offset_t* diagonal, index_t rows, const V* value, V* reciprocal, unsigned* first_zero)
{
    const offset_t i = global_thread();
    if (i >= rows) return;
    const V d = diagonal ? value[diagonal[i]] : V(1);
    if (d == V(0)) atomicMin(first_zero, static_cast<unsigned>(i));
    reciprocal[i] = V(1) / d;
}

// Where the first row, in the order of solving, with a zero will stand, or a number beyond all rows. Does not wait: others may be put behind it first.
template <class V>
Buffer<unsigned> fill_reciprocals(const CudaQueue& q, const Buffer<offset_t>& diagonal, index_t rows, const V* value, Buffer<V>& reciprocal)
{
    Buffer<unsigned> first_zero(q, 1);
    fill_bytes(q, first_zero.data(), 0xff, first_zero.bytes());
    const offset_t* sources = diagonal.empty() ? nullptr : diagonal.data();
    launch(q, one_thread_each(rows, fill_threads), fill_reciprocals_kernel<V>, sources, rows, value, reciprocal.data(), first_zero.data());
    return first_zero;
}

}  // namespace tulle::sptrsv
