// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "tulle/base/math.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/sptrsv/cuda/waiting.cuh"

namespace tulle::sptrsv {

int multiprocessors(const CudaQueue& q)
{
    int count = 1;
    cuda::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, q.device));
    return count;
}

template <class V>
Shared<V> make_shared(const CudaQueue& q, offset_t unknowns, offset_t tasks, int warps, int team)
{
    const offset_t wanted = std::min(tasks, std::max<offset_t>(1, offset_t{multiprocessors(q)} * warps / team));
    Shared<V> s{.unknown = Buffer<V>(q, 2 * unknowns), .ticket = Buffer<unsigned long long>(q, 1), .fault = Buffer<int>(q, 1), .half = unknowns,
                .takers = static_cast<int>(round_up(wanted, offset_t{warps_per_block / team}))};
    fill_bytes(q, s.unknown.data(), 0xff, s.unknown.bytes());
    fill_zero(q, s.ticket.data(), 1);
    fill_zero(q, s.fault.data(), 1);
    return s;
}

template Shared<float> make_shared(const CudaQueue&, offset_t, offset_t, int, int);
template Shared<double> make_shared(const CudaQueue&, offset_t, offset_t, int, int);

}  // namespace tulle::sptrsv
