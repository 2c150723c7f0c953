// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a plan holds.
#pragma once

#include "sptrsv/analysis/prepare.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

template <class V>
struct Plan<V>::State {
    Context ctx;
    Options options;
    bool narrow;         // the caller's offsets had 32 bits
    std::size_t format;  // of the caller's matrix, as in WideView
    offset_t nonzeros;
    Features features;
    Limits limits;
    Choice choice;
    std::string note;  // about the cache
    Prepared<V> prepared;
    bool usable = true;
    const void* known_b = nullptr;  // arrays already found to be in the right memory
    const void* known_x = nullptr;
};

}  // namespace tulle::inline TULLE_ABI::sptrsv
