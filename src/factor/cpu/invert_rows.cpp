// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <cmath>

#include "factor/fsai_row.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

template <class V>
Breakdown invert_row(const FsaiRow<V>& row, V* to)
{
    row.load(0, 1);
    for (int k = 0; k < row.m; ++k) {
        row.eliminate(k, 0, 1);
        if (const Breakdown why = row.judge_pivot(k); why != Breakdown::none) return why;
    }
    row.clear(0, 1);
    for (int r = row.m - 1; r > 0; --r) row.substitute(r, 0, 1);
    row.store(std::sqrt(row.inverse[row.m - 1]), to, 0, 1);
    return Breakdown::none;
}

}  // namespace

template <class V>
FirstBreakdown invert_rows(const CpuQueue& q, const PatternView& lower, const V* a, const CsrView<V>& g, V* value)
{
    std::atomic<long long> failed{breakdown_word(g.rows, Breakdown::none)};
    prim::each_piece(q, prim::piece_per_thread(q, g.rows, 256), [&](offset_t, offset_t begin, offset_t end) {
        double room[fsai_room(most_fsai_entries)];
        for (offset_t i = begin; i < end; ++i) {
            const offset_t first = g.row_begin[i];
            const FsaiRow<V> row(lower, a, g.col + first, static_cast<int>(g.row_begin[i + 1] - first), room);
            const Breakdown why = invert_row(row, value + first);
            if (why == Breakdown::none) continue;
            const long long word = breakdown_word(static_cast<index_t>(i), why);
            long long known = failed.load(std::memory_order_relaxed);
            while (word < known && !failed.compare_exchange_weak(known, word, std::memory_order_relaxed)) {}
        }
    });
    return breakdown_of(failed.load(std::memory_order_relaxed));
}

template FirstBreakdown invert_rows(const CpuQueue&, const PatternView&, const float*, const CsrView<float>&, float*);
template FirstBreakdown invert_rows(const CpuQueue&, const PatternView&, const double*, const CsrView<double>&,
                                    double*);

}  // namespace tulle::inline TULLE_ABI::factor
