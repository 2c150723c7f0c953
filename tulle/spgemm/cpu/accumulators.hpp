// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where a thread of the CPU sums a row of C. Both accumulators know which columns have been touched; the caller keeps the list of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tulle/base/math.hpp"
#include "tulle/device/buffer.hpp"

namespace tulle::spgemm {

// An array as long as a row. `mark` tells which row touched a column last, so nothing is cleared between rows.
template <class V>
struct DenseAccumulator {
    V* value;
    index_t* mark;
    index_t row = -1;

    void begin(index_t new_row, offset_t) { row = new_row; }

    // Whether the column is new in this row.
    bool touch(index_t col)
    {
        if (mark[col] == row) return false;
        mark[col] = row;
        return true;
    }

    bool add(index_t col, V product)
    {
        const bool is_new = touch(col);
        value[col] = is_new ? product : value[col] + product;
        return is_new;
    }

    V at(index_t col) const { return value[col]; }
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

    void begin(index_t, offset_t bound)
    {
        bits = bits_for(bound);
        std::fill(key, key + (offset_t{1} << bits), vacant);
    }

    // The slot of a column, or the vacant one where it belongs. At most half of the slots are taken, so the search ends.
    std::size_t slot(index_t col) const
    {
        const std::size_t last = (std::size_t{1} << bits) - 1;
        std::size_t at = (static_cast<std::uint32_t>(col) * std::uint32_t{2654435769u}) >> (32 - std::min(bits, 31)) & last;
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

}  // namespace tulle::spgemm
