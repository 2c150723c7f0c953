// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Block rows dealt to threads; the blocks of a block row are added slot by slot.
#include <algorithm>

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

// The sum of row r of block row p; columns that reach beyond the matrix are left out, and x is not read there.
template <class V, class M>
V dot(const BlockedEllView<M>& a, index_t p, index_t r, const V* x)
{
    V sum = 0;
    for (index_t s = 0; s < a.width; ++s) {
        const offset_t slot = offset_t{p} * a.width + s;
        if (a.block_col[slot] < 0) break;  // padding comes last
        const offset_t col = offset_t{a.block_col[slot]} * a.block;
        const M* value = a.value + (slot * a.block + r) * a.block;
        const offset_t width = std::min<offset_t>(a.block, a.cols - col);
        for (offset_t c = 0; c < width; ++c) sum += static_cast<V>(value[c]) * x[col + c];
    }
    return sum;
}

}  // namespace

template <class V, class M>
void multiply_blocks(const CpuQueue& q, const BlockedEllView<M>& a, const Vectors<V>& v)
{
    const index_t block_rows = a.block_rows();
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t p = 0; p < block_rows; ++p) {
        const offset_t first = offset_t{p} * a.block;
        const index_t height = static_cast<index_t>(std::min<offset_t>(a.block, a.rows - first));
        for (index_t r = 0; r < height; ++r)
            v.y[first + r] = scaled(v.alpha, dot(a, p, r, v.x), v.beta, v.y + first + r);
    }
}

template void multiply_blocks(const CpuQueue&, const BlockedEllView<float>&, const Vectors<float>&);
template void multiply_blocks(const CpuQueue&, const BlockedEllView<double>&, const Vectors<double>&);
template void multiply_blocks(const CpuQueue&, const BlockedEllView<float>&, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
