// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a product costs on a GPU, kernel by kernel: a sum of constants (fitted_costs.hpp) times terms that each stand
// for one thing a kernel waits for. tools/fit_costs.py computes the same terms.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// Of a kernel with so many lanes for a row: microseconds for each unit of a term, in the order of terms_of().
inline constexpr std::size_t gpu_terms = 11;
struct GpuCost {
    Kernel kernel;
    int lanes;
    bool narrow;
    std::array<double, gpu_terms> constants;
};

// Bytes beyond which a matrix does not stay in the L2 (of an H200: 50 MB).
inline constexpr double cached_bytes = 40e6;

// Start; path: steps of the longest row, one after the other; nonzeros, in millions, by the bytes they take; padding:
// lanes that wait for the longest row of their warp; threads, in millions; megabytes beyond the cache. Of groups:
// groups of rows with the same columns, their columns, and rows of a group one after the other. Of sell: columns that
// the row before does not foresee. Of stream: how much longer the longest row is than the mean, as a power of two.
inline std::array<double, gpu_terms> terms_of(const RowFeatures& row, const GpuCost& cost)
{
    const double rows = row.rows, nonzeros = static_cast<double>(row.nonzeros), million = 1e6;
    const double bytes = static_cast<double>(row.value_bytes), longest = static_cast<double>(row.longest);
    const double mean = nonzeros / std::max(rows, 1.0), apart = std::max(rows - row.repeats, 1.0);
    const double read = (bytes + (cost.narrow ? 2 : 4)) * nonzeros + 2 * bytes * rows + bytes * row.cols;
    const double padded = std::max(static_cast<double>(row.padded), 1.0);
    const double divergence = std::pow(padded / std::max(nonzeros, 1.0), 1 - std::log2(cost.lanes) / 5);
    std::array<double, gpu_terms> terms{1,
                                        longest / cost.lanes,
                                        nonzeros * (bytes + 4) / (12 * million),
                                        nonzeros * (divergence - 1) / million,
                                        rows * cost.lanes / million,
                                        std::max(0.0, read - cached_bytes) / million};
    if (cost.kernel == Kernel::groups) {
        terms[6] = apart / million;
        terms[7] = apart * mean / million;
        terms[8] = (1 - apart / std::max(rows, 1.0)) * longest / cost.lanes;
    }
    if (cost.kernel == Kernel::sell) terms[9] = (rows - row.shifts) * mean / million;
    if (cost.kernel == Kernel::stream) terms[10] = std::log2(std::max(1.0, longest / std::max(mean, 1e-9)));
    return terms;
}

inline double microseconds_of(const RowFeatures& row, const GpuCost& cost)
{
    const std::array<double, gpu_terms> terms = terms_of(row, cost);
    double sum = 0;
    for (std::size_t k = 0; k < gpu_terms; ++k) sum += cost.constants[k] * terms[k];
    return sum;
}

}  // namespace tulle::inline TULLE_ABI::spmv
