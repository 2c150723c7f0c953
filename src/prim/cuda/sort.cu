// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// CUB's radix sort, which is stable, between the caller's arrays and a second pair of the same size.
#include "prim/sort.hpp"

#include <utility>

#include <cub/device/device_radix_sort.cuh>

#include "prim/cuda/radix_sort.hpp"
#include "prim/cuda/temporary.cuh"

namespace tulle::inline TULLE_ABI::prim {
namespace {

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
    move_back(q, radix_sort(q, key, payload, n, bits), key, payload, n);
}

}  // namespace

void sort_pairs(const CudaQueue& q, std::uint64_t* key, offset_t* payload, offset_t n, int bits)
{
    sort_in_place(q, key, payload, n, bits);
}

void sort_pairs(const CudaQueue& q, std::uint32_t* key, offset_t* payload, offset_t n, int bits)
{
    sort_in_place(q, key, payload, n, bits);
}

SortedPairs<std::uint32_t> sort_pairs_anywhere(const CudaQueue& q, std::uint32_t* key, offset_t* payload, offset_t n,
                                               int bits)
{
    return radix_sort(q, key, payload, n, bits);
}

std::size_t sort_bytes_for(const CudaQueue& q, offset_t n)
{
    const cuda::DeviceGuard guard(q.device);
    cub::DoubleBuffer<std::uint32_t> keys(nullptr, nullptr);
    cub::DoubleBuffer<offset_t> payloads(nullptr, nullptr);
    std::size_t scratch = 0;
    cuda::check(cub::DeviceRadixSort::SortPairs(nullptr, scratch, keys, payloads, n, 0, 32, q.stream));
    return scratch + static_cast<std::size_t>(words_for<std::uint32_t>(n)) * sizeof(offset_t);
}

}  // namespace tulle::inline TULLE_ABI::prim
