// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert_steps.hpp"

#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::matrix {

template <class V>
void scatter_dense(const CpuQueue& q, const CooView<V>& a, const DenseView<V>& to)
{
    prim::each_piece(q, prim::piece_per_thread(q, a.nonzeros), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t k = begin; k < end; ++k) to(a.row[k], a.col[k]) = a.value[k];
    });
}

template <class V>
void scatter_blocks(const CpuQueue& q, const CooView<V>& a, const BlockNumbers& blocks, index_t block, index_t width,
                    index_t* block_col, V* value)
{
    prim::each_piece(q, prim::piece_per_thread(q, a.nonzeros), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t k = begin; k < end; ++k) scatter_to_block(a, blocks, block, width, k, block_col, value);
    });
}

template void scatter_dense(const CpuQueue&, const CooView<float>&, const DenseView<float>&);
template void scatter_dense(const CpuQueue&, const CooView<double>&, const DenseView<double>&);
template void scatter_blocks(const CpuQueue&, const CooView<float>&, const BlockNumbers&, index_t, index_t, index_t*,
                             float*);
template void scatter_blocks(const CpuQueue&, const CooView<double>&, const BlockNumbers&, index_t, index_t, index_t*,
                             double*);

}  // namespace tulle::inline TULLE_ABI::matrix
