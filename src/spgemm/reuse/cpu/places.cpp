// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Places of products, and refills by them: a thread has a row of C, and adds where the places say, in the order of A's
// nonzeros. A row whose pattern follows from the row before (relations.hpp) has the same places.
#include "spgemm/reuse/places.hpp"

#include <algorithm>

#include "prim/scan.hpp"
#include "spgemm/adaptive/cpu/add_rows.hpp"
#include "spgemm/adaptive/cpu/relations.hpp"
#include "spgemm/adaptive/cpu/workers.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

bool follows(const Workspace& work, index_t row)
{
    return !work.runs_a.empty() && work.runs_a.data()[row] != unrelated;
}

// visit(place) with the first place of a row, narrow or wide.
template <class Half, class Visit>
void with_places(Half* half, offset_t begin, offset_t nonzeros, Visit&& visit)
{
    Half* first = half + first_half(begin, nonzeros);
    if (is_wide(nonzeros))
        visit(reinterpret_cast<std::conditional_t<std::is_const_v<Half>, const std::uint32_t, std::uint32_t>*>(first));
    else visit(first);
}

// `where`, never below zero, is as long as a row of C could be; what it says of columns that this row has not is of no
// interest, but no place is outside of the row, whatever a caller's columns are.
template <class P, class V>
void place_row(const CsrView<V>& a, const CsrView<V>& b, index_t row, const index_t* col, offset_t nonzeros, P* place,
               index_t* where)
{
    const auto last = static_cast<index_t>(nonzeros - 1);
    for (index_t k = 0; k <= last; ++k) where[std::clamp(col[k], 0, b.cols - 1)] = k;
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
        for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l)
            *place++ = static_cast<P>(std::min(where[b.col[l]], last));
}

// Adds the products of a row of C. Places of a row of B are different: four are loaded before the first is stored.
template <class P, class V>
void add_row(const CsrView<V>& a, const CsrView<V>& b, index_t row, const P* place, V* value)
{
    constexpr int step = 4;
    const offset_t* const begin_b = b.row_begin;
    const index_t* const col_a = a.col;
    const V *const value_a = a.value, *const value_b = b.value;
    for (offset_t k = a.row_begin[row], end = a.row_begin[row + 1]; k < end; ++k) {
        const V factor = value_a[k];
        const offset_t l = begin_b[col_a[k]], last = begin_b[col_a[k] + 1];
        const V* next = value_b + l;
        offset_t left = last - l;
        for (; left >= step; left -= step, next += step, place += step) {
            V* const to[step] = {value + place[0], value + place[1], value + place[2], value + place[3]};
            const V sum[step] = {*to[0] + factor * next[0], *to[1] + factor * next[1], *to[2] + factor * next[2],
                                 *to[3] + factor * next[3]};
            *to[0] = sum[0], *to[1] = sum[1], *to[2] = sum[2], *to[3] = sum[3];
        }
        for (; left > 0; --left) value[*place++] += factor * *next++;
    }
}

// The same where row j of B has the nonzero j and no other.
template <class P, class V>
void add_singles(const CsrView<V>& a, const V* b, index_t row, const P* place, V* value)
{
    for (offset_t k = a.row_begin[row], end = a.row_begin[row + 1]; k < end; ++k)
        value[*place++] += a.value[k] * b[a.col[k]];
}

}  // namespace

template <class V>
Places reserve_places(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                      const offset_t* row_begin)
{
    Places places;
    places.begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
    offset_t* begin = places.begin.data();
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = 0; i < a.rows; ++i)
        begin[i] = follows(work, i) ? 0 : halves_for(products_of(a, b, i), row_begin[i + 1] - row_begin[i]);
    prim::exclusive_scan(q, begin, begin, a.rows);
    places.half = Buffer<std::uint16_t>(q, begin[a.rows]);
    for (index_t i = 1; i < a.rows; ++i)
        if (follows(work, i)) begin[i] = begin[i - 1];
    return places;
}

template <class V>
void place_products(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                    const RowRange<V>& c, Places& places)
{
    Buffer<index_t> where(q, q.threads * offset_t{b.cols});
    fill_zero(q, where.data(), where.size());
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = 0; i < c.rows; ++i) {
        if (follows(work, i)) continue;
        const offset_t nonzeros = c.row_begin[i + 1] - c.row_begin[i];
        index_t* mine = where.data() + omp_get_thread_num() * offset_t{b.cols};
        with_places(places.half.data(), places.begin.data()[i], nonzeros,
                    [&](auto* place) { place_row(a, b, i, c.col + (c.row_begin[i] - c.base), nonzeros, place, mine); });
    }
    places.single = b.nonzeros == b.rows;
    for (index_t j = 0; places.single && j < b.rows; ++j) places.single = b.row_begin[j] == j;
    places.has_runs =
        !work.runs_b.empty() && std::count(work.runs_b.data(), work.runs_b.data() + b.rows, equal_pattern);
    places.known = true;
}

std::size_t place_bytes_for(const CpuQueue& q, index_t cols)
{
    return static_cast<std::size_t>(q.threads) * static_cast<std::size_t>(cols) * sizeof(index_t);
}

template <class V>
void add_placed(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                const Places& places, const RowRange<V>& c)
{
    const unsigned char* const relations_b = places.has_runs ? work.runs_b.data() : nullptr;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = 0; i < c.rows; ++i) {
        V* value = c.value + (c.row_begin[i] - c.base);
        std::fill(value, value + (c.row_begin[i + 1] - c.row_begin[i]),
                  V(-0.0));  // what changes no sum, not even the sign of zero
        with_places(places.half.data(), places.begin.data()[i], c.row_begin[i + 1] - c.row_begin[i],
                    [&](const auto* place) {
                        if (places.single) return add_singles(a, b.value, i, place, value);
                        if (!places.has_runs) return add_row(a, b, i, place, value);
                        add_all(
                            a, b, relations_b, i, [&](index_t, offset_t product) { return place + product; }, value);
                    });
    }
}

template Places reserve_places(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&,
                               const offset_t*);
template Places reserve_places(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&,
                               const offset_t*);
template void place_products(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&,
                             const RowRange<float>&, Places&);
template void place_products(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&,
                             const RowRange<double>&, Places&);
template void add_placed(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&, const Places&,
                         const RowRange<float>&);
template void add_placed(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&,
                         const Places&, const RowRange<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm
