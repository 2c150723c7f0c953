// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the sorts of a real and of a simulated GPU have in common: the second pair of arrays, and copies back where the
// caller wants the pairs in place.
#pragma once

#include "prim/sort.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::prim {

// Words for a second array of payloads and one of keys behind it, in one piece: to ask for two takes as long as a pass
// over few keys.
template <class Key>
constexpr offset_t words_for(offset_t n)
{
    constexpr offset_t keys_in_one = sizeof(offset_t) / sizeof(Key);
    return n + (n + keys_in_one - 1) / keys_in_one;
}

// `sorted` is what a sort of the caller's arrays `key` and `payload` gave.
template <class Key>
void move_back(const CudaQueue& q, const SortedPairs<Key>& sorted, Key* key, offset_t* payload, offset_t n)
{
    if (sorted.key != key) copy(q, sorted.key, key, n);
    if (sorted.payload != payload) copy(q, sorted.payload, payload, n);
}

}  // namespace tulle::inline TULLE_ABI::prim
