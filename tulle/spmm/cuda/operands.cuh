// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What kernels do with B and C.
#pragma once

#include "tulle/device/cuda/float16.cuh"
#include "tulle/device/cuda/kernel.cuh"
#include "tulle/spmm/steps.hpp"

namespace tulle::spmm {

// Entry (row, j) of C from its sum; with beta == 0 it is not read.
template <class V, class C>
__device__ inline void put(const Operands<V, C>& o, offset_t row, offset_t j, Sum<V> sum)
{
    C* to = o.c + row * o.c_row + j * o.c_col;
    *to = Narrow<C>::from(o.beta == 0 ? o.alpha * sum : o.alpha * sum + o.beta * widen(*to));
}

// Whether rows of B may be read four numbers at a time.
template <class V, class C>
__device__ inline bool reads_fours(const Operands<V, C>& o)
{
    return o.b_col == 1 && can_load_four(o.b, o.b_row);
}

// Columns j … j+3 of row i of B; those beyond the last are zero.
template <class V, class C>
__device__ inline Four<V> load_four(const Operands<V, C>& o, bool fours, offset_t i, offset_t j)
{
    const V* from = o.b + i * o.b_row + j * o.b_col;
    if (fours && j + 4 <= o.n) return *reinterpret_cast<const Four<V>*>(from);
    Four<V> four = {};
    for (int c = 0; c < 4; ++c)
        if (j + c < o.n) four.value[c] = from[c * o.b_col];
    return four;
}

}  // namespace tulle::spmm
