// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of the product, once per queue. All kernels compute C = alpha op(A) B + beta C and never read C when beta
// is zero. V is the type of A and B, C that of the result, or Scaled of it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "spmm/panels.hpp"
#include "spmm/tiles.hpp"
#include "tulle/csr.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// In place of the type of C: entries of type C, whose rows are multiplied by Options::row_scale when they are written.
// Kernels for it are instances of their own, so that those without factors do not have to ask.
template <class C>
struct Scaled {};
template <class C>
struct EntryOf {
    using type = C;
};
template <class C>
struct EntryOf<Scaled<C>> {
    using type = C;
};
template <class C>
using EntryType = typename EntryOf<C>::type;
template <class C>
inline constexpr bool is_scaled = !std::is_same_v<C, EntryType<C>>;

// B and C with their strides: entry (i, j) of B stands at b[i * b_row + j * b_col].
template <class V, class C>
struct Operands {
    Sum<V> alpha;
    const V* b;
    offset_t b_row, b_col;
    Sum<V> beta;
    C* c;
    offset_t c_row, c_col;
    index_t n;  // columns

    // Those from column j on, at most `most`.
    constexpr Operands columns(index_t j, index_t most) const
    {
        Operands part = *this;
        part.b += j * b_col;
        part.c += j * c_col;
        part.n = n - j < most ? n - j : most;
        return part;
    }
};
// The same with factors; one struct, not two, so that the simulated GPU can look into it.
template <class V, class C>
struct Operands<V, Scaled<C>> {
    Sum<V> alpha;
    const V* b;
    offset_t b_row, b_col;
    Sum<V> beta;
    C* c;
    offset_t c_row, c_col;
    index_t n;
    const Sum<V>* row_scale;  // of each row of C

    constexpr operator Operands<V, C>() const { return {alpha, b, b_row, b_col, beta, c, c_row, c_col, n}; }
    constexpr Operands columns(index_t j, index_t most) const
    {
        return with_factors(Operands<V, C>(*this).columns(j, most), row_scale);
    }
};
template <class V, class C>
constexpr Operands<V, Scaled<C>> with_factors(const Operands<V, C>& o, const Sum<V>* row_scale)
{
    return {o.alpha, o.b, o.b_row, o.b_col, o.beta, o.c, o.c_row, o.c_col, o.n, row_scale};
}

// Whether rows of B are whole pieces.
template <class V, class C>
bool has_pieces(const Operands<V, C>& o)
{
    const offset_t step = o.b_row * static_cast<offset_t>(sizeof(V));
    return o.b_col == 1 && o.n % per_piece<V> == 0 && reinterpret_cast<std::uintptr_t>(o.b) % sizeof(Piece) == 0 &&
           step % static_cast<offset_t>(sizeof(Piece)) == 0 && step <= max_index;
}

// What a sum of a row of C is multiplied by before alpha: its factor, if rows have factors.
template <class V, class C>
struct RowFactor {
    constexpr RowFactor(const Operands<V, C>&, offset_t) {}
    constexpr Sum<V> operator()(Sum<V> sum) const { return sum; }
};
template <class V, class C>
struct RowFactor<V, Scaled<C>> {
    Sum<V> factor;
    constexpr RowFactor(const Operands<V, Scaled<C>>& o, offset_t row) : factor(o.row_scale[row]) {}
    constexpr Sum<V> operator()(Sum<V> sum) const { return factor * sum; }
};

// Lanes of the row kernel: the fewest whose columns cover so many of B, so that rows share warps; the most where B is
// wider. More lanes than these share the nonzeros of a row.
constexpr int lanes_of_columns(index_t n) { return n <= 2 * columns_per_lane ? 2 : n <= 8 * columns_per_lane ? 8 : 32; }

// Work for a slice of lanes of the row kernel: some whole rows of op(A), or a piece of a long one, whose pieces leave
// their sums in slots and are added up in their order.
struct alignas(16) RowLine {
    offset_t begin, end;      // nonzeros
    index_t row;              // the first
    std::int32_t count;       // of whole rows; of pieces, where a row is cut
    std::int32_t first_slot;  // of the cut row; -1: whole rows
    std::int32_t piece;       // of the cut row
};
struct RowLines {
    Buffer<RowLine> line;  // none: every row is one
    std::int32_t slots = 0;
};
// Pieces of a row: the most of them, and those that are added up one after the other.
inline constexpr int most_pieces = 4096;
constexpr int most_in_turn(std::size_t value_bytes) { return value_bytes == 8 ? 32 : 64; }
// How many are added up together first where there are more: about as many as there are such groups.
constexpr int pieces_together(int pieces)
{
    int together = 8;
    while (together * together < pieces) together *= 2;
    return together;
}

