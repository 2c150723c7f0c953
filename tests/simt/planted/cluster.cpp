// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Mistakes between blocks of a cluster: reaching for a block too early or too late, reading before all have written.
#include "device/cuda/cluster.cuh"
#include "simt/planted/planted.hpp"

namespace tulle::test {
namespace {

enum class Bug { none, no_first_barrier, no_second_barrier, half_a_barrier };

__device__ int next_block() { return (static_cast<int>(blockIdx.x) + 1) % 4; }

// Each block gives its number to the next one.
template <Bug Has>
__global__ void pass_on(int* out)
{
    TULLE_SHARED(int, given, 32);
    if (Has != Bug::no_first_barrier) {
        arrive_in_cluster();
        wait_for_cluster();
    }
    in_cluster(given, next_block())[threadIdx.x] = static_cast<int>(blockIdx.x) + 1;
    int* mine = out + blockIdx.x * 32 + threadIdx.x;
    if (Has == Bug::no_second_barrier) *mine = given[threadIdx.x];
    arrive_in_cluster();
    if (Has == Bug::half_a_barrier && threadIdx.x == 3) return;
    wait_for_cluster();
    if (Has != Bug::no_second_barrier) *mine = given[threadIdx.x];
}

bool is_passed_on(const std::vector<int>& out)
{
    for (int i = 0; i < 128; ++i)
        if (out[static_cast<std::size_t>(i)] != (i / 32 + 3) % 4 + 1) return false;
    return true;
}

template <Bug Has>
bool passes(bool broken)
{
    return is_passed_on(results_of<int>(128, {4, 32, 0, 4}, broken ? pass_on<Has> : pass_on<Bug::none>));
}

const Plant cluster_not_met("cluster_not_met", passes<Bug::no_first_barrier>);
const Plant cluster_reads_early("cluster_reads_early", passes<Bug::no_second_barrier>);
const Plant cluster_half_a_barrier("cluster_half_a_barrier", passes<Bug::half_a_barrier>);

// Each block takes the number of the next one, which has to stay until then.
template <bool Broken>
__global__ void take(int* out)
{
    TULLE_SHARED(int, number, 32);
    number[threadIdx.x] = static_cast<int>(blockIdx.x);
    arrive_in_cluster();
    wait_for_cluster();
    out[blockIdx.x * 32 + threadIdx.x] = in_cluster(number, next_block())[threadIdx.x];
    if (Broken) return;
    arrive_in_cluster();
    wait_for_cluster();
}

const Plant cluster_block_ended("cluster_block_ended", [](bool broken) {
    const auto out = results_of<int>(128, {4, 32, 0, 4}, broken ? take<true> : take<false>);
    for (int i = 0; i < 128; ++i)
        if (out[static_cast<std::size_t>(i)] != (i / 32 + 1) % 4) return false;
    return true;
});

}  // namespace
}  // namespace tulle::test
