// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Block CSR with blocks of 1 x 4, zeros where there is no entry: one vector addition adds up to four products. It pays
// where columns of a row are close together and every row is used many times.
//
// Where small products may be left out, the blocks of a row are in descending order of their largest entry, by levels
// of half a power of two below the largest of the row: a factor uses the first blocks of a row and leaves the rest.
// Magnitudes are compared as keys: the bits of a number, its exponent and what follows, are its logarithm, linear
// between powers of two.
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

namespace tulle::inline TULLE_ABI::graph {

inline constexpr int block_cols = sums_at_once;
// Entries of a block, and products per entry of the matrix, from which on blocks are faster (measured: musae_facebook
// on a Neoverse V1, where an addition of a block takes 1.4 ns, of an entry 0.9 ns, and making blocks 15 ns per entry).
inline constexpr double least_entries_of_block = 1.5;
inline constexpr offset_t least_products_per_entry = 128;

inline constexpr int block_levels = 64, levels_per_power = 2;
inline constexpr int blocks_at_once = 4;  // loaded before the first is stored: a row has each place once

// A power of two as a difference of keys, and by how much at most the key of a number is below its logarithm:
// log2(1 + m) - m is below 0.0861.
template <class V>
inline constexpr std::int64_t key_of_power = std::int64_t{1} << (std::numeric_limits<V>::digits - 1);
template <class V>
inline constexpr auto key_error = static_cast<std::int64_t>(0.0861 * static_cast<double>(key_of_power<V>));

template <class V>
struct Bcsr {
    Buffer<offset_t> begin;  // of every row
    Buffer<index_t> at;      // column / 4
    Buffer<V> value;
    Buffer<std::array<index_t, block_levels>> blocks_to;  // of every row: blocks up to each level
    Buffer<std::int64_t> top;                             // of every row: key of the largest entry
    std::int64_t negligible =
        0;  // keys of a factor and an entry that add up to no more have a product below the quantum

    bool is_made() const { return at.size() > 0; }
    // Of a key that is by so much below the top of its row.
    static std::size_t level_of(std::int64_t below)
    {
        return static_cast<std::size_t>(
            std::min<std::int64_t>(below * levels_per_power / key_of_power<V>, block_levels - 1));
    }
    // The blocks of row k whose products with the factor are not negligible.
    offset_t blocks_of(index_t k, V factor) const
    {
        const std::int64_t above = top.data()[k] + static_cast<std::int64_t>(key_of(factor)) - negligible;
        return above > 0 ? blocks_to.data()[k][level_of(above - 1)] : 0;
    }
    void prefetch(index_t k) const
    {
        __builtin_prefetch(blocks_to.data()[k].data() + block_levels / 4);  // levels of most factors
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

// Levels of the blocks of a row in the order of columns, by their largest entries; blocks_to and top of the row.
template <class V>
void find_levels(const CsrView<V>& b, index_t i, bool is_by_magnitude, KeyOf<V>* key, std::uint8_t* level, Bcsr<V>& r)
{
    offset_t n = -1;
    KeyOf<V> top = 0;
    for_each_with_block(b, i, [&](index_t, bool is_new, offset_t p) {
        n += is_new;
        key[n] = is_new ? key_of(b.value[p]) : std::max(key[n], key_of(b.value[p]));
        top = std::max(top, key[n]);
    });
    std::array<index_t, block_levels> blocks{};
    for (offset_t k = 0; k <= n; ++k) {
        level[k] = static_cast<std::uint8_t>(is_by_magnitude ? r.level_of(static_cast<std::int64_t>(top - key[k])) : 0);
        ++blocks[level[k]];
    }
    for (std::size_t l = 1; l < blocks.size(); ++l) blocks[l] += blocks[l - 1];
    r.blocks_to.data()[i] = blocks;
    r.top.data()[i] = static_cast<std::int64_t>(top);
}

// Blocks of a row to their places: by levels, within one in the order of columns.
template <class V>
void fill_blocks(const CsrView<V>& b, index_t i, const std::uint8_t* level, Bcsr<V>& r)
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
    r.top = Buffer<std::int64_t>(q, b.rows);
    constexpr std::int64_t key_of_one = (std::numeric_limits<V>::max_exponent - 1) * key_of_power<V>;
    const bool is_by_magnitude = quantum.value() > 0;
    if (is_by_magnitude)
        r.negligible = static_cast<std::int64_t>(key_of(quantum.value())) + key_of_one - 2 * (key_error<V> + 1);
    Buffer<std::uint8_t> level(q, begin[b.rows]);
    Buffer<KeyOf<V>> key(q, begin[b.rows]);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < b.rows; ++i) {
        find_levels(b, i, is_by_magnitude, key.data() + begin[i], level.data() + begin[i], r);
        fill_blocks(b, i, level.data() + begin[i], r);
    }
    return r;
}

// sums += factor times the blocks of row k that are not negligible, or times all; the factor is finite, so that places
// without an entry stay as they are. The sums are a copy, whose address the compiler keeps in a register.
template <class V, class Sums>
void add_block_row(const Bcsr<V>& b, index_t k, V factor, Sums sums, bool all)
{
    const offset_t begin = b.begin.data()[k], blocks = all ? b.begin.data()[k + 1] - begin : b.blocks_of(k, factor);
    const index_t* const at = b.at.data() + begin;
    const V* const value = b.value.data() + block_cols * begin;
    const V scaled = sums.scaled(factor);
    offset_t r = 0;
    for (; r + blocks_at_once <= blocks; r += blocks_at_once)
        sums.template add_blocks<blocks_at_once>(at + r, scaled, value + block_cols * r);
    for (; r < blocks; ++r) sums.template add_blocks<1>(at + r, scaled, value + block_cols * r);
}

}  // namespace tulle::inline TULLE_ABI::graph
