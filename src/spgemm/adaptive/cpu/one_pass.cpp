// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spgemm/adaptive/cpu/one_pass.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "prim/reduce.hpp"
#include "prim/scan.hpp"
#include "spgemm/adaptive/cpu/positions.hpp"
#include "spgemm/adaptive/cpu/relations.hpp"
#include "spgemm/adaptive/cpu/workers.hpp"

namespace tulle::inline TULLE_ABI::spgemm::one_pass {
namespace {

// Room for all products is taken up to this many: positions are 32-bit numbers.
constexpr offset_t most_products = offset_t{1} << 26;

// Products of a row of C on average up to which one pass is faster than two: where the rows of B between the first and
// the last one that a row of A picks stay in the second cache, and where they do not. There a product waits for its
// position, and an array of sums and marks, or a comparison, is faster from about 16 on (measured:
// docs/experiments/spgemm.md).
constexpr double cache_bytes = 1 << 20;
constexpr offset_t most_in_cache = 64, most_beyond = 8;
constexpr index_t asked_rows = 256;

// visit(row) for some rows, evenly spread.
template <class V, class Visit>
void for_some_rows(const CsrView<V>& a, const Visit& visit)
{
    const index_t step = std::max(1, a.rows / asked_rows);
    for (offset_t i = step - 1; i < a.rows; i += step) visit(i);
}

template <class V>
offset_t most_per_row(const CsrView<V>& a, const CsrView<V>& b)
{
    double span = 0, rows = 0;
    for_some_rows(a, [&](offset_t i) {
        if (a.row_begin[i] == a.row_begin[i + 1]) return;
        span += 1 + std::abs(static_cast<double>(a.col[a.row_begin[i + 1] - 1]) - a.col[a.row_begin[i]]);
        ++rows;
    });
    const double bytes = static_cast<double>(b.nonzeros) * (2 * sizeof(index_t) + sizeof(V)) / std::max(1, b.rows);
    return span * bytes <= rows * cache_bytes ? most_in_cache : most_beyond;
}

index_t blocks_for(index_t rows) { return rows / rows_in_block + (rows % rows_in_block != 0 ? 1 : 0); }

index_t end_of(index_t block, index_t rows)
{
    return static_cast<index_t>(std::min(offset_t{rows}, (offset_t{block} + 1) * rows_in_block));
}

// Whether most rows of C follow from the row before (relations.hpp), so that phases copy them: some rows are asked.
template <class V>
bool follow_mostly(const CsrView<V>& a, const CsrView<V>& b)
{
    index_t rows = 0, follow = 0;
    for_some_rows(a, [&](offset_t i) {
        Relation r = relation_of(a, i);
        for (offset_t k = a.row_begin[i]; r == shifted_pattern && k < a.row_begin[i + 1]; ++k)
            if (relation_of(b, a.col[k]) != shifted_pattern) r = unrelated;
        follow += r != unrelated ? 1 : 0;
        ++rows;
    });
    return 2 * follow > rows;
}

// What the threads work with.
template <class V>
struct Threads {
    Threads(const CpuQueue& q, index_t cols, bool sorted, offset_t longest)
        : columns(cols),
          scratch(sorted ? std::min(longest, offset_t{cols} + 1) + Positions<V>::padding : 0),
          words(sorted ? ColumnBits::words_for(cols) : 0),
          summaries(ColumnBits::words_for(words)),
          position(q, q.threads * offset_t{cols}),
          col(q, q.threads * scratch),
          value(q, q.threads * scratch),
          bits(q, q.threads * (words + summaries))
    {
        fill_zero(q, bits.data(), bits.size());
    }

    Positions<V> of(int thread)
    {
        std::uint64_t* const mine = bits.data() + thread * (words + summaries);
        return {position.data() + thread * columns, static_cast<index_t>(columns),
                ColumnBits{mine, mine + words, static_cast<index_t>(summaries)}, col.data() + thread * scratch,
                value.data() + thread * scratch};
    }

