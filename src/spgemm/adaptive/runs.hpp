// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Neighbouring rows with equal columns. Meshes with several unknowns a node are full of them: such rows of C have equal
// columns as well, and rows of B that follow each other in a row of A and are equal add nothing to its columns. One
// byte a row says it all.
//
//     rows of A     a a a b c c c c c c c          equal letters, equal columns
//     like          0 1 1 0 0 1 1 1 1 1 1          equals its predecessor
//     place         0 1 2 0 0 1 2 0 1 2 0          place in its piece of at most run_limit rows
//     length        3 3 3 1 3 3 3 3 3 3 1          rows of that piece
#pragma once

#include "matrix/equal_rows.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

inline constexpr int run_limit = 3;  // rows filled together: three values a column still fit the registers of a thread
inline constexpr int run_look_back = 60;  // rows looked back for the beginning of a run; a multiple of run_limit

struct RunByte {
    bool like;
    int place, length;
};

constexpr unsigned char pack(const RunByte& r)
{
    return static_cast<unsigned char>((r.like ? 1 : 0) | r.place << 1 | r.length << 4);
}

constexpr RunByte unpack(unsigned char byte) { return {(byte & 1) != 0, (byte >> 1) & 7, byte >> 4}; }

constexpr bool is_like(unsigned char byte) { return (byte & 1) != 0; }

using matrix::equals_predecessor;

// Whether a piece begins at the row; `like` are bytes whose lowest bit is set. A run is cut every run_limit rows,
// counted from its beginning; further than run_look_back rows from there, at multiples of run_limit.
constexpr bool begins_piece(const unsigned char* like, offset_t row)
{
    int back = 0;
    while (back <= run_look_back && is_like(like[row - back])) ++back;  // row 0 is not like any other
    return back <= run_look_back ? back % run_limit == 0 : row % run_limit == 0;
}

constexpr int place_of(const unsigned char* like, offset_t row)
{
    int place = 0;
    while (!begins_piece(like, row - place)) ++place;
    return place;
}

// Rows of the piece that begins at `row`.
constexpr int length_of(const unsigned char* like, offset_t rows, offset_t row)
{
    int length = 1;
    while (length < run_limit && row + length < rows && !begins_piece(like, row + length)) ++length;
    return length;
}

constexpr RunByte run_byte(const unsigned char* like, offset_t rows, offset_t row)
{
    const int place = place_of(like, row);
    return {is_like(like[row]), place, length_of(like, rows, row - place)};
}

}  // namespace tulle::inline TULLE_ABI::spgemm
