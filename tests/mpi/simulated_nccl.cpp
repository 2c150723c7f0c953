// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mpi/simulated_nccl.hpp"

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "mpi/nccl.hpp"
#include "simt/runtime.hpp"

namespace {

using tulle::mpi::NcclId;
using tulle::simt::Recording;
using tulle::simt::Runtime;

// A message between its sender and its receiver, whoever comes first.
struct Letter {
    explicit Letter(std::size_t bytes) : data(bytes) {}
    std::vector<char> data;
    std::shared_ptr<Recording> sent = std::make_shared<Recording>();
};

struct Comm {
    int world, rank;
    std::map<int, int> sent, received;  // numbers of messages, by rank
};

std::atomic<int> silent{-1};

// The number-th message of a pair of ranks.
std::shared_ptr<Letter> letter(int world, int from, int to, int number, std::size_t bytes)
{
    static std::mutex mutex;
    static std::map<std::tuple<int, int, int, int>, std::shared_ptr<Letter>> all;
    const std::lock_guard lock(mutex);
    const auto key = std::tuple(world, from, to, number);
    const auto found = all.find(key);
    if (found == all.end()) return all[key] = std::make_shared<Letter>(bytes);
    const auto both = found->second;
    all.erase(found);
    return both;
}

// Of a group: all its messages are sent before one is waited for.
thread_local std::vector<std::function<void()>> receives;

void enqueue(CUstream_st* stream, tulle::simt::Work work)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    runtime.enqueue(*stream, std::move(work));
}

}  // namespace

namespace tulle::testing {

std::function<void(int rank)>& when_received()
{
    static std::function<void(int)> f;
    return f;
}

void keep_messages_of(int rank) { silent = rank; }

}  // namespace tulle::testing

#pragma GCC visibility push(default)
extern "C" {

void tulleSimulatedNccl() {}

int ncclGetVersion(int* version)
{
    *version = 22803;
    return 0;
}

int ncclGetUniqueId(NcclId* id)
{
    static std::atomic<int> worlds{0};
    const int world = ++worlds;
    id->bytes = {};
    std::memcpy(id->bytes.data(), &world, sizeof world);
    return 0;
}

int ncclCommInitRank(void** comm, int, NcclId id, int rank)
{
    int world = 0;
    std::memcpy(&world, id.bytes.data(), sizeof world);
    *comm = new Comm{world, rank, {}, {}};
    return 0;
}

int ncclCommDestroy(void* comm)
{
    delete static_cast<Comm*>(comm);
    return 0;
}

int ncclCommAbort(void* comm) { return ncclCommDestroy(comm); }

int ncclCommGetAsyncError(void*, int* result) { return *result = 0; }
int ncclGroupStart() { return 0; }
int ncclGroupEnd()
{
    for (const auto& receive : std::exchange(receives, {})) receive();
    return 0;
}

int ncclSend(const void* data, std::size_t bytes, int, int peer, void* comm, CUstream_st* stream)
{
    Comm& c = *static_cast<Comm*>(comm);
    if (c.rank == silent) return 0;
    const auto mine = letter(c.world, c.rank, peer, c.sent[peer]++, bytes);
    const int code = cudaMemcpyAsync(mine->data.data(), data, bytes, cudaMemcpyDeviceToHost, stream);
    enqueue(stream, {.body =
                         [mine] {
                             mine->sent->done = true;
                             mine->sent->reached.release();
                         },
                     .after = {},
                     .enqueued = {}});
    return code;
}

int ncclRecv(void* data, std::size_t bytes, int, int peer, void* comm, CUstream_st* stream)
{
    Comm& c = *static_cast<Comm*>(comm);
    const auto mine = letter(c.world, peer, c.rank, c.received[peer]++, bytes);
    const auto tell = [rank = c.rank, mine] {
        if (const auto& f = tulle::testing::when_received()) f(rank);
    };
    receives.push_back([=] {
        enqueue(stream, {.body = tell, .after = mine->sent, .enqueued = {}});
        (void)cudaMemcpyAsync(data, mine->data.data(), bytes, cudaMemcpyHostToDevice, stream);
        enqueue(stream, {.body = [mine] {}, .after = {}, .enqueued = {}});  // the letter lives until it is read
    });
    return 0;
}

const char* ncclGetErrorString(int) { return "an error of the simulated NCCL"; }

}  // extern "C"
#pragma GCC visibility pop
