// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which nonzeros lie in dense tiles: a panel of tau rows at a time, each by one thread, which counts the nonzeros of
// every block of tau columns.
#include <algorithm>

#include "base/math.hpp"
#include "spmm/order/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

// One panel: rows row[0] … row[rows-1] of the pattern, or `first` and those after it. Counts are zero before and after.
struct MarkedPanel {
    const Pattern& a;
    const index_t* row;
    index_t first, rows, tau;

    template <class Visit>
    void each(Visit&& visit) const
    {
        for (index_t r = first; r < first + rows; ++r) {
            const index_t i = row ? row[r] : r;
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) visit(k, a.col[k] / tau);
        }
    }

    // How many tiles are dense.
    index_t mark(const TileRule& rule, index_t* count, unsigned char* dense) const
    {
        each([&](offset_t, index_t block) { ++count[block]; });
        index_t tiles = 0;
        double more = 0;  // than the least, together
        each([&](offset_t k, index_t block) {
            const double nonzeros = std::abs(count[block]);
            dense[k] = nonzeros > rule.least;
            if (count[block] <= 0) return;
            count[block] = -count[block];  // seen
            tiles += dense[k];
            more += dense[k] ? nonzeros - rule.least : 0;
        });
        if (more <= rule.gain) tiles = 0;
        each([&](offset_t k, index_t block) {
            count[block] = 0;
            if (tiles == 0) dense[k] = 0;
        });
        return tiles;
    }
};

}  // namespace

void mark_tiles(const CpuQueue& q, const Pattern& a, const index_t* row, index_t tau, const TileRule& rule,
                unsigned char* dense, index_t* tiles)
{
    const index_t panels = ceil_div(a.rows, tau), block_cols = ceil_div(a.cols, tau);
    const int threads = std::max(1, std::min<int>(q.threads, panels));
    Buffer<index_t> counts(q, offset_t{threads} * block_cols);
    fill_zero(q, counts.data(), counts.size());
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; ++t) {
        index_t* count = counts.data() + offset_t{t} * block_cols;
        for (index_t p = t; p < panels; p += threads)
            tiles[p] = MarkedPanel{a, row, p * tau, std::min(tau, a.rows - p * tau), tau}.mark(rule, count, dense);
    }
}

}  // namespace tulle::inline TULLE_ABI::spmm
