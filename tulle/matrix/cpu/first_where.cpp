// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>

#include "tulle/matrix/inspect_steps.hpp"
#include "tulle/prim/cpu/pieces.hpp"

namespace tulle::inspect {
namespace {

constexpr offset_t piece_size = 8192;   // small enough to stop soon after somebody has found an earlier position

}  // namespace

template <class Check>
offset_t first_where(const CpuQueue& q, const Check& check, offset_t n)
{
    std::atomic<offset_t> first{n};
    prim::each_piece(q, prim::pieces_of(n, piece_size), [&](offset_t, offset_t begin, offset_t end) {
        if (begin > first.load(std::memory_order_relaxed)) return;
        offset_t k = begin;
        while (k < end && !check(k)) ++k;
        if (k == end) return;
        offset_t seen = first.load(std::memory_order_relaxed);
        while (k < seen && !first.compare_exchange_weak(seen, k, std::memory_order_relaxed)) {}
    });
    return first.load();
}

template offset_t first_where(const CpuQueue&, const BadBegin&, offset_t);
template offset_t first_where(const CpuQueue&, const Outside&, offset_t);
template offset_t first_where(const CpuQueue&, const RowOrder&, offset_t);
template offset_t first_where(const CpuQueue&, const PairOrder&, offset_t);
template offset_t first_where(const CpuQueue&, const SlotOrder&, offset_t);
template offset_t first_where(const CpuQueue&, const SameKey&, offset_t);
template offset_t first_where(const CpuQueue&, const BlockAfterPadding&, offset_t);
template offset_t first_where(const CpuQueue&, const NotZeroBeyondEdge<float>&, offset_t);
template offset_t first_where(const CpuQueue&, const NotZeroBeyondEdge<double>&, offset_t);
template offset_t first_where(const CpuQueue&, const HasLength&, offset_t);

}  // namespace tulle::inspect
