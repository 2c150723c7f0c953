// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of the sampled product and of attention, once per queue. V is the type of A and the dense matrices, C that
// of the results.
#pragma once

#include "tulle/csr.hpp"
#include "tulle/memory.hpp"
#include "tulle/sddmm.hpp"

namespace tulle::inline TULLE_ABI::sddmm {

// A dense matrix by its strides: entry (i, j) stands at data[i * row + j * col].
template <class V>
struct Strided {
    V* data;
    offset_t row, col;
};

template <class V>
Strided<V> strided(const DenseView<V>& m)
{
    const bool by_rows = m.layout == Layout::row_major;
    return {m.data, by_rows ? m.leading : 1, by_rows ? 1 : m.leading};
}

// `value` is null where the values of A are no factor.
template <class V, class C>
struct Sampled {
    Sum<V> alpha, beta;
    Strided<const V> x, y;
    index_t k;
    const V* value;
    C* c;
};

// Scores are alpha dot(row of Q, row of K) [value of A].
template <class V, class C>
struct Attention {
    Sum<V> alpha;
    Strided<const V> q, k, v;
    index_t depth, width;  // columns of Q and K; of V and H
    const V* value;
    Strided<C> h;
};

// Of an H200, on which choices were measured.
inline constexpr offset_t measured_multiprocessors = 132;

// A square of positions of A that has nonzeros, as a block of X Y^T.
inline constexpr int tile_side = 64;
struct Tile {
    index_t row, col;                // its first
    std::uint32_t begin, count;      // of its nonzeros in TilesView::place
    std::uint32_t rows[2], cols[2];  // which of its rows and columns have a nonzero, by bits
};
struct TilesView {
    const Tile* tile = nullptr;
    offset_t tiles = 0;
    const std::uint32_t* place = nullptr;  // of each nonzero in A, tile by tile
    const std::uint16_t* spot = nullptr;   // and in its tile: row * tile_side + column
};
struct Tiles {
    Buffer<Tile> tile;
    Buffer<std::uint32_t> place;
    Buffer<std::uint16_t> spot;

    TilesView view() const { return {tile.data(), tile.size(), place.data(), spot.data()}; }
    std::size_t bytes() const { return tile.bytes() + place.bytes() + spot.bytes(); }
};

// How the nonzeros are walked through.
struct Walk {
    const index_t* row = nullptr;  // of each nonzero, for a GPU without tiles
    TilesView tiles;               // of a GPU
    int lanes = 0;                 // of a GPU that share a nonzero; 0: tiles
    bool tensor = false;           // tiles on tensor cores
    bool early = false;            // the pattern is settled: a kernel may begin before the one ahead of it has ended
};

// So many nonzeros of a long row; the pieces of a row stand one behind the other in a list.
struct Piece {
    index_t row;
    std::int32_t first;  // place of the row's first piece
};

// What the sums of a piece are relative to, and the sum of its weights.
template <class S>
struct PartEnd {
    S largest, total;
};

// What attention keeps between two kernels where the scores are stored: a score for each nonzero, and what pieces of
// rows of more than `longest` nonzeros have added up.
template <class S>
struct ScoresView {
    S* score;
    const Piece* piece;
    offset_t pieces;
    int longest;
    S* partial;       // of each piece: the columns of V, in whole runs of four
    PartEnd<S>* end;  // of each piece
    int* arrived;     // of each piece; that of a row's first counts those that have come
};

// Every nonzero of A.
template <class V, class C>
void sample(const CpuQueue& q, const CsrView<V>& a, const Walk& walk, const Sampled<V, C>& o);
template <class V, class C>
void sample(const CudaQueue& q, const CsrView<V>& a, const Walk& walk, const Sampled<V, C>& o);

// The same by tiles: all positions of a tile are computed, from rows of X and Y that the block's threads share.
template <class V, class C>
void sample_tiles(const CudaQueue& q, const Walk& walk, const Sampled<V, C>& o);

// The same on tensor cores; not for double. With fewer columns than this, one or two additions that truncate could
// break the bound of float on GPUs before sm_90: then as above.
inline constexpr index_t least_tensor_columns = 20;
template <class V, class C>
void sample_tensor_tiles(const CudaQueue& q, const Walk& walk, const Sampled<V, C>& o);

// The tiles of the nonzeros at (row[p], col[p]) in a matrix of so many columns. Only for a GPU; waits.
Tiles make_tiles(const CudaQueue& q, const index_t* row, const index_t* col, index_t rows, index_t cols,
                 offset_t nonzeros);

// Every row of H. `early` as above.
template <class V, class C>
void attend(const CpuQueue& q, const CsrView<V>& a, bool early, const Attention<V, C>& o);
template <class V, class C>
void attend(const CudaQueue& q, const CsrView<V>& a, bool early, const Attention<V, C>& o);

// The same with scores that sample() has stored: softmax of rows and product with V. Only for a GPU.
template <class V, class C>
void weigh(const CudaQueue& q, const CsrView<V>& a, bool early, const ScoresView<Sum<V>>& stored,
           const Attention<V, C>& o);

// The pieces of all rows of more than `longest` nonzeros. Only for a GPU; waits.
Buffer<Piece> cut_long_rows(const CudaQueue& q, const offset_t* row_begin, index_t rows, int longest);

}  // namespace tulle::inline TULLE_ABI::sddmm
