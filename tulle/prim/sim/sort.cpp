// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/prim/sort.hpp"

#include "tulle/prim/sim/host.hpp"

namespace tulle::prim {

void sort_pairs(const CudaQueue& q, std::uint64_t* key, offset_t* payload, offset_t n, int bits) { sort_pairs(host_after(q), key, payload, n, bits); }

void sort_pairs(const CudaQueue& q, std::uint32_t* key, offset_t* payload, offset_t n, int bits) { sort_pairs(host_after(q), key, payload, n, bits); }

SortedPairs<std::uint32_t> sort_pairs_anywhere(const CudaQueue& q, std::uint32_t* key, offset_t* payload, offset_t n, int bits)
{
    sort_pairs(q, key, payload, n, bits);
    return {key, payload, {}};
}

std::size_t sort_bytes_for(const CudaQueue&, offset_t) { return 0; }

}  // namespace tulle::prim
