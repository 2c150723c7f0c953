// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Block CSR with blocks of 1 x 4, zeros where there is no entry: one vector addition adds up to four products. It pays
// where columns of a row are close together and every row is used many times.
//
// Where small products may be left out, the blocks of a row are in descending order of their magnitude, by levels of
// `exponents_per_level` powers of two below the largest: a factor uses the first blocks of a row and leaves the rest.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "graph/cpu/sums.hpp"
#include "graph/select.hpp"
#include "prim/scan.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tulle::inline TULLE_ABI::graph {

inline constexpr int block_cols = sums_at_once;
// Entries of a block, and products per entry of the matrix, from which on blocks are faster (measured: musae_facebook
// on a Neoverse V1, where an addition of a block takes 1.4 ns, of an entry 0.9 ns, and making blocks 15 ns per entry).
inline constexpr double least_entries_of_block = 1.5;
inline constexpr offset_t least_products_per_entry = 128;

inline constexpr int block_levels = 16, exponents_per_level = 2;

// The exponent of a magnitude as it is stored: v < 2^(exponent - bias + 1).
template <class V>
int exponent_of(V v)
{
    return static_cast<int>(key_of(v) >> (std::numeric_limits<V>::digits - 1));
}

template <class V>
struct Bcsr {
    Buffer<offset_t> begin;  // of every row
    Buffer<index_t> at;      // column / 4
    Buffer<V> value;
    Buffer<std::array<index_t, block_levels>> blocks_to;  // of every row: blocks up to each level
    Buffer<int> top;                                      // of every row: exponent of the largest block
    int least_exponents = 0;  // of a factor and the largest block, together, from which on the first level is used

    bool is_made() const { return at.size() > 0; }
    // The blocks of row k whose products with the factor are not negligible.
    offset_t blocks_of(index_t k, V factor) const
    {
        const int above = top.data()[k] + exponent_of(factor) - least_exponents;
        if (above < 0) return 0;
        return blocks_to.data()[k][static_cast<std::size_t>(std::min(above / exponents_per_level, block_levels - 1))];
    }
    void prefetch(index_t k) const
    {
        __builtin_prefetch(blocks_to.data() + k);
        __builtin_prefetch(at.data() + begin.data()[k]);
        __builtin_prefetch(value.data() + block_cols * begin.data()[k]);
    }
};

// visit(column / 4, is_new, p) for the entries of row i, whose columns ascend.
template <class V, class Visit>
void for_each_with_block(const CsrView<V>& b, index_t i, Visit&& visit)
{
    index_t last = -1;
    for (offset_t p = b.row_begin[i]; p < b.row_begin[i + 1]; ++p) {
        const index_t at = b.col[p] / block_cols;
        visit(at, at != last, p);
        last = at;
    }
}

// Levels of the blocks of a row in the order of columns, by the sums of their magnitudes; blocks_to and top of the row.
template <class V>
void find_levels(const CsrView<V>& b, index_t i, bool is_by_magnitude, std::uint16_t* level, Bcsr<V>& r)
{
    offset_t n = -1;
    V mass = 0;
    int top = 0;
    for_each_with_block(b, i, [&](index_t, bool is_new, offset_t p) {
        n += is_new;
        mass = is_new ? std::abs(b.value[p]) : mass + std::abs(b.value[p]);
        level[n] = static_cast<std::uint16_t>(exponent_of(mass));
        top = std::max(top, exponent_of(mass));
    });
    std::array<index_t, block_levels> blocks{};
    for (offset_t k = 0; k <= n; ++k) {
        const int below = is_by_magnitude ? (top - level[k]) / exponents_per_level : 0;
        level[k] = static_cast<std::uint16_t>(std::min(below, block_levels - 1));
        ++blocks[level[k]];
    }
    for (std::size_t l = 1; l < blocks.size(); ++l) blocks[l] += blocks[l - 1];
    r.blocks_to.data()[i] = blocks;
    r.top.data()[i] = top;
}

// Blocks of a row to their places: by levels, within one in the order of columns.
template <class V>
void fill_blocks(const CsrView<V>& b, index_t i, const std::uint16_t* level, Bcsr<V>& r)
{
    const offset_t begin = r.begin.data()[i];
    std::array<index_t, block_levels> next{};
    std::copy_n(r.blocks_to.data()[i].begin(), block_levels - 1, next.begin() + 1);
    std::fill(r.value.data() + block_cols * begin, r.value.data() + block_cols * r.begin.data()[i + 1], V(0));
    offset_t n = -1, to = 0;
    for_each_with_block(b, i, [&](index_t at, bool is_new, offset_t p) {
        if (is_new) to = begin + next[level[++n]]++;
        r.at.data()[to] = at;
        r.value.data()[block_cols * to + b.col[p] % block_cols] += b.value[p];
    });
}

// Empty where blocks do not pay for so many products. Products below the quantum may be left out.
template <class V>
Bcsr<V> make_bcsr(const CpuQueue& q, const CsrView<V>& b, offset_t products, const Quantum<V>& quantum)
{
    if (!b.sorted || products < least_products_per_entry * b.nonzeros) return {};
    Bcsr<V> r;
    r.begin = Buffer<offset_t>(q, offset_t{b.rows} + 1);
    offset_t* const begin = r.begin.data();
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < b.rows; ++i) {
        begin[i] = 0;
        for_each_with_block(b, i, [&](index_t, bool is_new, offset_t) { begin[i] += is_new; });
    }
    prim::exclusive_scan(q, begin, begin, b.rows);
    if (static_cast<double>(b.nonzeros) < least_entries_of_block * static_cast<double>(begin[b.rows])) return {};
    r.at = Buffer<index_t>(q, begin[b.rows]);
    r.value = Buffer<V>(q, block_cols * begin[b.rows]);
    r.blocks_to = Buffer<std::array<index_t, block_levels>>(q, b.rows);
    r.top = Buffer<int>(q, b.rows);
    // A factor below 2^(x + 1) times a block below 2^(y + 1) is below 2^z where x + y + 2 <= z.
    constexpr int bias = std::numeric_limits<V>::max_exponent - 1;
    const bool is_by_magnitude = quantum.value() > 0;
    if (is_by_magnitude) r.least_exponents = exponent_of(quantum.value()) + bias - 1;
    Buffer<std::uint16_t> level(q, begin[b.rows]);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < b.rows; ++i) {
        find_levels(b, i, is_by_magnitude, level.data() + begin[i], r);
        fill_blocks(b, i, level.data() + begin[i], r);
    }
    return r;
}

// sums += factor times the blocks of row k that are not negligible, or times all; the factor is finite, so that places
// without an entry stay as they are.
template <class V, class Sums>
void add_block_row(const Bcsr<V>& b, index_t k, V factor, const Sums& sums, bool all)
{
    const index_t* const at = b.at.data();
    const V* const value = b.value.data();
    const offset_t begin = b.begin.data()[k], end = all ? b.begin.data()[k + 1] : begin + b.blocks_of(k, factor);
    const V scaled = sums.scaled(factor);
    for (offset_t r = begin; r < end; ++r) sums.add_block(offset_t{block_cols} * at[r], scaled, value + block_cols * r);
}

}  // namespace tulle::inline TULLE_ABI::graph

#pragma GCC diagnostic pop
