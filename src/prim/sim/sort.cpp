// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The pairs end up in the caller's arrays or in the second ones, as chance has it, and the others hold garbage then.
// CUB leaves them where its last pass wrote to, which hangs on the number of passes, and nobody is told how many there
// are.
#include "prim/sort.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "prim/cuda/radix_sort.hpp"
#include "prim/sim/twin.hpp"
#include "simt/launch.hpp"

namespace tulle::inline TULLE_ABI::prim {
namespace {

template <class Key>
struct Arrays {
    Key* key;
    offset_t* payload;
};

template <class Key>
void sort_stably(Arrays<Key> from, Arrays<Key> to, Arrays<Key> other, offset_t n, Key mask)
{
    std::vector<std::pair<Key, offset_t>> pairs(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {from.key[i], from.payload[i]};
    std::stable_sort(pairs.begin(), pairs.end(),
                     [mask](const auto& a, const auto& b) { return (a.first & mask) < (b.first & mask); });
    for (std::size_t i = 0; i < pairs.size(); ++i) std::tie(to.key[i], to.payload[i]) = pairs[i];
    simt::spoil(other.key, pairs.size() * sizeof(Key));
    simt::spoil(other.payload, pairs.size() * sizeof(offset_t));
}

template <class Key>
SortedPairs<Key> radix_sort(const CudaQueue& q, Key* key, offset_t* payload, offset_t n, int bits)
{
    require_bits<Key>(bits);
    if (n < 2 || bits == 0) return {key, payload, {}};
    Buffer<offset_t> room(q, words_for<Key>(n));
    const Arrays<Key> mine{key, payload}, others{reinterpret_cast<Key*>(room.data() + n), room.data()};
    const bool stays = simt::flip_coin();
    const Key mask = static_cast<Key>(~Key{0} >> (std::numeric_limits<Key>::digits - bits));
    run_twin(q, "radix sort", {key, payload, room.data()},
             [=] { sort_stably(mine, stays ? mine : others, stays ? others : mine, n, mask); });
    const Arrays<Key> result = stays ? mine : others;
    return {result.key, result.payload, std::move(room)};
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

std::size_t sort_bytes_for(const CudaQueue&, offset_t n)
{
    return static_cast<std::size_t>(scratch_bytes) +
           static_cast<std::size_t>(words_for<std::uint32_t>(n)) * sizeof(offset_t);
}

}  // namespace tulle::inline TULLE_ABI::prim
