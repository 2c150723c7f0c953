// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Running sums in two passes: each thread adds up its piece, the piece sums are scanned, each thread scans its piece
// from there.
#include "prim/scan.hpp"

#include <numeric>
#include <vector>

#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::prim {
namespace {

// Where the running sum stands before each piece; the last entry is the total.
std::vector<offset_t> piece_starts(const CpuQueue& q, const offset_t* count, const Pieces& pieces)
{
    std::vector<offset_t> start(static_cast<std::size_t>(pieces.count) + 1, 0);
    each_piece(q, pieces, [&](offset_t p, offset_t begin, offset_t end) {
        start[static_cast<std::size_t>(p) + 1] = std::accumulate(count + begin, count + end, offset_t{0});
    });
    std::partial_sum(start.begin(), start.end(), start.begin());
    return start;
}

}  // namespace

void exclusive_scan(const CpuQueue& q, const offset_t* count, offset_t* begin, offset_t n)
{
    const Pieces pieces = piece_per_thread(q, n);
    const std::vector<offset_t> start = piece_starts(q, count, pieces);
    each_piece(q, pieces, [&](offset_t p, offset_t first, offset_t last) {
        std::exclusive_scan(count + first, count + last, begin + first,
                            start[static_cast<std::size_t>(p)]);  // allowed in place
    });
    begin[n] = start.back();
}

}  // namespace tulle::inline TULLE_ABI::prim
