// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row: threads have rows with equal numbers of nonzeros; the last quarter goes in pieces to whoever has time.
// The loops over the nonzeros are in row_blocks.hpp.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "prim/cpu/pieces.hpp"
#include "prim/merge_path.hpp"
#include "spmm/cpu/row_kernel.hpp"
#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

template <class V, class C>
RowOperands<V> row_operands(const Operands<V, C>& o)
{
    RowOperands<V> of_rows{o.alpha, o.b, o.b_row, o.b_col, o.beta, nullptr, nullptr, o.c_row, o.c_col, o.n, nullptr};
    if constexpr (std::is_same_v<EntryType<C>, Sum<V>>) of_rows.sums = o.c;
    else of_rows.rounded = o.c;
    if constexpr (is_scaled<C>) of_rows.row_scale = o.row_scale;
    return of_rows;
}

// C is worth writing past the caches: a cache would read every line before, and C is more than the caches hold. All
// lines are written as a whole.
template <class V, class C>
bool writes_past_caches(const CpuQueue& q, const CsrView<V>& a, const Operands<V, C>& o)
{
    constexpr std::size_t in_caches = std::size_t{8} << 20;  // of a thread
    const std::size_t row_bytes = static_cast<std::size_t>(o.n) * sizeof(EntryType<C>),
                      rows = static_cast<std::size_t>(a.rows);
    return o.beta == 0 && o.c_col == 1 && row_bytes % cache_line == 0 &&
           static_cast<std::size_t>(o.c_row) * sizeof(EntryType<C>) % cache_line == 0 &&
           reinterpret_cast<std::uintptr_t>(o.c) % cache_line == 0 &&
           rows * row_bytes > in_caches * static_cast<std::size_t>(q.threads);
}

}  // namespace

template <class V, class C>
void multiply_rows(const CpuQueue& q, const CsrView<V>& a, int, const Workspace<V>&, const Operands<V, C>& o)
{
    constexpr offset_t pieces_each = 16, own = 12;  // a quarter is for whoever has time: rows of B are not equally far
    const offset_t pieces = q.threads > 1 ? pieces_each * q.threads : 1, all = a.rows + a.nonzeros,
                   steps = prim::steps_per_part(a.rows, a.nonzeros, pieces);
    const RowKernel<V> multiply = best_row_kernel<V>();
    const RowOperands<V> of_rows = row_operands(o);
    const bool streams = writes_past_caches(q, a, o);
    std::atomic<offset_t> next = own * q.threads;
    const auto multiply_pieces = [&](offset_t first, offset_t last) {
        const auto row_at = [&](offset_t piece) {
            return prim::merge_point(a.row_begin, a.rows, a.nonzeros, std::min(all, piece * steps)).row;
        };
        multiply(a, row_at(first), row_at(last), of_rows, streams);
    };
    prim::each_thread(q, [&](int t) {
        multiply_pieces(own * t, own * (t + 1));
        for (offset_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;)
            multiply_pieces(piece, piece + 1);
    });
}

template void multiply_rows(const CpuQueue&, const CsrView<double>&, int, const Workspace<double>&,
                            const Operands<double, double>&);
template void multiply_rows(const CpuQueue&, const CsrView<float>&, int, const Workspace<float>&,
                            const Operands<float, float>&);
template void multiply_rows(const CpuQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, Float16>&);
template void multiply_rows(const CpuQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, float>&);
template void multiply_rows(const CpuQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, Bfloat16>&);
template void multiply_rows(const CpuQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, float>&);
template void multiply_rows(const CpuQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, Scaled<Float16>>&);
template void multiply_rows(const CpuQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, Scaled<float>>&);
template void multiply_rows(const CpuQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, Scaled<Bfloat16>>&);
template void multiply_rows(const CpuQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, Scaled<float>>&);

}  // namespace tulle::inline TULLE_ABI::spmm
