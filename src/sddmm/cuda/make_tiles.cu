// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Nonzeros sorted by the tile they are in, those of a tile in the order of A; tiles without nonzeros are left out.
#include "base/math.hpp"
#include "device/cuda/kernel.cuh"
#include "prim/scan.hpp"
#include "prim/sort.hpp"
#include "sddmm/steps.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr int threads = 256;
constexpr std::uint32_t most_nonzeros = 0xffffffff;

//   grid: ceil(nonzeros / threads)      shared memory: none      key, place: one a nonzero
__global__ void __launch_bounds__(threads)
    number_tiles_kernel(offset_t nonzeros, const index_t* row, const index_t* col, std::uint64_t across,
                        std::uint64_t* key, offset_t* place)
{
    const offset_t p = global_thread();
    if (p >= nonzeros) return;
    key[p] = static_cast<std::uint64_t>(row[p] / tile_side) * across + static_cast<std::uint64_t>(col[p] / tile_side);
    place[p] = p;
}

//   grid: ceil(nonzeros / threads)      shared memory: none      first: one a nonzero
__global__ void __launch_bounds__(threads)
    mark_first_kernel(offset_t nonzeros, const std::uint64_t* key, offset_t* first)
{
    const offset_t p = global_thread();
    if (p < nonzeros) first[p] = p == 0 || key[p] != key[p - 1];
}

// `number` counts the tiles that have begun before each nonzero.
//   grid: ceil(nonzeros / threads)      shared memory: none      place, spot: one a nonzero; tile: where it begins
__global__ void __launch_bounds__(threads)
    list_nonzeros_kernel(offset_t nonzeros, const offset_t* from, const offset_t* number, const index_t* row,
                         const index_t* col, Tile* tile, std::uint32_t* place, std::uint16_t* spot)
{
    const offset_t p = global_thread();
    if (p >= nonzeros) return;
    const index_t i = row[from[p]], j = col[from[p]];
    place[p] = static_cast<std::uint32_t>(from[p]);
    spot[p] = static_cast<std::uint16_t>(i % tile_side * tile_side + j % tile_side);
    if (number[p + 1] == number[p]) return;
    Tile& mine = tile[number[p]];
    mine.row = i / tile_side * tile_side;
    mine.col = j / tile_side * tile_side;
    mine.begin = static_cast<std::uint32_t>(p);
}

// A block for each tile, a thread for each of its rows and columns.
//   grid: tiles      shared memory: none      tile: count, rows, cols
__global__ void __launch_bounds__(tile_side)
    mark_lines_kernel(Tile* tile, offset_t tiles, std::uint32_t nonzeros, const std::uint16_t* spot)
{
    Tile& mine = tile[blockIdx.x];
    const bool is_last = static_cast<offset_t>(blockIdx.x) + 1 == tiles;
    const std::uint32_t end = is_last ? nonzeros : tile[blockIdx.x + 1].begin;
    const int line = static_cast<int>(threadIdx.x);
    bool has_row = false, has_col = false;
    for (std::uint32_t p = mine.begin; p < end; ++p) {
        has_row = has_row || spot[p] / tile_side == line;
        has_col = has_col || spot[p] % tile_side == line;
    }
    const unsigned rows = __ballot_sync(0xffffffffu, has_row), cols = __ballot_sync(0xffffffffu, has_col);
    if (line % 32 != 0) return;
    mine.rows[line / 32] = rows;
    mine.cols[line / 32] = cols;
    if (line == 0) mine.count = end - mine.begin;
}

}  // namespace

Tiles make_tiles(const CudaQueue& q, const index_t* row, const index_t* col, index_t rows, index_t cols,
                 offset_t nonzeros)
{
    require<ValueError>(nonzeros <= offset_t{most_nonzeros}, "tiles number nonzeros with 32 bits");
    const LaunchShape shape = one_thread_each(nonzeros, threads);
    const auto across = static_cast<std::uint64_t>(ceil_div(offset_t{cols}, offset_t{tile_side})),
               down = static_cast<std::uint64_t>(ceil_div(offset_t{rows}, offset_t{tile_side}));
    Buffer<std::uint64_t> key(q, nonzeros);
    Buffer<offset_t> from(q, nonzeros), number(q, nonzeros + 1);
    launch(q, shape, number_tiles_kernel, nonzeros, row, col, across, key.data(), from.data());
    prim::sort_pairs(q, key.data(), from.data(), nonzeros, prim::bits_for(across * down));
    launch(q, shape, mark_first_kernel, nonzeros, key.data(), number.data());
    prim::exclusive_scan(q, number.data(), number.data(), nonzeros);
    const auto tiles = read_value<offset_t>(q, number.data() + nonzeros);
    Tiles made{Buffer<Tile>(q, tiles), Buffer<std::uint32_t>(q, nonzeros), Buffer<std::uint16_t>(q, nonzeros)};
    launch(q, shape, list_nonzeros_kernel, nonzeros, from.data(), number.data(), row, col, made.tile.data(),
           made.place.data(), made.spot.data());
    launch(q, {tiles, tile_side}, mark_lines_kernel, made.tile.data(), tiles, static_cast<std::uint32_t>(nonzeros),
           made.spot.data());
    return made;
}

}  // namespace tulle::inline TULLE_ABI::sddmm
