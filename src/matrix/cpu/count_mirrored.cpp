// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/inspect_entries.hpp"
#include "matrix/inspect_steps.hpp"

namespace tulle::inline TULLE_ABI::inspect {

template <class V>
MirrorSums count_mirrored(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& mirror)
{
    offset_t found = 0, equal = 0;
#pragma omp parallel for num_threads(threads_for(q, a.nonzeros)) schedule(dynamic, 256) reduction(+ : found, equal)
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const Mirrored image = mirrored(a, mirror, i, k);
            found += image.found;
            equal += image.equal;
        }
    return {found, equal};
}

template MirrorSums count_mirrored(const CpuQueue&, const CsrView<float>&, const CsrView<float>&);
template MirrorSums count_mirrored(const CpuQueue&, const CsrView<double>&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::inspect