// What kernels need beside the matrix, made with the plan.
template <class V>
struct Workspace {
    index_t columns = 0;  // of B at once; more are multiplied one slice of them after the other
    bool early = false;   // what the plan has made is settled: a kernel may begin before the one ahead of it has ended
    RowLines lines;
    Panels<V> panels;
    Tiles<V> tiles;
    Buffer<Sum<V>> partial;  // sums of pieces: of rows, of panels, or of clusters with the columns of a dense panel
    Buffer<int> arrived;     // pieces of rows, units of panels, parts of clusters that have left their sums
    Buffer<Sum<V>> merged;   // tiles: both products' sums, by rows, where C is narrower than they are
    Buffer<V> b_by_rows;     // a slice of B whose columns are contiguous, by rows

    std::size_t bytes() const
    {
        return lines.line.bytes() + panels.bytes() + tiles.bytes() + partial.bytes() + arrived.bytes() +
               merged.bytes() + b_by_rows.bytes();
    }
};

// ---- preparing ----

// to[k] = from[source[k]].
template <class V>
void carry_values(const CpuQueue& q, const V* from, const offset_t* source, offset_t n, V* to);
template <class V>
void carry_values(const CudaQueue& q, const V* from, const offset_t* source, offset_t n, V* to);

// to[place[k]] = from[k].
template <class V>
void spread_values(const CpuQueue& q, const V* from, const offset_t* place, offset_t n, V* to);
template <class V>
void spread_values(const CudaQueue& q, const V* from, const offset_t* place, offset_t n, V* to);

// Everything but the values, on the host: `row` is the original row at each position (null: as they are). ValueError
// where a position is stored twice. Panels are cut where they have more than an equal share of all chunks among so many
// `units`.
template <class V>
Panels<V> make_panels(const CpuQueue& q, const Pattern& a, const index_t* row, offset_t units);

// The same with every column in its place and all tiles: chunk k of a panel has columns 16 k and on (8 k for tf32), and
// four tiles. A unit a panel.
template <class V>
Panels<V> make_dense_panels(const CpuQueue& q, const Pattern& a);

// Tiles and rest of op(A) with its rows in the order row[0], row[1], …: everything but the values and `row`, on the
// host. ValueError where a tile has a position twice.
template <class V>
Tiles<V> make_tiles(const CpuQueue& q, const Pattern& a, const index_t* row, const TileRule& rule);

// Lines of about `piece` nonzeros. Only for a GPU; waits.
RowLines cut_rows(const CudaQueue& q, index_t rows, const offset_t* row_begin, offset_t nonzeros, int piece);

// ---- multiplying ----

// `columns` of B, contiguous columns, to rows: to[i * n + j] = b[i + j * leading].
template <class V>
void turn_columns(const CpuQueue& q, const V* b, offset_t leading, index_t rows, index_t n, V* to);
template <class V>
void turn_columns(const CudaQueue& q, const V* b, offset_t leading, index_t rows, index_t n, V* to);

template <class V, class C>
void multiply_rows(const CpuQueue& q, const CsrView<V>& a, int lanes, const Workspace<V>& work,
                   const Operands<V, C>& o);
template <class V, class C>
void multiply_rows(const CudaQueue& q, const CsrView<V>& a, int lanes, const Workspace<V>& work,
                   const Operands<V, C>& o);

// Only on a GPU; a block has `width` columns of C. V float: products of tf32 numbers.
template <class V, class C>
void multiply_panels(const CudaQueue& q, int width, const Workspace<V>& work, const Operands<V, C>& o);

// The same for dense panels of a matrix of `cols` columns, which the parts and clusters of the policy share.
template <class V, class C>
void multiply_dense(const CudaQueue& q, const Policy& policy, index_t cols, const Workspace<V>& work,
                    const Operands<V, C>& o);

// The same for float and double with the accuracy of their sums (float: three products of tf32 numbers for one). Rows
// of B must be whole pieces.
template <class V>
void multiply_dense_in_full(const CudaQueue& q, const Policy& policy, index_t cols, const Workspace<V>& work,
                            const Operands<V, V>& o);

// C += alpha tiles B, in the caller's rows; entries of C are as wide as sums, and beta counts as 1. On a GPU products
// are a tensor core's, of tf32 numbers for float.
template <class V, class C>
void multiply_tiles(const CpuQueue& q, const Tiles<V>& tiles, const Operands<V, C>& o);
template <class V, class C>
void multiply_tiles(const CudaQueue& q, const Tiles<V>& tiles, const Operands<V, C>& o);

// C = sum + beta C, for C narrower than sums: rows x n of them, without gaps.
template <class V, class C>
void round_sums(const CpuQueue& q, index_t rows, const Sum<V>* sum, const Operands<V, C>& o);
template <class V, class C>
void round_sums(const CudaQueue& q, index_t rows, const Sum<V>* sum, const Operands<V, C>& o);

}  // namespace tulle::inline TULLE_ABI::spmm
