// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tiles and rest from a pattern: dense tiles are marked (mark_tiles.cpp), each panel lists its own, and every nonzero
// learns where its value stands.
#include <algorithm>

#include "base/math.hpp"
#include "prim/scan.hpp"
#include "spmm/order/steps.hpp"
#include "spmm/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

// What is known of every nonzero and panel.
struct Marks {
    Buffer<unsigned char> dense;
    Buffer<index_t> tiles;  // of every panel
};

// The entries that lie in no dense tile, in the caller's rows; their values come behind those of the tiles.
template <class V>
void take_rest(const CpuQueue& q, const Pattern& a, const unsigned char* dense, Tiles<V>& to)
{
    to.rest_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
    offset_t* begin = to.rest_begin.data();
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < a.rows; ++i) begin[i] = std::count(dense + a.row_begin[i], dense + a.row_begin[i + 1], 0);
    prim::exclusive_scan(q, begin, begin, a.rows);
    to.rest_col = Buffer<index_t>(q, begin[a.rows]);
    to.in_tiles = a.nonzeros - begin[a.rows];
    const offset_t behind = to.slots() * tile_places;
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < a.rows; ++i) {
        offset_t at = begin[i];
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            if (dense[k]) continue;
            to.rest_col.data()[at] = a.col[k];
            to.place.data()[k] = behind + at++;
        }
    }
}

// One panel's tiles: their columns in order, and its entries. `slot` has a number for each block of columns, -1 before
// and after. False where a position is stored twice.
template <class V>
bool write_panel(const Pattern& a, const index_t* row, const unsigned char* dense, index_t panel, index_t* slot,
                 Tiles<V>& to)
{
    const offset_t first = offset_t{panel - to.first_panel} * to.width;
    index_t* block_col = to.block_col.data() + first;
    const index_t begin = panel * tile_side, end = std::min(a.rows, begin + tile_side);
    const auto each_dense = [&](auto visit) {
        for (index_t r = begin; r < end; ++r)
            for (offset_t k = a.row_begin[row[r]]; k < a.row_begin[row[r] + 1]; ++k)
                if (dense[k]) visit(r - begin, a.col[k] / tile_side, a.col[k] % tile_side, k);
    };
    index_t tiles = 0;
    each_dense([&](index_t, index_t block, index_t, offset_t) {
        if (slot[block] < 0) block_col[slot[block] = tiles++] = block;
    });
    std::sort(block_col, block_col + tiles);
    std::fill(block_col + tiles, block_col + to.width, -1);
    for (index_t s = 0; s < tiles; ++s) slot[block_col[s]] = s;
    bool once = true;
    each_dense([&](index_t r, index_t block, index_t c, offset_t k) {
        const offset_t tile = first + slot[block];
        std::uint32_t& present = to.present.data()[tile * tile_side + r];
        once = once && (present >> c & 1u) == 0;
        present |= 1u << c;
        to.place.data()[k] = tile * tile_places + place_in_tile<V>(r, c);
    });
    for (index_t s = 0; s < tiles; ++s) slot[block_col[s]] = -1;
    return once;
}

template <class V>
bool write_panels(const CpuQueue& q, const Pattern& a, const index_t* row, const unsigned char* dense, Tiles<V>& to)
{
    const index_t block_cols = ceil_div(a.cols, tile_side);
    const int threads = std::max(1, std::min<int>(q.threads, to.panels));
    Buffer<index_t> slots(q, offset_t{threads} * block_cols);
    fill_bytes(q, slots.data(), 0xff, slots.bytes());
    int repeats = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : repeats)
    for (int t = 0; t < threads; ++t)
        for (index_t p = t; p < to.panels; p += threads)
            repeats += !write_panel(a, row, dense, to.first_panel + p, slots.data() + offset_t{t} * block_cols, to);
    return repeats == 0;
}

}  // namespace

template <class V>
Tiles<V> make_tiles(const CpuQueue& q, const Pattern& a, const index_t* row, const TileRule& rule)
{
    const index_t panels = ceil_div(a.rows, tile_side);
    Marks marks{Buffer<unsigned char>(q, a.nonzeros), Buffer<index_t>(q, panels)};
    mark_tiles(q, a, row, tile_side, rule, marks.dense.data(), marks.tiles.data());

    Tiles<V> to;
    to.rows = a.rows;
    to.cols = a.cols;
    const std::span<const index_t> tiles = marks.tiles.span();
    to.first_panel =
        static_cast<index_t>(std::find_if(tiles.begin(), tiles.end(), [](index_t n) { return n > 0; }) - tiles.begin());
    to.panels = panels - to.first_panel;
    for (const index_t n : tiles) to.width = std::max(to.width, n), to.dense_tiles += n;
    checked_product(to.slots(), offset_t{tile_places}, "numbers in tiles");
    to.block_col = Buffer<index_t>(q, to.slots());
    to.present = Buffer<std::uint32_t>(q, to.slots() * tile_side);
    to.place = Buffer<offset_t>(q, a.nonzeros);
    fill_zero(q, to.present.data(), to.present.size());
    take_rest(q, a, marks.dense.data(), to);
    require<ValueError>(write_panels(q, a, row, marks.dense.data(), to),
                        "a matrix that stores positions twice does not fit tiles",
                        "add them up (sum_duplicates), or use the policy 'rows'");
    return to;
}

template Tiles<double> make_tiles(const CpuQueue&, const Pattern&, const index_t*, const TileRule&);
template Tiles<float> make_tiles(const CpuQueue&, const Pattern&, const index_t*, const TileRule&);
template Tiles<Float16> make_tiles(const CpuQueue&, const Pattern&, const index_t*, const TileRule&);
template Tiles<Bfloat16> make_tiles(const CpuQueue&, const Pattern&, const index_t*, const TileRule&);

}  // namespace tulle::inline TULLE_ABI::spmm
