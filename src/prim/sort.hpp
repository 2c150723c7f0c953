// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tulle/error.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

// Sorts the keys and carries the payload along; stable. Only the lowest `bits` bits of the keys are looked at.
void sort_pairs(const CpuQueue& q, std::uint64_t* key, offset_t* payload, offset_t n, int bits = 64);
void sort_pairs(const CudaQueue& q, std::uint64_t* key, offset_t* payload, offset_t n, int bits = 64);
void sort_pairs(const CpuQueue& q, std::uint32_t* key, offset_t* payload, offset_t n, int bits = 32);
void sort_pairs(const CudaQueue& q, std::uint32_t* key, offset_t* payload, offset_t n, int bits = 32);

// The same, and where the pairs stand then is told: in the caller's arrays, or in others. Saves two copies where they
// end up there.
template <class Key>
struct SortedPairs {
    const Key* key = nullptr;
    const offset_t* payload = nullptr;
    Buffer<offset_t> room = {};  // of the others
};
SortedPairs<std::uint32_t> sort_pairs_anywhere(const CudaQueue& q, std::uint32_t* key, offset_t* payload, offset_t n,
                                               int bits = 32);

// Bytes of the device's that it holds while it sorts n pairs with keys of 32 bits.
std::size_t sort_bytes_for(const CudaQueue& q, offset_t n);

template <class Key>
void require_bits(int bits)
{
    constexpr int width = std::numeric_limits<Key>::digits;
    require<ValueError>(bits >= 0 && bits <= width,
                        [&] { return concat("keys of ", width, " bits cannot be sorted by ", bits); });
}

// How many bits keys below `limit` need.
constexpr int bits_for(std::uint64_t limit)
{
    int bits = 1;
    while (bits < 64 && (limit - (limit > 0)) >> bits) ++bits;
    return bits;
}

}  // namespace tulle::inline TULLE_ABI::prim
