// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Long rows of C from few nonzeros of A, cut into pieces that a thread can merge. Every cut_every-th entry of each list
// is a cut: between two neighbours of all cuts, in order of their columns, no list has more than cut_every entries.
// Where a cut stands among the others follows from where its column stands in every list, so that each is found by
// itself.
#include "prim/scan.hpp"
#include "prim/search.hpp"
#include "spgemm/adaptive/cuda/pieces.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int threads = 256;

// Rows that are cut: the group of few lists, and the one of more behind it.
struct CutRows {
    const index_t* list;
    offset_t rows;
};

CutRows cut_rows_of(const Workspace& work)
{
    const RowGroup &few = work.symbolic[static_cast<std::size_t>(SymbolicKernel::cut4) - 1],
                   &more = work.symbolic[static_cast<std::size_t>(SymbolicKernel::cut8) - 1];
    return {work.list.data() + few.begin, few.rows + more.rows};
}

// One thread per row.      pieces: of each
__global__ void __launch_bounds__(threads) count_cuts_kernel(Pattern a, Pattern b, CutRows r, offset_t* pieces)
{
    const offset_t i = global_thread();
    if (i >= r.rows) return;
    offset_t sum = 0;
    for (offset_t k = a.row_begin[r.list[i]]; k < a.row_begin[r.list[i] + 1]; ++k)
        sum += pieces_in(b.row_begin[a.col[k] + 1] - b.row_begin[a.col[k]]);
    pieces[i] = sum;
}

// One thread per cut.      row, col: every piece once
__global__ void __launch_bounds__(threads)
    cut_rows_kernel(Pattern a, Pattern b, CutRows r, const offset_t* begin, offset_t pieces, index_t* row, index_t* col)
{
    const offset_t number = global_thread();
    if (number >= pieces) return;
    const offset_t i = prim::upper_bound(begin, r.rows, number) - 1;
    const index_t mine = r.list[i];
    const offset_t first = a.row_begin[mine], last = a.row_begin[mine + 1];
    offset_t list = first, cut = number - begin[i];  // the nonzero of A whose row of B is cut, and the how manieth time
    for (; list < last; ++list) {
        const offset_t here = pieces_in(b.row_begin[a.col[list] + 1] - b.row_begin[a.col[list]]);
        if (cut < here) break;
        cut -= here;
    }
    const index_t column = b.col[b.row_begin[a.col[list]] + cut * cut_every];
    offset_t before = cut;
    for (offset_t k = first; k < last; ++k) {
        if (k == list) continue;
        const offset_t from = b.row_begin[a.col[k]], length = b.row_begin[a.col[k] + 1] - from,
                       below = prim::lower_bound(b.col + from, length, column);
        before += pieces_in(below);
        if (k < list && below % cut_every == 0 && below < length && b.col[from + below] == column)
            ++before;  // the same cut, by an earlier list
    }
    row[begin[i] + before] = mine;
    col[begin[i] + before] = column;
}

// A warp per row.      place: nonzeros of pieces before, where they begin after      count: every row once
__global__ void __launch_bounds__(threads) add_up_kernel(CutRows r, const offset_t* begin, int* place, offset_t* count)
{
    const offset_t i = team_number<32>();
    if (i >= r.rows) return;  // a whole warp
    int before = 0;
    for (offset_t batch = begin[i]; batch < begin[i + 1]; batch += 32) {
        const offset_t piece = batch + team_rank<32>();
        const int mine = piece < begin[i + 1] ? place[piece] : 0, end = before + warp_running_sum(mine);
        if (piece < begin[i + 1]) place[piece] = end - mine;
        before = __shfl_sync(all_lanes, end, 31);
    }
    if (team_rank<32>() == 0) count[r.list[i]] = before;
}

}  // namespace

PieceView pieces_for(const Pieces& pieces, bool few)
{
    const offset_t begin = few ? 0 : pieces.few, end = few ? pieces.few : pieces.all;
    return {end - begin, pieces.row.data() + begin, pieces.col.data() + begin,
            const_cast<int*>(pieces.place.data()) + begin};
}

Buffer<offset_t> cut_rows(const CudaQueue& q, const Pattern& a, const Pattern& b, Workspace& work)
{
    const CutRows r = cut_rows_of(work);
    Pieces& p = work.pieces;
    Buffer<offset_t> begin(q, r.rows + 1);
    p.row = Buffer<index_t>(q, p.all);
    p.col = Buffer<index_t>(q, p.all);
    p.place = Buffer<int>(q, p.all);
    launch(q, one_thread_each(r.rows, threads), count_cuts_kernel, a, b, r, begin.data());
    prim::exclusive_scan(q, begin.data(), begin.data(), r.rows);
    launch(q, one_thread_each(p.all, threads), cut_rows_kernel, a, b, r, begin.data(), p.all, p.row.data(),
           p.col.data());
    return begin;
}

void add_up_pieces(const CudaQueue& q, const Workspace& work, const offset_t* begin, offset_t* count)
{
    const CutRows r = cut_rows_of(work);
    launch(q, one_thread_each(r.rows * 32, threads), add_up_kernel, r, begin,
           const_cast<int*>(work.pieces.place.data()), count);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
