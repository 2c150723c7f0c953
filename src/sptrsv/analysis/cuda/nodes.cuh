// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a sweep finds of each row, in one word, and the nodes of a triangle's rows as kernels see them: chains, or rows
// alone.
#pragma once

#include <type_traits>
#include <utility>

#include "device/cuda/kernel.cuh"
#include "sptrsv/analysis/analysis.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// From the top: level of the chain, its first row, place in it, level of the row alone. The latest of a chain is the
// largest; 0: not known yet. The fewer rows there are, the more levels there is room for.
using NodeWord = unsigned long long;
constexpr NodeWord most_place = (1ull << place_bits) - 1;  // nobody can follow
static_assert(most_rows == most_place + 1);

struct Split {
    int level_bits, first_bits;

    explicit Split(index_t rows) : level_bits(level_bits_swept(rows)), first_bits(row_bits_swept(rows)) {}
    __device__ int chain_bits() const { return level_bits + place_bits; }  // below those that tell chains apart
    __device__ NodeWord first_mask() const { return (1ull << first_bits) - 1; }
    __device__ unsigned place_mask() const { return static_cast<unsigned>((1ull << (first_bits + place_bits)) - 1); }

    // place: first row of the chain and place in it.
    __host__ __device__ NodeWord standing_of(unsigned chain_level, unsigned place, unsigned level) const
    {
        return (((NodeWord{chain_level} << (first_bits + place_bits)) | place) << level_bits) | level;
    }
    __device__ NodeWord level_of(NodeWord s) const { return s & ((1ull << level_bits) - 1); }
    __device__ NodeWord place_of(NodeWord s) const { return (s >> level_bits) & most_place; }
    __device__ index_t first_of(NodeWord s) const { return static_cast<index_t>((s >> chain_bits()) & first_mask()); }
    __device__ NodeWord chain_level_of(NodeWord s) const { return s >> chain_bits() >> first_bits; }
};

struct NodesView {
    Split split;
    const NodeWord* standing;
    const index_t* size;  // null: rows alone

    __device__ index_t level_of(index_t row) const
    {
        return static_cast<index_t>(size ? split.chain_level_of(standing[row]) : split.level_of(standing[row]));
    }
    __device__ index_t first_of(index_t row) const { return size ? split.first_of(standing[row]) : row; }
    __device__ index_t rows_of(index_t first) const { return size && size[first] > 0 ? size[first] : 1; }
    __device__ index_t place_of(index_t row) const
    {
        return first_of(row) == row ? 0 : static_cast<index_t>(split.place_of(standing[row]));
    }
};

// The arrays of a sweep, and those in which what it found is counted: one after the other, so that they are asked for
// and cleared at once.
constexpr offset_t counts_head = 8, counts_of_level = 2;  // words of a survey: its sums, and of each level
template <class Word>                                     // may be const
struct SweptArrays {
    using Small = std::conditional_t<std::is_const_v<Word>, const index_t, index_t>;
    Word* standing;
    Small* size;               // rows of each chain, by its first row; 0 where that is alone
    Small *ticket, *too_deep;  // too_deep 1: given up
    Word* counts;

    SweptArrays(Word* words, index_t rows)
        : standing(words),
          size(reinterpret_cast<Small*>(words + rows)),
          ticket(size + rows),
          too_deep(ticket + 1),
          counts(words + swept_words(rows))
    {}
    static offset_t swept_words(index_t rows) { return offset_t{rows} + (offset_t{rows} + 3) / 2; }
    static offset_t all_words(index_t rows, index_t levels)
    {
        return swept_words(rows) + counts_head + counts_of_level * levels;
    }
};
inline SweptArrays<const NodeWord> arrays_of(const LevelAnalysis& swept) { return {swept.words.data(), swept.rows}; }
inline SweptArrays<NodeWord> arrays_of(LevelAnalysis& swept) { return {swept.words.data(), swept.rows}; }

inline NodesView view_of(const LevelAnalysis& swept, bool chains)
{
    const auto arrays = arrays_of(swept);
    return {Split(swept.rows), arrays.standing, chains ? arrays.size : nullptr};
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
