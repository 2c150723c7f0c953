// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A slice of lanes computes the products of a batch of nonzeros: every lane has some columns of X and Y, 16 bytes of
// each at once where they are so aligned, and the lanes' sums are exchanged by halves, so that a batch costs little
// more than one shuffle a nonzero.
#pragma once

#include "device/cuda/float16.cuh"
#include "device/cuda/kernel.cuh"
#include "sddmm/steps.hpp"

namespace tulle::inline TULLE_ABI::sddmm {

// Nonzeros that a slice asks for at once. Four of 8 lanes, which are many warps with many loads on their way each, and
// a row of Y is read in whole lines of the L1: fastest for long rows (docs/experiments/sddmm.md).
template <int Lanes>
inline constexpr int batch = Lanes <= 8 ? 4 : 8;

// Steps of a row that are loaded at once.
template <int Lanes, class V>
inline constexpr int steps_at_once = Lanes == 8 && sizeof(V) <= sizeof(float) ? 4 : 2;

template <class V>
struct alignas(16) Pack {
    static constexpr int size = 16 / sizeof(V);
    V value[size];
};

// Whether every row is whole packs.
template <class V>
__device__ inline bool has_packs(const Strided<const V>& m, index_t k)
{
    return m.col == 1 && k % Pack<V>::size == 0 && m.row % Pack<V>::size == 0 &&
           reinterpret_cast<std::uintptr_t>(m.data) % sizeof(Pack<V>) == 0;
}

template <class V>
__device__ inline Pack<V> load_pack(const V* from)
{
    return *reinterpret_cast<const Pack<V>*>(from);
}

template <class V>
__device__ inline void add_pack(const Pack<V>& x, const Pack<V>& y, Sum<V>& sum)
{
#pragma unroll
    for (int c = 0; c < Pack<V>::size; ++c) sum += widen(x.value[c]) * widen(y.value[c]);
}

// This lane's part of the products of rows `row` of X and `col` of Y.
template <int Lanes, class V>
__device__ inline void add_packs(const Strided<const V>& x, const Strided<const V>& y, index_t k,
                                 const index_t (&row)[batch<Lanes>], const index_t (&col)[batch<Lanes>],
                                 Sum<V> (&sum)[batch<Lanes>])
{
    constexpr int size = Pack<V>::size;
    [[maybe_unused]] constexpr int steps = steps_at_once<Lanes, V>;  // for nvcc and clang
    const bool same_row = row[0] == row[batch<Lanes> - 1];           // rows ascend
#pragma unroll steps
    for (index_t j = static_cast<index_t>(threadIdx.x % Lanes) * size; j < k; j += Lanes * size) {
        Pack<V> there[batch<Lanes>];
#pragma unroll
        for (int i = 0; i < batch<Lanes>; ++i) there[i] = load_pack(y.data + col[i] * y.row + j);
        Pack<V> here = load_pack(x.data + row[0] * x.row + j);
#pragma unroll
        for (int i = 0; i < batch<Lanes>; ++i) {
            if (!same_row) here = load_pack(x.data + row[i] * x.row + j);
            add_pack(here, there[i], sum[i]);
        }
    }
}

// The products from column j on, `Steps` steps of a row: all loads before the first use. X is loaded once where the
// batch has OneRow of it.
template <int Lanes, int Steps, bool OneRow, class V>
__device__ inline void add_steps(const Strided<const V>& x, const Strided<const V>& y, index_t j,
                                 const index_t (&row)[batch<Lanes>], const index_t (&col)[batch<Lanes>],
                                 Sum<V> (&sum)[batch<Lanes>])
{
    constexpr int step = Lanes * Pack<V>::size, rows = OneRow ? 1 : batch<Lanes>;
    Pack<V> there[Steps][batch<Lanes>], here[Steps][rows];
#pragma unroll
    for (int s = 0; s < Steps; ++s)
#pragma unroll
        for (int i = 0; i < batch<Lanes>; ++i) there[s][i] = load_pack(y.data + col[i] * y.row + j + s * step);
#pragma unroll
    for (int s = 0; s < Steps; ++s)
#pragma unroll
        for (int i = 0; i < rows; ++i) here[s][i] = load_pack(x.data + row[i] * x.row + j + s * step);
#pragma unroll
    for (int s = 0; s < Steps; ++s)
#pragma unroll
        for (int i = 0; i < batch<Lanes>; ++i) add_pack(here[s][OneRow ? 0 : i], there[s][i], sum[i]);
}

// As add_packs, with the loads of several steps ahead of all products: more registers, and so fewer warps at once.
template <int Lanes, bool OneRow, class V>
__device__ inline void add_packs_ahead(const Strided<const V>& x, const Strided<const V>& y, index_t k,
                                       const index_t (&row)[batch<Lanes>], const index_t (&col)[batch<Lanes>],
                                       Sum<V> (&sum)[batch<Lanes>])
{
    constexpr int step = Lanes * Pack<V>::size, steps = OneRow ? steps_at_once<Lanes, V> : steps_at_once<Lanes, V> / 2;
    const index_t mine = static_cast<index_t>(threadIdx.x % Lanes) * Pack<V>::size;
    index_t first = 0;
    for (; k - first >= steps * step; first += steps * step)
        add_steps<Lanes, steps, OneRow>(x, y, first + mine, row, col, sum);
    for (; k - first > mine; first += step) add_steps<Lanes, 1, OneRow>(x, y, first + mine, row, col, sum);
}

// The same number by number, whatever the strides.
template <int Lanes, class V>
__device__ inline void add_numbers(const Strided<const V>& x, const Strided<const V>& y, index_t k,
                                   const index_t (&row)[batch<Lanes>], const index_t (&col)[batch<Lanes>],
                                   Sum<V> (&sum)[batch<Lanes>])
{
    for (index_t j = static_cast<index_t>(threadIdx.x % Lanes); j < k; j += Lanes)
#pragma unroll
        for (int i = 0; i < batch<Lanes>; ++i)
            sum[i] += widen(x.data[row[i] * x.row + j * x.col]) * widen(y.data[col[i] * y.row + j * y.col]);
}

// Adds up over the lanes of a slice. Lane l gets the whole sum of nonzero l / (Lanes / batch). Every sum is added up
// in the same order. All 32 lanes must call.
template <int Lanes, class S>
__device__ inline S exchange_sums(S (&sum)[batch<Lanes>])
{
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    int distance = Lanes / 2;
#pragma unroll
    for (int half = batch<Lanes> / 2; half > 0; half /= 2, distance /= 2) {
        const bool upper = (lane & distance) != 0;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const S given = upper ? sum[i] : sum[i + half], kept = upper ? sum[i + half] : sum[i];
            sum[i] = kept + __shfl_xor_sync(0xffffffffu, given, distance);
        }
    }
#pragma unroll
    for (; distance > 0; distance /= 2) sum[0] += __shfl_xor_sync(0xffffffffu, sum[0], distance);
    return sum[0];
}

