// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Cluster: the processes (ranks) that share distributed matrices. This header knows no MPI: messages go through a
/// Transport, which tulle/mpi.hpp implements with the caller's mpi.h, so that one library serves Open MPI and MPICH.
/// @code
/// #include <tulle/mpi.hpp>
/// auto cluster = tulle::mpi::cluster(MPI_COMM_WORLD, tulle::Context::cpu(1));
/// cluster.together("reading", [&] { read_my_part(); });     // if a rank throws, all ranks throw the same
/// @endcode
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tulle/api.hpp"
#include "tulle/context.hpp"

/// Distributed matrices, vectors, products and solvers.
namespace tulle::inline TULLE_ABI::mpi {

/// Row and column numbers of distributed matrices, from 0.
using global_t = std::int64_t;

/// Messages between ranks: the only part that knows how they travel. Functions throw std::runtime_error with the reason
/// if the library underneath reports an error.
class Transport {
public:
    /// A message that can be sent or received again and again; owned by the transport.
    using Request = void*;

    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// Number of this process, from 0.
    virtual int rank() const = 0;
    /// Number of processes.
    virtual int ranks() const = 0;
    /// The library underneath: "Open MPI v4.1.4".
    virtual std::string name() const = 0;
    /// Prepares a message to a rank; nothing is sent yet.
    virtual Request send_init(const void* data, int bytes, int to, int tag) = 0;
    /// Prepares the receipt of a message of exactly so many bytes from a rank.
    virtual Request receive_init(void* data, int bytes, int from, int tag) = 0;
    /// Begins to send or receive.
    virtual void start(Request request) = 0;
    /// Whether a started message has arrived or its data may be changed again. Does not wait.
    virtual bool test(Request request) = 0;
    /// Ends the use of a request that is not under way.
    virtual void release(Request request) noexcept = 0;
    /// Ends all processes with this exit code.
    [[noreturn]] virtual void abort(int code) = 0;
};

/// How the contents of messages get from the memory of a rank to MPI.
struct TransportChoice {
    std::string name;  ///< "host": from host memory; "staged": from a GPU through page-locked host memory
    std::string why;   ///< one sentence
};

/// How messages of ranks on a backend travel. The environment variable TULLE_TRANSPORT may name it: "auto" (as if it
/// were not set), "host" for ranks on CPUs, "staged" for ranks on GPUs. Local.
/// @throws ValueError (with what is possible) if it names something else.
TULLE_API TransportChoice choose_transport(Backend backend);

/// Options of a cluster.
struct ClusterOptions {
    /// Seconds that a rank waits for a message before it ends the job and names the silent rank; 0: no limit. The
    /// environment variable TULLE_MPI_DEADLINE replaces it. Must exceed the time by which ranks may be late.
    double deadline = 300;
};

/// Messages and bytes that a rank has sent.
struct Traffic {
    std::uint64_t messages = 0;  ///< messages
    std::uint64_t bytes = 0;     ///< their contents

    /// Compares all fields.
    bool operator==(const Traffic&) const = default;
};

/// The exit code of a job that ended because a rank was silent or a message failed.
inline constexpr int lost_rank_exit_code = 5;

/// The ranks of a job. Copies share the connection. Functions marked collective are called by all ranks, in the same
/// order.
///
/// Faults: a collective function that fails on one rank throws the same exception on all ranks; its message names the
/// rank. If a rank does not answer within the deadline, or a message fails, there is nobody left to agree with: the
/// rank that notices prints phase and rank on stderr and ends the job with lost_rank_exit_code.
class TULLE_API Cluster {
public:
    /// @param transport how messages travel; tulle/mpi.hpp makes one.
    /// @param ctx where this rank works: all ranks on CPUs, or all on GPUs.
    /// @param options see ClusterOptions.
    /// @throws ValueError if TULLE_MPI_DEADLINE is not a number; as choose_transport().
    Cluster(std::unique_ptr<Transport> transport, const Context& ctx, const ClusterOptions& options = {});

    /// Number of this rank, from 0.
    int rank() const;
    /// Number of ranks.
    int ranks() const;
    /// Where this rank works.
    const Context& context() const;
    /// What this rank has sent since it was made.
    Traffic sent() const;
    /// How messages get from the memory of this rank to MPI.
    const TransportChoice& transport() const;
    /// Ranks, library, transport with the reason for it, and deadline in one line.
    std::string describe() const;

    /// Runs `work` on every rank. Collective. If it throws on some ranks, all throw what the lowest of them threw, and
    /// the message begins with its number: "rank 3: …".
    /// @param phase what is done, for messages.
    /// @param work what may fail; must not be collective itself.
    void together(std::string_view phase, const std::function<void()>& work) const;

    /// The sum over all ranks. Collective.
    global_t sum(global_t mine) const;
    /// The largest over all ranks. Collective.
    global_t largest(global_t mine) const;

    struct State;
    /// Used inside the library: the connection.
    State& state() const { return *state_; }

private:
    std::shared_ptr<State> state_;
};

}  // namespace tulle::inline TULLE_ABI::mpi
