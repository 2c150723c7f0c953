// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The triangle from the caller's rows, on the GPU: rows are counted, a scan gives each its place, and every entry is written there. The result is that of
// make_triangle, which is left to say what is wrong where anything is.
#include "tulle/device/cuda/mailbox.cuh"
#include "tulle/device/cuda/value_flag.cuh"
#include "tulle/prim/scan.hpp"
#include "tulle/sptrsv/cuda/lanes_of_rows.hpp"
#include "tulle/sptrsv/steps.hpp"

namespace tulle::sptrsv {
namespace {

constexpr int takers = 4;                                  // warps of a block
constexpr int entries_at_once = 4;                         // of a lane, whose loads are on their way together

// Whether a row can be gone through at all.
__device__ bool is_sound(const Stored& s, offset_t row, offset_t begin, offset_t end)
{
    const bool ends = row + 1 < s.rows || s.nonzeros == max_offset || end == s.nonzeros;
    return begin >= 0 && begin <= end && end <= s.nonzeros && ends && (row > 0 || begin == 0);
}

// Entries of each row of the triangle; at fault: offsets or columns beyond the matrix, rows out of order, a column twice, an entry on the other side, no diagonal.
//   grid: so many lanes per row      count: every row written once      first_to_need: zero after      fault: zero before; the host sees it
template <int Lanes>
__global__ void __launch_bounds__(takers* lanes) count_triangle_kernel(Stored s, offset_t* count, index_t* first_to_need, offset_t* fault)
{
    const offset_t row = global_thread() / Lanes;
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const bool there = row < s.rows;
    const offset_t begin = there ? s.row_begin[row] : 0, stored_end = there ? s.row_begin[row + 1] : 0;
    int inside = 0;
    bool wrong = there && !is_sound(s, row, begin, stored_end), diagonal = s.unit_diagonal;
    const offset_t end = wrong ? begin : stored_end;
#pragma unroll 4
    for (offset_t k = begin + lane; k < end; k += Lanes) {
        const index_t col = s.col[k];
        const bool is_inside = s.upper ? col > row : col < row;
        inside += is_inside ? 1 : 0;
        diagonal = diagonal || col == row;
        wrong = wrong || col < 0 || col >= s.rows || (k > begin && s.col[k - 1] >= col) || (!is_inside && col != row && !s.ignore_other_side);
    }
    inside = slice_sum<Lanes>(inside);
    const bool any_wrong = slice_max<Lanes>(wrong ? 1 : 0) != 0, any_diagonal = slice_max<Lanes>(diagonal ? 1 : 0) != 0;
    if (!there || lane != 0) return;
    const offset_t i = s.upper ? s.rows - 1 - row : row;
    count[i] = inside;
    first_to_need[i] = 0;
    if (any_wrong || !any_diagonal) store_relaxed(fault, 1);
}

// Rows of the triangle from sorted rows of what is stored: a lower one has their beginnings, an upper one their ends, turned round.
//   grid: so many lanes per row      col, source, diagonal: every entry written once      first_to_need: zero before
template <int Lanes>
__global__ void __launch_bounds__(takers* lanes)
take_triangle_kernel(Stored s, const offset_t* row_begin, index_t* col, offset_t* source, offset_t* diagonal, index_t* first_to_need)
{
    const offset_t i = global_thread() / Lanes;
    if (i >= s.rows) return;
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const offset_t row = s.upper ? s.rows - 1 - i : i, begin = row_begin[i], count = row_begin[i + 1] - begin;
    const offset_t first = s.upper ? s.row_begin[row + 1] - 1 : s.row_begin[row], step = s.upper ? -1 : 1;
    const index_t mine = max_index - static_cast<index_t>(i);
    for (offset_t chunk = lane; chunk < count; chunk += entries_at_once * Lanes) {
        index_t needed[entries_at_once], known[entries_at_once];
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            const offset_t k = chunk + n * Lanes;
            needed[n] = k < count ? s.col[first + step * k] : -1;
            needed[n] = s.upper && k < count ? s.rows - 1 - needed[n] : needed[n];
        }
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) known[n] = needed[n] < 0 ? mine : load_relaxed(&first_to_need[needed[n]]);
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            if (needed[n] < 0) continue;
            const offset_t k = chunk + n * Lanes;
            col[begin + k] = needed[n];
            source[begin + k] = first + step * k;
            if (known[n] < mine) atomicMax(&first_to_need[needed[n]], mine);
        }
    }
    if (diagonal && lane == 0) diagonal[i] = first + step * count;
}

}  // namespace

std::optional<Triangle> take_triangle(const CudaQueue& q, const Stored& stored)
{
    require<ValueError>(!stored.transpose, "rows are taken as they are stored");
    const index_t rows = stored.rows;
    Triangle there{.rows = rows, .reversed = stored.upper, .row_begin = Buffer<offset_t>(q, offset_t{rows} + 1), .col = {}, .source = {}, .diagonal = {},
                   .first_to_need = Buffer<index_t>(q, rows)};
    struct Told {
        offset_t fault, nonzeros;
    };
    cuda::Mailbox<Told> told(q);
    told.there()->fault = 0;
    with_lanes_of_rows(rows, stored.nonzeros, [&](auto of_row) {
        launch(q, one_thread_each(offset_t{rows} * of_row(), takers * lanes), count_triangle_kernel<of_row()>, stored, there.row_begin.data(), there.first_to_need.data(),
               &told.there()->fault);
    });
    prim::exclusive_scan(q, there.row_begin.data(), there.row_begin.data(), rows);
    cuda::post<offset_t>(q, there.row_begin.data() + rows, &told.there()->nonzeros);
    const auto [fault, nonzeros] = told.wait();
    if (fault != 0) return std::nullopt;
    there.col = Buffer<index_t>(q, nonzeros);
    there.source = Buffer<offset_t>(q, nonzeros);
    there.diagonal = Buffer<offset_t>(q, stored.unit_diagonal ? 0 : rows);
    with_lanes_of_rows(rows, nonzeros, [&](auto of_row) {
        launch(q, one_thread_each(offset_t{rows} * of_row(), takers * lanes), take_triangle_kernel<of_row()>, stored, there.row_begin.data(), there.col.data(), there.source.data(),
               stored.unit_diagonal ? nullptr : there.diagonal.data(), there.first_to_need.data());
    });
    return there;
}

}  // namespace tulle::sptrsv
