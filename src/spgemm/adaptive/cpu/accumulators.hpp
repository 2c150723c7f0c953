// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where a thread of the CPU sums a row of C, and finds its columns.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/math.hpp"
#include "spgemm/adaptive/cpu/masks.hpp"
#include "spgemm/adaptive/cpu/sort_columns.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// Which columns of a row were touched: a bit for each, and a bit for every 64 of those that has one set, so that they
// are found again in order. What is read is cleared; nothing else is, between rows.
struct ColumnBits {
    std::uint64_t* bits;     // (cols / 64)
    std::uint64_t* summary;  // (cols / 4096)
    index_t summaries;
    index_t low = summaries,
            high = -1;  // first and last summary with a touched column: a short row of a wide matrix looks at few

    static constexpr offset_t words_for(offset_t cols) { return (cols + 63) / 64; }

    void touch(index_t word, std::uint64_t mask)
    {
        if (bits[word] == 0) {
            const index_t at = word / 64;
            summary[at] |= std::uint64_t{1} << word % 64;
            low = std::min(low, at);
            high = std::max(high, at);
        }
        bits[word] |= mask;
    }

    void touch(index_t col) { touch(col / 64, std::uint64_t{1} << col % 64); }

    // The columns of a row of B.
    template <class B>
    void touch_row(const B& b, const MaskView& masks, index_t row)
    {
        if (masks.begin)
            for (offset_t m = masks.begin[row]; m < masks.begin[row + 1]; ++m) touch(masks.word[m], masks.mask[m]);
        else
            for (offset_t l = b.row_begin[row]; l < b.row_begin[row + 1]; ++l) touch(b.col[l]);
    }

    // take(word, bits) for every word with a touched column, ascending; afterwards none is touched.
    template <class Take>
    void take_words(Take&& take)
    {
        for (index_t s = low; s <= high; ++s)
            for (; summary[s] != 0; summary[s] &= summary[s] - 1) {
                const index_t word = s * 64 + std::countr_zero(summary[s]);
                take(word, bits[word]);
                bits[word] = 0;
            }
        low = summaries;
        high = -1;
    }

    // take(column) likewise.
    template <class Take>
    void take_columns(Take&& take)
    {
        take_words([&](index_t word, std::uint64_t left) {
            for (; left != 0; left &= left - 1) take(word * 64 + std::countr_zero(left));
        });
    }
};

// An array as long as a row, and which of its columns were touched.
template <class V>
struct DenseAccumulator : ColumnBits {
    V* value;  // (cols), -0.0: what changes no sum, not even the sign of zero
};

// A table with linear probing; a row uses as much of it as twice its bound needs, and clears that much.
template <class V>
struct HashAccumulator {
    V* value;
    index_t* key;
    int bits = 0;

    static constexpr index_t vacant = -1;

    static int bits_for(offset_t bound)
    {
        int bits = 4;
        while ((offset_t{1} << bits) < 2 * bound) ++bits;
        return bits;
    }

    void begin(offset_t bound)
    {
        bits = bits_for(bound);
        std::fill(key, key + (offset_t{1} << bits), vacant);
    }

    // The slot of a column, or the vacant one where it belongs. At most half of the slots are taken, so the search
    // ends.
    std::size_t slot(index_t col) const
    {
        const std::size_t last = (std::size_t{1} << bits) - 1;
        std::size_t at =
            (static_cast<std::uint32_t>(col) * std::uint32_t{2654435769u}) >> (32 - std::min(bits, 31)) & last;
        while (key[at] != vacant && key[at] != col) at = (at + 1) & last;
        return at;
    }

    bool touch(index_t col)
    {
        const std::size_t at = slot(col);
        if (key[at] == col) return false;
        key[at] = col;
        return true;
    }

    bool add(index_t col, V product)
    {
        const std::size_t at = slot(col);
        const bool is_new = key[at] != col;
        key[at] = col;
        value[at] = is_new ? product : value[at] + product;
        return is_new;
    }

    V at(index_t col) const { return value[slot(col)]; }
};

// An array as long as a row, and for each column the last row that touched it: nothing is cleared between rows, and an
// addition is one comparison. Columns come in the order in which they are met; sort() puts them in ascending order.
template <class V>
struct MarkedAccumulator {
    V* value;       // (cols)
    index_t* mark;  // (cols), below zero: no row yet
    index_t cols;
    index_t row;
    ColumnBits order;  // for rows that are to be sorted

    bool touch(index_t col)
    {
        const bool is_new = mark[col] != row;  // no branch: it would be mispredicted
        mark[col] = row;
        return is_new;
    }

    bool add(index_t col, V product)
    {
        const bool is_new = touch(col);
        value[col] = is_new ? product : value[col] + product;
        return is_new;
    }

    // Short lists by a network, long ones by the bits of their columns.
    void sort(index_t* col, offset_t n)
    {
        if (std::is_sorted(col, col + n)) return;
        if (n <= most_in_network) return sort_few(col, n);
        for (offset_t k = 0; k < n; ++k) order.touch(col[k]);
        order.take_columns([&](index_t c) { *col++ = c; });
    }

    V at(index_t col) const { return value[std::clamp(col, 0, cols - 1)]; }  // whatever a caller's columns are
};

}  // namespace tulle::inline TULLE_ABI::spgemm
