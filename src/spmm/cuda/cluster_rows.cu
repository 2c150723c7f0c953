// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The greedy clustering of BSA as a pipeline of clusters over rows, without launches from kernels and without locks
// (the paper starts the block of each cluster from that of the cluster before, and hands rows on by a mutex each).
//
// A cluster is grown by a warp. It walks the rows in order, 32 at a time, and follows the cluster before: it looks at a
// portion once that one has decided it (progress, written with release and read with acquire). The first row that
// nobody wanted is its seed. Then each lane compares a free row with the representative as it is now; of those that
// resemble it, the first joins, exactly as in the sequential definition, because every row before it was rejected by
// this same representative; the rows behind it are compared again. Rejections are many and cost a 32nd of a step each;
// joins are few: one a row in all.
//
// Progress: clusters are handed out by ticket. Whoever is waited for holds an earlier ticket, so it was taken by a warp
// that runs, and the first unfinished cluster waits for nobody: one resident warp is enough. A wait that lasts too long
// all the same is reported, and ends the launch.
//
// The representative is an array of counters, one a block of columns, for each warp; as many warps work as keep these
// within the size of the encodings. Counts are integers and the decision is resembles(), so the permutation is that of
// the CPU, bit for bit.
#include <algorithm>
#include <cmath>

#include "device/cuda/kernel.cuh"
#include "spmm/order/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int lanes = 32, warps_per_block = 4, threads = lanes * warps_per_block;
constexpr int warps_per_multiprocessor = 16;
constexpr unsigned whole_warp = 0xffffffffu;

struct Pipeline {
    EncodingsView e;
    const offset_t* row;
    index_t n;
    double alpha;
    index_t* counters;          // all_blocks for each warp, zero between clusters
    index_t* cluster;           // of each position, -1: free
    index_t *progress, *start;  // of each cluster: positions decided, 0 before it has a seed; the seed's portion
    index_t *ticket, *clusters, *fault;
    unsigned spin_limit;  // polls of a wait
};

struct Representative {
    index_t* count;
    offset_t sum = 0, squares = 0;
    Extent extent = {};
};

__device__ bool resembles_row(const Pipeline& p, const Representative& x, offset_t row)
{
    const Extent y = p.e.extent[row];
    if (!could_resemble(x.extent, y, p.alpha)) return false;
    Overlap overlap;
    const BlockCount* begin = p.e.entry + p.e.begin[row];
    for (const BlockCount* b = begin; b != begin + p.e.blocks[row]; ++b)
        overlap.add(x.count[b->block], b->count, x.extent, y);
    return resembles(overlap.share(x.extent, y), x.extent, y, p.alpha);
}

// The whole warp adds a row.
__device__ void join(const Pipeline& p, Representative& x, index_t position, index_t cluster, int lane)
{
    const offset_t row = p.row[position];
    offset_t sum = 0, squares = 0;
    __syncwarp(whole_warp);  // all lanes have compared with the counters as they were
    for (index_t k = lane; k < p.e.blocks[row]; k += lanes) {
        const BlockCount b = p.e.entry[p.e.begin[row] + k];
        index_t& mine = x.count[b.block];
        squares += offset_t{b.count} * (2 * offset_t{mine} + b.count);
        sum += b.count;
        mine += b.count;
    }
    x.sum += slice_sum<lanes>(sum);
    x.squares += slice_sum<lanes>(squares);
    x.extent.length = sqrt(static_cast<double>(x.squares));
    x.extent.mass = static_cast<double>(x.sum) / x.extent.length;
    if (lane == 0) p.cluster[position] = cluster;
    __syncwarp(whole_warp);
}

// Waits until the cluster before has decided `needed` positions; returns how many it has, or -1 after a fault. All
// lanes call.
__device__ index_t wait_for(const Pipeline& p, index_t cluster, index_t needed, int lane)
{
    if (cluster == 0) return p.n;
    index_t decided = 0;
    if (lane == 0) {
        unsigned polls = 0;
        while ((decided = load_acquire(p.progress + cluster - 1)) < needed) {
            if (++polls < p.spin_limit && (polls % 1024 != 0 || load_relaxed(p.fault) == 0)) continue;
            atomicCAS(p.fault, 0, cluster);
            decided = -1;
            break;
        }
    }
    __syncwarp(whole_warp);  // what lane 0 has acquired, all lanes see
    return __shfl_sync(whole_warp, decided, 0);
}

