// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A matrix as rows of quads, four columns side by side with zeros where there is no entry: one vector addition adds up
// to four products. It pays where columns of a row are close together and every row is used many times.
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

inline constexpr int quad = 4;
// Entries of a quad, and products per entry of the matrix, from which on quads are faster (measured: musae_facebook on
// a Neoverse V1, where an addition of a quad takes 1.4 ns, of an entry 0.9 ns, and making quads 15 ns per entry).
inline constexpr double least_entries_of_quad = 1.5;
inline constexpr offset_t least_products_per_entry = 128;

template <class V>
struct Quads {
    Buffer<offset_t> begin;  // of every row
    Buffer<index_t> at;      // column / 4
    Buffer<V> value;

    bool is_made() const { return at.size() > 0; }
};

// visit(column / 4, is_new, p) for the entries of row i, whose columns ascend.
template <class V, class Visit>
void for_each_of_quads(const CsrView<V>& b, index_t i, Visit&& visit)
{
    index_t last = -1;
    for (offset_t p = b.row_begin[i]; p < b.row_begin[i + 1]; ++p) {
        const index_t at = b.col[p] / quad;
        visit(at, at != last, p);
        last = at;
    }
}

// Empty where quads do not pay for so many products.
template <class V>
Quads<V> make_quads(const CpuQueue& q, const CsrView<V>& b, offset_t products)
{
    if (!b.sorted || products < least_products_per_entry * b.nonzeros) return {};
    Quads<V> r{Buffer<offset_t>(q, offset_t{b.rows} + 1), {}, {}};
    offset_t* const begin = r.begin.data();
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < b.rows; ++i) {
        begin[i] = 0;
        for_each_of_quads(b, i, [&](index_t, bool is_new, offset_t) { begin[i] += is_new; });
    }
    prim::exclusive_scan(q, begin, begin, b.rows);
    if (static_cast<double>(b.nonzeros) < least_entries_of_quad * static_cast<double>(begin[b.rows])) return {};
    r.at = Buffer<index_t>(q, begin[b.rows]);
    r.value = Buffer<V>(q, quad * begin[b.rows]);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < b.rows; ++i) {
        offset_t to = begin[i] - 1;
        std::fill(r.value.data() + quad * begin[i], r.value.data() + quad * begin[i + 1], V(0));
        for_each_of_quads(b, i, [&](index_t at, bool is_new, offset_t p) {
            to += is_new;
            r.at.data()[to] = at;
            r.value.data()[quad * to + b.col[p] % quad] += b.value[p];
        });
    }
    return r;
}

// sum += factor times row k; factor is finite, so that places without an entry stay as they are.
template <class V>
void add_quads(const Quads<V>& b, index_t k, V factor, V* sum)
{
    const index_t* const at = b.at.data();
    const V* const value = b.value.data();
    const offset_t end = b.begin.data()[k + 1];
    for (offset_t r = b.begin.data()[k]; r < end; ++r) {
        V* const to = sum + offset_t{quad} * at[r];
        const auto added = simd::load<quad>(to) + factor * simd::load<quad>(value + quad * r);
        std::memcpy(to, &added, sizeof(added));
    }
}

}  // namespace tulle::inline TULLE_ABI::graph

#pragma GCC diagnostic pop
