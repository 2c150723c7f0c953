// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A panel at a time, each by one thread: every column it uses gets a mask of the slabs of 16 rows that use it. Columns with the same mask stand
// together, neighbouring masks differ by one slab (Gray order), and eight columns make a tile: how many tiles have a nonzero follows from how
// many columns have each mask.
#include <algorithm>
#include <array>
#include <bit>

#include "tulle/base/math.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/spmm/order_steps.hpp"

namespace tulle::spmm {
namespace {

constexpr index_t slab = 16, tile_cols = 8;
using MaskCounts = std::array<index_t, 256>;

offset_t count_tiles(const MaskCounts& cols_with)
{
    offset_t tiles = 0;
    unsigned started = 0;                                // slabs of the tile begun
    index_t filled = 0;                                  // its columns
    for (unsigned i = 1; i < cols_with.size(); ++i) {
        const unsigned mask = i ^ i >> 1;
        for (index_t left = cols_with[mask]; left > 0;) {
            const index_t taken = std::min(left, tile_cols - filled);
            started |= mask;
            filled += taken;
            left -= taken;
            if (filled < tile_cols) continue;
            tiles += std::popcount(started);
            started = 0;
            filled = 0;
        }
    }
    return tiles + std::popcount(started);
}

// What a thread keeps: masks are zero between panels.
struct Desk {
    unsigned char* mask;
    index_t* used;
};

PanelCost count_panel(const Pattern& a, const index_t* row, index_t rows, const Desk& desk)
{
    PanelCost cost;
    MaskCounts cols_with{};
    for (index_t i = 0; i < rows; ++i) {
        const auto bit = static_cast<unsigned char>(1u << i / slab);
        index_t last = -1;
        for (offset_t k = a.row_begin[row[i]]; k < a.row_begin[row[i] + 1]; ++k) {
            const index_t col = a.col[k];
            cost.nonzeros += col != last;
            last = col;
            if (desk.mask[col] == 0) desk.used[cost.pairs++] = col;
            desk.mask[col] |= bit;
        }
    }
    for (offset_t k = 0; k < cost.pairs; ++k) {
        ++cols_with[desk.mask[desk.used[k]]];
        desk.mask[desk.used[k]] = 0;
    }
    cost.tiles = count_tiles(cols_with);
    cost.panels = cost.pairs > 0;
    return cost;
}

}  // namespace

PanelCost count_panels(const CpuQueue& q, const Pattern& a, const index_t* row, index_t height)
{
    const index_t panels = ceil_div(a.rows, height);
    const int threads = std::max(1, std::min<int>(q.threads, panels));
    Buffer<unsigned char> mask(q, offset_t{threads} * a.cols);
    Buffer<index_t> used(q, offset_t{threads} * a.cols);
    fill_zero(q, mask.data(), mask.size());
    offset_t pairs = 0, tiles = 0, filled = 0, nonzeros = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : pairs, tiles, filled, nonzeros)
    for (int t = 0; t < threads; ++t) {
        const Desk desk{mask.data() + offset_t{t} * a.cols, used.data() + offset_t{t} * a.cols};
        for (index_t p = t; p < panels; p += threads) {
            const index_t first = p * height;
            const PanelCost one = count_panel(a, row + first, std::min(height, a.rows - first), desk);
            pairs += one.pairs;
            tiles += one.tiles;
            filled += one.panels;
            nonzeros += one.nonzeros;
        }
    }
    return {pairs, tiles, filled, nonzeros};
}

}  // namespace tulle::spmm
