// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/steps.hpp"
#include "vector/cuda/pass.cuh"

namespace tulle::inline TULLE_ABI::solve {

template <class Op>
void run_pass(const CudaQueue& q, offset_t n, const Op& op, const vector::PassSpace& space)
{
    vector::pass(q, n, op, space);
}

template <class Op>
void run_scalar_step(const CudaQueue& q, const Op& op)
{
    vector::scalar_step(q, op);
}

template void run_scalar_step(const CudaQueue&, const GmresReset&);
template void run_scalar_step(const CudaQueue&, const GmresSolve&);

template void run_pass(const CudaQueue&, offset_t, const InspectRows<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const InvertDiagonal<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const InvertBlock<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MultiplyBlocks<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgStart<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgResidual<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgPreconditioned<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgDirection<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const PipelinedStart<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const PipelinedStep<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabStart<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabAlpha<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabHalf<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabUpdate<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabDirection<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresStart<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresDots<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresSubtract<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresNext<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresCombine<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresStart<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresScale<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresLanczos<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresPreconditioned<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresUpdate<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const ChebyshevStep<float>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const RecordNorm<float>&, const vector::PassSpace&);

template void run_pass(const CudaQueue&, offset_t, const InspectRows<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const InvertDiagonal<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const InvertBlock<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MultiplyBlocks<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgStart<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgResidual<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgPreconditioned<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgDirection<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgStep<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const CgSettle<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const PipelinedStart<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const PipelinedStep<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabStart<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabAlpha<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabHalf<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabUpdate<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const BicgstabDirection<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresStart<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresDots<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresSubtract<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresNext<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const GmresCombine<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresStart<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresScale<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresLanczos<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresPreconditioned<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const MinresUpdate<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const ChebyshevStep<double>&, const vector::PassSpace&);
template void run_pass(const CudaQueue&, offset_t, const RecordNorm<double>&, const vector::PassSpace&);

}  // namespace tulle::inline TULLE_ABI::solve
