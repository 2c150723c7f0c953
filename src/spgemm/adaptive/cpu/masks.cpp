// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spgemm/adaptive/cpu/masks.hpp"

#include "prim/scan.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

template <class V>
void find_masks(const CpuQueue& q, const CsrView<V>& b, Workspace& work)
{
    work.mask_begin = Buffer<offset_t>(q, offset_t{b.rows} + 1);
    offset_t* begin = work.mask_begin.data();
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
    for (index_t j = 0; j < b.rows; ++j) {
        begin[j] = 0;
        for_each_mask(b, j, [&](index_t, std::uint64_t) { ++begin[j]; });
    }
    prim::exclusive_scan(q, begin, begin, b.rows);
    const offset_t masks = begin[b.rows];
    if (masks == 0 || masks * columns_per_mask > b.nonzeros) {
        work.mask_begin = {};
        return;
    }
    work.mask_word = Buffer<index_t>(q, masks);
    work.mask = Buffer<std::uint64_t>(q, masks);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
    for (index_t j = 0; j < b.rows; ++j) {
        offset_t to = begin[j];
        for_each_mask(b, j, [&](index_t word, std::uint64_t mask) {
            work.mask_word.data()[to] = word;
            work.mask.data()[to++] = mask;
        });
    }
}

template void find_masks(const CpuQueue&, const CsrView<float>&, Workspace&);
template void find_masks(const CpuQueue&, const CsrView<double>&, Workspace&);

}  // namespace tulle::inline TULLE_ABI::spgemm
