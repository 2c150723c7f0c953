// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A team: several contexts that work together, one host thread each. They need not be on different devices: four CPU
/// queues, four streams of one GPU, four simulated GPUs or four real ones run the same code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"

/// Splitting matrices and work into parts.
namespace tulle::inline TULLE_ABI::partition {

/// Bytes copied for the members of a team, and the number of copies. A member on a CPU counts as a device: what lies in
/// the caller's arrays and is used in place is not copied.
struct Traffic {
    std::size_t host_to_device = 0;    ///< bytes from the host to members
    std::size_t device_to_host = 0;    ///< bytes from members to the host
    std::size_t device_to_device = 0;  ///< bytes between members
    std::int64_t copies = 0;           ///< number of copies
};

}  // namespace tulle::inline TULLE_ABI::partition

namespace tulle::inline TULLE_ABI {

/// Several contexts that work on one operation. Copies share the members' queues and memory.
class TULLE_API Team {
public:
    /// A team of CPU contexts.
    /// @param members number of members.
    /// @param threads_each threads of each; 0: the threads of this process divided evenly, at least one each.
    /// @throws ValueError if `members` is not within 1 … most_threads(), or `threads_each` is negative or too large.
    static Team cpu(int members, int threads_each = 0);
    /// A team of GPUs, each with a stream of its own.
    /// @param devices a number may occur more than once: another stream of the same GPU.
    /// @throws ValueError if `devices` is empty.
    /// @throws NotBuilt without the CUDA backend; DeviceError if there is no such GPU.
    static Team cuda(const std::vector<int>& devices);
    /// A team of any contexts.
    /// @throws ValueError if `members` is empty.
    explicit Team(std::vector<Context> members);

    /// Number of members.
    int size() const { return static_cast<int>(members_.size()); }
    /// The context of a member, from 0; not checked.
    const Context& operator[](int member) const { return members_[static_cast<std::size_t>(member)]; }

    /// Calls work(member, context) for every member, each in a thread of its own; returns when all threads and their
    /// queues are done. If members fail, the exception of the first of them, by number, is thrown at the end.
    void run(const std::function<void(int, const Context&)>& work) const;

private:
    std::vector<Context> members_;
};

}  // namespace tulle::inline TULLE_ABI
