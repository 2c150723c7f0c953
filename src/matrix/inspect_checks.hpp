// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What can be wrong at one position of a matrix, written once for hosts and kernels: check(k) is true where something
// is. Steps find the first such position or count them. Keys put entries into an order in which equal positions are
// neighbours.
#pragma once

#include <cstdint>

#include "prim/search.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::inspect {

// begin[i] … begin[i+1] is no range of positions below `nonzeros`, where begin[i] is one.
struct BadBegin {
    const offset_t* begin;
    offset_t nonzeros;
    constexpr bool operator()(offset_t i) const { return begin[i + 1] < begin[i] || begin[i + 1] > nonzeros; }
};

struct Outside {
    const index_t* index;
    index_t lowest, limit;
    constexpr bool operator()(offset_t k) const { return index[k] < lowest || index[k] >= limit; }
};

constexpr std::uint64_t pair_key(index_t major, index_t minor)
{
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(major)) << 32 | static_cast<std::uint32_t>(minor);
}

// Keys of entries in compressed rows, whose offsets are known to be sound.
struct RowKey {
    const offset_t* begin;
    index_t rows;
    const index_t* col;
    constexpr index_t row(offset_t k) const
    {
        return static_cast<index_t>(prim::upper_bound(begin, offset_t{rows} + 1, k) - 1);
    }
    constexpr std::uint64_t operator()(offset_t k) const { return pair_key(row(k), col[k]); }
};

struct PairKey {
    const index_t* major;
    const index_t* minor;
    constexpr std::uint64_t operator()(offset_t k) const { return pair_key(major[k], minor[k]); }
};

// Keys of the slots of Blocked-ELL; padding is kept apart, so that no two slots of it look the same.
struct SlotKey {
    const index_t* block_col;
    index_t width;
    constexpr std::uint64_t operator()(offset_t k) const
    {
        const auto row = static_cast<std::uint64_t>(k / width) << 32;
        const auto slot = static_cast<std::uint32_t>(k % width);
        return row | (block_col[k] < 0 ? std::uint32_t{1} << 31 | slot : static_cast<std::uint32_t>(block_col[k]));
    }
};

// An entry that comes after a larger one, or, where repeats count as well, after one that is not smaller.
struct RowOrder {
    RowKey key;
    bool repeats = false;
    constexpr bool starts_row(offset_t k) const
    {
        const offset_t row = prim::lower_bound(key.begin, offset_t{key.rows} + 1, k);
        return row <= key.rows && key.begin[row] == k;
    }
    constexpr bool falls(offset_t k) const
    {
        return k > 0 && key.col[k] < key.col[k - 1] + (repeats ? offset_t{1} : 0);
    }
    // In sorted rows columns fall only where a row starts, so the search is seldom done.
    constexpr bool operator()(offset_t k) const { return falls(k) && !starts_row(k); }
};

struct PairOrder {
    PairKey key;
    bool repeats = false;
    constexpr bool operator()(offset_t k) const
    {
        return k > 0 && (key(k) < key(k - 1) || (repeats && key(k) == key(k - 1)));
    }
};

struct SlotOrder {
    SlotKey key;
    bool repeats = false;
    constexpr bool operator()(offset_t k) const
    {
        return k > 0 && (key(k) < key(k - 1) || (repeats && key(k) == key(k - 1)));
    }
};

// Sorted keys: the same as the one before.
struct SameKey {
    const std::uint64_t* key;
    constexpr bool operator()(offset_t k) const { return k > 0 && key[k] == key[k - 1]; }
};

// Blocked-ELL: a block behind padding.
struct BlockAfterPadding {
    const index_t* block_col;
    index_t width;
    constexpr bool operator()(offset_t k) const { return k % width != 0 && block_col[k] >= 0 && block_col[k - 1] < 0; }
};

template <class V>
constexpr bool is_finite(V value)
{
    return value - value == V(0);  // NaN for NaN and for infinities
}

template <class V>
struct NotFinite {
    const V* value;
    constexpr bool operator()(offset_t k) const { return !is_finite(value[k]); }
};

// Values of Blocked-ELL, one by one; the block columns are known to be sound.
template <class V>
struct BlockValue {
    const index_t* block_col;
    const V* value;
    index_t rows, cols, block, width;

    constexpr offset_t slot(offset_t k) const { return k / (offset_t{block} * block); }
    constexpr offset_t row(offset_t k) const { return slot(k) / width * block + k % (offset_t{block} * block) / block; }
    constexpr offset_t col(offset_t k) const { return offset_t{block_col[slot(k)]} * block + k % block; }
    constexpr bool padding(offset_t k) const { return block_col[slot(k)] < 0; }
};

template <class V>
struct NotFiniteInBlock {
    BlockValue<V> at;
    constexpr bool operator()(offset_t k) const { return !is_finite(at.value[k]) && !at.padding(k); }
};

template <class V>
struct NotZeroBeyondEdge {
    BlockValue<V> at;
    constexpr bool operator()(offset_t k) const
    {
        return at.value[k] != V(0) && !at.padding(k) && (at.row(k) >= at.rows || at.col(k) >= at.cols);
    }
};

struct IsZero {
    const offset_t* count;
    constexpr bool operator()(offset_t k) const { return count[k] == 0; }
};

// A row's length; offsets that fall, which only an unchecked matrix has, count as empty.
constexpr offset_t length_of(const offset_t* row_begin, offset_t row)
{
    return row_begin[row + 1] > row_begin[row] ? row_begin[row + 1] - row_begin[row] : 0;
}

struct HasLength {
    const offset_t* begin;
    offset_t length;
    constexpr bool operator()(offset_t i) const { return length_of(begin, i) == length; }
};

}  // namespace tulle::inline TULLE_ABI::inspect
