// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>

#include "matrix/inspect_steps.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::inspect {
namespace {

constexpr offset_t piece_size = 8192;  // small enough to stop soon after somebody has found an earlier position

// The first k from begin on where something is wrong, or end. Usually nothing is: then one pass without a way out,
// which compilers vectorise.
template <class Check>
offset_t find_in(const Check& check, offset_t begin, offset_t end)
{
    bool any = false;
    for (offset_t k = begin; k < end; ++k) any |= check(k);
    if (!any) return end;
    while (!check(begin)) ++begin;
    return begin;
}

// Row by row: entries that start a row are passed over, where the check itself would have to search for each of them.
offset_t find_in(const RowOrder& order, offset_t begin, offset_t end)
{
    const offset_t step = order.repeats ? 1 : 0;
    const index_t* col = order.key.col;
    index_t row = order.key.row(begin);
    offset_t k = begin == order.key.begin[row] ? begin + 1 : begin;
    for (; k < end; k = order.key.begin[++row] + 1) {
        const offset_t last = std::min(end, order.key.begin[row + 1]);
        while (k < last && col[k] >= col[k - 1] + step) ++k;
        if (k < last) return k;
    }
    return end;
}

}  // namespace

template <class Check>
offset_t first_where(const CpuQueue& q, const Check& check, offset_t n)
{
    std::atomic<offset_t> first{n};
    prim::each_piece(q, prim::pieces_of(n, piece_size), [&](offset_t, offset_t begin, offset_t end) {
        if (begin > first.load(std::memory_order_relaxed)) return;
        const offset_t k = find_in(check, begin, end);
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

}  // namespace tulle::inline TULLE_ABI::inspect
