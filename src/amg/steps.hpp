// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include "amg/classical.hpp"
#include "amg/krylov.hpp"
#include "amg/nodes.hpp"
#include "amg/rows.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::amg {

// step(i) for all i < n, in any order; a step of rows.hpp. On a GPU asynchronous, a thread for each.
template <class Step>
void for_each(const CpuQueue& q, offset_t n, const Step& step);
template <class Step>
void for_each(const CudaQueue& q, offset_t n, const Step& step);

// Rounds of a choice between two looks at how many rows are undecided: on a GPU a look takes longer than a round. A
// round in which nothing is undecided changes nothing.
template <class Queue>
constexpr int rounds_at_once = std::is_same_v<Queue, CpuQueue> ? 1 : 4;

// F(step) for every step: where backends instantiate for_each().
// clang-format off
#define TULLE_AMG_STEPS(F) \
    F(StartSet) F(LargestAround) F(DecideSet) F(FlagRoots) F(JoinRoot) F(CountTentative) F(BinRows) \
    F(InspectRow<float>) F(InvertDiagonal<float>) F(CountStrong<float>) F(FillStrong<float>) F(JoinNeighbour<float>) \
    F(Orthonormalize<float>) F(SmoothRow<float>) \
    F(SmoothFirst<float>) F(SmoothNext<float>) \
    F(InspectRow<double>) F(InvertDiagonal<double>) F(CountStrong<double>) F(FillStrong<double>) \
    F(JoinNeighbour<double>) F(Orthonormalize<double>) F(SmoothRow<double>) \
    F(SmoothFirst<double>) F(SmoothNext<double>) \
    F(SpreadAggregates) F(CountNodeNeighbours<float>) F(FillNodeNeighbours<float>) F(SetTranslations<float>) \
    F(CountNodeNeighbours<double>) F(FillNodeNeighbours<double>) F(SetTranslations<double>) \
    F(StartPoints) F(DecideCoarse) F(DecideFine) F(CountInterpolation) F(FillInterpolation) \
    F(CountDependences<float>) F(FillDependences<float>) F(FillDirect<float>) F(FillThrough<float>) \
    F(CountKept<float>) F(ChooseKept<float>) F(FillKept<float>) \
    F(CountDependences<double>) F(FillDependences<double>) F(FillDirect<double>) F(FillThrough<double>) \
    F(CountKept<double>) F(ChooseKept<double>) F(FillKept<double>) \
    F(KrylovResidual<float>) F(KrylovSum<float>) F(KrylovResidual<double>) F(KrylovSum<double>)
// clang-format on

}  // namespace tulle::inline TULLE_ABI::amg
