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
#include <numeric>

#include "base/math.hpp"
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

inline constexpr int block_levels = 56, levels_per_power = 2;
inline constexpr int blocks_at_once = 4;  // loaded before the first is stored: a row has each place once

// A power of two as a difference of keys, and by how much at most the key of a number is below its logarithm:
// log2(1 + m) - m is below 0.0861.
template <class V>
inline constexpr std::int64_t key_of_power = std::int64_t{1} << (std::numeric_limits<V>::digits - 1);
template <class V>
inline constexpr auto key_error = static_cast<std::int64_t>(0.0861 * static_cast<double>(key_of_power<V>));

// Blocks that are added at once: their columns / 4, all different, and values. A row that does not fill its last group
// has blocks without entries there, at columns behind those of the matrix.
template <class V>
struct BlockGroup {
    std::array<index_t, blocks_at_once> at;
    std::array<V, blocks_at_once * block_cols> value;
};

// What is known of a row, in two cache lines.
struct BlockRow {
    offset_t begin;                                     // of its groups
    std::int64_t top;                                   // key of the largest entry
    std::array<std::uint16_t, block_levels> groups_to;  // groups up to each level
};
static_assert(sizeof(BlockRow) == 128);
inline constexpr offset_t most_groups = std::numeric_limits<std::uint16_t>::max();

template <class V>
struct Bcsr {
    Buffer<BlockRow> rows;
    Buffer<BlockGroup<V>> groups;
    // Keys of a factor and an entry that add up to no more have a product below half of the quantum.
    std::int64_t negligible = 0;

    bool is_made() const { return !groups.empty(); }
    // Of a key that is by so much below the top of its row.
    static std::size_t level_of(std::int64_t below)
    {
        return static_cast<std::size_t>(
            std::min<std::int64_t>(below * levels_per_power / key_of_power<V>, block_levels - 1));
    }
    // The groups of row k that have blocks whose products with the factor are not negligible.
    offset_t groups_of(index_t k, V factor) const
    {
        const BlockRow& row = rows.data()[k];
        const std::int64_t above = row.top + static_cast<std::int64_t>(key_of(factor)) - negligible;
        return above > 0 ? row.groups_to[level_of(above - 1)] : 0;
    }
    void prefetch_row(index_t k) const
    {
        const char* const row = reinterpret_cast<const char*>(rows.data() + k);
        __builtin_prefetch(row);
        __builtin_prefetch(row + sizeof(BlockRow) / 2);
    }
    void prefetch_groups(index_t k) const { __builtin_prefetch(groups.data() + rows.data()[k].begin); }
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

// Levels of the blocks of a row in the order of columns, by their largest entries; how many blocks there are up to
// each.
template <class V>
std::array<index_t, block_levels> find_levels(const CsrView<V>& b, index_t i, bool is_by_magnitude, KeyOf<V>* key,
                                              std::uint8_t* level, BlockRow& row)
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
        const auto below = static_cast<std::int64_t>(top - key[k]);
        level[k] = static_cast<std::uint8_t>(is_by_magnitude ? Bcsr<V>::level_of(below) : 0);
        ++blocks[level[k]];
    }
    for (std::size_t l = 1; l < blocks.size(); ++l) blocks[l] += blocks[l - 1];
    for (std::size_t l = 0; l < blocks.size(); ++l)
        row.groups_to[l] = static_cast<std::uint16_t>(ceil_div(blocks[l], blocks_at_once));
    row.top = static_cast<std::int64_t>(top);
    return blocks;
}

