// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The smallest claim on a place wins, so that the problem named is the same for any number of threads.
#include "matrix/convert_steps.hpp"

#include <algorithm>
#include <atomic>

#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

void lower(index_t& place, index_t to)
{
    std::atomic_ref<index_t> shared(place);
    index_t now = shared.load(std::memory_order_relaxed);
    while (to < now && !shared.compare_exchange_weak(now, to, std::memory_order_relaxed)) {}
}

}  // namespace

void invert(const CpuQueue& q, const index_t* from, index_t n, index_t* inverse, index_t* problem)
{
    const prim::Pieces pieces = prim::piece_per_thread(q, n);
    std::fill(inverse, inverse + n, max_index);
    *problem = n;
    prim::each_piece(q, pieces, [&](offset_t, offset_t begin, offset_t end) {
        for (auto i = static_cast<index_t>(begin); i < end; ++i)
            lower(from[i] >= 0 && from[i] < n ? inverse[from[i]] : *problem, i);
    });
    prim::each_piece(q, pieces, [&](offset_t, offset_t begin, offset_t end) {
        for (auto i = static_cast<index_t>(begin); i < end; ++i)
            if (from[i] >= 0 && from[i] < n && inverse[from[i]] != i) lower(*problem, i);
    });
}

}  // namespace tulle::inline TULLE_ABI::matrix
