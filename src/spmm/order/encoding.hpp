// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows as BSA sees them, and when one row resembles a cluster: one formula for hosts and kernels.
//
// The columns are cut into blocks of tau. Row r becomes the list of blocks it has nonzeros in, with their number (the
// paper's encoding, without its zeros: it takes no more entries than the row has). The weighted Jaccard similarity of x
// and y, each divided by its 2-norm, is sum min / sum max. Only blocks that both have add to s = sum min, and sum min +
// sum max is the sum of both 1-norms, so J = s / (|x| + |y| - s).
//
// Whether J > alpha must not depend on who adds up, in which order. So each shared block goes to the side whose share
// is smaller, the counts of each side are added as integers, and what follows is a few operations in double, all of
// them rounded alike everywhere; none can be fused.
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spmm {

struct BlockCount {
    index_t block, count;  // count: distinct columns of the row in the block
};

// 2-norm, and 1-norm over 2-norm: how much there is to share.
struct Extent {
    double length = 1, mass = 0;
};

// Row r: entry[begin[r]] … entry[begin[r] + blocks[r] - 1], blocks ascending.
struct EncodingsView {
    index_t rows = 0, tau = 1, all_blocks = 0;  // all_blocks: that the columns are cut into
    const offset_t* begin = nullptr;            // the matrix's row_begin
    const BlockCount* entry = nullptr;
    const index_t *blocks = nullptr, *sum = nullptr;  // of each row: blocks with nonzeros, distinct columns
    const Extent* extent = nullptr;
};

struct Encodings {
    index_t rows = 0, tau = 1, all_blocks = 0;
    const offset_t* begin = nullptr;  // not owned
    Buffer<BlockCount> entry;
    Buffer<index_t> blocks, sum;
    Buffer<Extent> extent;

    EncodingsView view() const
    {
        return {rows, tau, all_blocks, begin, entry.data(), blocks.data(), sum.data(), extent.data()};
    }
};

// Zeros filled in are tau * blocks - nonzeros. Only an empty row has dispersion 0.
constexpr offset_t dispersion_paper(offset_t tau, offset_t blocks, offset_t nonzeros)
{
    return tau * blocks + (tau * blocks - nonzeros);
}
constexpr offset_t dispersion_released(offset_t tau, offset_t blocks, offset_t nonzeros)
{
    return nonzeros * blocks + (tau * blocks - nonzeros);
}

// What x and y share, on the way.
struct Overlap {
    offset_t of_x = 0, of_y = 0;  // counts, each shared block on the side where it weighs less

    // A block that x has not (count 0) adds nothing. Without branches: nobody could predict them.
    constexpr void add(index_t x, index_t y, const Extent& in_x, const Extent& in_y)
    {
        const bool less_in_x = static_cast<double>(x) * in_y.length <= static_cast<double>(y) * in_x.length;
        of_x += less_in_x ? x : 0;
        of_y += less_in_x ? 0 : y;
    }
    constexpr double share(const Extent& in_x, const Extent& in_y) const
    {
        return static_cast<double>(of_x) / in_x.length + static_cast<double>(of_y) / in_y.length;
    }
};

// J > alpha for a sum of minima `shared`. Rounding may carry it above what one of the two has; that never counts, so
// that J never exceeds 1. The right side falls as the left side rises, also when rounded: who fails with all of the
// smaller mass shared would fail with less.
constexpr bool resembles(double shared, const Extent& x, const Extent& y, double alpha)
{
    const double smaller = x.mass < y.mass ? x.mass : y.mass;
    const double s = shared < smaller ? shared : smaller;
    return s > alpha * (x.mass + y.mass - s);
}

constexpr bool could_resemble(const Extent& x, const Extent& y, double alpha) { return resembles(x.mass, x, y, alpha); }

}  // namespace tulle::inline TULLE_ABI::spmm
