// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

// First position in data[0 … n-1] (ascending) whose entry is not below `wanted`; n if there is none. For hosts and
// kernels.
template <class T>
constexpr offset_t lower_bound(const T* data, offset_t n, T wanted)
{
    offset_t begin = 0, end = n;
    while (begin < end) {
        const offset_t middle = begin + (end - begin) / 2;
        if (data[middle] < wanted) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

// First position whose entry is above `wanted`.
template <class T>
constexpr offset_t upper_bound(const T* data, offset_t n, T wanted)
{
    offset_t begin = 0, end = n;
    while (begin < end) {
        const offset_t middle = begin + (end - begin) / 2;
        if (!(wanted < data[middle])) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

// found[i] = lower_bound(data, n, wanted[i]) for i < count. T is index_t or offset_t.
template <class T>
void search_sorted(const CpuQueue& q, const T* data, offset_t n, const T* wanted, offset_t count, offset_t* found);
template <class T>
void search_sorted(const CudaQueue& q, const T* data, offset_t n, const T* wanted, offset_t count, offset_t* found);

}  // namespace tulle::inline TULLE_ABI::prim
