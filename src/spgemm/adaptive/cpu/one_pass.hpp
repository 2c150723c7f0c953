// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A product in one pass, without a symbolic phase: rows are computed where there is room for all products, and gathered
// into C when its size is known. For rows of few products, where finding the columns of a row takes as long as its
// sums, and for a C that is computed once.
#pragma once

#include <cstddef>

#include "spgemm/steps.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm::one_pass {

inline constexpr index_t rows_in_block = 256;

// The rows of a block of C follow each other; those of the next block begin where its products begin.
template <class V>
struct Rows {
    Buffer<offset_t> row_begin;  // of C
    Buffer<index_t> col;
    Buffer<V> value;
    Buffer<offset_t> block_begin;  // products before each block of rows: where its first row is
    offset_t longest = 0;          // most products of a row

    offset_t room() const { return block_begin.empty() ? 0 : block_begin.data()[block_begin.size() - 1]; }
};

// Counts the products of blocks of rows, and decides: false if phases are better.
template <class V>
bool count_blocks(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, Rows<V>& rows);

// Bytes that the rest takes, C not counted.
template <class V>
std::size_t bytes_for(const CpuQueue& q, const Rows<V>& rows, index_t cols);

// Computes the rows; afterwards row_begin is that of C.
template <class V>
void multiply_rows(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, bool sorted, Rows<V>& rows);

// Copies them into C.
template <class V>
void gather_rows(const CpuQueue& q, const Rows<V>& rows, index_t* col, V* value);

}  // namespace tulle::inline TULLE_ABI::spgemm::one_pass