// Those of the free rows of a portion that join, in order.
__device__ void grow(const Pipeline& p, Representative& x, index_t portion, unsigned free, index_t cluster, int lane)
{
    while (free != 0) {
        const bool mine = (free >> lane & 1u) != 0 && resembles_row(p, x, p.row[portion + lane]);
        const unsigned hits = __ballot_sync(whole_warp, mine);
        if (hits == 0) return;
        const int first = __ffs(static_cast<int>(hits)) - 1;
        join(p, x, portion + first, cluster, lane);
        free &= ~((2u << first) - 1u);  // this row and those before it are decided
    }
}

__device__ void publish(const Pipeline& p, index_t cluster, index_t decided, int lane)
{
    __syncwarp(whole_warp);
    if (lane == 0) store_release(p.progress + cluster, decided);
}

// False when no row was left for this cluster, or a wait failed.
__device__ bool grow_cluster(const Pipeline& p, index_t cluster, Representative x, int lane)
{
    index_t decided = wait_for(p, cluster, 1, lane);
    if (decided < 0) return false;
    bool has_seed = false;
    for (index_t portion = cluster == 0 ? 0 : p.start[cluster - 1]; portion < p.n; portion += lanes) {
        const index_t end = portion + lanes < p.n ? portion + lanes : p.n;
        if (decided < end) decided = wait_for(p, cluster, end, lane);
        if (decided < 0) return false;
        unsigned free = __ballot_sync(whole_warp, portion + lane < p.n && p.cluster[portion + lane] < 0);
        if (!has_seed) {
            if (free == 0) continue;
            const int first = __ffs(static_cast<int>(free)) - 1;
            join(p, x, portion + first, cluster, lane);
            free &= free - 1;
            has_seed = true;
            if (lane == 0) p.start[cluster] = portion;
        }
        grow(p, x, portion, free, cluster, lane);
        publish(p, cluster, end, lane);
    }
    if (!has_seed) {
        if (lane == 0) p.start[cluster] = p.n;
        publish(p, cluster, p.n, lane);
        return false;
    }
    for (index_t b = lane; b < p.e.all_blocks; b += lanes) x.count[b] = 0;
    if (lane == 0) atomicAdd(p.clusters, 1);
    __syncwarp(whole_warp);
    return true;
}

//   grid: any number of warps      shared memory: none      cluster: every position written once
__global__ void __launch_bounds__(threads) cluster_rows_kernel(Pipeline p)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const Representative x{p.counters + global_thread() / lanes * p.e.all_blocks};
    for (;;) {
        const index_t taken = lane == 0 ? atomicAdd(p.ticket, 1) : 0;
        const index_t cluster = __shfl_sync(whole_warp, taken, 0);
        if (cluster >= p.n || !grow_cluster(p, cluster, x, lane)) return;
    }
}

// Blocks of warps: what runs at once, less where the counters would take more room than the encodings.
offset_t blocks_for(const CudaQueue& q, const EncodingsView& e, offset_t nonzeros, index_t n)
{
    int multiprocessors = 1;
    cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, q.device));
    const offset_t running = offset_t{multiprocessors} * warps_per_multiprocessor;
    const offset_t affordable = 2 * nonzeros / std::max<index_t>(1, e.all_blocks);
    return std::max<offset_t>(1, std::min({running, affordable, offset_t{n}}) / warps_per_block);
}

}  // namespace

index_t cluster_rows(const CudaQueue& q, const EncodingsView& e, const offset_t* row, index_t n, double alpha,
                     index_t* cluster, unsigned spin_limit)
{
    if (n == 0) return 0;
    const offset_t nonzeros = read_value(q, e.begin + e.rows);
    const offset_t blocks = blocks_for(q, e, nonzeros, n);
    Buffer<index_t> counters(q, blocks * warps_per_block * e.all_blocks), progress(q, n), start(q, n), numbers(q, 3);
    fill_zero(q, counters.data(), counters.size());
    fill_zero(q, progress.data(), n);
    fill_zero(q, numbers.data(), numbers.size());
    fill_bytes(q, cluster, 0xff, static_cast<std::size_t>(n) * sizeof(index_t));
    index_t* number = numbers.data();
    const Pipeline pipeline{
        e,      row,        n,          alpha,     counters.data(), cluster, progress.data(), start.data(),
        number, number + 1, number + 2, spin_limit};
    launch(q, {blocks, threads}, cluster_rows_kernel, pipeline);
    const index_t fault = read_value(q, number + 2);
    require<DeviceError>(
        fault == 0, [&] { return concat("cluster ", fault, " waited too long for the cluster before it"); },
        "order on the CPU, and report this");
    return read_value(q, number + 1);
}

}  // namespace tulle::inline TULLE_ABI::spmm
