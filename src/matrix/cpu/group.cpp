// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Entries are dealt to their rows by a counting sort; then every row is sorted by itself, which mostly happens in the
// cache.
#include "matrix/convert_steps.hpp"

#include <algorithm>

#include "matrix/cpu/bins.hpp"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

constexpr int rows_at_once =
    512;  // a thread takes for sorting: enough to hide the taking, few enough to share long rows out

}  // namespace

Groups group(const CpuQueue& q, const index_t* bin, offset_t n, index_t bins)
{
    Groups groups{.begin = Buffer<offset_t>(q, offset_t{bins} + 1), .source = Buffer<offset_t>(q, n)};
    offset_t* source = groups.source.data();
    deal_to_bins(q, bin, n, bins, groups.begin.data(), [&](offset_t begin, offset_t end, offset_t* next) {
        for (offset_t k = begin; k < end; ++k) source[next[bin[k]]++] = k;
    });
    return groups;
}

// Positions ascend inside a group, so to compare them where columns are equal makes any sort a stable one.
Groups order_entries(const CpuQueue& q, const index_t* row, const index_t* col, offset_t n, index_t rows, index_t)
{
    Groups groups = group(q, row, n, rows);
    const auto before = [col](offset_t x, offset_t y) { return col[x] != col[y] ? col[x] < col[y] : x < y; };
#pragma omp parallel for num_threads(threads_for(q, n)) schedule(dynamic, rows_at_once)
    for (index_t i = 0; i < rows; ++i) {
        offset_t *first = groups.source.data() + groups.begin.data()[i],
                 *last = groups.source.data() + groups.begin.data()[i + 1];
        if (!std::is_sorted(first, last, before)) std::sort(first, last, before);
    }
    return groups;
}

}  // namespace tulle::inline TULLE_ABI::matrix
