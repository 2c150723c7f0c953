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

template <class C>
struct alignas(2 * sizeof(C)) Two {
    C value[2];
};

// Whether two neighbours in a row of C may be written at once; the first has an even number.
template <class V, class C>
__device__ inline bool writes_pairs(const Operands<V, C>& o)
{
    return o.c_col == 1 && o.c_row % 2 == 0 && reinterpret_cast<std::uintptr_t>(o.c) % (2 * sizeof(C)) == 0;
}

// Columns j and j+1 of a row of C, as far as there are such.
template <class V, class C>
__device__ inline void put_pair(const Operands<V, C>& o, bool pairs, offset_t row, offset_t j, Sum<V> left, Sum<V> right)
{
    if (pairs && o.beta == 0 && j + 2 <= o.n) {
        *reinterpret_cast<Two<C>*>(o.c + row * o.c_row + j) = {{Narrow<C>::from(o.alpha * left), Narrow<C>::from(o.alpha * right)}};
        return;
    }
    if (j < o.n) put(o, row, j, left);
    if (j + 1 < o.n) put(o, row, j + 1, right);
}

// Whether runs of a row of C may be written at once.
template <class V, class C>
__device__ inline bool writes_runs(const Operands<V, C>& o)
{
    return o.c_col == 1 && o.beta == 0 && can_load_runs(o.c, o.c_row);
}

// The run of a row of C from column j on, as far as there is one.
template <class V, class C>
__device__ inline void put_run(const Operands<V, C>& o, bool runs, offset_t row, offset_t j, const Sum<V> (&sum)[run_length])
{
    if (runs && j + run_length <= o.n) {
        Run<C> run;
#pragma unroll
        for (int c = 0; c < run_length; ++c) run.value[c] = Narrow<C>::from(o.alpha * sum[c]);
        *reinterpret_cast<Run<C>*>(o.c + row * o.c_row + j) = run;
        return;
    }
#pragma unroll
    for (int c = 0; c < run_length; ++c)
        if (j + c < o.n) put(o, row, j + c, sum[c]);
}

// Whether rows of B may be read a run at a time.
template <class V, class C>
__device__ inline bool reads_runs(const Operands<V, C>& o)
{
    return o.b_col == 1 && can_load_runs(o.b, o.b_row);
}

// The run of row i of B from column j on; what is beyond the last is zero. `whole`: all there, at once.
template <class V, class C>
__device__ inline Run<V> load_run(const Operands<V, C>& o, bool whole, offset_t i, offset_t j)
{
    const V* from = o.b + i * o.b_row + j * o.b_col;
    if (whole) return *reinterpret_cast<const Run<V>*>(from);
    Run<V> run = {};
    for (int c = 0; c < run_length; ++c)
        if (j + c < o.n) run.value[c] = from[c * o.b_col];
    return run;
}

}  // namespace tulle::spmm
