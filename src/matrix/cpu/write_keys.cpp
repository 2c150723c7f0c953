// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/inspect_steps.hpp"

namespace tulle::inline TULLE_ABI::inspect {

template <class Key>
void write_keys(const CpuQueue& q, const Key& key, offset_t n, std::uint64_t* key_at, offset_t* position)
{
#pragma omp parallel for num_threads(threads_for(q, n)) schedule(static)
    for (offset_t k = 0; k < n; ++k) {
        key_at[k] = key(k);
        position[k] = k;
    }
}

template void write_keys(const CpuQueue&, const RowKey&, offset_t, std::uint64_t*, offset_t*);
template void write_keys(const CpuQueue&, const PairKey&, offset_t, std::uint64_t*, offset_t*);
template void write_keys(const CpuQueue&, const SlotKey&, offset_t, std::uint64_t*, offset_t*);

}  // namespace tulle::inline TULLE_ABI::inspect