// The nonzero of the batch whose sum this lane gets; lanes of equal number get the same.
template <int Lanes>
__device__ inline int nonzero_of_lane()
{
    return static_cast<int>(threadIdx.x) % Lanes / (Lanes / batch<Lanes>);
}

// The sum of nonzero_of_lane(), for the nonzeros that the slice's first lanes have the row and column of: lane i of
// the slice those of nonzero i. All 32 lanes must call.
template <int Lanes, bool Ahead = false, class V>
__device__ inline Sum<V> slice_dots(const Strided<const V>& x, const Strided<const V>& y, index_t k, index_t my_row,
                                    index_t my_col)
{
    index_t row[batch<Lanes>], col[batch<Lanes>];
    Sum<V> sum[batch<Lanes>] = {};
#pragma unroll
    for (int i = 0; i < batch<Lanes>; ++i) {
        row[i] = __shfl_sync(0xffffffffu, my_row, i, Lanes);
        col[i] = __shfl_sync(0xffffffffu, my_col, i, Lanes);
    }
    if (!has_packs(x, k) || !has_packs(y, k)) add_numbers<Lanes>(x, y, k, row, col, sum);
    else if (!Ahead) add_packs<Lanes>(x, y, k, row, col, sum);
    else if (__all_sync(0xffffffffu, row[0] == row[batch<Lanes> - 1]))  // rows ascend
        add_packs_ahead<Lanes, true>(x, y, k, row, col, sum);
    else add_packs_ahead<Lanes, false>(x, y, k, row, col, sum);
    return exchange_sums<Lanes>(sum);
}

// Entry p of c from its product.
template <class V, class C>
__device__ inline void put_sampled(const Sampled<V, C>& o, offset_t p, Sum<V> dot)
{
    const Sum<V> product = o.value ? o.alpha * (dot * widen(o.value[p])) : o.alpha * dot;
    o.c[p] = Narrow<C>::from(o.beta == 0 ? product : product + o.beta * widen(o.c[p]));
}

}  // namespace tulle::inline TULLE_ABI::sddmm
