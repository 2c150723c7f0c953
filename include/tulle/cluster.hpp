// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Cluster: the processes (ranks) that share distributed matrices. This header knows no MPI: messages go through a
/// Transport, which tulle/mpi.hpp implements with the caller's mpi.h, so that one library serves Open MPI and MPICH.
/// @code
/// #include <tulle/mpi.hpp>
/// auto cluster = tulle::mpi::cluster(MPI_COMM_WORLD, tulle::Context::cpu(1));
/// cluster.run_collective("reading", [&] { read_my_part(); });     // if a rank throws, all ranks throw the same
/// @endcode
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
    /// Ends the use of a request; a message that is under way is given up.
    virtual void release(Request request) noexcept = 0;
    /// The program that tries in a process of its own whether device memory can be sent (docs/mpi.md): a path, or a
    /// name that is looked for beside this program, then on the PATH. Empty: device memory is never given.
    virtual std::string self_test_program() const { return {}; }
    /// Ends all processes with this exit code.
    [[noreturn]] virtual void abort(int code) = 0;
};

/// How the contents of messages get from the memory of a rank to others.
struct TransportChoice {
    /// "host": from host memory; "staged": from a GPU through page-locked host memory; "gpu-aware": MPI is given device
    /// memory; "nccl": by NCCL from GPU to GPU.
    std::string name;
    std::string why;  ///< one sentence
};

/// What this machine has, without asking other ranks.
struct TransportState {
    std::string name;     ///< as in TransportChoice
    bool usable = false;  ///< whether it can be used here
    std::string why;      ///< one sentence: what it needs, or why it cannot be used
};

/// The transports of ranks on a backend, the preferred one first. NCCL is loaded and the self-test of GPU-aware MPI is
/// run, once a process. The environment variable TULLE_TRANSPORT may name one for all clusters; "auto" is as if it were
/// not set. Local.
/// @param backend where ranks work.
/// @param self_test as Transport::self_test_program().
/// @throws ValueError (with what is possible) if TULLE_TRANSPORT names another one.
TULLE_API std::vector<TransportState> transports(Backend backend, const std::string& self_test = "tulle-mpi");

/// What a child process finds out about device memory in messages; its exit code.
enum class SelfTest : int {
    passed = 0,         ///< messages of a few and of many bytes came back as they were sent
    wrong_data = 1,     ///< something else came back
    other_library = 2,  ///< the program was built with another MPI
    failed = 3          ///< MPI or CUDA reported an error
};

/// The child's side of the self-test: sends device memory to itself. tulle::mpi::answer_self_test() calls it.
/// @param transport of one rank.
/// @param device number of the GPU.
/// @param library name() of the transport that is to be judged; empty: any.
TULLE_API SelfTest self_test(Transport& transport, int device, const std::string& library) noexcept;

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
    /// On GPUs collective: ranks find out how messages can travel (transport()).
    /// @param transport how messages travel; tulle/mpi.hpp makes one.
    /// @param ctx where this rank works: all ranks on CPUs, or all on GPUs.
    /// @param options see ClusterOptions.
    /// @throws ValueError if TULLE_MPI_DEADLINE is not a number, or TULLE_TRANSPORT names what cannot be used, with the
    /// reason.
    Cluster(std::unique_ptr<Transport> transport, const Context& ctx, const ClusterOptions& options = {});

    /// Number of this rank, from 0.
    int rank() const;
    /// Number of ranks.
    int ranks() const;
    /// Where this rank works.
    const Context& context() const;
    /// What this rank has sent since it was made.
    Traffic sent() const;
    /// How messages get from the memory of this rank to others; short ones of GPUs may be staged nevertheless.
    const TransportChoice& transport() const;
    /// Ranks, library, transport with the reason for it, and deadline in one line.
    std::string describe() const;

    /// Runs `work` on every rank. Collective. If it throws on some ranks, all throw what the lowest of them threw, and
    /// the message begins with its number: "rank 3: …".
    /// @param phase what is done, for messages.
    /// @param work what may fail; must not be collective itself.
    void run_collective(std::string_view phase, const std::function<void()>& work) const;

    /// Runs work in which ranks wait for each other by other means, such as another library on the same communicator.
    /// Where it takes longer than the deadline, this rank prints the phase and ends with lost_rank_exit_code, so that
    /// the launcher ends the job: who is silent is not known.
    /// @param phase what is done, for messages.
    /// @param work what may never end; runs in the calling thread, and may throw.
    void run_with_deadline(std::string_view phase, const std::function<void()>& work) const;

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
