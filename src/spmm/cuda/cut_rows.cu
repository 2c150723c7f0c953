// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows to lines of work for the row kernel: rows and nonzeros are counted through the matrix, and rows that begin
// within the same `piece` of that count are one line; rows of more than `piece` nonzeros are cut into equal pieces,
// each a line. Which row is cut how depends on its length alone. A count, a scan and a list, all where the matrix lies:
// a plan for one product makes it too.
#include <algorithm>
#include <limits>

#include "base/math.hpp"
#include "device/cuda/kernel.cuh"
#include "prim/scan.hpp"
#include "spmm/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int threads = 256;

// Rows in an array, and how they are cut.
struct Cut {
    const offset_t* row_begin;
    index_t rows;
    offset_t piece;

    __device__ offset_t length(index_t row) const { return row_begin[row + 1] - row_begin[row]; }
    // 0: the row stays whole. Pieces of enormous rows are longer, because their sums are not added up all at once.
    __device__ offset_t pieces(index_t row) const
    {
        const offset_t wanted = (length(row) + piece - 1) / piece;
        return wanted <= 1 ? 0 : wanted < most_pieces ? wanted : offset_t{most_pieces};
    }
    // Whether a line begins with this row, as one does behind a row that is cut: that one has more than a piece of the
    // count.
    __device__ bool begins(index_t row) const
    {
        return row == 0 || pieces(row) > 0 || (row_begin[row] + row) / piece != (row_begin[row - 1] + row - 1) / piece;
    }
};

// Lines that begin with a row, and slots for sums among them, in one number: both are added up at once.
constexpr offset_t line_unit = offset_t{1} << 32;
__device__ inline offset_t lines_of(offset_t both) { return both / line_unit; }
__device__ inline std::int32_t slots_of(offset_t both) { return static_cast<std::int32_t>(both % line_unit); }

//   grid: ceil(rows / threads)      shared memory: none      count: one a row
__global__ void __launch_bounds__(threads) count_lines_kernel(Cut cut, offset_t* count)
{
    const offset_t i = global_thread();
    if (i >= cut.rows) return;
    const auto row = static_cast<index_t>(i);
    const offset_t pieces = cut.pieces(row);
    count[row] = pieces > 0 ? pieces * (line_unit + 1) : cut.begins(row) ? line_unit : 0;
}

//   grid: ceil(rows / threads)      shared memory: none      line: all of them
__global__ void __launch_bounds__(threads) write_lines_kernel(Cut cut, const offset_t* first, RowLine* line)
{
    const offset_t i = global_thread();
    if (i >= cut.rows) return;
    const auto row = static_cast<index_t>(i);
    if (!cut.begins(row)) return;
    RowLine* to = line + lines_of(first[row]);
    const offset_t pieces = cut.pieces(row), begin = cut.row_begin[row], length = cut.length(row);
    for (offset_t p = 0; p < pieces; ++p)
        to[p] = {begin + length * p / pieces, begin + length * (p + 1) / pieces, row, static_cast<std::int32_t>(pieces),
                 slots_of(first[row]),        static_cast<std::int32_t>(p)};
    if (pieces > 0) return;
    index_t stop = row + 1;
    while (stop < cut.rows && !cut.begins(stop)) ++stop;
    *to = {begin, cut.row_begin[stop], row, stop - row, -1, 0};
}

}  // namespace

RowLines cut_rows(const CudaQueue& q, index_t rows, const offset_t* row_begin, offset_t nonzeros, int piece)
{
    require<ValueError>(piece > 0 && nonzeros / piece + rows <= std::numeric_limits<std::int32_t>::max(),
                        "too many pieces of rows");
    const Cut cut{row_begin, rows, piece};
    Buffer<offset_t> first(q, offset_t{rows} + 1);
    const LaunchShape shape = one_thread_each(rows, threads);
    launch(q, shape, count_lines_kernel, cut, first.data());
    prim::exclusive_scan(q, first.data(), first.data(), rows);
    const auto both = read_value<offset_t>(q, first.data() + rows);
    RowLines made{Buffer<RowLine>(q, both / line_unit), static_cast<std::int32_t>(both % line_unit)};
    launch(q, shape, write_lines_kernel, cut, first.data(), made.line.data());
    return made;
}

}  // namespace tulle::inline TULLE_ABI::spmm
