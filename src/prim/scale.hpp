// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

// The numbers of `lines` lines, each `length` long and `leading` after the one before.
template <class T>
struct Lines {
    T* data;
    offset_t lines, length, leading;
};

// Every number times `factor`; a factor of zero writes zeros and reads nothing. What lies between the lines stays. T is
// float, double, Float16 or Bfloat16; those of 16 bits are multiplied in float.
template <class T>
using Factor = std::conditional_t<std::is_same_v<T, double>, double, float>;
template <class T>
void scale(const CpuQueue& q, const Lines<T>& all, Factor<T> factor);
template <class T>
void scale(const CudaQueue& q, const Lines<T>& all, Factor<T> factor);

// The same for n numbers.
template <class Queue, class T>
void scale(const Queue& q, T* data, offset_t n, Factor<T> factor)
{
    scale(q, Lines<T>{data, 1, n, n}, factor);
}

}  // namespace tulle::inline TULLE_ABI::prim
