// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// CUB's radix sort, which is stable, between the caller's arrays and a second pair of the same size.
#include "tulle/prim/sort.hpp"

#include <utility>

#include <cub/device/device_radix_sort.cuh>

#include "tulle/device/copy.hpp"
#include "tulle/prim/cuda/temporary.cuh"

namespace tulle::prim {
namespace {

// Words for a second array of payloads and one of keys behind it, in one piece: to ask for two takes as long as a pass over few keys.
template <class Key>
constexpr offset_t words_for(offset_t n)
{
    constexpr offset_t keys_in_one = sizeof(offset_t) / sizeof(Key);
    return n + (n + keys_in_one - 1) / keys_in_one;
}

template <class Key>
SortedPairs<Key> radix_sort(const CudaQueue& q, Key* key, offset_t* payload, offset_t n, int bits)
{
    require_bits<Key>(bits);
    if (n < 2 || bits == 0) return {key, payload, {}};
    Buffer<offset_t> room(q, words_for<Key>(n));
    cub::DoubleBuffer<Key> keys(key, reinterpret_cast<Key*>(room.data() + n));
    cub::DoubleBuffer<offset_t> payloads(payload, room.data());
    with_scratch(q, [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, payloads, n, 0, bits, q.stream);
    });
    return {keys.Current(), payloads.Current(), std::move(room)};
}

template <class Key>
void sort_in_place(const CudaQueue& q, Key* key, offset_t* payload, offset_t n, int bits)
{
    const SortedPairs<Key> sorted = radix_sort(q, key, payload, n, bits);
    if (sorted.key != key) copy(q, sorted.key, key, n);
    if (sorted.payload != payload) copy(q, sorted.payload, payload, n);
}

}  // namespace

void sort_pairs(const CudaQueue& q, std::uint64_t* key, offset_t* payload, offset_t n, int bits) { sort_in_place(q, key, payload, n, bits); }

void sort_pairs(const CudaQueue& q, std::uint32_t* key, offset_t* payload, offset_t n, int bits) { sort_in_place(q, key, payload, n, bits); }

SortedPairs<std::uint32_t> sort_pairs_anywhere(const CudaQueue& q, std::uint32_t* key, offset_t* payload, offset_t n, int bits) { return radix_sort(q, key, payload, n, bits); }

std::size_t sort_bytes_for(const CudaQueue& q, offset_t n)
{
    const cuda::DeviceGuard guard(q.device);
    cub::DoubleBuffer<std::uint32_t> keys(nullptr, nullptr);
    cub::DoubleBuffer<offset_t> payloads(nullptr, nullptr);
    std::size_t scratch = 0;
    cuda::check(cub::DeviceRadixSort::SortPairs(nullptr, scratch, keys, payloads, n, 0, 32, q.stream));
    return scratch + static_cast<std::size_t>(words_for<std::uint32_t>(n)) * sizeof(offset_t);
}

}  // namespace tulle::prim
