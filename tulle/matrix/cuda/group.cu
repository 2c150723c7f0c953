// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A radix sort of the bins with the positions as payload; the sorted bins then say where each begins. Memory beside the result: the
// keys (4 n bytes) and what the sort needs.
#include "tulle/matrix/convert_steps.hpp"

#include "tulle/prim/sort.hpp"

namespace tulle::matrix {

Groups group(const CudaQueue& q, const index_t* bin, offset_t n, index_t bins)
{
    Groups groups{.begin = Buffer<offset_t>(q, offset_t{bins} + 1), .source = Buffer<offset_t>(q, n)};
    Buffer<std::uint32_t> key(q, n);
    number_keys(q, bin, n, key.data(), groups.source.data());
    prim::sort_pairs(q, key.data(), groups.source.data(), n, prim::bits_for(static_cast<std::uint64_t>(bins)));
    compress_rows(q, reinterpret_cast<const index_t*>(key.data()), n, bins, groups.begin.data());   // bins are not negative: the same bits
    return groups;
}

}  // namespace tulle::matrix
