// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C with few products. The place of a column is the number of smaller ones: all are compared with all, eight at
// a time and without a branch, where a sort or a walk through an array mispredicts a branch at nearly every entry.
//
// Up to 16 products are compared as they are. Those with equal columns have the same place and are added up there;
// places between them stay empty and are left out at the end. With more products, sums stand in the order in which
// their columns are met, a small table of bytes finds them, and only the different columns are compared.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/vector.hpp"
#include "tulle/csr.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// For each of n columns how many are smaller; columns and places have room for seven more.
inline void count_smaller(const index_t* col, int n, index_t* place)
{
    constexpr int lanes = 4;
    using Quad = index_t __attribute__((vector_size(lanes * sizeof(index_t))));
    for (int p = 0; p < n; p += 2 * lanes) {
        Quad low, high, below_low{}, below_high{};
        std::memcpy(&low, col + p, sizeof low);
        std::memcpy(&high, col + p + lanes, sizeof high);
        for (int q = 0; q < n; ++q) {
            const index_t c = col[q];
            const Quad all{c, c, c, c};
            below_low -= all < low;
            below_high -= all < high;
        }
        std::memcpy(place + p, &below_low, sizeof below_low);
        std::memcpy(place + p + lanes, &below_high, sizeof below_high);
    }
}

// A row with at most 16 products. Nothing depends on the lengths of rows but the number of steps: rows of B are read
// four entries at a time, comparisons and sums are those of 8 or 16 products. What is behind the last product has a
// column above all others.
template <class V>
class FewProducts {
public:
    static constexpr int most = 16;

    FewProducts() {}  // and nothing is set to zero

    int count(const CsrView<V>& a, const CsrView<V>& b, index_t row)
    {
        gather<false>(a, b, row);
        return count_bits(n_ <= half ? places<half>() : places<most>());
    }

    // `room`: entries from `col` on that are written after this row, or by it.
    void fill(const CsrView<V>& a, const CsrView<V>& b, index_t row, index_t* col, V* value, offset_t room)
    {
        gather<true>(a, b, row);
        if (n_ <= half) write<half>(col, value, room);
        else write<most>(col, value, room);
    }

private:
    static constexpr int half = most / 2, step = 4;
    static constexpr index_t above_all = std::numeric_limits<index_t>::max();

    template <bool Values>
    void gather(const CsrView<V>& a, const CsrView<V>& b, index_t row)
    {
        int n = 0;
        for (offset_t k = a.row_begin[row], last = a.row_begin[row + 1]; k < last; ++k) {
            const offset_t end = b.row_begin[a.col[k] + 1];
            for (offset_t l = b.row_begin[a.col[k]]; l < end && n < most; l += step) {
                const int some = static_cast<int>(std::min(offset_t{step}, end - l));
                if (b.nonzeros - l >= step) {
                    std::memcpy(col_ + n, b.col + l, step * sizeof(index_t));
                    if constexpr (Values) simd::store(product_ + n, a.value[k] * simd::load<step>(b.value + l));
                } else
                    for (int i = 0; i < some; ++i) {
                        col_[n + i] = b.col[l + i];
                        if constexpr (Values) product_[n + i] = a.value[k] * b.value[l + i];
                    }
                n += some;
            }
        }
        n_ = n;
        std::fill_n(col_ + n, half, above_all);
        if constexpr (Values) std::fill_n(product_ + n, half, V());  // added up where nobody looks
    }

    // A bit for every place that a column has, of the first `Room` entries.
    template <int Room>
    unsigned places()
    {
        count_smaller(col_, Room, place_);
        unsigned taken = 0;
        for (int p = 0; p < Room; ++p) taken |= 1u << place_[p];
        return taken & ((1u << n_) - 1);
    }

    static int count_bits(unsigned x)  // 16 at most; std::popcount is a call on the oldest x86-64
    {
        x = (x & 0x5555u) + (x >> 1 & 0x5555u);
        x = (x & 0x3333u) + (x >> 2 & 0x3333u);
        x = (x & 0x0f0fu) + (x >> 4 & 0x0f0fu);
        return static_cast<int>((x & 0xffu) + (x >> 8));
    }

    template <int Room>
    void write(index_t* col, V* value, offset_t room)
    {
        unsigned taken = places<Room>();
        index_t at[Room + 1] = {};
        V sum[Room + 1];
        std::fill_n(sum, Room + 1, V(-0.0));  // what changes no sum, not even the sign of zero
        for (int p = 0; p < Room; ++p) {
            at[place_[p]] = col_[p];
            sum[place_[p]] += product_[p];
        }
        if (room >= Room) {  // without a branch: what is not taken is written over
            for (int p = 0; p < Room; ++p) {
                *col = at[p];
                *value = sum[p];
                col += taken >> p & 1u;
                value += taken >> p & 1u;
            }
            return;
        }
        for (; taken != 0; taken &= taken - 1) {
            *col++ = at[std::countr_zero(taken)];
            *value++ = sum[std::countr_zero(taken)];
        }
    }

    // Room for a last step and what is behind it, also where a row has become longer than it was said to be.
    index_t col_[most + step + half], place_[most];
    V product_[most + step + half];
    int n_ = 0;
};

template <class V>
class ShortRow {
public:
    static constexpr int most_products = 64;  // comparisons grow with the square

    // For a row with so many products.
    explicit ShortRow(offset_t products) : products_(static_cast<int>(products))
    {
        std::memset(table_, 0, sizeof table_);
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
    static constexpr int bits = 8;
    static_assert((1 << bits) == 4 * most_products);

    // A quarter of the table is taken at most, so the search ends.
    int number_of(index_t col)
    {
        std::uint32_t at = (static_cast<std::uint32_t>(col) * std::uint32_t{2654435769u}) >> (32 - bits);
        while (table_[at] != 0 && col_[table_[at] - 1] != col) at = (at + 1) % (1u << bits);
        if (table_[at] == 0) {
            col_[distinct_] = col;
            table_[at] = static_cast<unsigned char>(++distinct_);
        }
        return table_[at] - 1;
    }

    void write(index_t* col, V* value)
    {
        index_t place[most_products + 7];
        std::fill(col_ + distinct_, col_ + distinct_ + 7, 0);
        count_smaller(col_, distinct_, place);
        for (int p = 0; p < distinct_; ++p) {
            col[place[p]] = col_[p];
            value[place[p]] = sum_[p];
        }
    }

    unsigned char table_[4 * most_products];
    index_t col_[most_products + 7];
    V sum_[most_products];
    int products_, distinct_ = 0;
};

// Different columns of a row with at most ShortRow::most_products.
template <class V>
int count_short(const CsrView<V>& a, const CsrView<V>& b, index_t row, offset_t products)
{
    return products <= FewProducts<V>::most ? FewProducts<V>().count(a, b, row)
                                            : ShortRow<V>(products).count(a, b, row);
}

// Ascending columns of such a row and their sums; `room` as for FewProducts.
template <class V>
void fill_short(const CsrView<V>& a, const CsrView<V>& b, index_t row, offset_t products, index_t* col, V* value,
                offset_t room)
{
    if (products <= FewProducts<V>::most) FewProducts<V>().fill(a, b, row, col, value, room);
    else ShortRow<V>(products).fill(a, b, row, col, value);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
