// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What NVIDIA's libraries call the type of a value.
#pragma once

#include <library_types.h>

#include <type_traits>

#include "tulle/float16.hpp"

namespace tulle::bench {

template <class V>
inline constexpr cudaDataType cuda_type = std::is_same_v<V, Float16>    ? CUDA_R_16F
                                          : std::is_same_v<V, Bfloat16> ? CUDA_R_16BF
                                          : sizeof(V) == 4              ? CUDA_R_32F
                                                                        : CUDA_R_64F;

}  // namespace tulle::bench
