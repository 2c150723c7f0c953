// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The triangle from the caller's rows, on the GPU: rows are counted and get their places by the way, then every entry is written there. The result is that of
// make_triangle, which is left to say what is wrong where anything is.
#include "tulle/device/cuda/look_back.cuh"
#include "tulle/device/cuda/mailbox.hpp"
#include "tulle/sptrsv/cuda/lanes_of_rows.hpp"
#include "tulle/sptrsv/steps.hpp"

namespace tulle::sptrsv {
namespace {

constexpr int counters = 256;                              // threads of a block that counts
template <int Lanes> constexpr unsigned rows_counted = Lanes == lanes ? 32 : 64;      // by it
constexpr int takers = 4;                                  // warps of a block that takes
constexpr int entries_at_once = 4;                         // of a lane, whose loads are on their way together

// Whether a row can be gone through at all; one of more entries than columns has some twice.
__device__ bool is_sound(const Stored& s, offset_t row, offset_t begin, offset_t end)
{
    const bool ends = row + 1 < s.rows || s.nonzeros == max_offset || end == s.nonzeros;
    return begin >= 0 && begin <= end && end <= s.nonzeros && end - begin <= s.rows && ends && (row > 0 || begin == 0);
}

// What the host is told.
struct Told {
    offset_t fault, nonzeros;
};

// Entries of a row inside the triangle, by all lanes of a slice; a row beyond the matrix has none. At fault: offsets or columns beyond the matrix, rows out of
// order, a column twice, an entry on the other side, no diagonal.
template <int Lanes>
__device__ unsigned count_row(const Stored& s, offset_t i, unsigned lane, Told* told)
{
    const bool there = i < s.rows;
    const index_t row = !there ? 0 : static_cast<index_t>(s.upper ? s.rows - 1 - i : i);
    const offset_t begin = there ? s.row_begin[row] : 0, end = there ? s.row_begin[row + 1] : 0;
    bool wrong = there && !is_sound(s, row, begin, end);
    const unsigned entries = wrong ? 0 : static_cast<unsigned>(end - begin);
    const index_t* const col = s.col + (wrong ? 0 : begin);
    unsigned found = 0;                                    // two for each entry of the triangle, one for the diagonal
#pragma unroll 4
    for (unsigned k = lane; k < entries; k += Lanes) {
        const index_t here = col[k], before = k == 0 ? -1 : col[k - 1];
        const bool is_inside = s.upper ? here > row : here < row, is_diagonal = here == row;
        found += is_inside ? 2 : is_diagonal ? 1 : 0;
        wrong = wrong || before >= here || here >= s.rows || (!is_inside && !is_diagonal && !s.ignore_other_side);
    }
    found = slice_sum<Lanes>(found);
    if (wrong || (there && found % 2 == 0 && !s.unit_diagonal)) store_relaxed(&told->fault, 1);
    return found / 2;
}

// Where each row of the triangle begins.
//   grid: one block for rows_counted rows      row_begin: every row written once, and the end      first_to_need: zero after      told: zero before
template <int Lanes>
__global__ void __launch_bounds__(counters) count_triangle_kernel(Stored s, SumWord* sums, offset_t* row_begin, index_t* first_to_need, Told* told)
{
    TULLE_SHARED(offset_t, of_warps, words_of_block<counters>);
    TULLE_SHARED(unsigned, inside, rows_counted<Lanes>);
    const offset_t block = number_of_block<counters>(sums, of_warps), first = block * rows_counted<Lanes>;
    const unsigned lane = threadIdx.x % Lanes;
    for (unsigned r = threadIdx.x / Lanes; r < rows_counted<Lanes>; r += counters / Lanes) {
        const unsigned count = count_row<Lanes>(s, first + r, lane, told);
        if (lane == 0) inside[r] = count;
    }
    __syncthreads();
    const offset_t mine = threadIdx.x < rows_counted<Lanes> ? inside[threadIdx.x] : 0, i = first + threadIdx.x;
    const offset_t before = sum_before_thread<counters>(sums, of_warps, block, mine);
    if (threadIdx.x >= rows_counted<Lanes> || i >= s.rows) return;
    row_begin[i] = before;
    first_to_need[i] = 0;
    if (i + 1 < s.rows) return;
    row_begin[s.rows] = before + mine;
    told->nonzeros = before + mine;
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
    cuda::Mailbox<Told> told(q);
    *told.there() = {};
    with_lanes_of_rows(rows, stored.nonzeros, [&](auto of_row) {
        const offset_t blocks = ceil_div(offset_t{rows}, offset_t{rows_counted<of_row()>});
        LookBack sums(q, blocks);
        launch(q, {blocks, counters}, count_triangle_kernel<of_row()>, stored, sums.words(), there.row_begin.data(), there.first_to_need.data(), told.there());
    });
    if (rows == 0) fill_zero(q, there.row_begin.data(), there.row_begin.size());
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
