// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The values of C once more, where its columns are there. Rows whose columns lie close together are fill_ranked.cu's.
// Others get a hash table from columns to places, which nobody changes while products look them up; sums stand in
// order, so that nothing is sorted. Long rows are cut into windows of neighbouring columns, a warp each, instead of a
// block that meets after every row of B. Short rows are filled as they were.
#include "spgemm/adaptive/cuda/add_products.cuh"
#include "spgemm/adaptive/cuda/add_rows.cuh"
#include "spgemm/adaptive/cuda/totals.hpp"
#include "spgemm/reuse/cuda/placed.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int most_warps = 4;  // of a block
constexpr std::size_t bytes_to_share = 7 * 1024;
constexpr int part_entries = 512;         // of a long row that a warp takes
constexpr offset_t few_long_rows = 1024;  // up to which there are too few parts of that length (reasoned)
constexpr offset_t long_row_of_b =
    24;  // mean length from which a row of B is added by itself (reasoned: most of its lanes work)

// Columns of C and their places in the sums. The table is at most half full.
struct FoundColumns {
    using Index = index_t;
    static constexpr bool kept = false;

    const index_t* index;  // the columns of B
    int first, last;
    bool whole;
    index_t* key;           // (mask + 1)
    std::uint16_t* at_key;  // (mask + 1)
    unsigned mask;
    int bits;  // of mask

    __device__ void insert(index_t col, int at) const
    {
        unsigned slot = first_slot(col, bits);
        for (unsigned probe = 0; probe <= mask && atomicCAS(key + slot, vacant, col) != vacant; ++probe)
            slot = (slot + 1) & mask;
        at_key[slot] = static_cast<std::uint16_t>(at);
    }

    // A column that is not there, of another C, has a wrong place, but one of this table.
    __device__ int place(index_t col) const
    {
        unsigned slot = first_slot(col, bits);
#pragma unroll 1
        for (unsigned probe = 0; probe <= mask && key[slot] != col; ++probe) slot = (slot + 1) & mask;
        return at_key[slot];
    }
};

template <class V>
constexpr std::size_t table_bytes(int bits)
{
    return Batch<V>::bytes() + (std::size_t{1} << bits) * (sizeof(index_t) + sizeof(std::uint16_t)) +
           (std::size_t{1} << (bits - 1)) * sizeof(V);
}

// Entries of row `row` of C from `first` on, as many as a table of 2^bits slots is for, by a warp. `number`: the row's
// in its group.
template <class V>
__device__ void refill_part(const CsrView<V>& a, const CsrView<V>& b, const Task& t, offset_t number, index_t row,
                            const RowRange<V>& c, int first, int nonzeros, int bits, unsigned char* mine)
{
    const int slots = 1 << bits, count = min(slots / 2, nonzeros - first);
    const index_t* col = c.col + (c.row_begin[row] - c.base) + first;
    V* sum = reinterpret_cast<V*>(mine + Batch<V>::bytes());
    auto* key = reinterpret_cast<index_t*>(sum + slots / 2);
    const FoundColumns find{b.col,
                            col[0],
                            col[count - 1],
                            count == nonzeros,
                            key,
                            reinterpret_cast<std::uint16_t*>(key + slots),
                            static_cast<unsigned>(slots) - 1,
                            bits};
    team_fill<32>(key, slots, vacant);
    team_fill<32>(find.at_key, slots, std::uint16_t{0});
    team_fill<32>(sum, count, V(-0.0));  // what changes no sum, not even the sign of zero
    __syncwarp();
    for (int k = team_rank<32>(); k < count; k += 32) find.insert(col[k], k);
    __syncwarp();
    const offset_t nonzeros_a = a.row_begin[row + 1] - a.row_begin[row];
    if (find.whole && offset_t{facts_of(t, number, row).products} >= long_row_of_b * nonzeros_a)
        add_products<1, false>(
            sum, count, [&](index_t found) { return find.place(found); }, b.col, a, b, nullptr, row, 1);
    else add_window(sum, Batch<V>::at(mine), a, b, find, row);
    V* value = c.value + (c.row_begin[row] - c.base) + first;
    for (int k = team_rank<32>(); k < count; k += 32) value[k] = sum[k];
}

// A warp per row, or per part of 2^(bits - 1) entries of one that has up to `parts` of them; the longest have more, and
// warps go on with every parts-th.
//   grid: ceil(rows * parts / warps in a block)
//   shared memory: table_bytes() a warp
//   c: every value of the group's rows, once
template <bool Longest, class V>
__global__ void __launch_bounds__(32 * most_warps)
    refill_hashed_kernel(CsrView<V> a, CsrView<V> b, Task t, RowRange<V> c, int parts, int bits)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    const offset_t number = team_number<32>();
    if (number >= t.rows * parts) return;  // a whole warp
    const index_t row = t.list[number / parts];
    const int entries = 1 << (bits - 1), nonzeros = static_cast<int>(c.row_begin[row + 1] - c.row_begin[row]);
    unsigned char* const mine = memory + threadIdx.x / 32 * table_bytes<V>(bits);
    for (offset_t first = number % parts * entries; first < nonzeros; first += offset_t{parts} * entries) {
        refill_part(a, b, t, number / parts, row, c, static_cast<int>(first), nonzeros, bits, mine);
        if (!Longest) return;
        __syncwarp();  // before the table is cleared for the next part
    }
}

template <class V>
void refill_hashed(const FillArguments<V>& f, NumericKernel size)
{
    const bool of_hubs = size == NumericKernel::dense && f.task.rows <= few_long_rows;
    const int part_bits = of_hubs ? bits_of(2 * hub_entries) : bits_of(2 * part_entries);
    const int larger = static_cast<int>(size) - static_cast<int>(NumericKernel::hash64),
              bits = std::min(7 + larger, part_bits);
    // 32 for the longest rows, or 128 shorter ones, however long they are.
    const int parts = 1 << std::max(0, 7 + larger - part_bits);
    const std::size_t bytes = table_bytes<V>(bits);
    const int in_a_block = bytes <= bytes_to_share ? most_warps : 1;
    launch(f.q,
           {ceil_div(f.task.rows * parts, offset_t{in_a_block}), 32 * in_a_block,
            bytes * static_cast<std::size_t>(in_a_block)},
           size == NumericKernel::dense ? refill_hashed_kernel<true, V> : refill_hashed_kernel<false, V>, f.a, f.b,
           f.task, f.c, parts, bits);
}

}  // namespace

template <class V>
void refill_group(const FillArguments<V>& f, NumericKernel filler)
{
    if (filler >= NumericKernel::single_small && filler <= NumericKernel::run_huge) fill_ranked(f, filler, false);
    else if (is_list(filler)) fill_merged(f, filler, false);
    else if (filler >= NumericKernel::hash64) refill_hashed(f, filler);
    else fill_group(f, filler);
}

template void refill_group(const FillArguments<float>&, NumericKernel);
template void refill_group(const FillArguments<double>&, NumericKernel);

}  // namespace tulle::inline TULLE_ABI::spgemm
