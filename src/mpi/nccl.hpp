// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Messages from GPU to GPU by NCCL, which is loaded when it is first wanted: the library is not linked with it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "mpi/exchange.hpp"
#include "mpi/steps.hpp"

namespace tulle::inline TULLE_ABI::mpi {

// By value in NCCL's functions.
struct NcclId {
    std::array<char, 128> bytes;
};

// "2.28.3". NotBuilt if NCCL cannot be loaded, or is too old.
std::string nccl_version();
// Whether the library that was loaded is one for simulated GPUs.
bool nccl_is_simulated();
// Whether several ranks may have one GPU: from 2.30 on, where NCCL_MULTI_RANK_GPU_ENABLE=1.
bool nccl_shares_gpus();
NcclId make_nccl_id();

// The connection of all ranks, each with a GPU of its own. Connecting is collective in NCCL; Error if it takes longer
// than so many seconds: the thread that waits for NCCL is left behind.
class NcclRanks {
public:
    static std::shared_ptr<NcclRanks> connect(const NcclId& id, int rank, int ranks, int device, double seconds);
    NcclRanks(const NcclRanks&) = delete;
    NcclRanks& operator=(const NcclRanks&) = delete;
    ~NcclRanks();

    struct Message {
        void* data;
        std::size_t bytes;
        int peer;
        bool sends;
    };
    // All of them at once, on the stream of the connection.
    void exchange(const std::vector<Message>& messages) const;
    // Messages have a stream of their own, so that kernels of others run while they travel.
    CUstream_st* stream() const { return stream_.get(); }
    // What is exchanged from now on waits for what is on another stream now.
    void come_after(CUstream_st* earlier) const;
    // What has gone wrong on the way; empty: nothing.
    std::string fault() const;
    // Ends what is under way, and the connection.
    void give_up();
    int device() const { return device_; }

private:
    NcclRanks(void* comm, int device);

    void* comm_;
    int device_;
    std::shared_ptr<CUstream_st> stream_;
};

// A set of messages that are started and awaited together, as often as wanted; like Messages.
class NcclMessages {
public:
    explicit NcclMessages(const Cluster& cluster);

    void add_send(const void* data, std::size_t bytes, int to);
    void add_receive(void* data, std::size_t bytes, int from);
    // After what is on the stream now, and beside what it gets from now on.
    void start(std::string_view phase, CUstream_st* stream);
    // Waits until they have come, with the deadline of the cluster.
    void finish(std::string_view phase);
    bool empty() const { return all_.empty(); }

private:
    std::string peers() const;

    Cluster cluster_;
    std::vector<NcclRanks::Message> all_;
    std::shared_ptr<Mark> mark_;
    bool connected_ = false;  // the first exchange of ranks connects them and may wait for them
};

// Sends numbers around the ranks and compares them; Error if they differ or do not come in time.
void try_nccl(NcclRanks& nccl, const Context& ctx, int rank, int ranks, double seconds);

}  // namespace tulle::inline TULLE_ABI::mpi
