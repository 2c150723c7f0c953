// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The bridge to MPI, header-only: compiled in the caller's translation unit with the caller's mpi.h. The library
/// itself is not linked with MPI.
/// @code
/// #include <tulle/mpi.hpp>
/// MPI_Init(&argc, &argv);
/// {
///     auto cluster = tulle::mpi::cluster(MPI_COMM_WORLD, tulle::Context::cpu(1));
///     auto A = tulle::mpi::DistCsr<double>::read(cluster, "A.mtx");
///     auto plan = tulle::mpi::SpmvPlan<double>::make(A);
///     plan.run(x, y);                                        // the local parts of x and y
/// }
/// MPI_Finalize();                                            // after everything of tulle::mpi is gone
/// @endcode
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "tulle/cluster.hpp"
#include "tulle/distributed.hpp"
#include "tulle/distributed_solve.hpp"
#include "tulle/repartition.hpp"

namespace tulle::inline TULLE_ABI::mpi {

/// Messages by MPI: persistent requests on a duplicate of the caller's communicator. MPI errors become exceptions.
class MpiTransport final : public Transport {
public:
    /// Duplicates the communicator. Collective.
    explicit MpiTransport(MPI_Comm comm)
    {
        check(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
        check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(comm_, &ranks_), "MPI_Comm_size");
    }
    ~MpiTransport() override
    {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (!finalized) MPI_Comm_free(&comm_);
    }

    int rank() const override { return rank_; }
    int ranks() const override { return ranks_; }
    std::string name() const override
    {
        char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        MPI_Get_library_version(text, &length);
        const std::string all(text, static_cast<std::size_t>(length));
        return all.substr(0, all.find_first_of(",\n"));
    }
    Request send_init(const void* data, int bytes, int to, int tag) override
    {
        auto message = std::make_unique<Message>();
        check(MPI_Send_init(data, bytes, MPI_BYTE, to, tag, comm_, &message->request), "MPI_Send_init");
        return message.release();
    }
    Request receive_init(void* data, int bytes, int from, int tag) override
    {
        auto message = std::make_unique<Message>();
        message->expected = bytes;
        check(MPI_Recv_init(data, bytes, MPI_BYTE, from, tag, comm_, &message->request), "MPI_Recv_init");
        return message.release();
    }
    void start(Request request) override
    {
        check(MPI_Start(&of(request).request), "MPI_Start");
        of(request).under_way = true;
    }
    bool test(Request request) override
    {
        Message& message = of(request);
        int done = 0, received = 0;
        MPI_Status status;
        check(MPI_Test(&message.request, &done, &status), "MPI_Test");
        message.under_way = !done;
        if (!done || message.expected < 0) return done != 0;
        check(MPI_Get_count(&status, MPI_BYTE, &received), "MPI_Get_count");
        if (received != message.expected)
            throw std::runtime_error("a message of " + std::to_string(received) + " bytes arrived, " +
                                     std::to_string(message.expected) + " were expected");
        return true;
    }
    void release(Request request) noexcept override
    {
        const std::unique_ptr<Message> message(&of(request));
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (finalized) return;
        if (message->under_way) MPI_Cancel(&message->request);
        MPI_Request_free(&message->request);
    }
    std::string self_test_program() const override
    {
        const char* const chosen = std::getenv("TULLE_SELF_TEST");
        return chosen ? chosen : "tulle-mpi";
    }
    [[noreturn]] void abort(int code) override
    {
        MPI_Abort(comm_, code);
        std::_Exit(code);
    }

private:
    struct Message {
        MPI_Request request = MPI_REQUEST_NULL;
        int expected = -1;  // bytes to receive; a message to send has none
        bool under_way = false;
    };
    static Message& of(Request request) { return *static_cast<Message*>(request); }
    static void check(int code, const char* call)
    {
        if (code == MPI_SUCCESS) return;
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(code, text, &length);
        throw std::runtime_error(std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, ranks_ = 1;
};

/// A context on the GPU of this rank: ranks of a host take its GPUs in turn, and share them where there are fewer.
/// Collective.
/// @throws NotBuilt without the CUDA backend; DeviceError if the host has no usable GPU; only on the ranks concerned.
inline Context gpu_of_rank(MPI_Comm comm)
{
    MPI_Comm host = MPI_COMM_NULL;
    int rank = 0, number = 0;
    MPI_Comm_rank(comm, &rank);
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host) == MPI_SUCCESS) {
        MPI_Comm_rank(host, &number);
        MPI_Comm_free(&host);
    }
    const int gpus = static_cast<int>(cuda_devices().size());
    return Context::cuda(gpus > 0 ? number % gpus : 0);  // without GPUs it tells why
}

/// For programs that are to answer the self-test of GPU-aware MPI themselves, instead of the program tulle-mpi, which
/// may have been built with another MPI: call it at the beginning of main(), before MPI_Init, and let the environment
/// variable TULLE_SELF_TEST name the program.
/// @param argc as main() gets it.
/// @param argv as main() gets it; the program is started as `PROGRAM mpi-self-test DEVICE LIBRARY`.
/// @returns the exit code for main(), or -1 if this is not such a process.
inline int answer_self_test(int argc, char** argv)
{
    if (argc != 4 || std::string(argv[1]) != "mpi-self-test") return -1;
    MPI_Init(nullptr, nullptr);
    const SelfTest result = [&] {
        MpiTransport alone(MPI_COMM_SELF);
        return self_test(alone, std::atoi(argv[2]), argv[3]);
    }();
    MPI_Finalize();
    return static_cast<int>(result);
}

/// A cluster of the ranks of a communicator, which is duplicated. Collective. The cluster and all that was made with it
/// must be gone before MPI_Finalize.
/// @param comm an intracommunicator.
/// @param ctx where this rank works: all ranks on CPUs, or all on GPUs.
/// @param options see ClusterOptions.
/// @throws ValueError as Cluster; std::runtime_error if MPI refuses the communicator.
inline Cluster cluster(MPI_Comm comm, const Context& ctx, const ClusterOptions& options = {})
{
    return Cluster(std::make_unique<MpiTransport>(comm), ctx, options);
}

}  // namespace tulle::inline TULLE_ABI::mpi
