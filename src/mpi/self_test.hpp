// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Whether MPI takes device memory. One that does not may crash, hang or send something else, so it is tried in a child
// process first, then between the ranks of the job.
#pragma once

#include <string>

#include "mpi/exchange.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::mpi {

// Memory that others may register: never from a pool.
inline Place plain_place(const CpuQueue& q) { return q.place(); }
inline Place plain_place(const CudaQueue& q)
{
    Place place = q.place();
    place.plain = true;
    return place;
}

// Runs the child process; empty if it passes, else why not. Remembered for the process.
std::string why_not_gpu_aware(const std::string& program, int device, const std::string& library, double seconds);

// Sends numbers to a rank from the memory of the context, and compares those that come from another one. Error if they
// differ or do not come in time; std::runtime_error of the transport.
void try_transfer(Transport& transport, const Context& ctx, int to, int from, double seconds);

// Numbers that such a message consists of, by the rank that sends them.
std::vector<unsigned char> trial_numbers(int rank, std::size_t bytes);

}  // namespace tulle::inline TULLE_ABI::mpi
