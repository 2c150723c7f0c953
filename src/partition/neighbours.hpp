// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The graph of a square matrix: two rows are neighbours where A or its transpose has an entry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "tulle/csr.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::partition {

// Some neighbours are listed twice, and a row may be its own neighbour. On the host.
struct Neighbours {
    index_t rows;
    const offset_t* begin;
    const index_t* list;
    Buffer<offset_t> own_begin = {};  // unless the arrays are those of the matrix
    Buffer<index_t> own_list = {};

    offset_t degree(index_t i) const { return begin[i + 1] - begin[i]; }
    std::span<const index_t> of(index_t i) const { return {list + begin[i], static_cast<std::size_t>(degree(i))}; }
};

// Calls work(i, j) for each entry outside the diagonal; place(j) is the column that column j comes to.
template <class V, class Place, class F>
void each_edge(const CsrView<V>& a, const Place& place, F&& work)
{
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            if (const index_t j = place(a.col[k]); j != i) work(i, j);
}

template <class V, class Place>
Neighbours both_directions(const CpuQueue& q, const CsrView<V>& a, const Place& place)
{
    Buffer<offset_t> begins(q, offset_t{a.rows} + 2);
    offset_t* const begin = begins.data();
    std::fill_n(begin, begins.size(), offset_t{0});
    each_edge(a, place, [&](index_t i, index_t j) { ++begin[i + 2], ++begin[j + 2]; });
    std::partial_sum(begin, begin + begins.size(), begin);
    Buffer<index_t> list(q, begin[a.rows + 1]);
    each_edge(a, place, [&](index_t i, index_t j) {
        list.data()[begin[i + 1]++] = j;
        list.data()[begin[j + 1]++] = i;
    });
    return {a.rows, begin, list.data(), std::move(begins), std::move(list)};
}

}  // namespace tulle::inline TULLE_ABI::partition
