// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of the product on several devices, once per queue. Arrays are in the queue's memory.
#pragma once

#include "spmv/steps.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// to[k] = x[at[k]]: what others need of our x, one after the other.
template <class V>
void pack_entries(const CpuQueue& q, const V* x, const index_t* at, offset_t n, V* to);
template <class V>
void pack_entries(const CudaQueue& q, const V* x, const index_t* at, offset_t n, V* to);

// *y += head[0], then head[1], …: what later parts have of a row that was cut, in the order of the parts.
template <class V>
void add_heads(const CpuQueue& q, const V* head, index_t n, V* y);
template <class V>
void add_heads(const CudaQueue& q, const V* head, index_t n, V* y);

// y = alpha A x + beta y, each line added up in an order that depends on the line and on `lanes` alone (2, 8 or 32; a
// CPU has one order for all). Unlike the kernels a plan chooses from, this one must never be tuned to a part: the bits
// may not depend on where cuts fall.
template <class V>
void multiply_lines(const CpuQueue& q, const CsrView<V>& a, int lanes, const Vectors<V>& v);
template <class V>
void multiply_lines(const CudaQueue& q, const CsrView<V>& a, int lanes, const Vectors<V>& v);

// y[i] = alpha (sum[first[i]] + … + sum[first[i+1]-1], from left to right) + beta y[i].
template <class V>
void fold_lines(const CpuQueue& q, const V* sum, const offset_t* first, index_t rows, V alpha, V beta, V* y);
template <class V>
void fold_lines(const CudaQueue& q, const V* sum, const offset_t* first, index_t rows, V alpha, V beta, V* y);

// Whole vectors of several parts, of which one is ours and the others lie one after the other, without a gap for ours.
template <class V>
struct PartialSums {
    const V *own, *others;
    index_t parts, ours;  // which of the parts is ours
    offset_t n;           // entries of each

    constexpr V sum(offset_t i) const
    {
        V total = 0;
        for (index_t p = 0; p < parts; ++p) total += p == ours ? own[i] : others[(p < ours ? p : p - 1) * n + i];
        return total;
    }
};

// y = alpha (the sum of all parts, in their order) + beta y.
template <class V>
void sum_parts(const CpuQueue& q, const PartialSums<V>& parts, V alpha, V beta, V* y);
template <class V>
void sum_parts(const CudaQueue& q, const PartialSums<V>& parts, V alpha, V beta, V* y);

}  // namespace tulle::inline TULLE_ABI::spmv
