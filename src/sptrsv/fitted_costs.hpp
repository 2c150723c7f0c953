// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Seconds, fitted to bench/results by tools/fit_costs.py; change that or the data, not this file.
#pragma once

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::sptrsv::fitted {

// Analysis on the CPU: 18 matrices of sptrsv-cpu-1-thread.jsonl;
// predicted 0.57 to 1.52 times the measured.
inline constexpr double cpu_prepare_entry = 2.3e-08;  // for each entry
inline constexpr double cpu_prepare_row = 4.1e-08;    // for each row

// Analysis on a GPU, the matrix being there: 18 matrices of sptrsv-h200.jsonl;
// predicted 0.26 to 1.93 times the measured.
inline constexpr double gpu_prepare = 3.9e-04;        // launches and waits
inline constexpr double gpu_prepare_entry = 2.7e-10;  // for each entry
inline constexpr double gpu_prepare_level = 2.1e-07;  // for each level

}  // namespace tulle::inline TULLE_ABI::sptrsv::fitted
