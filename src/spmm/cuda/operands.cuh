// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What kernels do with B and C.
#pragma once

#include "device/cuda/float16.cuh"
#include "device/cuda/kernel.cuh"
#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// Entry (row, j) of C from its sum; with beta == 0 it is not read.
template <class V, class C>
__device__ inline void put(const Operands<V, C>& o, offset_t row, offset_t j, Sum<V> sum)
{
    using Entry = EntryType<C>;
    Entry* to = o.c + row * o.c_row + j * o.c_col;
    sum = RowFactor<V, C>(o, row)(sum);
    *to = Narrow<Entry>::from(o.beta == 0 ? o.alpha * sum : o.alpha * sum + o.beta * widen(*to));
}

template <class C>
struct alignas(2 * sizeof(C)) Two {
    C value[2];
};

// Whether two neighbours in a row of C may be written at once; the first has an even number.
template <class V, class C>
__device__ inline bool writes_pairs(const Operands<V, C>& o)
{
    return o.c_col == 1 && o.c_row % 2 == 0 && reinterpret_cast<std::uintptr_t>(o.c) % (2 * sizeof(EntryType<C>)) == 0;
}

// Columns j and j+1 of a row of C, as far as there are such.
template <class V, class C>
__device__ inline void put_pair(const Operands<V, C>& o, bool pairs, offset_t row, offset_t j, Sum<V> left,
                                Sum<V> right)
{
    if (pairs && o.beta == 0 && j + 2 <= o.n) {
        using Entry = EntryType<C>;
        const RowFactor<V, C> scaled(o, row);
        *reinterpret_cast<Two<Entry>*>(o.c + row * o.c_row + j) = {
            {Narrow<Entry>::from(o.alpha * scaled(left)), Narrow<Entry>::from(o.alpha * scaled(right))}};
        return;
    }
    if (j < o.n) put(o, row, j, left);
    if (j + 1 < o.n) put(o, row, j + 1, right);
}

// A product of 64 bits in one instruction; the compiler does not see by itself that both are short.
__device__ inline std::uint64_t wide_product(std::uint32_t left, std::uint32_t right)
{
#ifdef TULLE_SIM
    return std::uint64_t{left} * right;
#else
    std::uint64_t product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(left), "r"(right));
    return product;
#endif
}

// The run from column j of row i on, for rows whose distance in bytes fits 32 bits.
template <class T>
using RunOf = std::conditional_t<std::is_const_v<T>, const Run<std::remove_const_t<T>>, Run<T>>;
template <class T>
__device__ inline RunOf<T>* run_at(T* first, offset_t step, index_t i, offset_t j)
{
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    return reinterpret_cast<RunOf<T>*>(
        reinterpret_cast<Byte*>(first + j) +
        wide_product(static_cast<std::uint32_t>(i),
                     static_cast<std::uint32_t>(step * static_cast<offset_t>(sizeof(T)))));
}

// Whether the run of each row from column j on is there, and may be loaded and stored at once.
template <class T>
__device__ inline bool has_runs(const T* first, offset_t step, offset_t col_step, offset_t j, index_t n)
{
    return col_step == 1 && j + run_length <= n && step <= static_cast<offset_t>(0xffffffff / sizeof(T)) &&
           can_load_runs(first, step);
}
template <class V, class C>
__device__ inline bool reads_runs(const Operands<V, C>& o, offset_t j)
{
    return has_runs(o.b, o.b_row, o.b_col, j, o.n);
}
template <class V, class C>
__device__ inline bool writes_runs(const Operands<V, C>& o, offset_t j)
{
    return has_runs(o.c, o.c_row, o.c_col, j, o.n);
}

// The run of row i of B from column j on; what is beyond the last is zero.
template <bool Whole, class V, class C>
__device__ inline Run<V> load_run(const Operands<V, C>& o, index_t i, offset_t j)
{
    if constexpr (Whole) return *run_at(o.b, o.b_row, i, j);
    const V* from = o.b + i * o.b_row + j * o.b_col;
    Run<V> run = {};
    for (int c = 0; c < run_length; ++c)
        if (j + c < o.n) run.value[c] = from[c * o.b_col];
    return run;
}

// The run of a row of C from column j on, as far as there is one; with beta == 0 it is not read.
template <bool Whole, class V, class C>
__device__ inline void put_run(const Operands<V, C>& o, index_t row, offset_t j, const Sum<V> (&sum)[run_length])
{
    if constexpr (Whole) {
        using Entry = EntryType<C>;
        const RowFactor<V, C> scaled(o, row);
        Run<Entry>* to = run_at(o.c, o.c_row, row, j);
        Run<Entry> run = {};
        if (o.beta != 0) run = *to;
#pragma unroll
        for (int c = 0; c < run_length; ++c) {
            const Sum<V> product = o.alpha * scaled(sum[c]);
            run.value[c] = Narrow<Entry>::from(o.beta == 0 ? product : product + o.beta * widen(run.value[c]));
        }
        *to = run;
    } else {
#pragma unroll
        for (int c = 0; c < run_length; ++c)
            if (j + c < o.n) put(o, row, j + c, sum[c]);
    }
}

}  // namespace tulle::inline TULLE_ABI::spmm
