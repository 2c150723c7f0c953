// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C from few nonzeros of A: the rows of B they ask for are sorted lists, and a thread merges them. Long rows
// are cut into pieces first.
#pragma once

#include "spgemm/adaptive/cuda/pattern.hpp"
#include "spgemm/steps.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

struct Task;
template <class V>
struct FillArguments;

// Pieces of rows of C, one behind the other.
struct PieceView {
    offset_t pieces;
    const index_t* row;
    const index_t* col;  // the first column that a piece may have; it ends where the next one of its row begins
    int* place;          // counting: its nonzeros; filling: where it begins in its row
};

// How many pieces rows with more than few_lists, or up to that many nonzeros of A have: those with fewer stand first.
PieceView pieces_for(const Pieces& pieces, bool few);

// work.pieces.row and col of the rows whose counters are cut4 and cut8; begin[i] is the first piece of row i of these,
// in the order of the list.
Buffer<offset_t> cut_rows(const CudaQueue& q, const Pattern& a, const Pattern& b, Workspace& work);
// count[row] of the same rows from the nonzeros of their pieces, which become places.
void add_up_pieces(const CudaQueue& q, const Workspace& work, const offset_t* begin, offset_t* count);

// count[row], or the nonzeros of pieces. `lists`: the most nonzeros of A, few_lists or most_lists.
void count_lists(const CudaQueue& q, const Pattern& a, const Pattern& b, const Task& task, int lists, offset_t* count);
void count_pieces(const CudaQueue& q, const Pattern& a, const Pattern& b, const PieceView& p, int lists);

// Columns, where they are wanted, and values.
template <class V>
void fill_lists(const FillArguments<V>& f, int lists, bool columns);
template <class V>
void fill_pieces(const FillArguments<V>& f, const PieceView& p, int lists, bool columns);

}  // namespace tulle::inline TULLE_ABI::spgemm
