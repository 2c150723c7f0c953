// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// In which order the rows of A are taken: rows with columns in common stand together, so that a panel of them asks for
// fewer rows of B and fills denser tiles. Only the pattern matters; values play no part. Unsorted columns and columns
// named twice are welcome: a column counts once.
//
//     RowOrder order = order_rows(ctx, pattern_of(A.view()), {.kind = OrderKind::bsa});
//     PanelCost cost = panel_cost(ctx, pattern_of(A.view()), order);  // what the multiplication will move and compute
//
// BSA is Block-Sparsity-Aware reordering (Lee et al., Euro-Par 2024, doi:10.1007/978-3-031-69583-4_1): rows are
// clustered greedily by the weighted Jaccard similarity of their block counts. The permutation is that of the
// sequential definition, on every backend.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/buffer.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/features.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// Where the nonzeros are; arrays where the context works.
struct Pattern {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    const offset_t* row_begin = nullptr;
    const index_t* col = nullptr;
    bool sorted = true;
};

template <class V>
Pattern pattern_of(const CsrView<V>& a)
{
    return {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, a.sorted};
}

enum class OrderKind {
    natural,  // as given
    degree,   // longest rows first
    minhash,  // rows by the columns that come first in a few random orders of the columns
    pack,     // panel after panel, each filled with the rows that share most columns with it
    bsa,      // the paper's clusters
};

enum class Dispersion {
    paper,     // tau * blocks + zeros filled in
    released,  // what the authors' program computes: nonzeros * blocks + zeros filled in
};

struct OrderOptions {
    OrderKind kind = OrderKind::natural;
    index_t tau = 32;                           // bsa: columns of a block
    double alpha = 0.3;                         // bsa: rows join a cluster they resemble more than this, 0 to 1
    Dispersion dispersion = Dispersion::paper;  // bsa
    index_t panel = 64;                         // pack: rows of a panel
    int hashes = 2;                             // minhash: 1 to 8
    bool checked = true;                        // look at offsets and columns first
    std::optional<RowStatistics> lengths = {};  // of the rows, where they are known already
};

struct RowOrder {
    OrderKind kind = OrderKind::natural;
    Buffer<index_t> row;        // the original row at each position; where the context works
    index_t leading_empty = 0;  // so many rows at the front are empty
    index_t clusters = 0;       // bsa: of rows that are not empty

    index_t rows() const { return static_cast<index_t>(row.size()); }
    std::size_t bytes() const { return row.bytes(); }
};

// A permutation of the rows; the same for the same pattern and options, whatever the backend and the number of threads.
TULLE_API RowOrder order_rows(const Context& ctx, const Pattern& a, const OrderOptions& options = {});

// What a multiplication by panels of rows moves and computes.
struct PanelCost {
    offset_t pairs = 0;     // distinct (panel, column): rows of B gathered
    offset_t tiles = 0;     // 16 x 8, with a nonzero; a panel's columns grouped by the slabs of 16 rows that use them
    offset_t panels = 0;    // with a nonzero
    offset_t nonzeros = 0;  // distinct positions

    bool operator==(const PanelCost&) const = default;
};

// `height`: a multiple of 16 up to 128.
TULLE_API PanelCost panel_cost(const Context& ctx, const Pattern& a, const RowOrder& order, index_t height = 64);

TULLE_API std::string to_text(OrderKind kind);
TULLE_API std::string to_text(Dispersion dispersion);
TULLE_API OrderKind parse_order(std::string_view name);  // ValueError lists the names

}  // namespace tulle::inline TULLE_ABI::spmm
