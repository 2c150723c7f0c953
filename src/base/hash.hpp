// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Hashing and seeded numbers in integer arithmetic: the same on every machine and for any number of threads.
#pragma once

#include <cstdint>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

// splitmix64.
constexpr std::uint64_t mix(std::uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// hash_of(seed, a, b, …): a number that depends on the seed and all keys.
template <class... Keys>
constexpr std::uint64_t hash_of(std::uint64_t seed, Keys... keys)
{
    std::uint64_t h = mix(seed);
    ((h = mix(h ^ static_cast<std::uint64_t>(keys))), ...);
    return h;
}

// 0 … m-1 from a hash, m < 2^32.
constexpr std::uint64_t below(std::uint64_t hash, std::uint64_t m) { return ((hash >> 32) * m) >> 32; }

// [0, 1) from a hash, 53 bits.
constexpr double unit(std::uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

}  // namespace tulle::inline TULLE_ABI
