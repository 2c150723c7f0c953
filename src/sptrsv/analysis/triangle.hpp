// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A triangle of a matrix in the order it is solved, as a pattern, on the host or on the GPU that analyses it: row 0
// needs nobody, row i only rows before it. An upper triangle is turned round (row i stands for row rows-1-i of op(A)),
// a transposed one is turned over. Values stay with the caller; `source` says where.
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// Rows of which the first is to be kept: the largest of them, turned, is the first, and none is zero.
constexpr index_t descending_key(index_t row) { return max_index - row; }

struct Triangle {
    index_t rows = 0;
    bool reversed = false;
    Buffer<offset_t> row_begin;  // entries left of the diagonal
    Buffer<index_t> col;         // ascending inside each row
    Buffer<offset_t> source;     // of each of them, in the caller's array of values; a GPU that takes rows as they are
                                 // stored has row_source instead
    Buffer<offset_t> diagonal;   // source of each diagonal entry; empty where the diagonal is taken as one
    Buffer<offset_t> row_source =
        {};  // of each row's first entry: those of the others follow, downwards where the triangle is reversed
    Buffer<index_t> first_dependent =
        {};  // of each row, the first that needs it, turned; 0: none. A GPU finds it while it takes the triangle

    offset_t nonzeros() const { return col.size(); }
    index_t row_of(index_t i) const { return reversed ? rows - 1 - i : i; }  // of op(A)
};

// What is stored, by rows, and how it is to be read.
struct TriangleSource {
    index_t rows = 0;
    const offset_t* row_begin = nullptr;  // where it is looked at
    const index_t* col = nullptr;
    offset_t nonzeros = max_offset;  // entries; a GPU refuses offsets that do not end with them, if they are told
    bool transpose = false;          // the system's matrix is what is stored, transposed
    bool upper = false;              // triangle of the system's matrix that counts
    bool unit_diagonal = false;      // its diagonal is one, whatever is stored
    bool ignore_other_side = false;  // entries on the other side are left out instead of refused
};

// ValueError names the row and column where the diagonal is missing, an entry stands on the wrong side or a position is
// stored twice.
Triangle make_triangle(const CpuQueue& host, const TriangleSource& stored);

}  // namespace tulle::inline TULLE_ABI::sptrsv
