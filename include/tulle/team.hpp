// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Several contexts that work together, one host thread each. Nothing says they sit on different devices: four CPU
// queues, four streams of one GPU, four simulated GPUs or four real ones run the same code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"

// Bytes that the members of a team exchanged with the host and with each other.

namespace tulle::inline TULLE_ABI::partition {

// Bytes of payload and how many copies carried them.
struct Traffic {
    std::size_t up = 0, down = 0, across = 0;  // from the host, to the host, between members
    std::int64_t messages = 0;
};

}  // namespace tulle::inline TULLE_ABI::partition

namespace tulle::inline TULLE_ABI {

class TULLE_API Team {
public:
    static Team cpu(int members, int threads_each = 0);  // 0: the machine's threads dealt out evenly, at least one each
    static Team cuda(const std::vector<int>& devices);   // a device may be named more than once: another stream of it
    explicit Team(std::vector<Context> members);

    int size() const { return static_cast<int>(members_.size()); }
    const Context& operator[](int member) const { return members_[static_cast<std::size_t>(member)]; }

    // work(member, context) on a thread of its own for every member; returns when all are done. The first failure by
    // member number is thrown after all have stopped.
    void run(const std::function<void(int, const Context&)>& work) const;

private:
    std::vector<Context> members_;
};

}  // namespace tulle::inline TULLE_ABI
