// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C whose columns lie close together, one at a time or up to three neighbours of equal pattern at once. A warp
// sets a bit for every column, counts the bits before each word, and then finds any column's place in the row, its
// rank, by one look and a count of bits: no search, no sort, and as many sums as the row has nonzeros (add_rows.cuh). A
// refill draws the bits from the columns of C, once each, instead of from all products.
#include "spgemm/adaptive/cuda/add_rows.cuh"
#include "spgemm/adaptive/cuda/fill_steps.hpp"
#include "spgemm/adaptive/cuda/ranked.cuh"
#include "spgemm/reuse/cuda/placed.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// A bit for every column of the row, asked from its products.
template <class V>
__device__ void draw_products(const Sheet<V>& s, const CsrView<V>& a, const CsrView<V>& b, const unsigned char* runs_b,
                              index_t row, std::uint32_t pattern)
{
    walk_columns<32>(a, b, runs_b, row, pattern, [&](index_t col) {
        const auto at = static_cast<unsigned>(col - s.first);
        const unsigned bit = 1u << at % 32;
        if ((peek(&s.word[at / 32].bits) & bit) == 0) atomicOr(&s.word[at / 32].bits, bit);
    });
}

// The same from the columns of C. What another C has beyond the row's columns is left out.
template <class V>
__device__ void draw_columns(const Sheet<V>& s, const index_t* col)
{
    for (int k = team_rank<32>(); k < s.nonzeros; k += 32) {
        const auto at = static_cast<unsigned>(col[k]) - static_cast<unsigned>(s.first);
        if (at / 32 < static_cast<unsigned>(s.words)) atomicOr(&s.word[at / 32].bits, 1u << at % 32);
    }
}

// Columns by the bits.
template <class V>
__device__ void write_columns(const Sheet<V>& s, const RowRange<V>& c, index_t row, int rows)
{
    const int lane = team_rank<32>();
    for (int base = 0; base < s.words; base += 32) {
        const Word mine = base + lane < s.words ? s.word[base + lane] : Word{0, 0};
        for (unsigned filled = __ballot_sync(all_lanes, mine.bits != 0); filled != 0; filled &= filled - 1) {
            const int w = __ffs(static_cast<int>(filled)) - 1;
            const unsigned bits = __shfl_sync(all_lanes, mine.bits, w);
            const int at = __shfl_sync(all_lanes, mine.before, w) + __popc(bits & ((1u << lane) - 1));
            if ((bits >> lane & 1) == 0) continue;
            for (int r = 0; r < rows; ++r) c.col[c.row_begin[row + r] - c.base + at] = s.first + (base + w) * 32 + lane;
        }
    }
}

// A warp per row, or per run of up to Rows rows.
//   grid: rows of the group
//   block: a warp
//   shared memory: words and sums, what rank_bytes() says
//   c: every entry, once, or every value
template <int Rows, bool Columns, class V>
__global__ void __launch_bounds__(32) fill_ranked_kernel(CsrView<V> a, CsrView<V> b, Task t, RowRange<V> c)
{
    TULLE_DYNAMIC_SHARED(V, memory);
    const index_t row = t.list[blockIdx.x];
    const RowStats f = facts_of(t, blockIdx.x, row);
    const int rows = Rows == 1 ? 1 : run_inside(t.runs_a, row, c.first, c.rows).length;
    const Sheet<V> s = sheet_at<Rows>(memory, f, static_cast<int>(c.row_begin[row + 1] - c.row_begin[row]));
    team_fill<32>(s.sum, Rows * s.nonzeros, V(-0.0));  // what changes no sum, not even the sign of zero
    for (int w = team_rank<32>(); w < s.words; w += 32) s.word[w].bits = 0;
    __syncwarp();
    if constexpr (Columns) draw_products(s, a, b, t.runs_b, row, f.pattern);
    else draw_columns(s, c.col + (c.row_begin[row] - c.base));
    __syncwarp();
    number_words(s);
    const auto place_of = [&](index_t col) {
        return Columns ? rank_of(s, col) : min(rank_of(s, col), s.nonzeros - 1);
    };  // another C has other ranks
    add_products<Rows, false>(s.sum, s.nonzeros, place_of, b.col, a, b, t.runs_b, row, rows);
    if constexpr (Columns) write_columns(s, c, row, rows);
    write_values(s, c, row, rows);
}

}  // namespace

template <class V>
void fill_ranked(const FillArguments<V>& f, NumericKernel size, bool columns)
{
    const int number =
        static_cast<int>(size) - static_cast<int>(is_run(size) ? NumericKernel::run_tiny : NumericKernel::single_small);
    const auto kernel =
        is_run(size) ? (columns ? fill_ranked_kernel<run_limit, true, V> : fill_ranked_kernel<run_limit, false, V>)
        : columns    ? fill_ranked_kernel<1, true, V>
                     : fill_ranked_kernel<1, false, V>;
    launch(f.q, {f.task.rows, 32, static_cast<std::size_t>(rank_bytes_of(number)) + 16}, kernel, f.a, f.b, f.task, f.c);
}

template void fill_ranked(const FillArguments<float>&, NumericKernel, bool);
template void fill_ranked(const FillArguments<double>&, NumericKernel, bool);

}  // namespace tulle::inline TULLE_ABI::spgemm
