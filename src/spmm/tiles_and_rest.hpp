// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The paper's product: C = alpha rest B + beta C row by row, then C += alpha tiles B, panel by panel. Sums meet in C,
// or beside it where C is narrower than they are, so that an entry is rounded once.
#pragma once

#include <utility>

#include "spmm/host_pattern.hpp"
#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// Tensor cores of doubles are not used: such tiles exist on a CPU only.
template <class Queue, class V>
inline constexpr bool has_tiles = std::is_same_v<Queue, CpuQueue> || sizeof(V) != 8;

// The matrix's values into tiles and rest.
template <class Queue, class V>
void fill_tiles(const Queue& q, const CsrView<V>& a, Tiles<V>& tiles)
{
    if constexpr (has_tiles<Queue, V>)
        if (!tiles.place.empty()) spread_values(q, a.value, tiles.place.data(), tiles.place.size(), tiles.value.data());
}

// Tiles and rest where the queue works; `row`: the original row at each position, copied.
template <class Queue, class V>
Tiles<V> prepare_tiles(const Queue& q, const CpuQueue& host, const CsrView<V>& a, const Buffer<index_t>& row,
                       const TileRule& rule)
{
    const HostPattern here(q, host, pattern_of(a));
    const auto order = fetch(q, host, row.data(), row.size());
    Tiles<V> t = make_tiles<V>(host, here.view(), order.data(), rule);
    t.row = Buffer<index_t>(q, row.size());
    copy(q, row.data(), t.row.data(), row.size());
    t.block_col = lift(q, std::move(t.block_col));
    t.present = lift(q, std::move(t.present));
    t.rest_begin = lift(q, std::move(t.rest_begin));
    t.rest_col = lift(q, std::move(t.rest_col));
    t.place = lift(q, std::move(t.place));
    t.value = Buffer<V>(q, t.slots() * tile_places + t.rest_col.size());
    fill_zero(q, t.value.data(), t.value.size());
    fill_tiles(q, a, t);
    return t;
}

template <class Queue, class V, class C>
void multiply_tiles_and_rest(const Queue& q, int lanes, const Workspace<V>& work, const Operands<V, C>& o)
{
    if constexpr (std::is_same_v<EntryType<C>, Sum<V>>) {
        multiply_rows(q, work.tiles.rest(), lanes, work, o);
        Operands<V, C> more = o;
        more.beta = 1;
        multiply_tiles(q, work.tiles, more);
    } else {
        const Operands<V, Sum<V>> sums{o.alpha, o.b, o.b_row, o.b_col, 0, const_cast<Sum<V>*>(work.merged.data()),
                                       o.n,     1,   o.n};
        if constexpr (is_scaled<C>) multiply_tiles_and_rest(q, lanes, work, with_factors<V, Sum<V>>(sums, o.row_scale));
        else multiply_tiles_and_rest(q, lanes, work, sums);
        round_sums<V, EntryType<C>>(q, work.tiles.rows, work.merged.data(), o);
    }
}

}  // namespace tulle::inline TULLE_ABI::spmm