// Blocks of a row to their places: by levels, within one in the order of columns.
template <class V>
void fill_groups(const CsrView<V>& b, index_t i, const std::array<index_t, block_levels>& blocks_to,
                 const std::uint8_t* level, const BlockRow& row, BlockGroup<V>* groups)
{
    const index_t behind = ceil_div(b.cols, block_cols);
    for (index_t g = 0; g < row.groups_to.back(); ++g) {
        groups[g].value.fill(V(0));
        std::iota(groups[g].at.begin(), groups[g].at.end(), behind);
    }
    std::array<index_t, block_levels> next{};
    std::copy_n(blocks_to.begin(), block_levels - 1, next.begin() + 1);
    offset_t n = -1;
    index_t to = 0;
    for_each_with_block(b, i, [&](index_t at, bool is_new, offset_t p) {
        if (is_new) to = next[level[++n]]++;
        BlockGroup<V>& group = groups[to / blocks_at_once];
        group.at[static_cast<std::size_t>(to % blocks_at_once)] = at;
        const offset_t place = offset_t{to % blocks_at_once} * block_cols + b.col[p] % block_cols;
        group.value[static_cast<std::size_t>(place)] += b.value[p];
    });
}

// Where the groups of every row begin, and their number at the end; whether blocks pay.
template <class V>
bool count_groups(const CpuQueue& q, const CsrView<V>& b, offset_t* begin)
{
    offset_t blocks = 0, longest = 0;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(+ : blocks) reduction(max : longest)
    for (index_t i = 0; i < b.rows; ++i) {
        offset_t of_row = 0;
        for_each_with_block(b, i, [&](index_t, bool is_new, offset_t) { of_row += is_new; });
        begin[i] = ceil_div(of_row, offset_t{blocks_at_once});
        blocks += of_row;
        longest = std::max(longest, begin[i]);
    }
    prim::exclusive_scan(q, begin, begin, b.rows);
    return longest <= most_groups &&
           static_cast<double>(b.nonzeros) >= least_entries_of_block * static_cast<double>(blocks);
}

// Empty where blocks do not pay for so many products. Products below half of the quantum may be left out.
template <class V>
Bcsr<V> make_bcsr(const CpuQueue& q, const CsrView<V>& b, offset_t products, const Quantum<V>& quantum)
{
    if (!b.sorted || products < least_products_per_entry * b.nonzeros) return {};
    Buffer<offset_t> begin(q, offset_t{b.rows} + 1);
    if (!count_groups(q, b, begin.data())) return {};
    const offset_t groups = begin.data()[b.rows];
    Bcsr<V> r{Buffer<BlockRow>(q, b.rows), Buffer<BlockGroup<V>>(q, groups)};
    constexpr std::int64_t key_of_one = (std::numeric_limits<V>::max_exponent - 1) * key_of_power<V>;
    const bool is_by_magnitude = quantum.value() > 0;
    if (is_by_magnitude)
        r.negligible = static_cast<std::int64_t>(key_of(quantum.value() / 2)) + key_of_one - 2 * (key_error<V> + 1);
    Buffer<std::uint8_t> level(q, blocks_at_once * groups);
    Buffer<KeyOf<V>> key(q, blocks_at_once * groups);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < b.rows; ++i) {
        BlockRow& row = r.rows.data()[i];
        row.begin = begin.data()[i];
        std::uint8_t* const levels = level.data() + blocks_at_once * row.begin;
        const auto blocks_to = find_levels(b, i, is_by_magnitude, key.data() + blocks_at_once * row.begin, levels, row);
        fill_groups(b, i, blocks_to, levels, row, r.groups.data() + row.begin);
    }
    return r;
}

// sums += factor times the blocks of row k that are not negligible, or times all; the factor is finite, so that places
// without an entry stay as they are. The sums are a copy, whose address the compiler keeps in a register.
template <class V, class Sums>
void add_block_row(const Bcsr<V>& b, index_t k, V factor, Sums sums, bool all)
{
    const BlockRow& row = b.rows.data()[k];
    const offset_t groups = all ? row.groups_to.back() : b.groups_of(k, factor);
    const BlockGroup<V>* const group = b.groups.data() + row.begin;
    const V scaled = sums.scaled(factor);
    for (offset_t g = 0; g < groups; ++g)
        sums.template add_blocks<blocks_at_once>(group[g].at.data(), scaled, group[g].value.data());
}

}  // namespace tulle::inline TULLE_ABI::graph
