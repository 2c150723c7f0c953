// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A counting sort in two passes: each thread counts the bins of its piece, the counts become places bin by bin and
// piece by piece, and each thread puts its positions there in order. Memory beside the result: one count for each bin
// and piece; there are only so many pieces that the counts stay below 2 n + bins.
#pragma once

#include <algorithm>
#include <utility>

#include "prim/cpu/pieces.hpp"
#include "prim/scan.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::matrix {

inline prim::Pieces pieces_for(const CpuQueue& q, offset_t n, index_t bins)
{
    const offset_t most = 1 + 2 * n / std::max<offset_t>(1, bins);
    return prim::pieces_of(n, std::max(prim::piece_per_thread(q, n).size, ceil_div(n, most)));
}

inline void count_bins(const CpuQueue& q, const prim::Pieces& pieces, const index_t* bin, index_t bins, offset_t* count)
{
    fill_zero(q, count, pieces.count * bins);
    prim::each_piece(q, pieces, [&](offset_t p, offset_t begin, offset_t end) {
        offset_t* mine = count + p * bins;
        for (offset_t k = begin; k < end; ++k) ++mine[bin[k]];
    });
}

// count[p * bins + b] becomes the place of piece p's first position in bin b; begin the places of the bins.
inline void assign_places(const CpuQueue& q, offset_t pieces, index_t bins, offset_t* count, offset_t* begin)
{
    const prim::Pieces ranges = prim::piece_per_thread(q, bins, 4096);
    prim::each_piece(q, ranges, [&](offset_t, offset_t first, offset_t last) {
        std::fill(begin + first, begin + last, 0);
        for (offset_t p = 0; p < pieces; ++p)
            for (offset_t b = first; b < last; ++b) begin[b] += count[p * bins + b];
    });
    prim::exclusive_scan(q, begin, begin, bins);
    prim::each_piece(q, ranges, [&](offset_t, offset_t first, offset_t last) {
        for (offset_t b = first; b < last; ++b) {
            offset_t next = begin[b];
            for (offset_t p = 0; p < pieces; ++p) next += std::exchange(count[p * bins + b], next);
        }
    });
}

// deal(begin, end, next) for every piece: next[b] is the place of the piece's first position in bin b. `first` gets the
// places of the bins.
template <class Deal>
void deal_to_bins(const CpuQueue& q, const index_t* bin, offset_t n, index_t bins, offset_t* first, Deal&& deal)
{
    const prim::Pieces pieces = pieces_for(q, n, bins);
    Buffer<offset_t> place(q, pieces.count * bins);
    count_bins(q, pieces, bin, bins, place.data());
    assign_places(q, pieces.count, bins, place.data(), first);
    prim::each_piece(q, pieces,
                     [&](offset_t p, offset_t begin, offset_t end) { deal(begin, end, place.data() + p * bins); });
}

}  // namespace tulle::inline TULLE_ABI::matrix
