// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/methods/block_cg.hpp"
#include "vector/cpu/pass.hpp"

namespace tulle::inline TULLE_ABI::solve {

template <class Op>
void run_block_pass(const CpuQueue& q, offset_t n, const Op& op, const vector::PassSpace& space)
{
    vector::pass(q, n, op, space);
}

template void run_block_pass(const CpuQueue&, offset_t, const BlockLoad<float>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockStore<float>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const ColumnLoad<float>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const ColumnStore<float>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockDots<float>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockCgStart<float>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockCgResidual<float>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockCgPreconditioned<float>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockCgDirection<float>&, const vector::PassSpace&);

template void run_block_pass(const CpuQueue&, offset_t, const BlockLoad<double>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockStore<double>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const ColumnLoad<double>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const ColumnStore<double>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockDots<double>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockCgStart<double>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockCgResidual<double>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockCgPreconditioned<double>&, const vector::PassSpace&);
template void run_block_pass(const CpuQueue&, offset_t, const BlockCgDirection<double>&, const vector::PassSpace&);

}  // namespace tulle::inline TULLE_ABI::solve
