// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the product, once per queue. All compute y = alpha op(A) x + beta y and never read y when beta is zero.
#pragma once

#include "tulle/matrix/blocked_ell.hpp"
#include "tulle/matrix/coo.hpp"
#include "tulle/matrix/csr.hpp"
#include "tulle/prim/merge_path.hpp"

namespace tulle::spmv {

template <class V>
struct Vectors {
    V alpha;
    const V* x;
    V beta;
    V* y;
};

// What a kernel needs beside the matrix, allocated when the plan is made.
template <class V>
struct Workspace {
    Buffer<prim::MergePoint> point;      // split: where each piece begins
    Buffer<V> carry;                     // split: what each piece has of the row it could not finish
    Buffer<V> private_sums;              // kernels that scatter on the CPU: one y per thread

    std::size_t bytes() const { return point.bytes() + carry.bytes() + private_sums.bytes(); }
};

// The new y_i from the sum of row i.
template <class V>
constexpr V scaled(V alpha, V sum, V beta, const V* y)
{
    return beta == V(0) ? alpha * sum : alpha * sum + beta * *y;
}

template <class V> void multiply_rows(const CpuQueue& q, const CsrView<V>& a, int lanes, const Vectors<V>& v);
template <class V> void multiply_rows(const CudaQueue& q, const CsrView<V>& a, int lanes, const Vectors<V>& v);

// How much of the merge path one piece of the split kernel takes: rows ended plus nonzeros.
offset_t steps_per_piece(const CpuQueue& q);
offset_t steps_per_piece(const CudaQueue& q);
template <class V> void multiply_split(const CpuQueue& q, const CsrView<V>& a, const Workspace<V>& work, const Vectors<V>& v);
template <class V> void multiply_split(const CudaQueue& q, const CsrView<V>& a, const Workspace<V>& work, const Vectors<V>& v);

// For the three kernels that scatter: room for `outputs` sums of each thread where the backend wants it.
template <class V> void prepare_scatter(const CpuQueue& q, index_t outputs, Workspace<V>& work);
template <class V> void prepare_scatter(const CudaQueue& q, index_t outputs, Workspace<V>& work);

// `a` is op(A) transposed, stored by rows: column i of op(A) is row i of a.
template <class V> void multiply_scatter(const CpuQueue& q, const CsrView<V>& a, const Workspace<V>& work, const Vectors<V>& v);
template <class V> void multiply_scatter(const CudaQueue& q, const CsrView<V>& a, const Workspace<V>& work, const Vectors<V>& v);

template <class V> void multiply_entries(const CpuQueue& q, const CooView<V>& a, const Workspace<V>& work, const Vectors<V>& v);
template <class V> void multiply_entries(const CudaQueue& q, const CooView<V>& a, const Workspace<V>& work, const Vectors<V>& v);

template <class V> void multiply_blocks(const CpuQueue& q, const BlockedEllView<V>& a, const Vectors<V>& v);
template <class V> void multiply_blocks(const CudaQueue& q, const BlockedEllView<V>& a, const Vectors<V>& v);
template <class V> void multiply_blocks_transposed(const CpuQueue& q, const BlockedEllView<V>& a, const Workspace<V>& work, const Vectors<V>& v);
template <class V> void multiply_blocks_transposed(const CudaQueue& q, const BlockedEllView<V>& a, const Workspace<V>& work, const Vectors<V>& v);

}  // namespace tulle::spmv
