// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI {

// ValueError if an array of `size` entries is null, DeviceError unless it is where the context works. Asking costs a
// microsecond, so an address found good is kept in `known` and not asked for again.
void ask_placed(const Context& ctx, const void* data, std::size_t size, const void*& known, std::string_view name);

inline void require_placed(const Context& ctx, const void* data, std::size_t size, const void*& known,
                           std::string_view name)
{
    if (data == nullptr || (data != known && ctx.backend() != Backend::cpu)) ask_placed(ctx, data, size, known, name);
}

// Whether two arrays have nothing in common; an empty one never has. Null pointers may be given: require_placed refuses
// them.
template <class T, class U>
bool are_apart(std::span<T> a, std::span<U> b)
{
    const auto a_begin = reinterpret_cast<std::uintptr_t>(a.data()), a_end = a_begin + a.size_bytes();
    const auto b_begin = reinterpret_cast<std::uintptr_t>(b.data()), b_end = b_begin + b.size_bytes();
    return a.empty() || b.empty() || a_end <= b_begin || b_end <= a_begin;
}

}  // namespace tulle::inline TULLE_ABI
