// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where unknowns live while a kernel works: words that are their own flags (value_flag.cuh), in the memory that all who
// wait for them share. The farther that memory, the longer a hop: another multiprocessor's answer comes through the L2,
// a neighbour's of the same cluster from its shared memory, that of the same block from one's own. load(u) polls,
// tell(u, word) publishes.
#pragma once

#include "device/cuda/cluster.cuh"
#include "sptrsv/schedule/tasks.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// For the whole GPU, twice: a solve arms the other half for the next one.
template <class V>
struct GlobalUnknowns {
    Word<V>*mine, *other;

    __device__ Word<V> load(offset_t u) const { return load_relaxed(mine + u); }
    __device__ void tell(offset_t u, Word<V> word) const
    {
        store_relaxed(mine + u, word);
        other[u] = sentinel<V>;
    }
};

// For one block, which arms them when it starts.
template <class V>
struct BlockUnknowns {
    Word<V>* word;

    __device__ Word<V> load(offset_t u) const { return load_shared(word + u); }
    __device__ void tell(offset_t u, Word<V> value) const { store_shared(word + u, value); }
};

// For one cluster of 2^shift blocks: 32 neighbours in each block in turn, so that what a warp reads or writes together
// mostly lies together.
template <class V>
struct ClusterUnknowns {
    Word<V>* word;  // of this block
    int shift;

    __device__ int block(offset_t u) const { return (static_cast<int>(u) / lanes) & ((1 << shift) - 1); }
    __device__ int place(offset_t u) const
    {
        return (static_cast<int>(u) / lanes >> shift) * lanes + static_cast<int>(u) % lanes;
    }
    __device__ Word<V> load(offset_t u) const { return load_in_cluster(word + place(u), block(u)); }
    __device__ void tell(offset_t u, Word<V> value) const { store_in_cluster(word + place(u), block(u), value); }
};

}  // namespace tulle::inline TULLE_ABI::sptrsv
