// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Microseconds, fitted to bench/results by tools/fit_costs.py; change that or the data, not this file.
// clang-format off
#pragma once

#include "spmv/gpu_costs.hpp"

namespace tulle::inline TULLE_ABI::spmv::fitted {

// 171 matrices of spmv-h200-choices.jsonl.gz; choices by these constants take
// 1.027 times as long as the best kernel, at most 1.18 times.
// Terms: start, path, nonzeros, padding, threads, beyond_cache, groups,
// group_columns, group_path, columns, unevenness.
inline constexpr std::array<GpuCost, 18> gpu_costs{{
    {Kernel::rows, 1, false, {2.3, 0.14, 3.3, 0, 7.4, 0.033, 0, 0, 0, 0, 0}},
    {Kernel::rows, 2, false, {2.4, 0.16, 3.9, 0.23, 3, 0.09, 0, 0, 0, 0, 0}},
    {Kernel::rows, 4, false, {2.4, 0.17, 3.3, 0.48, 3.3, 0.097, 0, 0, 0, 0, 0}},
    {Kernel::rows, 8, false, {2.4, 0.18, 3.3, 0.18, 3.6, 0.036, 0, 0, 0, 0, 0}},
    {Kernel::rows, 16, false, {2.4, 0.19, 2.7, 0.15, 3.5, 0.13, 0, 0, 0, 0, 0}},
    {Kernel::rows, 32, false, {2.5, 0.17, 3.6, 0, 3, 0.036, 0, 0, 0, 0, 0}},
    {Kernel::rows, 1, true, {2.4, 0.12, 2.7, 0.67, 4.1, 0.17, 0, 0, 0, 0, 0}},
    {Kernel::rows, 2, true, {2.5, 0.14, 2.7, 0.91, 2.8, 0.22, 0, 0, 0, 0, 0}},
    {Kernel::rows, 4, true, {2.5, 0.14, 2.6, 1.2, 2.6, 0.24, 0, 0, 0, 0, 0}},
    {Kernel::rows, 8, true, {2.5, 0.16, 2.4, 1.9, 3.3, 0.16, 0, 0, 0, 0, 0}},
    {Kernel::rows, 16, true, {2.5, 0.18, 2.3, 0, 3.3, 0.22, 0, 0, 0, 0, 0}},
    {Kernel::rows, 32, true, {2.5, 0.16, 2.9, 0, 3, 0.14, 0, 0, 0, 0, 0}},
    {Kernel::groups, 8, false, {2.4, 0.19, 1.6, 0, 0, 0.22, 31, 1.8, 0.2, 0, 0}},
    {Kernel::groups, 16, false, {2.5, 0.2, 0.79, 0, 1.6, 0.2, 38, 2.9, 0.18, 0, 0}},
    {Kernel::groups, 32, false, {2.6, 0.2, 0.34, 0, 0.76, 0.12, 99, 4.1, 0.38, 0, 0}},
    {Kernel::stream, 32, false, {3.2, 0, 4.1, 0, 0.15, 0, 0, 0, 0, 0, 0.16}},
    {Kernel::sell, 32, false, {2.5, 13, 0.66, 0, 0.29, 0.11, 0, 0, 0, 3.6, 0}},
    {Kernel::split, 32, false, {9.1, 0.0018, 6.9, 0, 0.091, 0.027, 0, 0, 0, 0, 0}},
}};

}  // namespace tulle::inline TULLE_ABI::spmv::fitted
