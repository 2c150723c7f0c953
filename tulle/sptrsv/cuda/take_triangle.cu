// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The triangle from the caller's rows, on the GPU: rows are counted, a scan gives each its place, and every entry is written there. The result is that of
// make_triangle, which is left to say what is wrong where anything is.
#include "tulle/device/cuda/mailbox.cuh"
#include "tulle/device/cuda/value_flag.cuh"
#include "tulle/prim/scan.hpp"
#include "tulle/sptrsv/steps.hpp"

namespace tulle::sptrsv {
namespace {

constexpr int takers = 4;                                  // warps of a block
constexpr unsigned whole_warp = 0xffffffffu;

// Whether a row can be gone through at all.
__device__ bool is_sound(const Stored& s, offset_t row, offset_t begin, offset_t end)
{
    const bool ends = row + 1 < s.rows || s.nonzeros == max_offset || end == s.nonzeros;
    return begin >= 0 && begin <= end && end <= s.nonzeros && ends && (row > 0 || begin == 0);
}

// Entries of each row of the triangle; at fault: offsets or columns beyond the matrix, rows out of order, a column twice, an entry on the other side, no diagonal.
//   grid: one warp per row      count: every row written once      fault: zero before; the host sees it
__global__ void __launch_bounds__(takers* lanes) count_triangle_kernel(Stored s, offset_t* count, offset_t* fault)
{
    const offset_t row = global_thread() / lanes;
    if (row >= s.rows) return;                             // the whole warp
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t begin = s.row_begin[row], end = s.row_begin[row + 1];
    int inside = 0;
    bool wrong = !is_sound(s, row, begin, end), diagonal = s.unit_diagonal;
    for (offset_t k = begin + lane; k < end && !wrong; k += lanes) {
        const index_t col = s.col[k];
        const bool is_inside = s.upper ? col > row : col < row;
        inside += is_inside ? 1 : 0;
        diagonal = diagonal || col == row;
        wrong = wrong || col < 0 || col >= s.rows || (k > begin && s.col[k - 1] >= col) || (!is_inside && col != row && !s.ignore_other_side);
    }
    inside = slice_sum<lanes>(inside);
    const bool any_wrong = __any_sync(whole_warp, wrong), any_diagonal = __any_sync(whole_warp, diagonal);
    if (lane != 0) return;
    count[s.upper ? s.rows - 1 - row : row] = inside;
    if (any_wrong || !any_diagonal) store_relaxed(fault, 1);
}

// Rows of the triangle from sorted rows of what is stored: a lower one has their beginnings, an upper one their ends, turned round.
//   grid: one warp per row      col, source, diagonal: every entry written once
__global__ void __launch_bounds__(takers* lanes) take_triangle_kernel(Stored s, const offset_t* row_begin, index_t* col, offset_t* source, offset_t* diagonal)
{
    const offset_t i = global_thread() / lanes;
    if (i >= s.rows) return;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const offset_t row = s.upper ? s.rows - 1 - i : i, begin = row_begin[i], count = row_begin[i + 1] - begin;
    const offset_t first = s.upper ? s.row_begin[row + 1] - 1 : s.row_begin[row], step = s.upper ? -1 : 1;
    for (offset_t k = lane; k < count; k += lanes) {
        const offset_t at = first + step * k;
        col[begin + k] = s.upper ? s.rows - 1 - s.col[at] : s.col[at];
        source[begin + k] = at;
    }
    if (diagonal && lane == 0) diagonal[i] = first + step * count;
}

}  // namespace

std::optional<Triangle> take_triangle(const CudaQueue& q, const Stored& stored)
{
    require<ValueError>(!stored.transpose, "rows are taken as they are stored");
    const index_t rows = stored.rows;
    const auto grid = one_thread_each(offset_t{rows} * lanes, takers * lanes);
    Triangle there{.rows = rows, .reversed = stored.upper, .row_begin = Buffer<offset_t>(q, offset_t{rows} + 1), .col = {}, .source = {}, .diagonal = {}};
    struct Told {
        offset_t fault, nonzeros;
    };
    cuda::Mailbox<Told> told(q);
    told.there()->fault = 0;
    launch(q, grid, count_triangle_kernel, stored, there.row_begin.data(), &told.there()->fault);
    prim::exclusive_scan(q, there.row_begin.data(), there.row_begin.data(), rows);
    cuda::post<offset_t>(q, there.row_begin.data() + rows, &told.there()->nonzeros);
    const auto [fault, nonzeros] = told.wait();
    if (fault != 0) return std::nullopt;
    there.col = Buffer<index_t>(q, nonzeros);
    there.source = Buffer<offset_t>(q, nonzeros);
    there.diagonal = Buffer<offset_t>(q, stored.unit_diagonal ? 0 : rows);
    launch(q, grid, take_triangle_kernel, stored, there.row_begin.data(), there.col.data(), there.source.data(), stored.unit_diagonal ? nullptr : there.diagonal.data());
    return there;
}

}  // namespace tulle::sptrsv
