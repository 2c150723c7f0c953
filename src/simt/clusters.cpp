// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Clusters: blocks that start together, meet in a barrier of their own, and reach into each other's shared memory.
#include "simt/machine.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::simt {

void Machine::arrive_in_cluster(const Where& at)
{
    Thread& thread = *current_;
    Cluster& cluster = *thread.block->cluster;
    thread.at = at;
    if (thread.in_cluster) stop("a thread arrived twice at the barrier of its cluster without waiting for it");
    thread.in_cluster = true;
    thread.cluster_turn = cluster.generation;
    cluster.passed[cluster.generation & 1u].release();
    ++cluster.arrived;
    open_cluster_barrier(cluster);
}

void Machine::wait_for_cluster(const Where& at)
{
    Thread& thread = *current_;
    Cluster& cluster = *thread.block->cluster;
    thread.at = at;
    if (!thread.in_cluster) {
        const Quiet quiet;
        stop("a thread waits for the barrier of its cluster at which it has not arrived");
    }
    if (cluster.generation == thread.cluster_turn) {
        thread.state = State::in_cluster;
        leave();
    }
    thread.in_cluster = false;
    cluster.passed[thread.cluster_turn & 1u].acquire();
}

void Machine::open_cluster_barrier(Cluster& cluster)
{
    if (cluster.arrived < cluster.live || cluster.arrived == 0) return;
    cluster.arrived = 0;
    ++cluster.generation;
    for (Block* block : cluster.block) {
        if (!block) continue;
        for (Thread& thread : block->threads)
            if (thread.state == State::in_cluster) make_ready(thread);
    }
}

// A thread has ended; the barrier waits only for those that have not.
void Machine::leave_cluster(Thread& thread)
{
    Cluster& cluster = *thread.block->cluster;
    if (thread.in_cluster) note_fault("a thread exited between the two halves of the barrier of its cluster", thread);
    --cluster.live;
    if (thread.block->live == 0)
        for (Block*& block : cluster.block)
            if (block == thread.block) block = nullptr;
    open_cluster_barrier(cluster);
}

// Where the block of that number has what this thread's block has at `mine`.
void* Machine::in_cluster(const void* mine, int number, const Where& at)
{
    Thread& thread = *current_;
    const Cluster& cluster = *thread.block->cluster;
    thread.at = at;
    if (number < 0 || static_cast<std::size_t>(number) >= cluster.block.size())
        stop(concat("there is no block ", number, " in a cluster of ", cluster.block.size()));
    Block* const other = cluster.block[static_cast<std::size_t>(number)];
    if (other != thread.block && cluster.generation == 0)
        stop("shared memory of a block that may not have started: the cluster has met in no barrier yet");
    if (!other) stop("shared memory of a block that has ended");
    const auto* const byte = static_cast<const unsigned char*>(mine);
    for (const SharedArray& array : thread.block->shared) {
        const std::ptrdiff_t offset = byte - array.data;
        if (offset >= 0 && static_cast<std::size_t>(offset) < array.size)
            return array_of(*other, array.site, array.size, array.alignment).data + offset;
    }
    const std::ptrdiff_t offset = byte - thread.block->dynamic_shared.get();
    if (thread.block->dynamic_shared && offset >= 0 && static_cast<std::size_t>(offset) < launch_->shared_bytes)
        return other->dynamic_shared.get() + offset;
    stop("an address that is not in this block's shared memory");
}

// ---- doors ----

void arrive_in_cluster(const Where& at)
{
    const Quiet quiet;
    machine().arrive_in_cluster(at);
}

void wait_for_cluster(const Where& at) { machine().wait_for_cluster(at); }

void* in_cluster(const void* mine, int block, const Where& at)
{
    const Quiet quiet;
    return machine().in_cluster(mine, block, at);
}

}  // namespace tulle::inline TULLE_ABI::simt
