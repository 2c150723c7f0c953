// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C with few products. Sums stand in the order in which their columns are met; a small table of bytes finds
// them. At the end the place of every column is the number of smaller ones: all are compared with all, eight at a time
// and without a branch, where a sort or a walk through an array mispredicts a branch at nearly every entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tulle/csr.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

template <class V>
class ShortRow {
public:
    static constexpr int most_products = 64;  // comparisons grow with the square

    // For a row with so many products.
    explicit ShortRow(offset_t products)
        : bits_(products <= few_products ? 6 : 8),
          products_(static_cast<int>(products))
    {
        std::memset(table_, 0, std::size_t{1} << bits_);
    }

    // Counts the different columns.
    int count(const CsrView<V>& a, const CsrView<V>& b, index_t row)
    {
        for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
            for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l) number_of(b.col[l]);
        return distinct_;
    }

    // Ascending columns and their sums.
    void fill(const CsrView<V>& a, const CsrView<V>& b, index_t row, index_t* col, V* value)
    {
        std::fill(sum_, sum_ + products_, V(-0.0));  // what changes no sum, not even the sign of zero
        for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
            const V factor = a.value[k];
            for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l)
                sum_[number_of(b.col[l])] += factor * b.value[l];
        }
        write(col, value);
    }

private:
    static constexpr int lanes = 4, few_products = 16;
    using Quad = index_t __attribute__((vector_size(lanes * sizeof(index_t))));

    // A quarter of the table is taken at most, so the search ends.
    int number_of(index_t col)
    {
        std::uint32_t at = (static_cast<std::uint32_t>(col) * std::uint32_t{2654435769u}) >> (32 - bits_);
        while (table_[at] != 0 && col_[table_[at] - 1] != col) at = (at + 1) % (1u << bits_);
        if (table_[at] == 0) {
            col_[distinct_] = col;
            table_[at] = static_cast<unsigned char>(++distinct_);
        }
        return table_[at] - 1;
    }

    void write(index_t* col, V* value)
    {
        std::fill(col_ + distinct_, col_ + distinct_ + 2 * lanes, 0);
        for (int p = 0; p < distinct_; p += 2 * lanes) {
            const Quad low = load(p), high = load(p + lanes);
            Quad below_low{}, below_high{};
            for (int q = 0; q < distinct_; ++q) {
                const index_t c = col_[q];
                const Quad all{c, c, c, c};
                below_low -= all < low;
                below_high -= all < high;
            }
            index_t place[2 * lanes];
            std::memcpy(place, &below_low, sizeof below_low);
            std::memcpy(place + lanes, &below_high, sizeof below_high);
            const int count = std::min(2 * lanes, distinct_ - p);
            for (int k = 0; k < count; ++k) {
                col[place[k]] = col_[p + k];
                value[place[k]] = sum_[p + k];
            }
        }
    }
    Quad load(int p) const
    {
        Quad loaded;
        std::memcpy(&loaded, col_ + p, sizeof loaded);
        return loaded;
    }

    unsigned char table_[4 * most_products];
    index_t col_[most_products + 2 * lanes];
    V sum_[most_products];
    int bits_, products_, distinct_ = 0;
};

}  // namespace tulle::inline TULLE_ABI::spgemm
