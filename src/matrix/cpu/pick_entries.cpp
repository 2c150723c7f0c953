// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert_steps.hpp"

#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

constexpr offset_t fewest_rows = 16;  // of a thread: rows of dense formats are long enough to pay for its start

}  // namespace

template <class View>
void count_entries(const CpuQueue& q, const View& a, offset_t* count)
{
    prim::each_piece(q, prim::piece_per_thread(q, a.rows, fewest_rows), [&](offset_t, offset_t begin, offset_t end) {
        for (auto i = static_cast<index_t>(begin); i < end; ++i) {
            offset_t found = 0;
            for (offset_t k = 0; k < candidates(a); ++k) found += candidate(a, i, k).value != 0 ? 1 : 0;
            count[i] = found;
        }
    });
}

template <class View, class V>
void fill_entries(const CpuQueue& q, const View& a, const offset_t* row_begin, index_t* col, V* value)
{
    prim::each_piece(q, prim::piece_per_thread(q, a.rows, fewest_rows), [&](offset_t, offset_t begin, offset_t end) {
        for (auto i = static_cast<index_t>(begin); i < end; ++i) {
            offset_t to = row_begin[i];
            for (offset_t k = 0; k < candidates(a); ++k) {
                const Candidate<V> found = candidate(a, i, k);
                if (found.value == 0) continue;
                col[to] = found.col;
                value[to++] = found.value;
            }
        }
    });
}

template void count_entries(const CpuQueue&, const DenseRows<float>&, offset_t*);
template void count_entries(const CpuQueue&, const DenseRows<double>&, offset_t*);
template void count_entries(const CpuQueue&, const BlockedEllView<float>&, offset_t*);
template void count_entries(const CpuQueue&, const BlockedEllView<double>&, offset_t*);
template void fill_entries(const CpuQueue&, const DenseRows<float>&, const offset_t*, index_t*, float*);
template void fill_entries(const CpuQueue&, const DenseRows<double>&, const offset_t*, index_t*, double*);
template void fill_entries(const CpuQueue&, const BlockedEllView<float>&, const offset_t*, index_t*, float*);
template void fill_entries(const CpuQueue&, const BlockedEllView<double>&, const offset_t*, index_t*, double*);

}  // namespace tulle::inline TULLE_ABI::matrix
