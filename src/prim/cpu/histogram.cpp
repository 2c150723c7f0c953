// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Few bins: every thread counts in a table of its own, and the tables are added. Many bins: one table and atomic
// additions, which then seldom meet.
#include "prim/histogram.hpp"

#include "prim/cpu/pieces.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::prim {
namespace {

constexpr index_t most_private_bins = 1 << 14;  // a table of this many counts stays in a core's own cache (128 KiB)

void count_serially(const index_t* bin, offset_t n, offset_t* count)
{
    for (offset_t i = 0; i < n; ++i) ++count[bin[i]];
}

void count_in_tables(const CpuQueue& q, const Pieces& pieces, const index_t* bin, offset_t* count, index_t bins)
{
    Buffer<offset_t> tables(q, pieces.count * bins);
    fill_zero(q, tables.data(), tables.size());
    each_piece(q, pieces, [&](offset_t p, offset_t begin, offset_t end) {
        count_serially(bin + begin, end - begin, tables.data() + p * bins);
    });
    each_piece(q, piece_per_thread(q, bins, 1 << 12), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t p = 0; p < pieces.count; ++p)
            for (offset_t b = begin; b < end; ++b) count[b] += tables.data()[p * bins + b];
    });
}

void count_atomically(const CpuQueue& q, const Pieces& pieces, const index_t* bin, offset_t* count)
{
    each_piece(q, pieces, [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t i = begin; i < end; ++i) {
#pragma omp atomic
            ++count[bin[i]];
        }
    });
}

}  // namespace

void histogram(const CpuQueue& q, const index_t* bin, offset_t n, offset_t* count, index_t bins)
{
    const Pieces pieces = piece_per_thread(q, n);
    fill_zero(q, count, bins);
    if (pieces.count <= 1) count_serially(bin, n, count);
    else if (bins <= most_private_bins) count_in_tables(q, pieces, bin, count, bins);
    else count_atomically(q, pieces, bin, count);
}

}  // namespace tulle::inline TULLE_ABI::prim
