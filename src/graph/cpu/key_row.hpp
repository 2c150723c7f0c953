// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The keys of one row, as cutoff_of() asks for them, on a CPU.
#pragma once

#include <algorithm>
#include <functional>

#include "graph/select.hpp"

namespace tulle::inline TULLE_ABI::graph {

template <class V>
struct KeyRow {
    using Key = KeyOf<V>;
    Key* key;  // kth() changes their order
    offset_t entries;

    offset_t size() const { return entries; }
    offset_t count(Key cutoff) const
    {
        offset_t n = 0;
        for (offset_t k = 0; k < entries; ++k) n += key[k] >= cutoff;
        return n;
    }
    double mass(Key cutoff) const
    {
        double sum = 0;
        for (offset_t k = 0; k < entries; ++k)
            sum += key[k] >= cutoff ? static_cast<double>(magnitude_of<V>(key[k])) : 0.0;
        return sum;
    }
    Key kth(offset_t k)
    {
        std::nth_element(key, key + (k - 1), key + entries, std::greater<>());
        return key[k - 1];
    }
};

}  // namespace tulle::inline TULLE_ABI::graph
