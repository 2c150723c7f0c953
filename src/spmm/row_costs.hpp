// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Microseconds that the row kernel takes in a CUDA graph on an H200, from what is known of a matrix: a start, the steps
// of the longest row, every block of threads and every byte of B that nonzeros ask for. tools/fit_spmm.py fits the
// constants to measurements and reads them here.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/math.hpp"
#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// By lanes: 2, 8, 32.
struct StepCosts {
    double of_2, of_8, of_32;
    constexpr double operator()(int lanes) const { return lanes == 2 ? of_2 : lanes == 8 ? of_8 : of_32; }
};

// A row for a slice of lanes: a step is four nonzeros.
namespace whole_rows {
inline constexpr double start = 1.18, block = 0.00089, byte = 6.8e-8, doubles = 1.46, not_a_warp = 1.23;
inline constexpr StepCosts step = {0.333, 0.253, 0.228};
}  // namespace whole_rows

// A row for several slices: a step is eight nonzeros a slice, four of doubles; numbers of 16 bits take longer than
// floats (the mean of 48 products). Fitted to graph times of 242 products (f32 with 8, 32 and 128 columns, f64 with 32;
// docs/experiments/spmm.md), blocks a little dearer than the fit: where they are more than an H200 holds at once, they
// cost more.
namespace shared_rows {
inline constexpr double start = 0.75, join_in_block = 0.17, step = 0.48, doubles = 0.84, block = 0.0018, halves = 1.2;
}  // namespace shared_rows

// Lines: a step is eight nonzeros; then the pieces of the longest row, one after the other, or if they are many, those
// of a group, a meeting in memory (an estimate), and what groups make.
namespace row_lines {
inline constexpr double start = 2.2, block = 0.0045, byte = 6.2e-8, doubles = 1.8, a_piece = 0.043, a_piece_f32 = 0.026;
inline constexpr double meeting = 0.9;
inline constexpr StepCosts step = {1.14, 0.717, 0.513};
}  // namespace row_lines

inline constexpr offset_t row_threads = 128;  // of a block

// Blocks and bytes are shared among all multiprocessors; constants are for 132.
inline double share_of(const Limits& limits) { return 132.0 / limits.multiprocessors; }
inline double bytes_asked_for(const Features& t)
{
    return static_cast<double>(t.nonzeros) * t.n * static_cast<double>(t.value_bytes);
}
// Blocks for so many rows or lines, if so many lanes hold columns.
inline double blocks_of_rows(const Features& t, double lines, int lanes, int width)
{
    const offset_t tiles = ceil_div(std::max(t.n, index_t{1}), index_t{columns_per_lane * width});
    return lines * lanes / row_threads * static_cast<double>(tiles);
}

inline double time_of_whole_rows(const Features& t, const Limits& limits, int lanes)
{
    namespace costs = whole_rows;
    const double steps = static_cast<double>(t.longest) / 4 * (t.value_bytes == 8 ? costs::doubles : 1);
    const double work = costs::block * blocks_of_rows(t, t.rows, lanes, lanes) +
                        costs::byte * bytes_asked_for(t) * (lanes < 32 ? costs::not_a_warp : 1);
    return costs::start + costs::step(lanes) * steps + work * share_of(limits);
}

inline double time_of_shared_rows(const Features& t, const Limits& limits, int lanes)
{
    namespace costs = shared_rows;
    const int width = lanes_of_columns(t.n);
    const offset_t at_once = offset_t{lanes / width} * (t.value_bytes == 8 ? 4 : 8);
    const double steps = static_cast<double>(std::max(offset_t{1}, ceil_div(t.longest, at_once))) *
                         (t.value_bytes == 8 ? costs::doubles : 1);
    const double work = costs::block * blocks_of_rows(t, t.rows, lanes, width) + whole_rows::byte * bytes_asked_for(t);
    return (costs::start + (lanes > 32 ? costs::join_in_block : 0) + costs::step * steps + work * share_of(limits)) *
           (t.value_bytes == 2 ? costs::halves : 1);
}

inline double time_of_lines(const Features& t, const Limits& limits, int lanes, int piece)
{
    namespace costs = row_lines;
    const offset_t count = std::clamp(ceil_div(t.longest, offset_t{piece}), offset_t{1}, offset_t{most_pieces}),
                   together = pieces_together(static_cast<int>(count));
    const bool grouped = count > most_in_turn(t.value_bytes);
    const double steps = static_cast<double>(std::min(t.longest, std::max(offset_t{piece}, t.longest / count))) / 8,
                 pieces = static_cast<double>(grouped ? together + ceil_div(count, together) : count),
                 lines = static_cast<double>(t.nonzeros + t.rows) / piece;
    const double longest =
        costs::step(lanes) * steps + (t.value_bytes == 4 ? costs::a_piece_f32 : costs::a_piece) * pieces;
    const double work = costs::block * blocks_of_rows(t, lines, lanes, lanes) +
                        costs::byte * bytes_asked_for(t) * (lanes < 32 ? whole_rows::not_a_warp : 1);
    return costs::start + (grouped ? costs::meeting : 0) + longest * (t.value_bytes == 8 ? costs::doubles : 1) +
           work * share_of(limits);
}

// Of rows in so many lanes, or of lines where there is a piece.
inline double time_of_rows(const Features& t, const Limits& limits, int lanes, int piece)
{
    if (piece > 0) return time_of_lines(t, limits, lanes, piece);
    return lanes > lanes_of_columns(t.n) ? time_of_shared_rows(t, limits, lanes) : time_of_whole_rows(t, limits, lanes);
}

}  // namespace tulle::inline TULLE_ABI::spmm
