// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert_steps.hpp"

#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::matrix {

void flag_heads(const CpuQueue& q, const index_t* row, const index_t* col, offset_t n, offset_t* head)
{
    prim::each_piece(q, prim::piece_per_thread(q, n), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t k = begin; k < end; ++k) head[k] = k == 0 || row[k] != row[k - 1] || col[k] != col[k - 1] ? 1 : 0;
    });
}

// A thread adds up the runs that begin in its piece, beyond the end of the piece where they are longer.
template <class V>
void sum_runs(const CpuQueue& q, const index_t* col, const V* value, const offset_t* number, offset_t n,
              index_t* run_col, V* run_value)
{
    prim::each_piece(q, prim::piece_per_thread(q, n), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t k = begin; k < end; ++k) {
            if (number[k + 1] == number[k]) continue;
            V sum = value[k];
            for (offset_t next = k + 1; next < n && number[next + 1] == number[next]; ++next) sum += value[next];
            run_col[number[k]] = col[k];
            run_value[number[k]] = sum;
        }
    });
}

template void sum_runs(const CpuQueue&, const index_t*, const float*, const offset_t*, offset_t, index_t*, float*);
template void sum_runs(const CpuQueue&, const index_t*, const double*, const offset_t*, offset_t, index_t*, double*);

}  // namespace tulle::inline TULLE_ABI::matrix
