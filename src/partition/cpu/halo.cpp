// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>

#include "partition/halo_steps.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

template <class F>
void each(const CpuQueue& q, offset_t n, const F& work)
{
    prim::each_piece(q, prim::piece_per_thread(q, n), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t k = begin; k < end; ++k) work(k);
    });
}

}  // namespace

void mark_outside(const CpuQueue& q, const index_t* col, offset_t nonzeros, ColumnRange own, offset_t* mark)
{
    each(q, nonzeros, [=](offset_t k) {
        if (!own.has(col[k]))
            std::atomic_ref(mark[col[k]])
                .store(1, std::memory_order_relaxed);  // several threads may, all write the same
    });
}

void list_marked(const CpuQueue& q, const offset_t* number, index_t cols, index_t* list)
{
    each(q, cols, [=](offset_t j) {
        if (number[j + 1] != number[j]) list[number[j]] = static_cast<index_t>(j);
    });
}

void renumber(const CpuQueue& q, const index_t* col, offset_t nonzeros, ColumnRange own, const offset_t* number,
              index_t* to)
{
    each(q, nonzeros, [=](offset_t k) { to[k] = renumbered(col[k], own, number); });
}

void find_reaching_rows(const CpuQueue& q, const offset_t* row_begin, index_t rows, const index_t* col, ColumnRange own,
                        unsigned char* reaches)
{
    each(q, rows, [=](offset_t i) {
        reaches[i] = std::any_of(col + row_begin[i], col + row_begin[i + 1], [=](index_t j) { return !own.has(j); });
    });
}

}  // namespace tulle::inline TULLE_ABI::partition
