// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A level of multigrid that is too small to be worth messages: every rank has all its rows, and the levels below it.
#pragma once

#include <span>

#include "amg/setup.hpp"
#include "mpi/exchange.hpp"
#include "tulle/distributed.hpp"

namespace tulle::inline TULLE_ABI::mpi {

// Messages by which all ranks get all entries of an array that is distributed by cuts; each has its own in place.
void add_everywhere(Messages& messages, const Cluster& cluster, void* all, const Cuts& cuts, std::size_t entry_bytes);
template <class T>
void send_everywhere(const Cluster& cluster, std::string_view phase, T* all, const Cuts& cuts)
{
    Messages messages(cluster);
    add_everywhere(messages, cluster, all, cuts, sizeof(T));
    messages.start(phase);
    messages.finish(phase);
}

// The whole matrix, on the host of every rank. Collective.
template <class V>
Csr<V> replicate(const DistCsr<V>& a);

// Level `first` of a hierarchy, the finest is 0, and all below it.
template <class V>
class Replicated {
public:
    // near_null: of the rows of this rank, on the host. Collective.
    Replicated(const DistCsr<V>& a, const amg::Options& options, int first, index_t vectors,
               const Buffer<V>& near_null);

    // Takes the new values of the same matrix. Collective.
    void update_values(const DistCsr<V>& a);
    // z: a cycle from zero; local parts. Collective; sends r to all ranks, and nothing else.
    void run(std::span<const V> r, std::span<V> z);
    const amg::Levels<V>& levels() const { return level_; }
    std::size_t bytes() const;

private:
    Buffer<V> replicate_near_null(const DistCsr<V>& a, index_t vectors, const Buffer<V>& mine) const;

    Context ctx_;
    amg::Options options_;
    int first_;
    offset_t own_;  // number of the first row of this rank
    Csr<V> matrix_;
    amg::Levels<V> level_;
    Buffer<V> here_, r_, z_;  // all entries: on the host, and in the memory of the context
    Messages messages_;
};

}  // namespace tulle::inline TULLE_ABI::mpi
