// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The paper's form of a reordered matrix: dense tiles as Blocked-ELL, everything else as CSR. Two products into the
// same rows make the whole.
//
//     const Split<float> s = split_tiles(ctx, A.view(), order, 32, 0.1);
//     C' = rest * B;  the rows of C' from first_panel * tau on  += tiles * B;  row order.row[i] of C = row i of C'
#pragma once

#include "tulle/api.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {

template <class V>
struct Split {
    BlockedEll<V> tiles;       // rows first_panel * tau and on, in the order's numbers
    index_t first_panel = 0;   // leading panels of tau rows without a dense tile; all of them where there is none
    Csr<V> rest;               // all rows, in the order's numbers
    offset_t dense_tiles = 0;  // padding not counted
    offset_t in_tiles = 0;     // nonzeros that lie in dense tiles

    std::size_t bytes() const { return tiles.bytes() + rest.bytes(); }
};

// A tile of tau x tau is dense where more than delta * tau * tau of its entries are nonzeros. Entries at the same
// position are added first.
template <class V>
TULLE_API Split<V> split_tiles(const Context& ctx, const CsrView<V>& a, const RowOrder& order, index_t tau,
                               double delta);

}  // namespace tulle::inline TULLE_ABI::spmm
