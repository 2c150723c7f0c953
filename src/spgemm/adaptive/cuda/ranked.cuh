// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Ranks: a bit for every column of a row of C and a count of the bits before every word tell the place of any column in
// the row.
#pragma once

#include "spgemm/adaptive/cuda/rows.cuh"

namespace tulle::inline TULLE_ABI::spgemm {

// Bits of 32 columns, and how many bits stand before them.
struct alignas(8) Word {
    unsigned bits;
    int before;
};

template <class V>
struct Sheet {
    Word* word;  // (words)
    V* sum;      // (rows, nonzeros)
    index_t first;
    int words, nonzeros;
};

// For up to Rows rows with the same columns.
template <int Rows, class V>
__device__ Sheet<V> sheet_at(V* memory, const RowStats& f, int nonzeros)
{
    return {reinterpret_cast<Word*>(memory + (Rows * nonzeros + 1) / 2 * 2), memory, f.first,
            static_cast<int>(words_of(f.width)), nonzeros};
}

// Counts the bits before every word: each lane a stretch of words.
template <class V>
__device__ void number_words(const Sheet<V>& s)
{
    const int lane = team_rank<32>(), share = (s.words + 31) / 32 | 1;  // odd: neighbours in different banks
    const int begin = min(s.words, lane * share), end = min(s.words, begin + share);
    int mine = 0;
    for (int w = begin; w < end; ++w) mine += __popc(s.word[w].bits);
    int before = mine;
    for (int distance = 1; distance < 32; distance *= 2) {
        const int other = __shfl_up_sync(all_lanes, before, distance);
        if (lane >= distance) before += other;
    }
    before -= mine;
    for (int w = begin; w < end; ++w) {
        s.word[w].before = before;
        before += __popc(s.word[w].bits);
    }
    __syncwarp();
}

template <class V>
__device__ int rank_of(const Sheet<V>& s, index_t col)
{
    const auto at = static_cast<unsigned>(col - s.first);
    const Word w = s.word[at / 32];
    return w.before + __popc(w.bits & ((1u << at % 32) - 1));
}

// The values of neighbouring rows, as they stand.
template <class V>
__device__ void write_values(const Sheet<V>& s, const RowRange<V>& c, index_t row, int rows)
{
    for (int r = 0; r < rows; ++r) {
        V* value = c.value + (c.row_begin[row + r] - c.base);
        for (int k = team_rank<32>(); k < s.nonzeros; k += 32) value[k] = s.sum[r * s.nonzeros + k];
    }
}

}  // namespace tulle::inline TULLE_ABI::spgemm
