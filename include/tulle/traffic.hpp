// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Bytes that the members of a team exchanged with the host and with each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::partition {

// Bytes of payload and how many copies carried them.
struct Traffic {
    std::size_t up = 0, down = 0, across = 0;  // from the host, to the host, between members
    std::int64_t messages = 0;
};

}  // namespace tulle::inline TULLE_ABI::partition