    offset_t columns, scratch, words, summaries;
    Buffer<index_t> position, col;
    Buffer<V> value;
    Buffer<std::uint64_t> bits;
};

template <class V>
void multiply_block(const CsrView<V>& a, const CsrView<V>& b, bool sorted, index_t block, Positions<V>& sums,
                    Rows<V>& rows)
{
    offset_t at = rows.block_begin.data()[block];
    for (index_t i = block * rows_in_block, last = end_of(block, a.rows); i < last; ++i) {
        index_t* const col = rows.col.data() + at;
        V* const value = rows.value.data() + at;
        const index_t n = sorted ? sums.add_sorted(a, b, i, col, value) : sums.add(a, b, i, col, value);
        rows.row_begin.data()[i] = n;
        at += n;
    }
}

}  // namespace

template <class V>
bool count_blocks(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, Rows<V>& rows)
{
    const index_t blocks = blocks_for(a.rows);
    rows.block_begin = Buffer<offset_t>(q, offset_t{blocks} + 1);
    Buffer<offset_t> longest(q, blocks);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 4)
    for (index_t n = 0; n < blocks; ++n) {
        offset_t all = 0, most = 0;
        for (index_t i = n * rows_in_block, last = end_of(n, a.rows); i < last; ++i) {
            const offset_t products = products_of(a, b, i);
            all += products;
            most = std::max(most, products);
        }
        rows.block_begin.data()[n] = all;
        longest.data()[n] = most;
    }
    prim::exclusive_scan(q, rows.block_begin.data(), rows.block_begin.data(), blocks);
    rows.longest = prim::maximum(q, longest.data(), blocks, offset_t{0});
    const offset_t products = rows.room();
    return products <= most_products && products <= most_per_row(a, b) * a.rows &&
           offset_t{b.cols} * q.threads <= products && !follow_mostly(a, b);
}

template <class V>
std::size_t bytes_for(const CpuQueue& q, const Rows<V>& rows, index_t cols)
{
    const offset_t entry = sizeof(index_t) + sizeof(V),
                   scratch = std::min(rows.longest, offset_t{cols} + 1) + Positions<V>::padding;
    return static_cast<std::size_t>(rows.room() * entry + q.threads * (cols * offset_t{5} + scratch * entry));
}

template <class V>
void multiply_rows(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, bool sorted, Rows<V>& rows)
{
    Threads<V> threads(q, b.cols, sorted, rows.longest);
    rows.col = Buffer<index_t>(q, rows.room());
    rows.value = Buffer<V>(q, rows.room());
    rows.row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
    const index_t blocks = blocks_for(a.rows);
#pragma omp parallel num_threads(q.threads)
    {
        Positions<V> sums = threads.of(omp_get_thread_num());
#pragma omp for schedule(dynamic, 1)
        for (index_t n = 0; n < blocks; ++n) multiply_block(a, b, sorted, n, sums, rows);
    }
    prim::exclusive_scan(q, rows.row_begin.data(), rows.row_begin.data(), a.rows);
}

template <class V>
void gather_rows(const CpuQueue& q, const Rows<V>& rows, index_t* col, V* value)
{
    const auto all = static_cast<index_t>(rows.row_begin.size() - 1);
    const offset_t *const begin = rows.row_begin.data(), *const from = rows.block_begin.data();
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t n = 0; n < blocks_for(all); ++n) {
        const offset_t to = begin[n * rows_in_block], nonzeros = begin[end_of(n, all)] - to;
        std::copy_n(rows.col.data() + from[n], nonzeros, col + to);
        std::copy_n(rows.value.data() + from[n], nonzeros, value + to);
    }
}

template bool count_blocks(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, Rows<float>&);
template std::size_t bytes_for(const CpuQueue&, const Rows<float>&, index_t);
template void multiply_rows(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, bool, Rows<float>&);
template void gather_rows(const CpuQueue&, const Rows<float>&, index_t*, float*);
template bool count_blocks(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, Rows<double>&);
template std::size_t bytes_for(const CpuQueue&, const Rows<double>&, index_t);
template void multiply_rows(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, bool, Rows<double>&);
template void gather_rows(const CpuQueue&, const Rows<double>&, index_t*, double*);

}  // namespace tulle::inline TULLE_ABI::spgemm::one_pass
