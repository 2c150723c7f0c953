// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The patterns of ilu0 and ic0 are those of A or its lower triangle: found without the host where rows are sorted,
// without duplicates, and have a diagonal entry.
#include <utility>

#include "device/cuda/kernel.cuh"
#include "factor/steps.hpp"
#include "prim/reduce.hpp"
#include "prim/scan.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

constexpr int threads = 256;

// A thread for each row: entries to take, position of the diagonal, whether the row is not as it should be.
__global__ void __launch_bounds__(threads)
    count_entries_kernel(const offset_t* __restrict__ row_begin, const index_t* __restrict__ col, index_t rows,
                         bool lower, offset_t* __restrict__ count, offset_t* __restrict__ diagonal,
                         index_t* __restrict__ problem)
{
    const offset_t i = global_thread();
    if (i >= rows) return;
    const offset_t begin = row_begin[i], end = row_begin[i + 1];
    offset_t found = -1;
    index_t last = -1;
    bool ascending = true;
    for (offset_t k = begin; k < end; ++k) {
        const index_t j = col[k];
        ascending = ascending && j > last;
        last = j;
        if (j == i) found = k;
    }
    count[i] = (lower ? found + 1 : end) - begin;
    diagonal[i] = found;
    problem[i] = ascending && found >= 0 ? 0 : 1;
}

// A thread for each row; the diagonal entry is the last that is taken.
__global__ void __launch_bounds__(threads)
    take_lower_kernel(const offset_t* __restrict__ a_begin, const index_t* __restrict__ a_col, index_t rows,
                      const offset_t* __restrict__ row_begin, index_t* __restrict__ col, offset_t* __restrict__ source,
                      offset_t* __restrict__ diagonal)
{
    const offset_t i = global_thread();
    if (i >= rows) return;
    const offset_t begin = row_begin[i], end = row_begin[i + 1], from = a_begin[i];
    for (offset_t k = begin; k < end; ++k) {
        col[k] = a_col[from + k - begin];
        source[k] = from + k - begin;
    }
    diagonal[i] = end - 1;
}

}  // namespace

std::optional<Pattern> find_pattern_there(const CudaQueue& q, const offset_t* row_begin, const index_t* col,
                                          index_t rows, offset_t nonzeros, bool lower)
{
    Pattern p{.rows = rows,
              .row_begin = Buffer<offset_t>(q, offset_t{rows} + 1),
              .col = {},
              .diagonal = Buffer<offset_t>(q, rows),
              .source = {}};
    Buffer<index_t> problem(q, rows);
    launch(q, one_thread_each(rows, threads), count_entries_kernel, row_begin, col, rows, lower, p.row_begin.data(),
           p.diagonal.data(), problem.data());
    if (prim::maximum(q, problem.data(), rows, index_t{0}) > 0) return std::nullopt;
    if (!lower) {
        p.col = Buffer<index_t>(q, nonzeros);
        copy(q, col, p.col.data(), nonzeros);
        copy(q, row_begin, p.row_begin.data(), offset_t{rows} + 1);
        return p;
    }
    prim::exclusive_scan(q, p.row_begin.data(), p.row_begin.data(), rows);
    const offset_t taken = read_value(q, p.row_begin.data() + rows);
    p.col = Buffer<index_t>(q, taken);
    p.source = Buffer<offset_t>(q, taken);
    launch(q, one_thread_each(rows, threads), take_lower_kernel, row_begin, col, rows, p.row_begin.data(), p.col.data(),
           p.source.data(), p.diagonal.data());
    return p;
}

}  // namespace tulle::inline TULLE_ABI::factor
