// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Small products on a GPU, computed once: one kernel computes every row of C in shared memory and writes it wherever
// there is room; the last block puts the rows in order. The host waits for the size of C, and a second kernel gathers
// the rows. No symbolic phase, no groups. A long row of A would keep one warp busy for longer than phases take: then
// the kernel gives up.
#pragma once

#include <algorithm>

#include "spgemm/steps.hpp"

namespace tulle::inline TULLE_ABI::spgemm::small {

// A row of C takes sizeof(value) + 1 bytes of shared memory a column: this many fit on every GPU. Beyond the second
// limit a multiprocessor holds so few rows at a time that phases are faster (measured: in one kernel and in phases G37,
// 2000 x 2000, 159 and 227 µs; ACTIVSg2000, 4000 x 4000, 133 and 109; add32, 4960 x 4960, 180 and 131).
inline constexpr index_t most_columns = 8192;
inline constexpr offset_t most_positions = offset_t{1} << 23;  // rows times columns
inline constexpr offset_t most_products = offset_t{1} << 25;   // estimated
// Nonzeros of a row of A. A warp adds up the rows of B one after the other, four in 1.7 µs (measured: in one kernel and
// in phases hangGlider_2 with a row of 1463, 629 and 262 µs; reorientation_1, 632, 182 and 160; rajat19, 338, 129 and
// 159).
inline constexpr offset_t longest_row = 512;

// Products, if the rows of B that A asks for are as long as B's rows are in the mean.
constexpr offset_t expected_products(const Features& t)
{
    return t.nonzeros_a * (t.nonzeros_b / std::max(t.inner, 1) + 1);
}

constexpr bool is_small(const Features& t)
{
    return t.rows > 0 && t.cols > 0 && t.cols <= most_columns && offset_t{t.rows} * t.cols <= most_positions &&
           t.nonzeros_a <= most_products && t.nonzeros_b <= most_products && expected_products(t) <= most_products;
}

// Room for so many entries of C in the first attempt: what is rarely too little. 50 MB of doubles at most.
constexpr offset_t first_room(const Features& t)
{
    constexpr offset_t least = offset_t{1} << 16, most = offset_t{1} << 22, spread = 8;
    return std::min({offset_t{t.rows} * t.cols, std::max(least, spread * expected_products(t)), most});
}

struct RowPlace {
    index_t begin, count;
};

// All rows of C, each in one piece, in any order.
template <class V>
struct PlacedRows {
    Buffer<RowPlace> place;
    Buffer<index_t> col;
    Buffer<V> value;
    Buffer<offset_t> row_begin;  // of C
    offset_t nonzeros = 0;       // of C; gave_up: A has a row that is too long, and nothing is computed
};

inline constexpr offset_t gave_up = -1;

// Waits.
template <class V>
PlacedRows<V> multiply_rows(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Features& features);

// Columns and values to where row_begin says.
template <class V>
void gather_rows(const CudaQueue& q, const PlacedRows<V>& rows, index_t* col, V* value);

}  // namespace tulle::inline TULLE_ABI::spgemm::small
