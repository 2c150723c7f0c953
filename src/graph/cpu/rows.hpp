// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of a matrix given to the threads of a CPU.
#pragma once

#include <omp.h>

#include <algorithm>
#include <utility>

#include "prim/merge_path.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::graph {

// The rows of one thread: consecutive ones, for all threads equal numbers of nonzeros and rows.
inline std::pair<index_t, index_t> rows_of(const CpuQueue& q, const offset_t* row_begin, index_t rows, int thread)
{
    const offset_t nonzeros = row_begin[rows], all = rows + nonzeros;
    const offset_t steps = prim::steps_per_part(rows, nonzeros, q.threads);
    const auto row_at = [&](offset_t part) {
        return static_cast<index_t>(prim::merge_point(row_begin, rows, nonzeros, std::min(all, part * steps)).row);
    };
    return {row_at(thread), row_at(thread + 1)};
}

// row(thread, i) for every row, by rows_of().
template <class Row>
void for_each_row(const CpuQueue& q, const offset_t* row_begin, index_t rows, Row&& row)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (int t = 0; t < q.threads; ++t) {
        const auto [first, end] = rows_of(q, row_begin, rows, t);
        for (index_t i = first; i < end; ++i) row(t, i);
    }
}

// The same with rows given out as threads come, for work that nonzeros do not tell.
template <class Row>
void for_each_row_by_turns(const CpuQueue& q, index_t rows, Row&& row)
{
#pragma omp parallel num_threads(q.threads)
    {
        const int t = omp_get_thread_num();
#pragma omp for schedule(dynamic, 64)
        for (index_t i = 0; i < rows; ++i) row(t, i);
    }
}

}  // namespace tulle::inline TULLE_ABI::graph
