// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI {

// ValueError if an array of `size` entries is null, DeviceError unless it is where the context works. Asking costs a
// microsecond, so an address found good is kept in `known` and not asked for again.
void require_placed(const Context& ctx, const void* data, std::size_t size, const void*& known, std::string_view name);

// Whether two arrays have nothing in common; an empty one never has.
template <class T, class U>
bool are_apart(std::span<T> a, std::span<U> b)
{
    return a.empty() || b.empty() || a.data() + a.size() <= b.data() || b.data() + b.size() <= a.data();
}

}  // namespace tulle::inline TULLE_ABI
