// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Block CSR with blocks of 1 x 4, zeros where there is no entry: one vector addition adds up to four products. It pays
// where columns of a row are close together and every row is used many times.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/vector.hpp"
#include "prim/scan.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tulle::inline TULLE_ABI::graph {

inline constexpr int block_cols = 4;
// Entries of a block, and products per entry of the matrix, from which on blocks are faster (measured: musae_facebook
// on a Neoverse V1, where an addition of a block takes 1.4 ns, of an entry 0.9 ns, and making blocks 15 ns per entry).
inline constexpr double least_entries_of_block = 1.5;
inline constexpr offset_t least_products_per_entry = 128;

template <class V>
struct Bcsr {
    Buffer<offset_t> begin;  // of every row
    Buffer<index_t> at;      // column / 4
    Buffer<V> value;

    bool is_made() const { return at.size() > 0; }
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

// Empty where blocks do not pay for so many products.
template <class V>
Bcsr<V> make_bcsr(const CpuQueue& q, const CsrView<V>& b, offset_t products)
{
    if (!b.sorted || products < least_products_per_entry * b.nonzeros) return {};
    Bcsr<V> r{Buffer<offset_t>(q, offset_t{b.rows} + 1), {}, {}};
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
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < b.rows; ++i) {
        offset_t to = begin[i] - 1;
        std::fill(r.value.data() + block_cols * begin[i], r.value.data() + block_cols * begin[i + 1], V(0));
        for_each_with_block(b, i, [&](index_t at, bool is_new, offset_t p) {
            to += is_new;
            r.at.data()[to] = at;
            r.value.data()[block_cols * to + b.col[p] % block_cols] += b.value[p];
        });
    }
    return r;
}

// sum += factor times row k; factor is finite, so that places without an entry stay as they are.
template <class V>
void add_block_row(const Bcsr<V>& b, index_t k, V factor, V* sum)
{
    const index_t* const at = b.at.data();
    const V* const value = b.value.data();
    const offset_t end = b.begin.data()[k + 1];
    for (offset_t r = b.begin.data()[k]; r < end; ++r) {
        V* const to = sum + offset_t{block_cols} * at[r];
        const auto added = simd::load<block_cols>(to) + factor * simd::load<block_cols>(value + block_cols * r);
        std::memcpy(to, &added, sizeof(added));
    }
}

}  // namespace tulle::inline TULLE_ABI::graph

#pragma GCC diagnostic pop
