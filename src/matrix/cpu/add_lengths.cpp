// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include "matrix/inspect_entries.hpp"
#include "matrix/inspect_steps.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::inspect {
namespace {

void add_row(LengthSums& sums, offset_t length, offset_t middle)
{
    const std::uint64_t square = squared_distance(length, middle);
    sums.shortest = std::min(sums.shortest, length);
    sums.longest = std::max(sums.longest, length);
    sums.squares_low += static_cast<offset_t>(square & 0xffffffffu);
    sums.squares_high += static_cast<offset_t>(square >> 32);
    ++sums.by_bits[static_cast<std::size_t>(bit_length(length))];
}

void add_sums(LengthSums& all, const LengthSums& more)
{
    all.shortest = std::min(all.shortest, more.shortest);
    all.longest = std::max(all.longest, more.longest);
    all.squares_low += more.squares_low;
    all.squares_high += more.squares_high;
    for (std::size_t bits = 0; bits < all.by_bits.size(); ++bits) all.by_bits[bits] += more.by_bits[bits];
}

}  // namespace

LengthSums add_lengths(const CpuQueue& q, const offset_t* row_begin, index_t rows, offset_t middle)
{
    const prim::Pieces pieces = prim::piece_per_thread(q, rows);
    std::vector<LengthSums> of_piece(static_cast<std::size_t>(pieces.count));
    prim::each_piece(q, pieces, [&](offset_t p, offset_t begin, offset_t end) {
        LengthSums mine;
        for (offset_t i = begin; i < end; ++i) add_row(mine, length_of(row_begin, i), middle);
        of_piece[static_cast<std::size_t>(p)] = mine;
    });
    LengthSums all;
    for (const LengthSums& piece : of_piece) add_sums(all, piece);
    return all;
}

}  // namespace tulle::inline TULLE_ABI::inspect
